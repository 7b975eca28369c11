"""Plots of points as pictures: axes, colour bars, legends and painted boxes.

A picture is an array (rows, columns, 3) of red, green, blue. A ``Plot`` is a rectangle of it with
values along its edges; a value at the left edge lies at the left of the first pixel, one at the
right edge at the right of the last. Text is Pillow's own font, so nothing else is needed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

Picture = NDArray[np.uint8]
Floats = NDArray[np.float64]
Limits = tuple[float, float]
Size = tuple[int, int]  # width, height
Color = tuple[int, int, int]

AROUND: Color = (24, 26, 32)  # a plot
EMPTY: Color = (8, 9, 12)  # within a plot
GRID: Color = (44, 48, 58)
INK: Color = (228, 231, 238)
FAINT: Color = (150, 156, 170)

TEXT, TITLE = 15, 20  # sizes of letters, pixels
MARK = 6  # pixels from the middle of a cross to its ends
FAR_OUT = 1e6  # pixels, beyond any picture
LINE = 22  # pixels from one line of a legend to the next

#: Ramps, by colours at even steps; none is as dark as an empty plot.
HEAT = (
    (74, 32, 130),
    (150, 44, 130),
    (219, 74, 90),
    (251, 141, 60),
    (252, 205, 90),
    (252, 255, 200),
)
RAINBOW = (
    (60, 90, 255),
    (30, 180, 250),
    (50, 225, 140),
    (190, 240, 60),
    (255, 180, 40),
    (255, 70, 50),
)

#: Colours of the first numbers, which labels and returns have: easier to tell apart than any rule.
PALETTE = (
    (150, 156, 170),
    (90, 140, 255),
    (240, 150, 50),
    (220, 80, 220),
    (90, 230, 240),
    (250, 220, 60),
    (60, 190, 80),
    (180, 240, 80),
    (240, 60, 70),
    (255, 170, 200),
    (245, 245, 250),
    (150, 100, 240),
    (40, 170, 160),
    (170, 115, 60),
    (255, 120, 110),
    (130, 150, 60),
)

METRES = tuple(a * 10.0**b for b in range(-3, 5) for a in (1.0, 2.0, 5.0))
DEGREES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 45.0, 60.0, 90.0)


@dataclass(frozen=True)
class Plot:
    """A rectangle of a picture, and what its edges stand for."""

    left: int
    top: int
    width: int
    height: int
    across: Limits  # at the left and at the right edge; may fall
    up: Limits  # at the lower and at the upper edge

    def columns(self, values: ArrayLike) -> Floats:
        """Where values lie from left to right, in pixels; whole numbers are edges of pixels."""
        low, high = self.across
        return np.asarray(self.left + (np.asarray(values, float) - low) / (high - low) * self.width)

    def rows(self, values: ArrayLike) -> Floats:
        """Where values lie from top to bottom, in pixels."""
        low, high = self.up
        return np.asarray(
            self.top + (high - np.asarray(values, float)) / (high - low) * self.height
        )

    def holds(self, across: ArrayLike, up: ArrayLike) -> NDArray[np.bool_]:
        """Whether points lie inside."""
        x, y = self.columns(across), self.rows(up)
        inside = (x >= self.left) & (x < self.left + self.width)
        return np.asarray(inside & (y >= self.top) & (y < self.top + self.height))


class Bar(NamedTuple):
    """A legend of colours that go from one value to another."""

    title: str
    ramp: Sequence[Color]
    limits: Limits
    logarithmic: bool = False


class Entries(NamedTuple):
    """A legend of colours that each stand for something; those come first that count most."""

    title: str
    entries: Sequence[tuple[str, Color]]


Legend = Bar | Entries


def blank(size: Size) -> Picture:
    """A picture of nothing."""
    width, height = size
    return np.full((height, width, 3), AROUND, np.uint8)


def shares(values: ArrayLike, limits: Limits, *, logarithmic: bool = False) -> Floats:
    """Where values lie between limits, 0 to 1; what is outside or no number goes to an end."""
    low, high = limits
    given = np.nan_to_num(np.asarray(values, float), nan=low)
    if logarithmic:
        given, low, high = np.log(np.maximum(given, low)), math.log(low), math.log(high)
    return np.asarray(np.clip((given - low) / (high - low), 0.0, 1.0))


def ramp_colors(ramp: Sequence[Color], places: ArrayLike) -> Picture:
    """Colours of a ramp at places from 0 to 1."""
    steps = np.linspace(0.0, 1.0, len(ramp))
    given = np.asarray(places, float)
    channels = [np.interp(given, steps, channel) for channel in np.array(ramp, float).T]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)


class Boxes(NamedTuple):
    """Rectangles of a picture in pixels, the ends not included, and how far away they are."""

    left: NDArray[np.int64]
    top: NDArray[np.int64]
    right: NDArray[np.int64]
    bottom: NDArray[np.int64]
    distance: Floats


def boxes_of(
    left: ArrayLike, top: ArrayLike, right: ArrayLike, bottom: ArrayLike, distance: ArrayLike
) -> Boxes:
    """Boxes with edges at the nearest pixels, of one pixel at least."""
    given = (left, top, right, bottom)
    edges = [np.round(np.clip(edge, -FAR_OUT, FAR_OUT)).astype(np.int64) for edge in given]
    ends = np.maximum(edges[2], edges[0] + 1), np.maximum(edges[3], edges[1] + 1)
    return Boxes(edges[0], edges[1], *ends, np.asarray(distance, float))


def dots_of(plot: Plot, across: ArrayLike, up: ArrayLike, distance: ArrayLike, size: int) -> Boxes:
    """Squares around points; those of one pixel are the pixels that the points lie in."""
    left = np.floor(plot.columns(across) - (size - 1) / 2.0)
    top = np.floor(plot.rows(up) - (size - 1) / 2.0)
    return boxes_of(left, top, left + size, top + size, distance)


def paint(picture: Picture, plot: Plot, boxes: Boxes, colors: Picture) -> None:
    """Paint boxes into a plot; of several at one pixel, the nearest is seen."""
    order = np.argsort(-boxes.distance, kind="stable")  # of equal indices, the last one holds
    left, top, right, bottom, distance = (np.asarray(part)[order] for part in boxes)
    colors = colors[order]
    nearest = np.full(picture.shape[:2], np.inf)
    for down in range(int((bottom - top).max(initial=0))):
        for along in range(int((right - left).max(initial=0))):
            y, x = top + down, left + along
            seen = (y < bottom) & (x < right) & (y >= plot.top) & (y < plot.top + plot.height)
            seen &= (x >= plot.left) & (x < plot.left + plot.width)
            y, x, z = y[seen], x[seen], distance[seen]
            closer = z < nearest[y, x]
            nearest[y[closer], x[closer]] = z[closer]
            picture[y[closer], x[closer]] = colors[seen][closer]


def clear(picture: Picture, plot: Plot, steps: Sequence[float]) -> list[list[float]]:
    """Empty a plot and draw its grid; the values of its lines, across and up."""
    inside = picture[plot.top : plot.top + plot.height, plot.left : plot.left + plot.width]
    inside[:] = EMPTY
    across = ticks_of(plot.across, steps, max(2, plot.width // 90))
    up = ticks_of(plot.up, steps, max(2, plot.height // 45))
    for x in np.floor(plot.columns(across) - plot.left).astype(int):
        inside[:, min(x, plot.width - 1)] = GRID
    for y in np.floor(plot.rows(up) - plot.top).astype(int):
        inside[min(y, plot.height - 1)] = GRID
    return [across, up]


def mark(picture: Picture, plot: Plot, across: float, up: float) -> None:
    """Draw a cross at a place, if it lies inside."""
    if plot.holds(across, up):
        x, y = int(plot.columns(across)), int(plot.rows(up))
        picture[max(y - MARK, plot.top) : y + MARK + 1, x] = INK
        picture[y, max(x - MARK, plot.left) : x + MARK + 1] = INK


def ticks_of(limits: Limits, steps: Sequence[float], most: int) -> list[float]:
    """Round values between limits, at the finest of the steps that makes no more than these."""
    low, high = min(limits), max(limits)
    step = next((step for step in steps if (high - low) / step <= most), (high - low) or 1.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def log_ticks(limits: Limits, most: int = 9) -> list[float]:
    """Round values between limits for a logarithmic scale."""
    decades = range(math.floor(math.log10(limits[0])), math.ceil(math.log10(limits[1])) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        inside = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
        if len(inside) <= most:
            return inside
    return inside[:: -(-len(inside) // most)]


def short(value: float) -> str:
    """A number for people."""
    return f"{0.0 if abs(value) < 1e-12 else value:.4g}"


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


class Pen:
    """Writes text into a picture. What it writes is there when ``done`` has been called."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._image = Image.fromarray(picture)
        self._draw = ImageDraw.Draw(self._image)

    def done(self) -> None:
        """Put all that was written into the picture."""
        self._picture[:] = np.asarray(self._image)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = "la",
        size: int = TEXT,
        ink: Color = INK,
    ) -> None:
        """Write text at a place; the anchor says which part of it is there (as in Pillow)."""
        self._draw.text((x, y), text, fill=ink, font=_font(size), anchor=anchor)

    def axes(
        self, plot: Plot, ticks: Sequence[Sequence[float]], unit: str, names: tuple[str, str]
    ) -> None:
        """Write the values of the grid's lines, and what they are."""
        right, bottom = plot.left + plot.width, plot.top + plot.height
        self._draw.rectangle((plot.left - 1, plot.top - 1, right, bottom), outline=FAINT)
        for value, x in zip(ticks[0], plot.columns(ticks[0]).tolist(), strict=True):
            self.text(x, bottom + 6, f"{short(value)}{unit}", anchor="ma", ink=FAINT)
        for value, y in zip(ticks[1], plot.rows(ticks[1]).tolist(), strict=True):
            self.text(plot.left - 8, y, f"{short(value)}{unit}", anchor="rm", ink=FAINT)
        self.text(plot.left + plot.width / 2, bottom + 26, names[0], anchor="ma")
        self.text(plot.left, plot.top - 8, names[1], anchor="ls")

    def legend(self, legend: Legend, left: int, top: int, height: int) -> None:
        """Say beside a plot what its colours mean."""
        self.text(left, top - 8, legend.title, anchor="ls")
        if isinstance(legend, Bar):
            self._bar(legend, left, top, height)
        else:
            self._entries(legend, left, top, height)

    def _bar(self, bar: Bar, left: int, top: int, height: int) -> None:
        places = 1.0 - (np.arange(height) + 0.5) / height
        for row, color in enumerate(ramp_colors(bar.ramp, places).tolist()):
            self._draw.line((left, top + row, left + 17, top + row), fill=tuple(color))
        ticks = log_ticks(bar.limits) if bar.logarithmic else ticks_of(bar.limits, METRES, 8)
        places = shares(ticks, bar.limits, logarithmic=bar.logarithmic)
        for value, place in zip(ticks, places.tolist(), strict=True):
            y = top + (1.0 - place) * height
            self._draw.line((left + 18, y, left + 22, y), fill=FAINT)
            self.text(left + 26, y, short(value), anchor="lm")

    def _entries(self, legend: Entries, left: int, top: int, height: int) -> None:
        room = max(1, height // LINE)
        shown = legend.entries if len(legend.entries) <= room else legend.entries[: room - 1]
        for line, (name, color) in enumerate(shown):
            y = top + line * LINE
            self._draw.rectangle((left, y + 2, left + 15, y + 17), fill=color)
            self.text(left + 24, y + 10, name, anchor="lm")
        if len(shown) < len(legend.entries):
            more = f"and {len(legend.entries) - len(shown)} more"
            self.text(left, top + len(shown) * LINE + 10, more, anchor="lm", ink=FAINT)
