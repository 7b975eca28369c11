"""Errors of scenes, as one message with file, key and reason."""

from pathlib import Path


class SceneError(ValueError):
    """A scene that cannot be used; the message names the file, the key in it and the reason."""

    def __init__(self, file: Path | str, key: str, reason: str) -> None:
        self.file = file
        self.key = key
        self.reason = reason
        parts = (str(part) for part in (file, key, reason))
        super().__init__(": ".join(p if p.isprintable() else repr(p) for p in parts if p))


class MeshFileError(ValueError):
    """A mesh file that cannot be used; the message is the reason."""
