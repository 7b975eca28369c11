"""The files that a world names: where they may be, and what their pictures look like."""

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from sensor_models.scene.errors import SceneError
from sensor_models.scene.kept import digest_of_data
from sensor_models.scene.limits import MAX_FILE_BYTES, read_limited

Color = tuple[float, float, float]

#: Of a picture.
MAX_PIXELS = 2**26


class Asks(Protocol):
    """What names a file: the file that it stands in, and the place there."""

    @property
    def file(self) -> Path:
        """The file that it stands in."""

    @property
    def place(self) -> str:
        """Where in that."""


class Place(NamedTuple):
    """A place in a file."""

    file: Path
    place: str


@dataclass
class Files:
    """The files that a world names, and where they may be."""

    world: Path
    allow_outside: bool
    paths: list[Path] = field(default_factory=list)
    digests: dict[Path, str] = field(default_factory=dict)

    def read(self, name: str, asks: Asks, folders: tuple[Path, ...]) -> bytes:
        """The content of a file that is named in an element, relative to one of the folders."""
        return self.find(name, asks, folders)[1]

    def find(
        self, name: str, asks: Asks, folders: tuple[Path, ...], most: int = MAX_FILE_BYTES
    ) -> tuple[Path, bytes]:
        """The same with the path of the file, after links are followed."""
        place = asks.place
        try:
            found = next((f for f in (folder / name for folder in folders) if f.is_file()), None)
            file = (folders[0] / name).resolve() if found is None else found.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise SceneError(asks.file, place, f"{name!r} is no file name: {error}") from error
        if not self.allow_outside and not file.is_relative_to(self.root()):
            reason = f"{name!r} lies outside of {self.root()}, which is allowed only on request"
            raise SceneError(asks.file, place, reason)
        if found is None:
            reason = "is no regular file" if file.exists() else "does not exist"
            raise SceneError(asks.file, place, f"{name!r} {reason}")
        data = read_limited(file, place, asks.file, most)
        if file not in self.digests:
            self.paths.append(file)
            self.digests[file] = digest_of_data(data)
        return file, data

    def root(self) -> Path:
        """The folder that all files must be in."""
        folder = self.world.resolve().parent
        above = (f for f in (folder, *folder.parents) if (f / "package.xml").is_file())
        return next(above, folder)


def mean_color(data: bytes, asks: Asks) -> Color:
    """The mean of a picture."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise ValueError(f"has {width * height} pixels, at most {MAX_PIXELS} are read")
            mean = np.asarray(picture.convert("RGB"), np.float64).reshape(-1, 3).mean(axis=0)
    except Exception as error:  # a damaged file can raise anything inside of the reader
        raise SceneError(asks.file, asks.place, f"its picture cannot be read: {error}") from error
    red, green, blue = (float(c) for c in mean / 255.0)
    return red, green, blue
