"""How kernels are shared among the processes that compile them."""

import threading
from pathlib import Path

import pytest

from fmus.building.kernel_libraries import Tasks
from sensor_models.core.exports import Export
from tests.sensor_models.kernels.test_cache import copy_package, run


def family(name: str) -> list[Export]:
    return [Export(f"kernels.{name}.module", "kernel", (), ("Lidar",))]


FAMILIES = {level: [family(name) for name in "abc"] for level in ("v2", "v3", "v4")}


def test_each_stays_with_a_level_that_is_its_own_while_there_are_such() -> None:
    tasks = Tasks(FAMILIES)
    first, second = tasks.taken(), tasks.taken()
    turns = [(next(first)[0], next(second)[0]) for _ in range(3)]
    assert turns == [("v2", "v3")] * 3
    assert [next(first)[0], next(second)[0], next(first)[0]] == ["v4"] * 3
    assert [list(first), list(second)] == [[], []]


def test_more_than_there_are_levels_share_them_evenly() -> None:
    tasks = Tasks(FAMILIES)
    takers = [tasks.taken() for _ in range(6)]
    assert sorted(next(taker)[0] for taker in takers) == ["v2", "v2", "v3", "v3", "v4", "v4"]


def test_all_are_taken_once_and_the_largest_first() -> None:
    tasks = Tasks(FAMILIES)
    found: list[tuple[str, str]] = []
    threads = [
        threading.Thread(
            target=lambda: found.extend((v, exports[0].family) for v, exports in tasks.taken())
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(level, name) for level in FAMILIES for name in "abc"]
    assert [exports[0].family for _, exports in Tasks({"v2": FAMILIES["v2"]}).taken()] == [*"abc"]


OBJECTS = """
import os
from sensor_models._levels import LEVELS, variables_of
os.environ.update({**variables_of(LEVELS[0]), "SENSOR_FMUS_OBJECTS": "WANTED"})
from sensor_models.kernels.tiny import twice
from sensor_models.kernels.values import kind_of
objects = twice.objects((kind_of(2),))
print(*objects, twice.stats.compiled, len({code.object_file for code in objects.values()}))
print(twice(2), twice.stats.from_cache, twice.stats.compiled)
"""


@pytest.mark.parametrize("more", ["", ",process"])
def test_processes_get_objects_of_their_own_only_where_they_are_wanted(
    tmp_path: Path, more: str
) -> None:
    package, store = copy_package(tmp_path / "package"), tmp_path / "store"
    script = OBJECTS.replace("WANTED", f"linux64,win64{more}")
    for compiled in (1, 0):
        output = run(package, store, script)[0].split()
        assert output[:4] == ["linux64", "win64", str(compiled), "2"]
        # Calls are for processes: without theirs, one is compiled at the first call of all.
        found = (1, compiled) if more else (1 - compiled, 2 * compiled)
        assert output[4:] == ["4", *map(str, found)]
