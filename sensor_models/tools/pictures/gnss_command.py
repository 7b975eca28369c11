"""Pictures of a drive with a GNSS receiver through a scene.

``python -m sensor_models.gnss``                        the drive of docs/gnss.md
``python -m sensor_models.gnss --scene yard --from=-20,0,1.8 --to=20,0,1.8 --multipath none``

The antenna goes along a line at a constant speed. One picture shows how many satellites are seen,
hidden, and heard by a reflection over time; the sky in the middle of the way; the fixes on a view
of the scene from above, with those of the same receiver under an open sky; and how far all of them
are from the truth.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.georeference import Georeference
from sensor_models.gnss.constellation import Satellite
from sensor_models.gnss.gnss import Gnss, constellation_of
from sensor_models.gnss.parameters import (
    ConstellationChoice,
    ErrorMode,
    GnssParameters,
    GnssReading,
    Multipath,
)
from sensor_models.kernels.gnss import sky as at
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.pictures.drawing import (
    EMPTY,
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
from sensor_models.tools.pictures.view import save_png

Floats = NDArray[np.float64]

SIZE = (1280, 1020)
MAP = (490, 290)  # top and height in the picture
RATE = 5.0  # fixes per second

TRUTH: Color = (240, 240, 245)
GRID_TEXT: Color = (120, 126, 140)
OPEN, CANYON = PALETTE[1], PALETTE[2]
SEEN, REFLECTED, HIDDEN = PALETTE[6], PALETTE[2], PALETTE[8]
STATUS_COLORS = {at.USED: SEEN, at.REFLECTED: REFLECTED, at.HIDDEN: HIDDEN}
#: Darkest and lightest grey of the view from above, and the height that is lightest, m.
DARK, LIGHT, HIGH = 26, 96, 40.0


@dataclass
class Drive:
    """What a receiver saw and reported along its way."""

    times: list[float]  # s
    along: list[float]  # m
    counts: list[tuple[int, int, int]]  # used directly, by a reflection, and hidden
    skies: list[Floats]
    fixes: list[GnssReading]

    def errors(self, start: Floats, end: Floats, origin: Georeference) -> Floats:
        """Distance along the way, and the horizontal distance from the truth, of each fix, m."""
        ahead = (end - start) / np.linalg.norm(end - start)
        found = []
        for along, fix in zip(self.along, self.fixes, strict=True):
            if fix.fix != 0:
                place = origin.to_world(fix.latitude, fix.longitude, fix.height)
                off = place - (start + along * ahead)
                found.append((along, math.hypot(off[0], off[1])))
        return np.array(found).reshape(-1, 2)


def drive(gnss: Gnss, start: Floats, end: Floats, speed: float) -> Drive:
    """Move a receiver along a line."""
    length = float(np.linalg.norm(end - start))
    velocity = speed * (end - start) / length
    seen = Drive([], [], [], [], [])
    for index in range(int(length / speed * RATE) + 1):
        time = index / RATE
        turn = (1.0, 0.0, 0.0, 0.0)
        body = np.array([*(start + time * velocity), *turn, *velocity, 0.0, 0.0, 0.0])
        fix = gnss.sample(index, time, body)
        sky = gnss.sky
        status = sky[:, at.STATUS]
        seen.times.append(time)
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


def _stairs(
    picture: Picture, plot: Plot, x: Sequence[float], y: Sequence[float], ink: Color
) -> None:
    """A curve that holds from one point to the next, by dots a pixel apart."""
    for k, (left, level) in enumerate(zip(x, y, strict=True)):
        after = min(k + 1, len(x) - 1)
        across = np.linspace(left, x[after], 12)
        up = np.linspace(level, y[after], 60)
        points = np.concatenate(
            [
                np.column_stack([across, np.full(12, level)]),
                np.column_stack([np.full(60, x[after]), up]),
            ]
        )
        _dots(picture, plot, points, ink, 3)


def _dots(picture: Picture, plot: Plot, points: Floats, ink: Color, size: int) -> None:
    colors = np.tile(np.array(ink, np.uint8), (len(points), 1))
    boxes = dots_of(plot, points[:, 0], points[:, 1], np.zeros(len(points)), size)
    paint(picture, plot, boxes, colors)


def _counts(picture: Picture, pen: Pen | None, seen: Drive) -> None:
    """How many satellites there are over time."""
    most = max(max(counts) for counts in seen.counts) + 1.0
    plot = Plot(70, 60, 640, 330, (0.0, seen.times[-1]), (0.0, most))
    if pen is None:
        clear(picture, plot, METRES)
        for part, ink in enumerate((SEEN, REFLECTED, HIDDEN)):
            _stairs(picture, plot, seen.times, [float(c[part]) for c in seen.counts], ink)
        return
    ticks = clear(picture.copy(), plot, METRES)
    pen.axes(plot, ticks, "", ("time in s", "satellites above the mask"))


def _sky(
    picture: Picture,
    pen: Pen | None,
    seen: Drive,
    mask: float,
    satellites: Sequence[Satellite],
) -> None:
    """The sky in the middle of the way; the zenith is in the middle, north is up."""
    plot = Plot(800, 60, 330, 330, (-90.0, 90.0), (-90.0, 90.0))
    around = np.radians(np.arange(0.0, 360.0, 0.4))
    if pen is None:
        clear(picture, plot, (180.0,))
        picture[plot.top : plot.top + plot.height, plot.left : plot.left + plot.width] = EMPTY
        for low in (0.0, 30.0, 60.0, math.degrees(mask)):
            ring = (90.0 - low) * np.column_stack([np.sin(around), np.cos(around)])
            _dots(picture, plot, ring, (70, 76, 90), 1)
        for place, ink, _ in _places(seen, satellites):
            _dots(picture, plot, place.reshape(1, 2), ink, 13)
        return
    pen.text(plot.left, plot.top - 30, "sky in the middle of the way", anchor="ls")
    for name, right, below in (("N", 165, -10), ("S", 165, 341), ("E", 342, 165), ("W", -12, 165)):
        pen.text(plot.left + right, plot.top + below, name, anchor="mm")
    for low in (30, 60):
        pen.text(plot.left + 168, plot.top + 165 * low // 90 + 1, f"{low}°", ink=GRID_TEXT)
    named: list[tuple[float, float]] = []
    for place, ink, name in _places(seen, satellites):
        across, down = float(plot.columns([place[0]])[0]), float(plot.rows([place[1]])[0])
        taken = any(abs(across - x) < 34.0 and abs(down - y) < 14.0 for x, y in named)
        named.append((across, down))
        pen.text(across, down + (20 if taken else -9), name, anchor="ms", ink=ink)
    names = ("seen", "reflected", "hidden")
    entries = list(zip(names, (SEEN, REFLECTED, HIDDEN), strict=True))
    pen.legend(Entries("satellites", entries), 1160, 80, 120)


def _places(seen: Drive, satellites: Sequence[Satellite]) -> Iterator[tuple[Floats, Color, str]]:
    """Where satellites are in the picture of the sky, 90 at the horizon, in what color."""
    middle = seen.skies[len(seen.skies) // 2]
    for row, satellite in zip(middle, satellites, strict=True):
        ink = STATUS_COLORS.get(float(row[at.STATUS]))
        if ink is not None:
            low = math.degrees(math.asin(row[at.UP]))
            level = math.hypot(row[at.EAST], row[at.NORTH])
            yield (90.0 - low) / level * row[[at.EAST, at.NORTH]], ink, satellite.name


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
    top, height = MAP
    middle, half = 0.5 * float(low[1] + high[1]), 0.5 * height * wide / 1180
    across, up = (float(low[0]), float(high[0])), (middle - half, middle + half)
    plot = Plot(70, top, 1180, height, across, up)
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


def _errors(
    picture: Picture,
    pen: Pen | None,
    way: tuple[Floats, Floats],
    drives: Sequence[tuple[str, Drive, Color]],
    origin: Georeference,
) -> None:
    """How far the fixes are from the truth."""
    found = [(seen.errors(*way, origin), ink) for _, seen, ink in drives]
    most = max([float(errors[:, 1].max(initial=1.0)) for errors, _ in found])
    plot = Plot(70, 860, 1180, 100, (0.0, drives[0][1].along[-1]), (0.0, 1.05 * most))
    if pen is None:
        clear(picture, plot, METRES)
        for errors, ink in found:
            _dots(picture, plot, errors, ink, 5)
        return
    ticks = clear(picture.copy(), plot, METRES)
    pen.axes(plot, ticks, "", ("way in m", "horizontal distance from the truth in m"))


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
    satellites = constellation_of(parameters).satellites
    picture = blank(SIZE)

    def draw(pen: Pen | None) -> None:
        _counts(picture, pen, seen)
        _sky(picture, pen, seen, parameters.elevation_mask, satellites)
        _map(picture, pen, rays, way, drives, origin)
        _errors(picture, pen, way, drives, origin)

    draw(None)
    pen = Pen(picture)
    draw(pen)
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
