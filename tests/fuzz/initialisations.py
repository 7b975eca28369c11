"""Two FMUs initialised at once in two threads, the first time in a process: none blocks the other.

``python -m tests.fuzz.initialisations --processes 200``

The first initialisation of a sensor looks for compiled kernels, with the locks of Python, of
imports, of kernels and of loaded code. Where two threads took two of them in different orders, one
process of sixteen never ended. A process is fresh only once, so each pair has one of its own; it
fails if it takes longer than ``PATIENCE`` or does not end well.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import build_fmus
from fmus.binding.compile import host_platform
from tests.masters.fmu_files import FmuFiles

#: Small FMUs of different families of kernels.
PAIR = ("Encoder", "Gyroscope")
PATIENCE = 60.0  # s, far above what any takes on a busy machine

#: A host whose threads begin their initialisations together, and make a step. Its arguments: GUID,
#: resources and library for each of them.
HOST = """
import ctypes, faulthandler, sys, threading
faulthandler.dump_traceback_later(50.0, exit=True)
real, text = ctypes.c_double, ctypes.c_char_p
words = iter(sys.argv[1:])
fmus = list(zip(words, words, words))
line, found = threading.Barrier(len(fmus)), []
def run(guid, resources, path):
    fmu = ctypes.CDLL(path)
    fmu.fmi2Instantiate.restype = ctypes.c_void_p
    callbacks = (ctypes.c_void_p * 5)()
    own = fmu.fmi2Instantiate(b"i", 1, guid.encode(), resources.encode(), callbacks, 0, 0)
    component = ctypes.c_void_p(own)
    results = [fmu.fmi2SetupExperiment(component, 0, real(0), real(0), 0, real(1))]
    results.append(fmu.fmi2EnterInitializationMode(component))
    line.wait()
    results.append(fmu.fmi2ExitInitializationMode(component))
    results.append(fmu.fmi2DoStep(component, real(0), real(0.01), 1))
    found.append(results)
threads = [threading.Thread(target=run, args=fmu) for fmu in fmus]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(found)
"""


def end_of_a_process(words: Sequence[str]) -> str:
    """How a host of a pair ended: nothing if well."""
    command = [sys.executable, "-c", HOST, *words]
    try:
        done = subprocess.run(
            command, cwd="/", capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {PATIENCE} s"
    if done.returncode == 0 and done.stdout == "[[0, 0, 0, 0], [0, 0, 0, 0]]\n":
        return ""
    return f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"


def failures(files: Sequence[FmuFiles], processes: int) -> Counter[str]:
    """How fresh processes failed that initialise these FMUs at once, and how often each way."""
    words = [w for fmu in files for w in (fmu.guid, fmu.resource_uri, str(fmu.library))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = pool.map(end_of_a_process, [words] * processes)
        return Counter(end for end in ends if end)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try many processes; how many failed."""
    parser = argparse.ArgumentParser(description="First initialisations in two threads.")
    parser.add_argument("--processes", type=int, default=200)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        sources = [source for name, source in build_fmus.fmu_sources().items() if name in PAIR]
        built = build_fmus.build(sources, Path(directory), platforms=[host_platform()])
        files = [FmuFiles.unpack(fmu, Path(directory) / fmu.stem) for fmu in built]
        failed = failures(files, options.processes)
    for end, count in failed.items():
        print(f"{count} times: {end}")
    print(f"{options.processes - failed.total()} of {options.processes} processes ended well")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
