"""The bush and the wall of VANE's figure 5, 6 m and 86 m away, as a full-waveform lidar sees them.

A bush of 2,000 leaves in a ball of 0.4 m stands 1.5 m before a wall. Above, for each distance, is a
slice: pulses side by side over 2 m at the bush, the received power in colours over the range.
Below is the pulse through the middle. Near, the beam is 8.5 cm wide: it meets a few leaves and,
through gaps, the wall. Far, it is 88 cm wide and holds the whole bush: its echo is weaker and lies
in more samples, and the wall shows beside it.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.lidar.patterns import ScanPattern
from sensor_models.light.media import SPEED_OF_LIGHT
from sensor_models.scene.model import (
    Instance,
    Material,
    Medium,
    Mesh,
    Scene,
    SurfaceKind,
    SurfaceParameters,
)
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.pictures.drawing import (
    TITLE,
    Color,
    Pen,
    Picture,
    Plot,
    blank,
    clear,
    ramp_colors,
)
from sensor_models.waveform import SubrayPattern, WaveformLidar, WaveformParameters

Floats = NDArray[np.float64]

DISTANCES = 6.0, 86.0
#: Width of the slice at the bush, its pulses, and the ranges shown before and behind the bush, m.
ACROSS, PULSES, BEFORE, BEHIND = 2.0, 161, 1.0, 2.5
LEAVES, BALL, LEAF, TO_WALL = 2000, 0.4, 0.02, 1.5
SIZE, PANEL = (1180, 820), (440, 290)
LEFT, TOP, APART, BELOW = 100, 80, 130, 110
RAMP: tuple[Color, ...] = ((14, 20, 36), (24, 50, 110), (92, 140, 200), (250, 250, 252))
LINE: Color = (110, 160, 224)
STEPS = [digit * 10.0**decade for decade in range(-9, 6) for digit in (1.0, 2.0, 5.0)]


def bush_and_wall(x: float, seed: int = 5) -> Scene:
    """Leaves around (x, 0, 0), and a wall behind them."""
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(LEAVES, 3))
    places *= (
        BALL
        * rng.uniform(size=(LEAVES, 1)) ** (1 / 3)
        / np.linalg.norm(places, axis=1, keepdims=True)
    )
    sides = np.linalg.qr(rng.normal(size=(LEAVES, 3, 2)))[0]
    one, other = LEAF * sides[:, :, 0], LEAF * sides[:, :, 1]
    middles = places + np.array([x, 0.0, 0.0])
    corners = [middles - one - other, middles + one - other]
    corners += [middles + one + other, middles - one + other]
    leaves = _rectangles(np.stack(corners, axis=1), 0)
    y, z = np.array([-20.0, 20.0, 20.0, -20.0]), np.array([-20.0, -20.0, 20.0, 20.0])
    wall = _rectangles(np.stack([np.full(4, x + TO_WALL), y, z], axis=1)[np.newaxis], 1)
    places_of = tuple(
        Instance(k, np.eye(4), 1 + k, name) for k, name in enumerate(("bush", "wall"))
    )
    materials = (_material("leaf", 0.45), _material("wall", 0.3))
    return Scene("bush", (leaves, wall), places_of, materials, media=(Medium(),))


def _material(name: str, reflectance: float) -> Material:
    number = SurfaceParameters(diffuse_reflectance=reflectance)
    return Material(name, SurfaceKind.lambert, {905e-9: number})


def _rectangles(corners: Floats, material: int) -> Mesh:
    """A mesh of rectangles, (n, 4, 3)."""
    first = 4 * np.arange(len(corners))[:, np.newaxis]
    faces = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])]).astype(
        np.uint32
    )
    return Mesh(
        corners.reshape(-1, 3).astype(np.float32), faces, np.full(len(faces), material, np.int32)
    )


def slice_of(x: float) -> tuple[Floats, Floats, Floats]:
    """Sideways places at the bush in m, ranges in m, and the power in W, (pulses, ranges)."""
    begin, end = 2.0 * (x - BEFORE) / SPEED_OF_LIGHT, 2.0 * (x + BEHIND) / SPEED_OF_LIGHT
    own = WaveformParameters(
        subray_pattern=SubrayPattern.grid, subray_side=89, pulse_duration=1e-9, t_start=begin,
        t_stop=end, t_res=0.1e-9,
    )  # fmt: skip
    sideways = np.linspace(-0.5 * ACROSS, 0.5 * ACROSS, PULSES)
    pattern = ScanPattern.from_arrays(np.arctan2(sideways, x), np.zeros(PULSES))
    lidar = WaveformLidar(own, pattern, keeps=True)
    cloud = lidar.new_cloud()
    with RayScene(bush_and_wall(x)) as rays:
        lidar.capture(rays, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), out=cloud)
    power = np.zeros((PULSES, own.samples))
    assert cloud.waves is not None
    samples = cloud.waves.samples()
    for row in cloud.waves.rows():
        first = round((row["first"] - begin) / own.t_res - 0.5)
        kept = samples[row["offset"] : row["offset"] + row["count"]]
        power[row["pulse"], first : first + row["count"]] = kept
    ranges = 0.5 * SPEED_OF_LIGHT * (begin + own.t_res * (np.arange(own.samples) + 0.5))
    return sideways, np.asarray(ranges, float), power


def draw_slices() -> Picture:
    """Both slices and the pulses through their middles."""
    picture = blank(SIZE)
    for number, x in enumerate(DISTANCES):
        left = LEFT + number * (PANEL[0] + APART)
        sideways, ranges, power = slice_of(x)
        above = Plot(left, TOP, *PANEL, (ranges[0], ranges[-1]), (sideways[0], sideways[-1]))
        ticks = clear(picture, above, STEPS)
        _fill(picture, above, power / power.max())
        below = Plot(
            left,
            TOP + PANEL[1] + BELOW,
            *PANEL,
            above.across,
            (0.0, 1.1e6 * power[PULSES // 2].max()),
        )
        lower = clear(picture, below, STEPS)
        _curve(picture, below, 1e6 * power[PULSES // 2])
        pen = Pen(picture)
        title = f"bush at {x:g} m: slice, up to {1e6 * power.max():.3g} uW"
        pen.text(left, 28, title, size=TITLE)
        pen.axes(above, ticks, "", ("range, m", "to the left, m"))
        pen.axes(below, lower, "", ("range, m", "middle pulse, uW"))
        pen.done()
    return picture


def _fill(picture: Picture, plot: Plot, shares: Floats) -> None:
    """Paint shares of the largest power, (places from the lowest, ranges), by their cube root."""
    rows = np.linspace(len(shares) - 1, 0, plot.height).round().astype(int)
    columns = np.linspace(0, shares.shape[1] - 1, plot.width).round().astype(int)
    shown = np.cbrt(shares[np.ix_(rows, columns)])
    inside = slice(plot.top, plot.top + plot.height), slice(plot.left, plot.left + plot.width)
    colors = ramp_colors(RAMP, shown.ravel()).reshape(*shown.shape, 3)
    picture[inside] = np.where(shown[..., np.newaxis] > 0.02, colors, picture[inside])


def _curve(picture: Picture, plot: Plot, values: Floats) -> None:
    """Draw values over the width of a plot, filled."""
    places = np.linspace(0, len(values) - 1, plot.width)
    heights = np.interp(places, np.arange(len(values)), values)
    rows = np.clip(plot.rows(heights), plot.top, plot.top + plot.height - 1).astype(int)
    for column, row in enumerate(rows.tolist()):
        picture[row : plot.top + plot.height, plot.left + column] = LINE
