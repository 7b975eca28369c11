"""Images as files.

npy    the array as it is; ids, points and normals are always written so
png    16 bit, grey: value = scale x stored, with ``scale`` and ``unit`` as texts in the file. What
       is no number or below 0 is stored as 0, what is too large as 65535.
tiff   float32, grey, not compressed

How frames get to the disk: ``frame_files``.

Source: PNG specification, third edition, sections 5 and 11; TIFF revision 6.0, sections 2, 8 and
19 (sample format).
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import choice, string
from sensor_models.output.frame_files import FrameFiles as FrameFiles
from sensor_models.output.frame_files import FrameWriter, write_npy
from sensor_models.output.sinks import WriteFiles, write_files

PNG_LARGEST = 65535
#: Types of colour.
PNG_GREY, PNG_COLORS = 0, 2
MILLIMETRE = 1e-3


class ImageFormat(IntEnum):
    """Kinds of files of images."""

    npy = 0
    png = 1
    tiff = 2


@dataclass(frozen=True)
class ImageFileParameters:
    """Where images go."""

    write_files: WriteFiles = write_files("Write each frame to files")
    output_directory: str = string(
        "", "Directory for files; if they are wanted and it is empty, a fresh temporary one"
    )
    output_format: ImageFormat = choice(ImageFormat.npy, "Kind of file of the images")


def png_scale(largest: float) -> float:
    """What one step of a stored number is worth: 1 mm, or more where values are larger."""
    return max(MILLIMETRE, largest / PNG_LARGEST)


def png_bytes(image: NDArray[Any], scale: float, unit: str) -> bytes:
    """A grey image of 16 bit whose stored numbers count ``scale``."""
    finite = np.nan_to_num(np.asarray(image, float) / scale, nan=0.0, posinf=PNG_LARGEST)
    stored = np.clip(np.round(finite), 0, PNG_LARGEST).astype(">u2")
    samples = stored.view(np.uint8).reshape(stored.shape[0], -1)
    return _png(samples, stored.shape[1], 16, PNG_GREY, {"scale": repr(scale), "unit": unit})


def png_of_colors(picture: NDArray[np.uint8]) -> bytes:
    """A picture of red, green and blue, (rows, columns, 3)."""
    samples = np.ascontiguousarray(picture).reshape(picture.shape[0], -1)
    return _png(samples, picture.shape[1], 8, PNG_COLORS, {})


def _png(
    samples: NDArray[np.uint8], columns: int, bits: int, kind: int, texts: Mapping[str, str]
) -> bytes:
    lines = np.pad(samples, ((0, 0), (1, 0)))  # each begins with 0: no filter
    header = struct.pack(">IIBBBBB", columns, len(samples), bits, kind, 0, 0, 0)
    chunks = [
        _png_chunk(b"IHDR", header),
        *(_png_chunk(b"tEXt", f"{k}\0{text}".encode("latin-1")) for k, text in texts.items()),
        _png_chunk(b"IDAT", zlib.compress(lines.tobytes(), 1)),
        _png_chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _png_chunk(kind: bytes, content: bytes) -> bytes:
    checked = kind + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def tiff_bytes(image: NDArray[Any]) -> bytes:
    """A grey image of float32 in one strip."""
    rows, columns = image.shape
    content = np.ascontiguousarray(image, "<f4").tobytes()
    short, long = 3, 4
    tags = [
        (256, long, columns),
        (257, long, rows),
        (258, short, 32),  # bits of a sample
        (259, short, 1),  # no compression
        (262, short, 1),  # 0 is black
        (273, long, 8),  # where the strip begins
        (277, short, 1),  # samples of a pixel
        (278, long, rows),
        (279, long, len(content)),
        (339, short, 3),  # floating point
    ]
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    directory = struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0)
    return struct.pack("<2sHI", b"II", 42, 8 + len(content)) + content + directory


@dataclass(frozen=True)
class ImageFile:
    """One file of a frame."""

    kind: str  # what it shows, a part of its name
    array: NDArray[Any]
    format: ImageFormat = ImageFormat.npy
    scale: float = 1.0
    unit: str = "1"

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return f"{self.kind}.{self.format.name}"

    def write(self, path: Path) -> dict[str, object]:
        """Write it to a path and tell what the index should know of it."""
        about: dict[str, object] = {"kind": self.kind, "format": self.format, "unit": self.unit}
        if self.format == ImageFormat.npy:
            write_npy(path, self.array)
        elif self.format == ImageFormat.png:
            path.write_bytes(png_bytes(self.array, self.scale, self.unit))
            about["scale"] = self.scale
        else:
            path.write_bytes(tiff_bytes(self.array))
        return about | {"height": self.array.shape[0], "width": self.array.shape[1]}


#: Images need no more than any frames.
ImageWriter = FrameWriter
