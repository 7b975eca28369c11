"""The first instances of a process, made in threads: nobody starts Python twice, nobody waits for
ever. For Linux."""

import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles
from tests.masters.sensors import check_it_measures

#: A host that is Python and makes first instances in two threads, one through PyDLL, which keeps
#: Python's lock for the call, one through CDLL, which does not. Its arguments: GUID, resources and
#: library for each thread.
LOCKED_HOST = """
import ctypes, sys, threading
words = iter(sys.argv[1:])
fmus = list(zip(words, words, words))
handles, line = [], threading.Barrier(len(fmus))
callbacks = (ctypes.c_void_p * 5)()
def create(kind, guid, resources, path):
    instantiate = kind(path).fmi2Instantiate
    instantiate.restype = ctypes.c_void_p
    line.wait()
    handles.append(instantiate(b"i", 1, guid.encode(), resources.encode(), callbacks, 0, 0))
threads = [
    threading.Thread(target=create, args=(kind, *fmu))
    for kind, fmu in zip((ctypes.PyDLL, ctypes.CDLL) * len(fmus), fmus)
]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert all(handles), handles
print("alive")
"""


@pytest.mark.parametrize("attempt", range(6))
def test_first_instances_of_different_fmus_are_made_at_once(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], attempt: int
) -> None:
    names = ("Encoder", "Odometer", "Null", "Encoder")[: 2 + attempt % 3]
    libraries = [master.load(sensor_files[name]) for name in names]
    instances, reply = master.create_in_threads(libraries)
    assert reply.integers() == [1] * len(names)
    for instance in instances:
        instance.initialize()
        check_it_measures(instance, 0.0, 1.5)


@pytest.mark.parametrize("attempt", range(6))
@pytest.mark.parametrize("names", [("Odometer",) * 4, ("Encoder", "Odometer", "Null", "Encoder")])
def test_a_host_that_holds_pythons_lock_waits_for_nobody_for_ever(
    sensor_files: Mapping[str, FmuFiles], attempt: int, names: tuple[str, ...]
) -> None:
    words = []
    for name in names[: 2 + attempt % 3]:
        files = sensor_files[name]
        words += [files.guid, files.resource_uri, str(files.library)]
    command = [sys.executable, "-c", LOCKED_HOST, *words]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


@pytest.mark.parametrize("size", [64, 128, 256, 384, 512, 1024])
def test_a_thread_with_a_small_stack_is_refused_and_not_killed(
    master: CMaster, sensor_files: Mapping[str, FmuFiles], size: int
) -> None:
    library = master.load(sensor_files["Odometer"])
    instances, reply = master.create_in_threads([library], size * 1024)
    if reply.integers() == [0]:
        assert size <= 256
        assert "kB of stack left" in reply.texts()[0]
    else:
        assert size >= 384
        instances[0].initialize()
    library.instantiate().initialize()
