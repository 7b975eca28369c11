"""Files of the project that are not packages: in a checkout, or as installed.

An installation has scenes, examples and validation in ``sensor_fmus_project`` beside the packages,
and the contents of ``pyproject.toml`` in its metadata. A checkout keeps what was compiled in its
own ``build``. An installation can usually not be written to, so there it is ``build`` in the
working directory.
"""

import importlib.metadata
import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "sensor-fmus"

_BESIDE = Path(__file__).resolve().parents[2]
_PYPROJECT = _BESIDE / "pyproject.toml"
IS_CHECKOUT = _PYPROJECT.is_file()
_FILES = _BESIDE if IS_CHECKOUT else _BESIDE / "sensor_fmus_project"

SCENES = _FILES / "scenes"
EXAMPLES = _FILES / "examples"
VALIDATION = _FILES / "validation"
BUILD = (_BESIDE if IS_CHECKOUT else Path.cwd()) / "build"


def dependencies() -> list[str]:
    """The packages that the project needs, each with its versions, the oldest first."""
    if IS_CHECKOUT:
        project = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]
        return list(project["dependencies"])
    needed = importlib.metadata.requires(NAME) or []
    return [_in_order(requirement) for requirement in needed if "extra ==" not in requirement]


def _in_order(requirement: str) -> str:
    """A requirement with its clauses and quotes as ``pyproject.toml`` has them."""
    versions, semicolon, marker = requirement.partition(";")
    parts = re.fullmatch(r"([\w.\[\]-]+)\s*\(?([^)]*)\)?\s*", versions)
    assert parts is not None, requirement
    clauses = sorted(parts[2].split(","), key=lambda clause: clause.strip()[:2] not in (">=", "=="))
    found = f"{parts[1]}{','.join(clause.strip() for clause in clauses)}{semicolon}{marker}"
    return found.replace('"', "'")


def licence() -> bytes:
    """The licence of the project."""
    if IS_CHECKOUT:
        return (_BESIDE / "LICENSE").read_bytes()
    files = importlib.metadata.files(NAME) or []
    (place,) = (file for file in files if file.name == "LICENSE" and ".dist-info" in str(file))
    return Path(str(place.locate())).read_bytes()
