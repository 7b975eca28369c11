"""How kernels are shared among the processes that compile them."""

import threading

from fmus.building.kernel_libraries import Tasks
from sensor_models.core.exports import Export


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
