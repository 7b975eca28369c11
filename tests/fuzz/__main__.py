"""``python -m tests.fuzz [NAME ...]``: the long runs of the fuzzers, one after the other.

A fuzzer is a module of this package with a function ``main(arguments)``, whose defaults are those
of a long run. It raises, or returns something else than 0, when it has found something. The suite
runs the same code for a few seconds; ``python -m tests.fuzz.NAME --help`` says how to run one.
"""

import argparse
import importlib
import pkgutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence

import tests.fuzz

Fuzzer = Callable[[Sequence[str]], int | None]


def fuzzers() -> Mapping[str, Fuzzer]:
    """The ``main`` of each module of the package, by the module's name."""
    names = [module.name for module in pkgutil.iter_modules(tests.fuzz.__path__)]
    modules = {
        name: importlib.import_module(f"tests.fuzz.{name}")
        for name in names
        if name != "__main__" and not name.startswith("test_")
    }
    return {name: module.main for name, module in modules.items() if hasattr(module, "main")}


def run(chosen: Mapping[str, Fuzzer]) -> list[str]:
    """Run fuzzers to their ends; returns the names of those that have found something."""
    failed = []
    for name, fuzz in chosen.items():
        started = time.monotonic()
        print(f"{name} ...", flush=True)
        try:
            if fuzz([]):
                failed.append(name)
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
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no fuzzer {', '.join(unknown)}; there are {', '.join(known) or 'none'}")
    failed = run({name: known[name] for name in options.names or known})
    if failed:
        print(f"found something: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed or not known else 0


if __name__ == "__main__":
    sys.exit(main())
