"""A digest of a package's sources, the same wherever the package lies."""

import hashlib
import json
from pathlib import Path

#: What counts as source: code, and the data that code reads.
SOURCE_SUFFIXES = (".py", ".toml")

#: Tools, and files for people at a command line: no FMU carries them, and no digest knows them.
NOT_PACKED = ("tools", "__main__.py")


#: In a package of which an FMU carries only bytecode: the digests of its sources, by pattern.
RECORDED = "digests.json"


def sources(root: Path, pattern: str = "**/*") -> list[Path]:
    """The sources in a folder that fit and travel with FMUs, in an order of their names alone."""
    found = [
        path
        for path in root.glob(pattern)
        if path.suffix in SOURCE_SUFFIXES
        and not set(NOT_PACKED).intersection(path.relative_to(root).parts)
        and path.is_file()
    ]
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def digest_of_package(init_file: str, pattern: str = "**/*") -> str:
    """Digest of the sources beside a package's ``__init__.py`` that fit, as 32 hex digits."""
    if (recorded := recorded_digest(init_file, pattern)) is not None:
        return recorded
    root = Path(init_file).resolve().parent
    digest = hashlib.sha256()
    for path in sources(root, pattern):
        content = path.read_bytes()
        name = path.relative_to(root).as_posix().encode()
        digest.update(b"%d:%s %d:" % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()[:32]


def recorded_digest(init_file: str, name: str) -> str | None:
    """A digest that was written down when the FMU was built; None where the sources are there."""
    file = Path(init_file).parent / RECORDED
    if not file.is_file():
        return None
    recorded: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return recorded[name]
