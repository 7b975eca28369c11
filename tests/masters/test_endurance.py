"""Long runs, many lives and many threads: no memory is lost and nothing is mixed up. For Linux."""

import math
from collections.abc import Callable, Mapping

import pytest

from tests.masters.c_instance import Instance, State
from tests.masters.c_master import CMaster, Library
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import Status, encode
from tests.masters.sensors import FOLLOWED, MODELS, STEP, error_of

MEGABYTE = 2**20

#: Lives of an instance, and the bytes that they may gain. Python frees what refers to itself in
#: the end only, so the memory of some lives is always waiting.
LIVES, LIVES_MAY_GAIN = 2000, 2 * MEGABYTE
#: Repetitions of a call, and the bytes that they may gain: less than a state or a traceback each.
#: A heap that fragments gains some pages all the same.
CALLS, CALLS_MAY_GAIN = 1000, 3 * MEGABYTE // 4


@pytest.fixture
def library(master: CMaster, sensor_files: Mapping[str, FmuFiles]) -> Library:
    """A library in a master of its own, whose memory no other test has touched."""
    return master.load(sensor_files["Encoder"])


@pytest.fixture
def instance(library: Library) -> Instance:
    created = library.instantiate("sensor")
    created.initialize()
    created.set(FOLLOWED[created.files.model_identifier].input, 1.5).expect()
    return created


def noisy(library: Library, name: str) -> Instance:
    """An instance whose outputs depend on its name, on the index of a sample and on the seed."""
    created = library.instantiate(name)
    if "noise.rms" in created.files.variables:
        created.set("noise.rms", 0.25).expect()
    created.initialize()
    created.set(FOLLOWED[created.files.model_identifier].input, 1.5).expect()
    return created


def outputs(instance: Instance) -> tuple[str, ...]:
    return instance.get_real(instance.files.names("output", "Real")).words


def growth(master: CMaster, repeat: Callable[[int], None]) -> int:
    """Bytes gained by a thousand repetitions, after two hundred in which memory settles."""
    for k in range(200):
        repeat(k)
    before = master.memory()
    for k in range(CALLS):
        repeat(200 + k)
    return master.memory() - before


# ---- lives -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_thousands_of_lives_leave_no_memory_behind(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], model: str
) -> None:
    library = master.load(sensor_files[model])
    runs = [library.cycle(LIVES, STEP) for _ in range(2)]
    assert [lives.done for lives in runs] == [LIVES, LIVES]
    # What lives leave behind they leave in both runs; the heap may take its pages in one of them.
    assert min(lives.growth for lives in runs) < LIVES_MAY_GAIN


def test_resets_leave_no_memory_behind(library: Library, instance: Instance) -> None:
    def repeat(_: int) -> None:
        instance.reset().expect()
        instance.initialize()
        instance.step(0.0, STEP).expect()

    assert growth(library.master, repeat) < LIVES_MAY_GAIN


def test_refused_instances_leave_no_memory_behind(library: Library) -> None:
    identity = ("sensor", 1, "wrong", encode(library.files.resource_uri), 0, 0)

    def repeat(_: int) -> None:
        reply = library.master.command("fmi2Instantiate", library.name, "refused", *identity)
        assert reply.words == ("0",)

    assert growth(library.master, repeat) < CALLS_MAY_GAIN


# ---- calls -------------------------------------------------------------------------------------


def test_steps_leave_no_memory_behind(library: Library, instance: Instance) -> None:
    followed = FOLLOWED[library.files.model_identifier]
    inputs, count = {followed.input: (0.0, 0.01)}, 30_000
    instance.bench(inputs, [followed.output], STEP, count, blocks=1)
    before = library.master.memory()
    instance.bench(inputs, [followed.output], STEP, count, start=count * STEP, blocks=1)
    assert library.master.memory() - before < CALLS_MAY_GAIN


