"""WorkerPools: the processes of this machine, and a cluster of Dask's."""

import atexit
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.tools.workers import Failure, Resident, Task
from sensor_models.tools.workers.cluster import ClusterPool
from sensor_models.tools.workers.local import LocalPool
from tests.clusters import local_cluster


class Weight:
    """Takes room, and says where it was made."""

    made = 0

    def __init__(self, name: str, size: int = 0) -> None:
        Weight.made += 1
        self.name, self.size, self.process = name, size, os.getpid()

    def __sizeof__(self) -> int:
        return self.size


def square(number: int) -> int:
    return number * number


def fail(number: int) -> None:
    raise ValueError(f"no {number}")


def end_at_once() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def end_once(mark: Path) -> str:
    """Ends its process the first time."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def where(weight: Weight) -> tuple[str, int, int]:
    return weight.name, weight.process, Weight.made


def linger(weight: Weight) -> tuple[str, int, int]:
    time.sleep(0.02)
    return where(weight)


def end_beside(_weight: Weight) -> None:
    end_at_once()


def no_pickle() -> object:
    return lambda: None


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    with LocalPool(2) as pool:
        yield pool


def results(pool, tasks):
    """The results in the order of the tasks."""
    outcomes = list(pool.run(tasks))
    assert sorted(outcome.index for outcome in outcomes) == list(range(len(outcomes)))
    return [outcome.result for outcome in sorted(outcomes, key=lambda o: o.index)]


def test_each_task_is_done_once(pool):
    assert results(pool, (Task(square, (n,)) for n in range(1000))) == [n * n for n in range(1000)]


def test_tasks_are_taken_as_there_is_room_for_them(pool):
    taken = []

    def tasks():
        for number in range(100_000):
            taken.append(number)
            yield Task(square, (number,))

    outcomes = pool.run(tasks())
    next(outcomes)
    assert len(taken) < 1000
    outcomes.close()
    assert results(pool, [Task(square, (3,))]) == [9]  # what was left is not told to the next


def test_a_task_that_raises_stops_no_other(pool):
    found = results(pool, [Task(square, (2,)), Task(fail, (5,)), Task(square, (3,))])
    assert (found[0], found[2]) == (4, 9)
    assert found[1].message == "ValueError: no 5"
    assert "in fail" in found[1].details


def test_a_result_that_cannot_be_sent_is_a_failure(pool):
    (found,) = results(pool, [Task(no_pickle)])
    assert isinstance(found, Failure)
    assert "cannot be sent" in found.message


def test_large_tasks_and_large_results_do_not_wait_for_one_another(pool):
    """Each is more than a pipe holds."""
    large = b"x" * 3_000_000
    tasks = [Task(bytes.upper, (large,)) for _ in range(12)]
    assert [len(result) for result in results(pool, tasks)] == [3_000_000] * 12


def test_residents_stay_with_a_process(pool):
    homes = [Resident(Weight, (name,)) for name in "abcd"]
    found = results(pool, [Task(where, (homes[n % 4],)) for n in range(40)])
    by_name = {name: {process for other, process, _ in found if other == name} for name in "abcd"}
    assert all(len(processes) == 1 for processes in by_name.values())
    assert sorted(by_name["a"] | by_name["b"] | by_name["c"] | by_name["d"]) == sorted(
        pool.processes
    )
    assert max(made for _, _, made in found) == 2, "each process holds its share"


def test_residents_go_when_the_memory_is_full():
    homes = [Resident(Weight, (name, 400)) for name in "abc"]
    with LocalPool(1, memory=1000) as pool:
        turns = [homes[n] for n in (0, 1, 0, 2, 0, 1)]
        found = results(pool, [Task(where, (home,)) for home in turns])
    # c takes the room of b, which was not used for longest, and b later that of c
    assert [made for _, _, made in found] == [1, 2, 2, 3, 3, 4]


def test_another_process_takes_over_from_one_that_was_killed(tmp_path):
    with LocalPool(2) as pool:
        before = pool.processes
        tasks = [Task(end_once, (tmp_path / "mark",)), *(Task(square, (n,)) for n in range(50))]
        assert results(pool, tasks) == ["done", *(n * n for n in range(50))]
        assert len(set(before) & set(pool.processes)) == 1


def test_a_task_that_ends_its_process_each_time_is_a_failure():
    with LocalPool(1) as pool:
        found = results(pool, [Task(end_at_once), Task(square, (4,))])
    assert isinstance(found[0], Failure)
    assert "ended 3 times (-9)" in found[0].message
    assert found[1] == 16


@pytest.mark.parametrize("size", [0, 100_000])
def test_no_pool_of_nobody_and_none_without_end(size):
    with pytest.raises(ParameterError, match=f"workers = {size} is out of range, allowed is 1 to"):
        LocalPool(size)


def clean_up_at_the_end(mark: Path) -> None:
    atexit.register(mark.touch)


def test_processes_with_nothing_to_do_clear_up_when_they_end(tmp_path):
    mark = tmp_path / "cleared up"
    with LocalPool(1) as pool:
        assert results(pool, [Task(clean_up_at_the_end, (mark,))]) == [None]
    assert mark.exists()


def test_a_process_that_is_busy_is_ended_at_once(tmp_path):
    """The caller stopped early: nobody waits for what it is doing."""
    with LocalPool(1) as pool:
        tasks = pool.run([Task(square, (2,)), Task(time.sleep, (3600.0,))])
        assert next(tasks).result == 4
        tasks.close()


def test_processes_end_with_whoever_made_them(tmp_path):
    script = tmp_path / "maker.py"
    script.write_text(
        "import os, signal\n"
        "from sensor_models.tools.workers.local import LocalPool\n"
        "if __name__ == '__main__':\n"
        "    print(*LocalPool(2).processes, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[4]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment
    )
    processes = [int(number) for number in done.stdout.split()]
    assert len(processes) == 2
    for process in processes:
        while is_alive(process):  # the suite's own limit ends this if they stay
            time.sleep(0.05)


def test_a_script_without_a_guard_is_told_so_and_not_tried_again_and_again(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from sensor_models.tools.workers import Task\n"
        "from sensor_models.tools.workers.local import LocalPool\n"
        "with LocalPool(2) as pool:\n"
        "    print(sum(1 for _ in pool.run(Task(abs, (n,)) for n in range(1000))))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "PoolError: a process of the pool ended at its start (exit code 1" in done.stderr
    # Two processes, and two that took their places when the pool was given up.
    assert 1 <= done.stderr.count("finished its bootstrapping phase") <= 4


def is_alive(process: int) -> bool:
    """Whether there is a process that has not ended; zombies have."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ---- a cluster -----------------------------------------------------------------------------------


