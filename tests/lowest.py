"""The lowest versions of packages that the project says it runs with, as constraints of pip.

    python -m tests.lowest > constraints.txt

``make test-lowest`` installs these versions and runs tests that call every family of kernels.
"""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if find_spec("tomllib"):
    import tomllib
else:
    from pip._vendor import tomli as tomllib  # before anything is installed

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"

#: The extras that people run the project with; those of tests and benchmarks are judges.
EXTRAS = ("build", "campaigns", "cluster", "demo", "usd")


def lowest(project: dict[str, Any]) -> Iterator[str]:
    """``NAME==VERSION`` for each package that the project or one of its extras names."""
    wanted = list(project["dependencies"])
    for extra in EXTRAS:
        wanted += project["optional-dependencies"].get(extra, [])
    for requirement in wanted:
        plain, _, marker = requirement.partition(";")
        name = re.match(r"[\w-]+", plain)[0]
        if name == project["name"]:
            continue
        bound = re.search(r"[>=]=\s*([\w.]+)", plain)
        if bound is None:
            raise ValueError(f"{PROJECT.name}: {requirement!r} has no lower bound")
        yield f"{name}=={bound[1]}" + (f"; {marker.strip()}" if marker else "")


if __name__ == "__main__":
    print(*lowest(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]), sep="\n")
