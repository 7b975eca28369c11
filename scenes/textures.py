"""Pictures on the surfaces of scenes, made by their scripts.

They are PNGs of at most 16 colours whose bytes are stored as they are, not compressed: zlib gives
other bytes by its version. Random numbers are those of Python's own generator. Means are near the
colours of the materials that the pictures are laid on.
"""

import random
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.uint8]
Palette = Sequence[tuple[int, int, int]]

#: The longest run of bytes that deflate stores as one block.
_BLOCK = 65535


def write_png(file: Path, pixels: Indices, palette: Palette) -> None:
    """Write a picture of places in a palette."""
    bits = next(bits for bits in (1, 2, 4) if len(palette) <= 2**bits)
    rows, columns = pixels.shape
    each = 8 // bits  # pixels of a byte, the first in its highest bits
    wide = np.zeros((rows, -(-columns // each) * each), np.uint8)
    wide[:, :columns] = pixels
    packed = sum(wide[:, k::each] << (8 - bits * (k + 1)) for k in range(each))
    lines = np.zeros((rows, 1 + wide.shape[1] // each), np.uint8)  # rows begin with a filter: none
    lines[:, 1:] = packed
    colors = b"".join(bytes(color) for color in palette)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, bits, 3, 0, 0, 0)),
        (b"PLTE", colors),
        (b"IDAT", _stored(lines.tobytes())),
        (b"IEND", b""),
    )
    file.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
            for kind, body in chunks
        )
    )


def _stored(data: bytes) -> bytes:
    """A zlib stream of blocks that are not compressed."""
    blocks = [data[first : first + _BLOCK] for first in range(0, len(data), _BLOCK)]
    parts = [
        struct.pack("<BHH", number == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
        for number, block in enumerate(blocks)
    ]
    return b"\x78\x01" + b"".join(parts) + struct.pack(">I", zlib.adler32(data))


def _noise(draw: random.Random, rows: int, columns: int) -> NDArray[np.float64]:
    """Draws from -1 to 1."""
    flat = [2.0 * draw.random() - 1.0 for _ in range(rows * columns)]
    return np.array(flat).reshape(rows, columns)


def _smooth(noise: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """Means with neighbours, over the edges."""
    for _ in range(times):
        noise = noise + sum(np.roll(noise, step, axis) for axis in (0, 1) for step in (-1, 1))
        noise /= 5.0
    return noise


def _shades(color: tuple[int, int, int], low: float, high: float, count: int) -> Palette:
    """A colour from darker to brighter."""
    return [
        (shade(color[0], share), shade(color[1], share), shade(color[2], share))
        for share in (low + (high - low) * n / (count - 1) for n in range(count))
    ]


def shade(part: int, share: float) -> int:
    """A part of a colour that is brighter or darker by a share."""
    return min(max(round(part * share), 0), 255)


def write_asphalt(file: Path) -> None:
    """Stones in tar, with stains: 64 x 64, for 1.28 m."""
    draw = random.Random(1)
    stains = _smooth(_noise(draw, 64, 64), 12)
    grains = 0.8 * _noise(draw, 64, 64) + 3.0 * stains
    write_png(file, _places(grains, 16), _shades((76, 76, 79), 0.6, 1.4, 16))


def write_road(file: Path) -> None:
    """A road with edge lines and a dashed line in its middle: 96 x 128, for 6 m x 8 m."""
    draw = random.Random(2)
    grains = 0.6 * _noise(draw, 128, 96) + 4.0 * _smooth(_noise(draw, 128, 96), 12)
    pixels = _places(grains, 12)
    for first, last, rows in (
        (3, 5, slice(0, 128)),
        (91, 93, slice(0, 128)),
        (47, 49, slice(0, 48)),
    ):
        pixels[rows, first:last] = 12 + pixels[rows, first:last] // 3
    palette = [*_shades((76, 76, 79), 0.6, 1.4, 12), *_shades((226, 226, 220), 0.9, 1.04, 4)]
    write_png(file, pixels, palette)


def write_brick(file: Path) -> None:
    """Four bricks by six courses in running bond: 128 x 72, for 1 m x 0.5 m."""
    draw = random.Random(3)
    pixels = _places(_noise(draw, 72, 128), 4) + 12
    for course in range(6):
        for brick in range(4):
            tone = draw.randrange(12)
            left = 32 * brick + (16 if course % 2 else 0)
            columns = np.arange(left + 1, left + 31) % 128
            rows = np.arange(12 * course + 1, 12 * course + 11)
            grain = _places(_noise(draw, 10, 30), 3)
            pixels[np.ix_(rows, columns)] = np.clip(tone + grain, 1, 12) - 1
    palette = [*_shades((157, 74, 54), 0.75, 1.3, 12), *_shades((178, 172, 160), 0.92, 1.05, 4)]
    write_png(file, pixels, palette)


def write_stone(file: Path) -> None:
    """Blocks of stone in courses: 96 x 72, for 2 m x 1.5 m."""
    draw = random.Random(4)
    pixels = np.zeros((72, 96), np.uint8)
    stains = _smooth(_noise(draw, 72, 96), 6) * 9.0
    for course in range(4):
        for block in range(3):
            tone = 4.0 * draw.random() - 2.0
            columns = np.arange(32 * block + 1, 32 * block + 31) + 16 * (course % 2)
            rows = np.arange(18 * course + 1, 18 * course + 17)
            own = np.ix_(rows, columns % 96)
            shades = stains[own] + tone + _noise(draw, 16, 30)
            pixels[own] = np.clip(np.floor(shades + 8.5), 1, 15)
    write_png(file, pixels, _shades((170, 165, 155), 0.55, 1.4, 16))


def write_arrows(file: Path) -> None:
    """Red and white chevrons that point to the left: 160 x 50."""
    rows, columns = np.indices((50, 160))
    pixels = ((columns + np.abs(rows - 24.5).astype(int)) // 20 % 2).astype(np.uint8)
    write_png(file, pixels, [(236, 236, 238), (190, 22, 30)])


def write_priority(file: Path) -> None:
    """A yellow square on its corner in white and black: 96 x 96."""
    rows, columns = np.indices((96, 96))
    off = np.abs(rows - 47.5) + np.abs(columns - 47.5)
    pixels = np.select([off < 27.0, off < 43.0, off < 46.0], [1, 2, 3], 0).astype(np.uint8)
    write_png(file, pixels, [(200, 202, 205), (240, 190, 20), (236, 236, 238), (30, 30, 32)])


def _places(noise: NDArray[np.float64], count: int) -> Indices:
    """Places in a palette of numbers from -1 to 1."""
    return np.clip(np.floor((noise + 1.0) * 0.5 * count), 0, count - 1).astype(np.uint8)