def test_errors_leave_no_memory_behind(library: Library, instance: Instance) -> None:
    instance.set_debug_logging(True, ["logDebug"]).expect()
    name = library.files.names("input", "Real")[0]

    def repeat(_: int) -> None:
        error_of(instance.step(0.0, -1.0))
        error_of(instance.set(name, math.nan))
        error_of(instance.set("preset", "no such product"))

    assert growth(library.master, repeat) < CALLS_MAY_GAIN


def test_states_leave_no_memory_behind(library: Library, instance: Instance) -> None:
    kept = instance.get_state()

    def repeat(_: int) -> None:
        taken = instance.get_state(State("taken"))
        instance.get_state(taken)
        content = instance.serialize(taken)
        instance.call("fmi2DeSerializeFMUstate", "read", content.hex()).expect()
        instance.call("fmi2DeSerializeFMUstate", "damaged", content.hex()[2:])
        instance.set_state(State("read")).expect()
        instance.set_state(kept).expect()
        for name in ("taken", "read"):
            instance.free_state(State(name)).expect()

    assert growth(library.master, repeat) < CALLS_MAY_GAIN


def test_texts_leave_no_memory_behind(library: Library, instance: Instance) -> None:
    instance.reset().expect()

    def repeat(k: int) -> None:
        text = f"{k:04d} " + "x" * 1000
        instance.set("output_directory", text).expect()
        assert instance.get("output_directory") == text

    assert growth(library.master, repeat) < CALLS_MAY_GAIN


# ---- threads -----------------------------------------------------------------------------------


def test_instances_step_at_once_in_threads_as_they_do_alone(library: Library) -> None:
    count, names = 3000, ("one", "two", "three")
    together = [noisy(library, name) for name in names]
    reply = library.master.step_in_threads(together, 0.0, STEP, count)
    assert reply.expect().integers() == [count] * len(names)
    for name, threaded in zip(names, together, strict=True):
        alone = noisy(library, name)
        alone.step_alternately(0.0, STEP, count).expect()
        assert outputs(threaded) == outputs(alone)
        assert threaded.get("sample.count") == count


def test_different_fmus_step_at_once_in_threads(
    master: CMaster, sensor_files: Mapping[str, FmuFiles]
) -> None:
    libraries = [master.load(files) for files in sensor_files.values()]
    together = [noisy(library, "sensor") for library in libraries]
    master.step_in_threads(together, 0.0, STEP, 3000).expect()
    for library, threaded in zip(libraries, together, strict=True):
        alone = noisy(library, "sensor")
        alone.step_alternately(0.0, STEP, 3000).expect()
        assert outputs(threaded) == outputs(alone)


def test_one_instance_may_be_stepped_by_threads_in_turn(library: Library) -> None:
    alternate, single = noisy(library, "sensor"), noisy(library, "sensor")
    assert alternate.step_alternately(0.0, STEP, 2001).expect().integers() == [2001]
    library.master.step_in_threads([single], 0.0, STEP, 2001).expect()
    assert outputs(alternate) == outputs(single)


def test_each_step_may_come_from_a_new_thread_and_threads_leave_no_memory_behind(
    library: Library,
) -> None:
    fresh, single = noisy(library, "sensor"), noisy(library, "sensor")
    run = fresh.step_in_new_threads(0.0, STEP, 2000)
    assert run.done == 2000
    assert run.growth < CALLS_MAY_GAIN
    library.master.step_in_threads([single], 0.0, STEP, 2000).expect()
    assert outputs(fresh) == outputs(single)


def test_a_thread_that_fails_disturbs_no_other(library: Library) -> None:
    good, bad = noisy(library, "good"), noisy(library, "bad")
    bad.step(0.0, 1000 * STEP).expect()  # its next steps lie in its past
    reply = library.master.step_in_threads([good, bad], 0.0, STEP, 1000)
    assert (reply.status, reply.integers()) == (Status.ERROR, [1000, 0])
    assert {message.receiver for message in reply.messages} == {bad.name}
    assert good.get("sample.count") == 1000
