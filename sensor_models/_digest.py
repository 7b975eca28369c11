"""A digest of a package's sources, the same wherever the package lies."""

import hashlib
from pathlib import Path

#: What counts as source: code, and the data that code reads.
SOURCE_SUFFIXES = (".py", ".toml")


def digest_of_package(init_file: str, pattern: str = "**/*") -> str:
    """Digest of the sources beside a package's ``__init__.py`` that fit, as 32 hex digits."""
    root = Path(init_file).resolve().parent
    digest = hashlib.sha256()
    for path in sorted(root.glob(pattern), key=lambda p: p.relative_to(root).as_posix()):
        if path.suffix in SOURCE_SUFFIXES and path.is_file():
            content = path.read_bytes()
            name = path.relative_to(root).as_posix().encode()
            digest.update(b"%d:%s %d:" % (len(name), name, len(content)))
            digest.update(content)
    return digest.hexdigest()[:32]
