"""Pictures of what a lidar gives: frames, and the patterns of its rays.

range image   points by azimuth (to the left is left) and elevation, each as large as the step to
              its neighbours. Where rays gave nothing, the plot is empty. Where steps cannot be
              told, as in a rosette, points are dots.
bird's-eye    points from above, in the frame that they are given in, x to the right and y up
pattern       azimuth and elevation of rays, coloured by their time

Where several points meet in a pixel, the range image shows the nearest, the bird's-eye view the
highest, a pattern the latest.

Colours: intensity on a logarithmic scale; ids and labels each have one of their own, grey for
none. Ends of scales are percentiles of what there is, so that single points do not stretch them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.tools.pictures.camera_command import colors_of_ids
from sensor_models.tools.pictures.drawing import (
    DEGREES,
    HEAT,
    METRES,
    PALETTE,
    RAINBOW,
    TITLE,
    Bar,
    Boxes,
    Entries,
    Legend,
    Limits,
    Pen,
    Picture,
    Plot,
    Size,
    blank,
    boxes_of,
    clear,
    dots_of,
    mark,
    paint,
    ramp_colors,
    shares,
)

Points = NDArray[np.void]
Floats = NDArray[np.float64]

#: What points may be coloured by, and the field that it is.
FIELD_OF = {
    "intensity": "intensity",
    "entity": "entity_id",
    "label": "label",
    "range": "range",
    "height": "z",
    "return": "return_number",
}
TITLE_OF = {"intensity": "intensity", "range": "range, m", "height": "z, m"}

#: Room around a plot in pixels: for values, titles and the legend.
LEFT, TOP, RIGHT, BOTTOM = 72, 76, 190, 52
BAR_ONLY = 96  # instead of RIGHT, where a bar is all
#: Sizes of dots in pixels, and for how many points at most.
DOTS = ((5_000, 5), (60_000, 3), (10**9, 2))
#: A reference that is shown beneath points.
SHADE = (92, 96, 106)
#: Elevations of one ring differ by less, in rad, unless the rays have angles of their own.
ONE_ROW = 1e-4
#: A row whose neighbours are farther away than this many usual steps stands alone.
ALONE = 2.5
HALF_A_DEGREE = math.radians(0.5)
LARGEST_BOX = 400  # pixels
#: The largest plot of a pattern, pixels.
WIDEST, HIGHEST = 1000.0, 620.0


@dataclass(frozen=True)
class Shown:
    """Points to show: their colours, and what is written above."""

    points: Points
    color: str = "intensity"
    title: str = ""
    names: Mapping[str, Mapping[int, str]] = field(default_factory=dict)  # of entities, labels


def colors_of(shown: Shown, color: str) -> tuple[Picture, Legend]:
    """The colours of points and what they mean."""
    values = column(shown.points, FIELD_OF[color])
    if color in ("entity", "label", "return"):
        return _colors_of_kinds(values, color, shown.names.get(color, {}))
    limits, ramp = _limits_of(values, color), HEAT if color == "intensity" else RAINBOW
    bar = Bar(TITLE_OF[color], ramp, limits, color == "intensity")
    return ramp_colors(ramp, shares(values, limits, logarithmic=bar.logarithmic)), bar


def column(points: Points, name: str) -> NDArray[np.generic]:
    """One field of all points."""
    if name not in (points.dtype.names or ()):
        raise ParameterError(f"the points have no field {name}, which this picture needs")
    return np.asarray(points[name])


def _colors_of_kinds(
    values: NDArray[np.generic], color: str, names: Mapping[int, str]
) -> tuple[Picture, Legend]:
    kinds, place, counts = np.unique(values.astype(int), return_inverse=True, return_counts=True)
    palette = colors_of_ids(kinds)
    few = (kinds >= 0) & (kinds < len(PALETTE))
    palette[few] = np.array(PALETTE)[kinds[few]]
    entries = []
    for kind in np.argsort(-counts, kind="stable"):
        number = int(kinds[kind])
        name = names.get(number, "none" if number < 0 else str(number))
        red, green, blue = palette[kind].tolist()
        entries.append((name, (red, green, blue)))
    return palette[place.reshape(-1)], Entries(color, entries)


def _limits_of(values: NDArray[np.generic], color: str) -> Limits:
    known = values[np.isfinite(values.astype(float))].astype(float)
    if color == "intensity":
        known = known[known > 0.0]
        low, high = np.percentile(known, (1.0, 99.5)) if len(known) else (0.1, 1.0)
        return (float(low), float(high)) if high > 1.01 * low else (low / 2.0, high * 2.0)
    low, high = np.percentile(known, (0.5, 99.0)) if len(known) else (0.0, 1.0)
    return (float(low), float(high)) if high > low + 1e-3 else (low - 0.5, high + 0.5)


# ---- frames ------------------------------------------------------------------------------------


def range_image(shown: Shown, size: Size) -> Picture:
    """The points as the lidar looks around."""
    picture = blank(size)
    draw_range_image(picture, shown, 0, size[1])
    return picture


def birds_eye(shown: Shown, size: Size, area: float = 0.0) -> Picture:
    """The points from above; an area of so many metres around the origin, 0 for most of them."""
    picture = blank(size)
    draw_birds_eye(picture, shown, (0, 0, *size), area)
    return picture


def both(shown: tuple[Shown, Shown], size: Size, area: float = 0.0) -> Picture:
    """A range image above a view from above."""
    picture = blank(size)
    width, height = size
    upper = TOP + BOTTOM + range_height(shown[0].points, width - LEFT - RIGHT, height // 2)
    draw_range_image(picture, shown[0], 0, upper)
    above = replace(shown[1], title="from above")
    draw_birds_eye(picture, above, (0, upper, width, height - upper), area)
    return picture


def side_by_side(
    shown: tuple[Shown, Shown], reference: Points, size: Size, area: float = 0.0
) -> Picture:
    """Two clouds from above, each over a reference in grey."""
    picture = blank(size)
    width, height = size
    half = (width + RIGHT) // 2
    for left, one in zip((0, width - half), shown, strict=True):
        room = half if left else half - RIGHT + 20
        draw_birds_eye(picture, one, (left, 0, room, height), area, reference, bare=not left)
    return picture


def range_height(points: Points, width: int, most: int) -> int:
    """How high a range image should be: a degree as high as wide, within reason."""
    azimuth, elevation = _angle_limits(points)
    even = width * (elevation[1] - elevation[0]) / (azimuth[0] - azimuth[1])
    return int(min(max(even, 150.0), max(most - TOP - BOTTOM, 150)))


def draw_range_image(picture: Picture, shown: Shown, top: int, height: int) -> Plot:
    """Put a range image into a picture over its whole width."""
    points = shown.points
    for name in ("azimuth", "elevation", "range"):
        column(points, name)
    azimuth, elevation = _angle_limits(points)
    size = picture.shape[1] - LEFT - RIGHT, height - TOP - BOTTOM
    plot = _plot((LEFT, top + TOP), size, azimuth, elevation)
    ticks = clear(picture, plot, DEGREES)
    colors, legend = colors_of(shown, shown.color)
    paint(picture, plot, _boxes(plot, points), colors)
    _write(picture, plot, ticks, legend, shown.title, "°", ("azimuth", "elevation"))
    return plot


def draw_birds_eye(
    picture: Picture,
    shown: Shown,
    place: tuple[int, int, int, int],
    area: float = 0.0,
    reference: Points | None = None,
    *,
    bare: bool = False,
) -> Plot:
    """Put a view from above into a part of a picture: left, top, width, height.

    A ``bare`` one has no legend, nor room for one.
    """
    points = shown.points
    left, top, width, height = place
    size = width - LEFT - (20 if bare else RIGHT), height - TOP - BOTTOM
    limits = _area(points if reference is None else reference, size, area)
    plot = _plot((left + LEFT, top + TOP), size, *limits)
    ticks = clear(picture, plot, METRES)
    mark(picture, plot, 0.0, 0.0)
    dot = next(size for most, size in DOTS if len(points) <= most)
    if reference is not None:
        shade = np.full((len(reference), 3), SHADE, np.uint8)
        paint(
            picture,
            plot,
            dots_of(plot, reference["x"], reference["y"], -reference["z"], dot),
            shade,
        )
    colors, legend = colors_of(shown, shown.color)
    paint(picture, plot, dots_of(plot, points["x"], points["y"], -points["z"], dot), colors)
    outside = len(points) - int(plot.holds(points["x"], points["y"]).sum())
    title = shown.title
    if outside and reference is None:
        title += f"; {outside:,} points outside"
    _write(picture, plot, ticks, None if bare else legend, title, "", ("x, m", "y, m"))
    return plot


def _plot(corner: Size, size: Size, across: Limits, up: Limits) -> Plot:
    if min(size) < 40:
        raise ParameterError("the picture is too small for its plots, choose a greater size")
    return Plot(*corner, *size, across, up)


def _write(
    picture: Picture,
    plot: Plot,
    ticks: list[list[float]],
    legend: Legend | None,
    title: str,
    unit: str,
    names: tuple[str, str],
) -> None:
    pen = Pen(picture)
    pen.text(plot.left, plot.top - TOP + 14, title, size=TITLE)
    pen.axes(plot, ticks, unit, names)
    if legend is not None:
        pen.legend(legend, plot.left + plot.width + 18, plot.top, plot.height)
    pen.done()


def _angle_limits(points: Points) -> tuple[Limits, Limits]:
    """Azimuth from left to right and elevation from bottom to top, in degrees."""
    azimuth, elevation = (
        np.degrees(column(points, name).astype(float)) for name in ("azimuth", "elevation")
    )
    low, high = float(azimuth.min()), float(azimuth.max())
    pad = max(0.01 * (high - low), 0.5)
    across = (180.0, -180.0) if high - low > 340.0 else (high + pad, low - pad)
    bottom, top = float(elevation.min()), float(elevation.max())
    pad = max(0.02 * (top - bottom), 0.5)
    return across, (bottom - pad, top + pad)


def _area(points: Points, size: Size, area: float) -> tuple[Limits, Limits]:
    """Limits of x and y with as many metres for a pixel up as across."""
    if area > 0.0:
        low, high = np.full(2, -area), np.full(2, area)
    else:
        places = np.stack([points["x"], points["y"]])
        low, high = np.percentile(places, (1.0, 99.0), axis=1)
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    middle = (low + high) / 2.0
    metre = max(1.06 * np.max((high - low) / np.array(size)), 1e-3)  # for a pixel
    half = metre * np.array(size) / 2.0
    (x0, y0), (x1, y1) = (middle - half).tolist(), (middle + half).tolist()
    return (x0, x1), (y0, y1)


def _boxes(plot: Plot, points: Points) -> Boxes:
    """Where the points of a range image go, each as large as the steps of the pattern."""
    azimuth, elevation = points["azimuth"].astype(float), points["elevation"].astype(float)
    steps = _steps(points, azimuth, elevation)
    if steps is None:
        size = math.sqrt(plot.width * plot.height / len(points))
        degrees = np.degrees(azimuth), np.degrees(elevation)
        return dots_of(plot, *degrees, points["range"], int(min(max(round(size), 2), 5)))
    half, below, above = steps
    left, right = plot.columns(np.degrees([azimuth + half, azimuth - half]))
    top, bottom = plot.rows(np.degrees([elevation + above, elevation - below]))
    right = np.minimum(right, left + LARGEST_BOX)
    return boxes_of(left, top, right, np.minimum(bottom, top + LARGEST_BOX), points["range"])


def _steps(
    points: Points, azimuth: Floats, elevation: Floats
) -> tuple[float, Floats, Floats] | None:
    """Half the step of azimuth, and how far each point reaches down and up; None if unknown."""
    if "ring" not in (points.dtype.names or ()):
        return None
    rings, row, counts = np.unique(points["ring"], return_inverse=True, return_counts=True)
    row = row.reshape(-1)
    heights = np.bincount(row, elevation) / counts
    if np.abs(elevation - heights[row]).max() > ONE_ROW:
        return None
    order = np.lexsort((azimuth, row))
    apart = np.diff(azimuth[order])[np.diff(row[order]) == 0]
    apart = apart[apart > 1e-6]
    step = float(np.median(apart)) if len(apart) else 2.0 * HALF_A_DEGREE
    rising = np.argsort(heights)
    gaps = np.diff(heights[rising])
    usual = float(np.median(gaps)) if len(gaps) else 2.0 * HALF_A_DEGREE
    gaps = np.where(gaps > ALONE * usual, usual, gaps)
    below, above = np.full(len(rings), usual / 2.0), np.full(len(rings), usual / 2.0)
    below[rising[1:]], above[rising[:-1]] = gaps / 2.0, gaps / 2.0
    return step / 2.0, below[row], above[row]


# ---- patterns ----------------------------------------------------------------------------------


def pattern_picture(
    azimuth: ArrayLike,
    elevation: ArrayLike,
    time: ArrayLike,
    title: str,
    size: Size | None = None,
    within: tuple[float, float, float, float] | None = None,
) -> Picture:
    """The angles of rays in rad, coloured by their time in s.

    ``within`` are limits in degrees: least and greatest azimuth, least and greatest elevation.
    Without a size, a degree is as high as wide if that makes a picture of a handy shape.
    """
    angles = np.degrees(np.asarray(azimuth, float)), np.degrees(np.asarray(elevation, float))
    right, left, bottom, top = within or _all_of(*angles)
    size = size or _size_of(left - right, top - bottom)
    picture = blank(size)
    area = size[0] - LEFT - BAR_ONLY, size[1] - TOP - BOTTOM
    plot = _plot((LEFT, TOP), area, (left, right), (bottom, top))
    ticks = clear(picture, plot, DEGREES)
    inside = plot.holds(*angles)
    if not inside.any():
        raise ParameterError("no ray points into the part of the pattern that is to be shown")
    times = np.asarray(time, float)[inside]
    seen = angles[0][inside], angles[1][inside]
    dot = round(0.55 * math.sqrt(plot.width * plot.height / len(times)))
    bar = Bar("time, s", RAINBOW, _span_of(times))
    colors = ramp_colors(RAINBOW, shares(times, bar.limits))
    paint(picture, plot, dots_of(plot, *seen, -times, min(max(dot, 1), 6)), colors)
    _write(picture, plot, ticks, bar, title, "°", ("azimuth", "elevation"))
    return picture


def _all_of(azimuth: Floats, elevation: Floats) -> tuple[float, float, float, float]:
    """Limits that hold all of a pattern, with a margin."""
    limits = []
    for angles in (azimuth, elevation):
        low, high = float(angles.min()), float(angles.max())
        pad = max(0.03 * (high - low), 0.5)
        limits += [low - pad, high + pad]
    return limits[0], limits[1], limits[2], limits[3]


def _size_of(across: float, up: float) -> Size:
    """The size of a picture for so many degrees."""
    height = min(max(WIDEST * up / across, 160.0), HIGHEST)
    width = min(max(height * across / up, 400.0), WIDEST)
    return round(width) + LEFT + BAR_ONLY, round(height) + TOP + BOTTOM


def _span_of(times: Floats) -> Limits:
    low, high = float(times.min()), float(times.max())
    return low, max(high, low + 1e-9)
