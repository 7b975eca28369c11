"""Where rules for materials are; imports nothing that takes time."""

from pathlib import Path

from sensor_models.core.toml_files import read_regular
from sensor_models.scene.worlds.formats import WorldOptions

#: Our own rules in the package, and the user's beside a world.
FILE = "guesses.toml"


def rule_files(path: Path, options: WorldOptions) -> list[Path]:
    """The files with rules of the user's own, in the order in which they count."""
    beside = path.parent / FILE
    named = [] if options.guesses is None else [options.guesses]
    return named + ([beside] if beside.is_file() else [])


def rules_data(path: Path, options: WorldOptions) -> bytes:
    """The content of these files, which decides what is read."""
    return b"".join(read_regular(file) for file in rule_files(path, options))
