"""Python interpreters of this machine, and what an FMU that is sent to each must answer."""

import json
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

#: Packages that an FMU cannot do without.
NEEDED = ("numpy",)
OLDEST = (3, 10)

QUESTION = """
import json, sys, sysconfig
try:
    from importlib.metadata import distribution
except ImportError:
    distribution = __import__
def is_missing(name):
    try:
        distribution(name)
    except ImportError:
        return True
print(json.dumps([
    sys.executable,
    list(sys.version_info[:2]),
    bool(sysconfig.get_config_var("Py_ENABLE_SHARED")),
    str(sysconfig.get_config_var("SOABI")),
    [name for name in sys.argv[1:] if is_missing(name)],
]))
"""


@dataclass(frozen=True)
class Interpreter:
    """What an interpreter says of itself."""

    executable: str
    version: tuple[int, int]
    has_library: bool
    abi: str
    missing: tuple[str, ...]


def candidates() -> list[Path]:
    """Interpreters on the search path, and those installed beside the one that runs this."""
    named = (shutil.which(f"python3.{minor}") for minor in range(8, 16))
    beside = Path(sys.base_prefix).parent.glob("*/bin/python3")
    return sorted({Path(path) for path in named if path is not None} | set(beside))


def ask(executable: Path) -> Interpreter | None:
    """What an interpreter is when it is started with an empty environment; None if it is none."""
    command = [str(executable), "-I", "-c", QUESTION, *NEEDED]
    try:
        answer = subprocess.run(command, env={}, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    path, version, has_library, abi, missing = json.loads(answer.stdout)
    return Interpreter(path, (version[0], version[1]), has_library, abi, tuple(missing))


def expected_refusal(executable: Path, requirements: Path, recorded: bool) -> list[str]:
    """What the message of an FMU sent to an interpreter must tell; empty if it must run there.

    Packages are also looked for where the FMU has ``recorded`` them, if the interpreters are of
    one kind.
    """
    found = ask(executable)
    if found is None:
        return [f"FMU_PYTHON: '{executable}' is no Python interpreter"]
    if found.version < OLDEST:
        return [f"is Python {found.version[0]}.{found.version[1]}"]
    if not found.has_library:
        return ["has no shared library"]
    if recorded and found.abi == str(sysconfig.get_config_var("SOABI")):
        return []
    if not found.missing:
        return []
    lines = [f'"{line}"' for line in requirements.read_text().splitlines() if ";" not in line]
    return [*(f"{name} is not installed" for name in found.missing), "-m pip install", *lines]
