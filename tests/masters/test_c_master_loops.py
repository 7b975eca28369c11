"""The loops that the C master runs by itself, on the reference FMU. For Linux."""

import math
from pathlib import Path

import pytest

from tests.bench.reference_fmu import INPUTS, OUTPUTS, SOURCE
from tests.masters.c_instance import Instance
from tests.masters.c_master import CMaster, Library
from tests.masters.compiling import compile_c
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import (
    CallFailedError,
    Status,
)

#: Bytes that a loop may gain without a leak: pages of a heap that has fragments, well under the
#: megabytes of a lost instance per life.
STEADY = 256 * 1024


def test_lives_of_an_instance_leave_no_memory_behind(library: Library) -> None:
    cycle = library.cycle(20_000, 0.1)
    assert cycle.done == 20_000
    assert cycle.growth < STEADY


def test_a_leak_is_seen_in_the_growth(
    master: CMaster, reference_files: FmuFiles, tmp_path: Path
) -> None:
    leak = tmp_path / "leak.c"
    leak.write_text("void leak(void *memory) { (void)memory; }")
    files = FmuFiles(tmp_path, "Leaking", reference_files.guid, {})
    files.library.parent.mkdir(parents=True)
    guid = f'-DMODEL_GUID="{files.guid}"'
    compile_c(files.library, [SOURCE, leak], guid, "-Dfree=leak", "-shared", "-fPIC")
    assert master.load(files).cycle(20_000, 0.1).growth > 18_000 * 512


def test_a_cycle_that_fails_says_why(library: Library) -> None:
    with pytest.raises(CallFailedError, match="no step of 0 is possible"):
        library.cycle(10, 0.0)


def test_instances_step_at_once_in_threads_of_their_own(library: Library) -> None:
    instances = [library.instantiate(f"sensor {number}") for number in range(3)]
    for number, each in enumerate(instances):
        each.initialize()
        each.set_real({"body.position.x": float(number)}).expect()
    reply = library.master.step_in_threads(instances, 0.0, 0.01, 5000).expect()
    assert reply.integers() == [5000] * 3
    assert [each.get("out_19") for each in instances] == [0.0, 5000.0, 10000.0]


def test_a_thread_that_fails_stops_and_says_why(library: Library, instance: Instance) -> None:
    not_initialized = library.instantiate("late")
    reply = library.master.step_in_threads([instance, not_initialized], 0.0, 0.01, 100)
    assert (reply.status, reply.integers()) == (Status.ERROR, [100, 0])
    assert reply.texts() == ["late: no step of 0.01 is possible"]


def test_two_threads_take_turns_at_one_instance(instance: Instance) -> None:
    instance.set_real({"body.position.x": 1.0}).expect()
    assert instance.step_alternately(2.0, 0.5, 1001).expect().integers() == [1001]
    assert instance.get("out_19") == 1001.0
    assert instance.call("fmi2GetRealStatus", 2).reals() == [502.5]


def test_each_step_can_have_a_thread_of_its_own(instance: Instance) -> None:
    instance.set_real({"body.position.x": 1.0}).expect()
    run = instance.step_in_new_threads(0.0, 0.01, 2000)
    assert (run.done, instance.get("out_19")) == (2000, 2000.0)
    assert run.growth < STEADY


def test_bench_makes_all_rounds_with_moving_inputs(instance: Instance) -> None:
    inputs = dict.fromkeys(INPUTS, (1.0, 2.0))
    cost = instance.bench(inputs, OUTPUTS, 0.5, 4000, blocks=10)
    assert 0.0 < cost.best <= cost.median
    assert instance.get("out_1") == 1.0 + 2.0 * 0.5 * 3999
    assert instance.get("out_19") == 4000 * 1.0 + 3999 * 4000 / 2


def test_bench_of_an_instance_that_fails_says_why(instance: Instance) -> None:
    with pytest.raises(CallFailedError, match="input 0 is nan"):
        instance.bench({"body.position.x": (math.nan, 0.0)}, ["out_1"], 0.1, 100)
