"""``python -m tests.fuzz [--seconds N] [NAME ...]``: run fuzzers, one after the other.

A fuzzer is a module of this package with a function ``main(seconds)``, which returns when its time
is over and raises when it has found something. Half of ``make fuzz`` is patience: the suite runs
the same code for a few seconds only.
"""

import argparse
import importlib
import pkgutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence

import tests.fuzz

SECONDS = 600.0


def fuzzers() -> Mapping[str, Callable[[float], object]]:
    """The ``main`` of each module of the package, by the module's name."""
    found = {}
    for module in pkgutil.iter_modules(tests.fuzz.__path__, "tests.fuzz."):
        name = module.name.rpartition(".")[2]
        if name != "__main__":
            main_of = getattr(importlib.import_module(module.name), "main", None)
            if main_of is not None:
                found[name] = main_of
    return found


def run(chosen: Mapping[str, Callable[[float], object]], seconds: float) -> list[str]:
    """Give each fuzzer its time; returns the names of those that have found something."""
    failed = []
    for name, fuzz in chosen.items():
        started = time.monotonic()
        print(f"{name}: {seconds:g} s ...", flush=True)
        try:
            fuzz(seconds)
        except Exception:
            traceback.print_exc()
            failed.append(name)
        print(f"{name}: ended after {time.monotonic() - started:.0f} s", flush=True)
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for."""
    known = fuzzers()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; or all")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each; default: 600")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no fuzzer {', '.join(unknown)}; there are {', '.join(known) or 'none'}")
    failed = run({name: known[name] for name in options.names or known}, options.seconds)
    if failed:
        print(f"found something: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed or not known else 0


if __name__ == "__main__":
    sys.exit(main())
