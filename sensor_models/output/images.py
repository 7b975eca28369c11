"""Images as files.

npy    the array as it is; ids, points and normals are always written so
png    16 bit, grey: value = scale x stored, with ``scale`` and ``unit`` as texts in the file. NaN
       and values below 0 are stored as 0, values that are too large as 65535.
tiff   float32, grey, not compressed

Pictures (digital numbers of one or more channels, up to 16 bit):

npy    uint8 or uint16, (rows, columns) or (rows, columns, channels)
png    8 or 16 bit, whichever holds the largest number, grey or colours; two channels, or more
       than three, are one below the other. Numbers of other depths are spread over the range of
       the file, as the standard of PNG has it, so that viewers show them as bright as they are:
       number = scale x stored, rounded, with ``scale`` and ``unit`` as texts in the file
tiff   8 or 16 bit likewise, not compressed; numbers are stored unchanged

``frame_files`` writes the files to the disk.
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import choice, string
from sensor_models.output.frame_files import FrameFiles as FrameFiles
from sensor_models.output.frame_files import FrameWriter, write_npy
from sensor_models.output.sinks import WriteFiles, write_files

PNG_LARGEST = 65535
BYTE_LARGEST = 255
PNG_LEVEL = 1  # of compression
MILLIMETRE = 1e-3


class ImageFormat(IntEnum):
    """Kinds of files of images."""

    npy = 0
    png = 1
    tiff = 2


@dataclass(frozen=True)
class PictureFileParameters:
    """Where pictures go."""

    write_files: WriteFiles = write_files("Write each frame to files")
    output_directory: str = string(
        "", "Directory for files; if they are wanted and it is empty, a fresh temporary one"
    )
    output_format: ImageFormat = choice(
        ImageFormat.png, "Kind of file of the pictures; png and tiff have 8 bit, or 16"
    )


@dataclass(frozen=True)
class ImageFileParameters:
    """Where images go."""

    write_files: WriteFiles = write_files("Write each frame to files")
    output_directory: str = string(
        "", "Directory for files; if they are wanted and it is empty, a fresh temporary one"
    )
    output_format: ImageFormat = choice(ImageFormat.npy, "Kind of file of the images")


def png_scale(largest: float) -> float:
    """The value of one step of a stored number: 1 mm, or more if values are larger."""
    return max(MILLIMETRE, largest / PNG_LARGEST)


def png_bytes(image: NDArray[Any], scale: float, unit: str) -> bytes:
    """A grey image of 16 bit, whose stored numbers are multiples of ``scale``.

    Measured with 640 x 480 depths of a scene: 11 ms and 86 kB, with noise of 1 % 15 ms and 245 kB.
    A writer without Pillow's choice of filters took 11 ms and 189 kB, with noise 6 ms and 262 kB;
    the next level of compression saves less than a tenth.
    """
    finite = np.nan_to_num(np.asarray(image, float) / scale, nan=0.0, posinf=PNG_LARGEST)
    stored = np.clip(np.round(finite), 0, PNG_LARGEST).astype(np.uint16)
    return _png_of(stored, {"scale": repr(scale), "unit": unit})


def spread(numbers: NDArray[Any], largest: int) -> tuple[NDArray[Any], float]:
    """Numbers over the whole range of 8 or 16 bit, and what they are multiplied with to go back."""
    kind = np.uint8 if largest <= BYTE_LARGEST else np.uint16
    full = np.iinfo(kind).max
    if largest in (0, full):
        return numbers.astype(kind), 1.0
    wide = numbers.astype(np.uint32)
    return ((2 * full * wide + largest) // (2 * largest)).astype(kind), largest / full


def png_of_colors(picture: NDArray[np.uint8]) -> bytes:
    """A picture of red, green and blue, (rows, columns, 3)."""
    return _png_of(picture, {})


def _png_of(pixels: NDArray[Any], texts: Mapping[str, str]) -> bytes:
    """A picture that Pillow writes, with texts beside it."""
    from PIL.PngImagePlugin import PngInfo  # not all logs need it

    info = PngInfo()
    for key, value in texts.items():
        info.add_text(key, value)
    return _file_of(pixels, "png", pnginfo=info, compress_level=PNG_LEVEL)


def tiff_bytes(image: NDArray[Any]) -> bytes:
    """A grey image of float32, not compressed: 0.2 ms for 640 x 480."""
    return _file_of(np.asarray(image, np.float32), "tiff")


def _file_of(pixels: NDArray[Any], kind: str, **options: Any) -> bytes:
    from PIL import Image

    stream = BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(stream, kind, **options)
    return stream.getvalue()


@dataclass(frozen=True)
class ImageFile:
    """One file of a frame."""

    kind: str  # what it shows, a part of its name
    array: NDArray[Any]
    format: ImageFormat = ImageFormat.npy
    scale: float = 1.0
    unit: str = "1"
    #: The distances of a normalised image, for messages; None if the array has them.
    metres: NDArray[np.float32] | None = None

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return f"{self.kind}.{self.format.name}"

    @property
    def content(self) -> NDArray[Any]:
        """The values as they are."""
        return self.array

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


#: Of a PNG with three colours of 16 bit each, by its standard.
_PNG_COLORS, _PNG_16_BIT = 2, 16


def png_of_16_bit_colors(picture: NDArray[np.uint16], texts: Mapping[str, str] = {}) -> bytes:
    """A PNG of three colours of 16 bit each, which Pillow does not write, with texts beside it."""
    rows, columns, _ = picture.shape
    lines = np.zeros((rows, 1 + 6 * columns), np.uint8)  # each row begins with its filter: none
    lines[:, 1:] = np.ascontiguousarray(picture, ">u2").view(np.uint8).reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, _PNG_16_BIT, _PNG_COLORS, 0, 0, 0)
    parts = (
        (b"IHDR", header),
        *((b"tEXt", f"{key}\0{value}".encode("latin-1")) for key, value in texts.items()),
        (b"IDAT", zlib.compress(lines.tobytes(), PNG_LEVEL)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def tiff_of_16_bit_colors(picture: NDArray[np.uint16]) -> bytes:
    """A TIFF of three colours of 16 bit each, not compressed, which Pillow does not write."""
    rows, columns, channels = picture.shape
    shorts, longs = 3, 4  # types of entries
    entries = [
        (256, longs, 1, columns),
        (257, longs, 1, rows),
        (258, shorts, channels, 0),  # bits of each, which follow the directory
        (259, shorts, 1, 1),  # not compressed
        (262, shorts, 1, 2),  # red, green, blue
        (273, longs, 1, 0),  # the place of the pixels
        (277, shorts, 1, channels),
        (278, longs, 1, rows),
        (279, longs, 1, picture.size * 2),
    ]
    behind = 8 + 2 + 12 * len(entries) + 4
    places = {258: behind, 273: behind + 2 * channels}
    directory = b"".join(
        struct.pack("<HHI", tag, kind, count)
        + (struct.pack("<HH", value, 0) if kind == shorts and count == 1 else
           struct.pack("<I", places.get(tag, value)))
        for tag, kind, count, value in entries
    )  # fmt: skip
    head = b"II*\0" + struct.pack("<IH", 8, len(entries)) + directory + struct.pack("<I", 0)
    return head + struct.pack("<HHH", *(16,) * channels) + picture.astype("<u2").tobytes()


@dataclass(frozen=True)
class PictureFile:
    """A picture of a frame: digital numbers."""

    kind: str  # a part of its name
    numbers: NDArray[np.uint16]  # (rows, columns, channels)
    largest: int
    format: ImageFormat = ImageFormat.png
    mosaic: str = "none"

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return f"{self.kind}.{self.format.name}"

    @property
    def content(self) -> NDArray[np.uint16]:
        """The digital numbers."""
        return self.numbers

    def write(self, path: Path) -> dict[str, object]:
        """Write it to a path and tell what the index should know of it."""
        height, width, channels = self.numbers.shape
        array = self.numbers.astype(np.uint8) if self.largest <= BYTE_LARGEST else self.numbers
        scale = 1.0
        if self.format == ImageFormat.npy:
            write_npy(path, array[:, :, 0] if channels == 1 else array)
        elif self.format == ImageFormat.png:
            stored, scale = spread(array, self.largest)
            path.write_bytes(_png_picture(stored, scale))
        else:
            path.write_bytes(_tiff_picture(array))
        return {
            "kind": self.kind,
            "format": self.format,
            "height": height,
            "width": width,
            "channels": channels,
            "largest": self.largest,
            "scale": scale,
            "bayer": self.mosaic,
        }


def _png_picture(array: NDArray[Any], scale: float) -> bytes:
    texts = {} if scale == 1.0 else {"scale": repr(scale), "unit": "1"}
    if array.shape[2] == 3 and array.dtype == np.uint16:
        return png_of_16_bit_colors(array, texts)
    return _png_of(_one_below_the_other(array), texts)


def _tiff_picture(array: NDArray[Any]) -> bytes:
    if array.shape[2] == 3 and array.dtype == np.uint16:
        return tiff_of_16_bit_colors(array)
    return _file_of(_one_below_the_other(array), "tiff")


def _one_below_the_other(array: NDArray[Any]) -> NDArray[Any]:
    """The channels of what is no picture in colours."""
    return array if array.shape[2] == 3 else np.concatenate(np.moveaxis(array, 2, 0))


#: Images need no writer of their own.
ImageWriter = FrameWriter