def test_a_scheduler_without_workers_is_told_once_and_waited_for(monkeypatch, caplog):
    monkeypatch.setattr("sensor_models.tools.workers.cluster.LONELY", 0.0)
    monkeypatch.setattr("sensor_models.tools.workers.cluster.PATIENCE", 0.05)
    with local_cluster(0) as empty, ClusterPool(empty.scheduler_address) as pool:

        def come(*_: object) -> None:
            """A worker, when the user was told and some time has gone by."""
            looks.append(len(caplog.messages))
            if len(looks) == 6:
                empty.scale(1)

        looks: list[int] = []
        look = pool._look_for_workers
        monkeypatch.setattr(pool, "_look_for_workers", lambda: (look(), come()))
        assert [outcome.result for outcome in pool.run([Task(square, (3,))])] == [9]
        (said,) = {m for m in caplog.messages if "has had no worker for" in m}
        assert f"the scheduler at {empty.scheduler_address} " in said
        assert f"dask worker {empty.scheduler_address}" in said
        assert sum("has had no worker for" in m for m in caplog.messages) == 1


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(2) as cluster:
        yield cluster


def test_a_cluster_does_tasks_and_tells_failures(cluster):
    with ClusterPool(cluster.scheduler_address) as pool:
        assert pool.size == 2
        found = results(pool, [*(Task(square, (n,)) for n in range(50)), Task(fail, (7,))])
        assert found[:50] == [n * n for n in range(50)]
        assert found[50].message == "ValueError: no 7"


def test_a_cluster_keeps_residents(cluster):
    """Each where it is, also if it claims to be small and its worker has more to do."""
    homes = [Resident(Weight, (name, 1000)) for name in "abcdef"]
    with ClusterPool(cluster.scheduler_address) as pool:
        found = results(pool, [Task(linger, (homes[n % 6 if n < 12 else 0],)) for n in range(40)])
    held = {(process, name) for name, process, _ in found}
    assert len(held) == 6
    assert sorted(Counter(process for process, _ in held).values()) == [3, 3]


def test_a_cluster_goes_on_without_a_lost_worker(cluster):
    """Whose results may be lost with it."""
    with ClusterPool(cluster.scheduler_address) as pool:
        homes = [Resident(Weight, (name, 1000)) for name in "ab"]
        outcomes = pool.run([Task(linger, (homes[n % 2],)) for n in range(40)])
        first = [next(outcomes) for _ in range(3)]
        os.kill(first[0].result[1], signal.SIGKILL)
        found = [*first, *outcomes]
    assert sorted(outcome.index for outcome in found) == list(range(40))
    assert {outcome.result[0] for outcome in found} == {"a", "b"}


def test_a_task_that_ends_its_worker_each_time_is_a_failure_of_its_own(cluster):
    with ClusterPool(cluster.scheduler_address) as pool:
        home = Resident(Weight, ("a", 1000))
        found = results(pool, [Task(end_beside, (home,)), *[Task(linger, (home,))] * 6])
    assert "ended" in found[0].message
    assert [result[0] for result in found[1:]] == ["a"] * 6
