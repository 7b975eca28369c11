"""Records between processes that do not wait for each other."""

import multiprocessing
from multiprocessing import shared_memory
from multiprocessing.synchronize import Event

import numpy as np
import pytest

from sensor_models.kernels.tracing.sequence_lock import NOTHING, append, read

LENGTH, SLOTS = 4096, 4


def new_memory(length: int = 3) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(1, np.int64), np.zeros((SLOTS, length))


def write(number: np.ndarray, slots: np.ndarray, k: float) -> None:
    """A record of the time k all of whose values are k."""
    append(number, slots, k, k, np.full((1, slots.shape[1] - 2), k))


def test_what_was_written_is_read_under_the_number_of_its_writing():
    number, slots = new_memory()
    record = np.empty(3)
    assert read(number, slots, record) == 0
    for k in range(1, 3 * SLOTS):
        write(number, slots, float(k))
        assert read(number, slots, record) == k
        assert record.tolist() == [k - 1, k, k]  # the one before it, its time, what it holds


def test_a_time_that_went_back_follows_on_what_lies_before():
    number, slots, record = np.zeros(1, np.int64), np.zeros((8, 3)), np.empty(3)
    slots[0, 0] = NOTHING
    for time in (1.0, 2.0, 1.5, 0.5, 0.0):
        append(number, slots, time, time, np.full((1, 1), time))
    assert slots[:5, 0].tolist() == [NOTHING, 0, 1, 1, 0]
    assert read(number, slots, record) == 5
    assert record.tolist() == [NOTHING, 0.0, 0.0]


def test_a_record_is_a_copy():
    number, slots = new_memory()
    record = np.empty(3)
    read(number, slots, record)
    write(number, slots, 1.0)
    assert record.tolist() == [0.0, 0.0, 0.0]


def test_a_writer_that_dies_in_the_middle_leaves_the_record_before():
    number, slots = new_memory()
    write(number, slots, 1.0)
    slots[(number[0] + 1) % SLOTS, :2] = 2.0  # as far as it came
    record = np.empty(3)
    assert read(number, slots, record) == 1
    assert record.tolist() == [0.0, 1.0, 1.0]


def views(memory: shared_memory.SharedMemory) -> tuple[np.ndarray, np.ndarray]:
    number = np.frombuffer(memory.buf, np.int64, 1)
    slots = np.frombuffer(memory.buf, np.float64, SLOTS * LENGTH, 64).reshape(SLOTS, LENGTH)
    return number, slots


def write_on(name: str, enough: Event) -> None:
    memory = shared_memory.SharedMemory(name)
    number, slots = views(memory)
    k = 0
    while not enough.is_set():
        k += 1
        write(number, slots, float(k))
    del number, slots
    memory.close()


def test_no_record_is_torn_while_another_process_writes():
    # Large records, so that a reader is overtaken now and then; it goes on until it has seen
    # many, as a busy machine may give it few turns.
    memory = shared_memory.SharedMemory(create=True, size=64 + 8 * SLOTS * LENGTH)
    number, slots = views(memory)
    context = multiprocessing.get_context("spawn")
    enough = context.Event()
    writer = context.Process(target=write_on, args=(memory.name, enough))
    writer.start()
    try:
        record, newest, seen = np.empty(LENGTH), 0, set()
        while len(seen) <= 1000 and writer.is_alive():
            before, newest = newest, read(number, slots, record)
            assert newest >= before
            assert (record[1:] == newest).all()
            seen.add(newest)
        assert len(seen) > 1000, "both were at work at the same time"
    finally:
        enough.set()
        writer.join()
        del number, slots
        memory.close()
        memory.unlink()
    assert writer.exitcode == 0


@pytest.mark.parametrize("ahead", range(SLOTS + 1))
def test_a_copy_counts_only_while_its_slot_is_not_written_to(ahead: int):
    """The rule by itself: after so many writings, is the slot of the first one as it was?"""
    number, slots = new_memory()
    write(number, slots, 5.0)
    first = int(number[0])
    for k in range(ahead):
        write(number, slots, 10.0 + k)
    # the next writing has begun, as far as its first numbers
    slots[(number[0] + 1) % SLOTS, :2] = -1.0
    untouched = slots[first % SLOTS, 1] == 5.0
    assert untouched == (number[0] - first < SLOTS - 1)
