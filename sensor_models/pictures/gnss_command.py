"""Pictures of a drive with a GNSS receiver through a scene.

``python -m sensor_models.gnss``                        the drive of docs/gnss.md
``python -m sensor_models.gnss --scene yard --from=-20,0,1.8 --to=20,0,1.8 --multipath none``

The antenna goes along a line at a constant speed. One picture shows how many satellites are seen,
hidden, and heard by a reflection along the way; the sky in the middle of the way; and the fixes on
a view of the scene from above, with those of the same receiver under an open sky.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.georeference import Georeference
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import (
    ConstellationChoice,
    ErrorMode,
    GnssParameters,
    GnssReading,
    Multipath,
)
from sensor_models.kernels.gnss import sky as at
from sensor_models.pictures.drawing import (
    METRES,
    PALETTE,
    Color,
    Entries,
    Pen,
    Picture,
    Plot,
    blank,
    clear,
    dots_of,
    paint,
)
from sensor_models.pictures.view import save_png
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

SIZE = (1280, 1010)
RATE = 5.0  # fixes per second

TRUTH: Color = (240, 240, 245)
OPEN, CANYON = PALETTE[1], PALETTE[2]
SEEN, REFLECTED, HIDDEN = PALETTE[6], PALETTE[2], PALETTE[8]
STATUS_COLORS = {at.USED: SEEN, at.REFLECTED: REFLECTED, at.HIDDEN: HIDDEN}
#: Darkest and lightest grey of the view from above, and the height that is lightest, m.
DARK, LIGHT, HIGH = 26, 96, 40.0


@dataclass
class Drive:
    """What a receiver saw and reported along its way."""

    along: list[float]  # m
    counts: list[tuple[int, int, int]]  # used directly, by a reflection, and hidden
    skies: list[Floats]
    fixes: list[GnssReading]


def drive(gnss: Gnss, start: Floats, end: Floats, speed: float) -> Drive:
    """Move a receiver along a line."""
    length = float(np.linalg.norm(end - start))
    velocity = speed * (end - start) / length
    seen = Drive([], [], [], [])
    for index in range(int(length / speed * RATE) + 1):
        time = index / RATE
        turn = (1.0, 0.0, 0.0, 0.0)
        body = np.array([*(start + time * velocity), *turn, *velocity, 0.0, 0.0, 0.0])
        fix = gnss.sample(index, time, body)
        sky = gnss.sky
        status = sky[:, at.STATUS]
        seen.along.append(speed * time)
        seen.counts.append(
            (
                int((status == at.USED).sum()),
                int((status == at.REFLECTED).sum()),
                int((status == at.HIDDEN).sum()),
            )
        )
        seen.skies.append(sky)
        seen.fixes.append(fix)
    return seen


def _curve(
    picture: Picture, plot: Plot, x: Sequence[float], y: Sequence[float], ink: Color
) -> None:
    """A curve through points, by dots a pixel apart."""
    columns = np.arange(0.0, plot.width, 0.5)
    low, high = plot.across
    across = low + columns / plot.width * (high - low)
    within = (across >= min(x)) & (across <= max(x))
    up = np.interp(across, x, y)[within]
    colors = np.tile(np.array(ink, np.uint8), (len(up), 1))
    paint(picture, plot, dots_of(plot, across[within], up, np.zeros(len(up)), 3), colors)


def _dots(picture: Picture, plot: Plot, points: Floats, ink: Color, size: int) -> None:
    colors = np.tile(np.array(ink, np.uint8), (len(points), 1))
    boxes = dots_of(plot, points[:, 0], points[:, 1], np.zeros(len(points)), size)
    paint(picture, plot, boxes, colors)


def _counts(picture: Picture, pen: Pen | None, seen: Drive) -> None:
    """How many satellites there are along the way."""
    most = max(sum(counts) for counts in seen.counts) + 1.0
    plot = Plot(70, 60, 640, 330, (0.0, seen.along[-1]), (0.0, most))
    if pen is None:
        clear(picture, plot, METRES)
        for part, ink in enumerate((SEEN, REFLECTED, HIDDEN)):
            _curve(picture, plot, seen.along, [float(c[part]) for c in seen.counts], ink)
        return
    ticks = clear(picture.copy(), plot, METRES)
    pen.axes(plot, ticks, "", ("way in m", "satellites above the mask"))


def _sky(picture: Picture, pen: Pen | None, seen: Drive, mask: float) -> None:
    """The sky in the middle of the way; the zenith is in the middle, north is up."""
    plot = Plot(800, 60, 330, 330, (-90.0, 90.0), (-90.0, 90.0))
    around = np.radians(np.arange(0.0, 360.0, 0.4))
    if pen is None:
        clear(picture, plot, (180.0,))
        for low in (0.0, 30.0, 60.0, math.degrees(mask)):
            ring = (90.0 - low) * np.column_stack([np.sin(around), np.cos(around)])
            _dots(picture, plot, ring, (70, 76, 90), 1)
        for row in seen.skies[len(seen.skies) // 2]:
            ink = STATUS_COLORS.get(float(row[at.STATUS]))
            if ink is not None:
                low = math.degrees(math.asin(row[at.UP]))
                level = math.hypot(row[at.EAST], row[at.NORTH])
                place = (90.0 - low) / level * row[[at.EAST, at.NORTH]]
                _dots(picture, plot, place.reshape(1, 2), ink, 13)
        return
    pen.text(plot.left, plot.top - 8, "sky in the middle of the way", anchor="ls")
    for name, x, y in (("N", 165, 12), ("S", 165, 318), ("E", 318, 165), ("W", 12, 165)):
        pen.text(plot.left + x, plot.top + y, name, anchor="mm")
    names = ("seen", "reflected", "hidden")
    entries = list(zip(names, (SEEN, REFLECTED, HIDDEN), strict=True))
    pen.legend(Entries("satellites", entries), 1150, 80, 120)


def _map(
    picture: Picture,
    pen: Pen | None,
    rays: RayScene,
    way: tuple[Floats, Floats],
    drives: Sequence[tuple[str, Drive, Color]],
    origin: Georeference,
) -> None:
    """The fixes on the scene from above."""
    start, end = way
    low, high = np.minimum(start, end)[:2] - 10.0, np.maximum(start, end)[:2] + 10.0
    wide = float(high[0] - low[0])
    height = 440
    middle, half = 0.5 * float(low[1] + high[1]), 0.5 * height * wide / 1180
    across, up = (float(low[0]), float(high[0])), (middle - half, middle + half)
    plot = Plot(70, 490, 1180, height, across, up)
    if pen is None:
        clear(picture, plot, METRES)
        _paint_scene(picture, plot, rays)
        steps = np.linspace(0.0, 1.0, 600)[:, None]
        _dots(picture, plot, start + steps * (end - start), TRUTH, 2)
        for _, seen, ink in drives:
            fixes = [fix for fix in seen.fixes if fix.fix != 0]
            places = [origin.to_world(f.latitude, f.longitude, f.height) for f in fixes]
            if places:
                _dots(picture, plot, np.array(places), ink, 5)
        return
    ticks = clear(picture.copy(), plot, METRES)
    pen.axes(plot, ticks, "", ("x in m", "y in m"))
    pen.text(plot.left + 150, plot.top - 8, "truth", anchor="ls", ink=TRUTH)
    for number, (name, _, ink) in enumerate(drives):
        pen.text(plot.left + 230 + 280 * number, plot.top - 8, name, anchor="ls", ink=ink)


def _paint_scene(picture: Picture, plot: Plot, rays: RayScene) -> None:
    """Shade what is seen from above by its height."""
    x = plot.across[0] + (np.arange(plot.width) + 0.5) / plot.width * np.ptp(plot.across)
    y = plot.up[1] - (np.arange(plot.height) + 0.5) / plot.height * np.ptp(plot.up)
    above = 1000.0
    origins = np.stack([*np.meshgrid(x, y), np.full((plot.height, plot.width), above)], axis=-1)
    down = np.broadcast_to(np.array([0.0, 0.0, -1.0]), origins.shape)
    heights = above - rays.trace(origins, down).t.astype(float)
    shade = DARK + (LIGHT - DARK) * np.clip(heights / HIGH, 0.0, 1.0)
    shade = np.where(np.isfinite(heights), shade, 8.0)
    tinted = shade[..., None] * np.array([0.92, 0.96, 1.1])
    rows, columns = (
        slice(plot.top, plot.top + plot.height),
        slice(plot.left, plot.left + plot.width),
    )
    picture[rows, columns] = np.clip(tinted, 0, 255).astype(np.uint8)


def drive_picture(
    rays: RayScene,
    parameters: GnssParameters,
    origin: Georeference,
    way: tuple[Floats, Floats],
    speed: float,
) -> Picture:
    """The picture of one drive."""
    seen = drive(Gnss(parameters, None, origin, rays=rays, seed=1), *way, speed)
    meadow = drive(Gnss(parameters, None, origin, seed=1), *way, speed)
    drives = (("fixes under an open sky", meadow, OPEN), ("fixes in the scene", seen, CANYON))
    picture = blank(SIZE)
    _counts(picture, None, seen)
    _sky(picture, None, seen, parameters.elevation_mask)
    _map(picture, None, rays, way, drives, origin)
    pen = Pen(picture)
    _counts(picture, pen, seen)
    _sky(picture, pen, seen, parameters.elevation_mask)
    _map(picture, pen, rays, way, drives, origin)
    pen.done()
    return picture


def _point(text: str) -> Floats:
    parts = [float(part) for part in text.split(",")]
    if len(parts) != 3 or not all(map(math.isfinite, parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not three numbers x,y,z")
    return np.array(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the picture of a drive."""
    parser = argparse.ArgumentParser(
        prog="python -m sensor_models.gnss", description="A drive with a GNSS receiver."
    )
    parser.add_argument("--scene", default="street_canyon", help="name or path of a scene")
    parser.add_argument("--from", dest="start", type=_point, default=_point("-20,-3,1.7"))
    parser.add_argument("--to", dest="end", type=_point, default=_point("200,-3,1.7"))
    parser.add_argument("--speed", type=float, default=8.0, help="m/s")
    parser.add_argument(
        "--origin", type=_point, help="latitude and longitude in degrees, height in m; the scene's"
    )
    parser.add_argument("--heading", type=float, default=0.0, help="azimuth of +y in degrees")
    parser.add_argument("--multipath", choices=[m.name for m in Multipath], default="image")
    parser.add_argument(
        "--constellation", choices=["gps", "gps_galileo", "all"], default="gps_galileo"
    )
    parser.add_argument("--output", type=Path, default=Path("gnss.png"), help="PNG file")
    given = parser.parse_args(arguments)
    own = Georeference()
    if given.origin is not None:
        latitude, longitude = np.radians(given.origin[:2]).tolist()
        height, heading = float(given.origin[2]), math.radians(given.heading)
        own = Georeference(latitude, longitude, height, heading)
    parameters = GnssParameters(
        error_mode=ErrorMode.pseudorange,
        constellation=ConstellationChoice[given.constellation],
        multipath=Multipath[given.multipath],
    )
    scene = load_scene(given.scene)
    origin = own.or_else(scene.origin)
    with RayScene(scene) as rays:
        picture = drive_picture(rays, parameters, origin, (given.start, given.end), given.speed)
    save_png(picture, given.output)
    print(given.output)


if __name__ == "__main__":
    main()
