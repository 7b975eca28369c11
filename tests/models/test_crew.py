"""Crews: the processes of this machine, and a cluster of Dask's."""

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
from sensor_models.crew import Failure, Resident, Task
from sensor_models.crew.cluster import ClusterCrew
from sensor_models.crew.local import LocalCrew
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
def crew() -> Iterator[LocalCrew]:
    with LocalCrew(2) as crew:
        yield crew


def results(crew, tasks):
    """The results in the order of the tasks."""
    outcomes = list(crew.run(tasks))
    assert sorted(outcome.index for outcome in outcomes) == list(range(len(outcomes)))
    return [outcome.result for outcome in sorted(outcomes, key=lambda o: o.index)]


def test_each_task_is_done_once(crew):
    assert results(crew, (Task(square, (n,)) for n in range(1000))) == [n * n for n in range(1000)]


def test_tasks_are_taken_as_there_is_room_for_them(crew):
    taken = []

    def tasks():
        for number in range(100_000):
            taken.append(number)
            yield Task(square, (number,))

    outcomes = crew.run(tasks())
    next(outcomes)
    assert len(taken) < 1000
    outcomes.close()
    assert results(crew, [Task(square, (3,))]) == [9]  # what was left is not told to the next


def test_a_task_that_raises_stops_no_other(crew):
    found = results(crew, [Task(square, (2,)), Task(fail, (5,)), Task(square, (3,))])
    assert (found[0], found[2]) == (4, 9)
    assert found[1].message == "ValueError: no 5"
    assert "in fail" in found[1].details


def test_a_result_that_cannot_be_sent_is_a_failure(crew):
    (found,) = results(crew, [Task(no_pickle)])
    assert isinstance(found, Failure)
    assert "cannot be sent" in found.message


def test_large_tasks_and_large_results_do_not_wait_for_one_another(crew):
    """Each is more than a pipe holds."""
    large = b"x" * 3_000_000
    tasks = [Task(bytes.upper, (large,)) for _ in range(12)]
    assert [len(result) for result in results(crew, tasks)] == [3_000_000] * 12


def test_residents_stay_with_a_process(crew):
    homes = [Resident(Weight, (name,)) for name in "abcd"]
    found = results(crew, [Task(where, (homes[n % 4],)) for n in range(40)])
    by_name = {name: {process for other, process, _ in found if other == name} for name in "abcd"}
    assert all(len(processes) == 1 for processes in by_name.values())
    assert sorted(by_name["a"] | by_name["b"] | by_name["c"] | by_name["d"]) == sorted(
        crew.processes
    )
    assert max(made for _, _, made in found) == 2, "each process holds its share"


def test_residents_go_when_the_memory_is_full():
    homes = [Resident(Weight, (name, 400)) for name in "abc"]
    with LocalCrew(1, memory=1000) as crew:
        turns = [homes[n] for n in (0, 1, 0, 2, 0, 1)]
        found = results(crew, [Task(where, (home,)) for home in turns])
    # c takes the room of b, which was not used for longest, and b later that of c
    assert [made for _, _, made in found] == [1, 2, 2, 3, 3, 4]


def test_another_process_takes_over_from_one_that_was_killed(tmp_path):
    with LocalCrew(2) as crew:
        before = crew.processes
        tasks = [Task(end_once, (tmp_path / "mark",)), *(Task(square, (n,)) for n in range(50))]
        assert results(crew, tasks) == ["done", *(n * n for n in range(50))]
        assert len(set(before) & set(crew.processes)) == 1


def test_a_task_that_ends_its_process_each_time_is_a_failure():
    with LocalCrew(1) as crew:
        found = results(crew, [Task(end_at_once), Task(square, (4,))])
    assert isinstance(found[0], Failure)
    assert "ended 3 times (-9)" in found[0].message
    assert found[1] == 16


def test_no_crew_of_nobody():
    with pytest.raises(ParameterError, match="workers = 0 is out of range"):
        LocalCrew(0)


def test_processes_end_with_whoever_made_them(tmp_path):
    script = tmp_path / "maker.py"
    script.write_text(
        "import os, signal\n"
        "from sensor_models.crew.local import LocalCrew\n"
        "if __name__ == '__main__':\n"
        "    print(*LocalCrew(2).processes, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[2]
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
        "from sensor_models.crew import Task\n"
        "from sensor_models.crew.local import LocalCrew\n"
        "with LocalCrew(2) as crew:\n"
        "    print(sum(1 for _ in crew.run(Task(abs, (n,)) for n in range(1000))))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "CrewError: a process of the crew ended at its start (exit code 1" in done.stderr
    # Two processes, and two that took their places when the crew was given up.
    assert 1 <= done.stderr.count("finished its bootstrapping phase") <= 4


def is_alive(process: int) -> bool:
    """Whether there is a process that has not ended; zombies have."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ---- a cluster -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(2) as cluster:
        yield cluster


def test_a_cluster_does_tasks_and_tells_failures(cluster):
    with ClusterCrew(cluster.scheduler_address) as crew:
        assert crew.size == 2
        found = results(crew, [*(Task(square, (n,)) for n in range(50)), Task(fail, (7,))])
        assert found[:50] == [n * n for n in range(50)]
        assert found[50].message == "ValueError: no 7"


def test_a_cluster_keeps_residents(cluster):
    """Each where it is, also if it claims to be small and its worker has more to do."""
    homes = [Resident(Weight, (name, 1000)) for name in "abcdef"]
    with ClusterCrew(cluster.scheduler_address) as crew:
        found = results(crew, [Task(linger, (homes[n % 6 if n < 12 else 0],)) for n in range(40)])
    held = {(process, name) for name, process, _ in found}
    assert len(held) == 6
    assert sorted(Counter(process for process, _ in held).values()) == [3, 3]


def test_a_cluster_goes_on_without_a_lost_worker(cluster):
    """Whose results may be lost with it."""
    with ClusterCrew(cluster.scheduler_address) as crew:
        homes = [Resident(Weight, (name, 1000)) for name in "ab"]
        outcomes = crew.run([Task(linger, (homes[n % 2],)) for n in range(40)])
        first = [next(outcomes) for _ in range(3)]
        os.kill(first[0].result[1], signal.SIGKILL)
        found = [*first, *outcomes]
    assert sorted(outcome.index for outcome in found) == list(range(40))
    assert {outcome.result[0] for outcome in found} == {"a", "b"}


def test_a_task_that_ends_its_worker_each_time_is_a_failure_of_its_own(cluster):
    with ClusterCrew(cluster.scheduler_address) as crew:
        home = Resident(Weight, ("a", 1000))
        found = results(crew, [Task(end_beside, (home,)), *[Task(linger, (home,))] * 6])
    assert "ended" in found[0].message
    assert [result[0] for result in found[1:]] == ["a"] * 6
