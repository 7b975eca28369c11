"""A picture of the waveform of one pulse, with the echoes that are found in it.

``python -m sensor_models.waveform SCENE [--position x,y,z] [--azimuth DEG] [--elevation DEG]``
``python -m sensor_models.waveform --bush`` draws the bush and the wall (``waveform_slice``).

SCENE is the name of a built-in scene or the path of a manifest. The signal is drawn over the range
that its time stands for, each echo of a decomposition as a Gaussian of its own, filter included,
and as a line where another way found it. ``--preset`` takes a product, ``--set NAME=VALUE`` changes
any parameter, by the FMU's name for it and in SI units.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models import catalog
from sensor_models.core.named import named_parameters, setting
from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.patterns import ScanPattern
from sensor_models.light.media import SPEED_OF_LIGHT
from sensor_models.output.images import png_of_colors
from sensor_models.presets import load_preset
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.pictures.drawing import (
    PALETTE,
    TITLE,
    Color,
    Pen,
    Picture,
    Plot,
    blank,
    clear,
)
from sensor_models.tools.pictures.waveform_slice import draw_slices
from sensor_models.waveform.clouds import EchoCloud
from sensor_models.waveform.lidar import WaveformLidar
from sensor_models.waveform.named import waveform_lidar_of
from sensor_models.waveform.parameters import FWHM, ExtractionWay

Floats = NDArray[np.float64]

SIZE = 1100, 520
SIGNAL: Color = (96, 102, 118)
LEFT, TOP, RIGHT, BOTTOM = 110, 70, 250, 70
#: Steps of a grid, over as many decades as there are.
STEPS = [digit * 10.0**decade for decade in range(-3, 6) for digit in (1.0, 2.0, 5.0)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make one picture; 0 if it went well."""
    given = _parser().parse_args(arguments)
    try:
        picture, told = (draw_slices(), []) if given.bush else picture_of(given)
        given.output.write_bytes(png_of_colors(picture))
    except (ParameterError, SceneError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for line in told:
        print(line)
    print(f"{given.output}: {picture.shape[1]} x {picture.shape[0]} pixels")
    return 0


def lidar_from(given: argparse.Namespace) -> WaveformLidar:
    """The lidar that the arguments ask for, with one pulse."""
    spec = catalog.spec_of("WaveformLidar")
    values = {**(load_preset(spec.name, given.preset) if given.preset else {}), **dict(given.set)}
    angles = [math.radians(given.azimuth)], [math.radians(given.elevation)]
    parameters = named_parameters(spec, values)
    pattern = ScanPattern.from_arrays(*angles)
    return waveform_lidar_of(parameters, spec.name, keeps=True, pattern=pattern)


def picture_of(given: argparse.Namespace) -> tuple[Picture, list[str]]:
    """The picture that the arguments ask for, and a line for each echo."""
    lidar = lidar_from(given)
    cloud = lidar.new_cloud()
    with RayScene(load_scene(given.scene)) as rays:
        lidar.capture(rays, (*given.position, 1.0, 0.0, 0.0, 0.0), out=cloud)
    ranges, signal = waveform_of(lidar, cloud)
    if not len(signal):
        raise ParameterError("nothing comes back above the threshold within the gate")
    title = f"{given.scene}, azimuth {given.azimuth:g} deg, elevation {given.elevation:g} deg"
    picture = draw(ranges, 1e6 * signal, echoes_of(lidar, cloud, ranges), title)
    told = [
        f"{p['range']:.3f} m, {1e6 * p['amplitude']:.4g} uW, width {1e9 * p['echo_width']:.2f} ns, "
        f"entity {p['entity_id']}"
        for p in cloud.points()
    ]
    return picture, told


def waveform_of(lidar: WaveformLidar, cloud: EchoCloud) -> tuple[Floats, Floats]:
    """The kept signal of the only pulse in W, over the range that its time stands for."""
    assert cloud.waves is not None
    rows, samples = cloud.waves.rows(), cloud.waves.samples().astype(np.float64)
    first = float(rows["first"][0]) if len(rows) else 0.0
    times = first + lidar.parameters_of_pulse.t_res * np.arange(len(samples))
    return np.asarray(0.5 * SPEED_OF_LIGHT * times, float), samples


def echoes_of(lidar: WaveformLidar, cloud: EchoCloud, ranges: Floats) -> list[Floats]:
    """Each echo as it is drawn over the ranges, in uW."""
    step = 0.5 * SPEED_OF_LIGHT * lidar.parameters_of_pulse.t_res
    filtered = lidar.extraction.filter_sigma * step
    drawn = []
    for point in cloud.points():
        middle, peak = float(point["range"]), 1e6 * float(point["amplitude"])
        if lidar.parameters_of_pulse.extraction == ExtractionWay.gaussian:
            own = 0.5 * SPEED_OF_LIGHT * float(point["echo_width"]) / FWHM
            width = max(math.hypot(own, filtered), 0.2 * step)
            drawn.append(peak * np.exp(-0.5 * ((ranges - middle) / width) ** 2))
        else:
            drawn.append(np.where(np.abs(ranges - middle) <= 0.5 * step, peak, 0.0))
    return drawn


def draw(ranges: Floats, signal: Floats, echoes: list[Floats], title: str) -> Picture:
    """Draw a signal in uW and its echoes over the range."""
    picture = blank(SIZE)
    top = 1.1 * max(float(signal.max()), 1e-12)
    bottom = min(1.1 * float(signal.min()), 0.0)
    size = SIZE[0] - LEFT - RIGHT, SIZE[1] - TOP - BOTTOM
    span = float(ranges[0]), max(float(ranges[-1]), float(ranges[0]) + 1e-3)
    plot = Plot(LEFT, TOP, *size, span, (bottom, top))
    ticks = clear(picture, plot, STEPS)
    trace(picture, plot, ranges, signal, SIGNAL, filled=True)
    for number, echo in enumerate(echoes):
        trace(picture, plot, ranges, echo, PALETTE[1 + number % (len(PALETTE) - 1)])
    pen = Pen(picture)
    pen.text(LEFT, 20, title, size=TITLE)
    pen.axes(plot, ticks, "", ("range, m", "power, uW"))
    for number in range(len(echoes)):
        ink = PALETTE[1 + number % (len(PALETTE) - 1)]
        pen.text(SIZE[0] - RIGHT + 24, TOP + 24 * number, f"echo {number + 1}", ink=ink)
    pen.text(SIZE[0] - RIGHT + 24, TOP + 24 * len(echoes), "signal", ink=SIGNAL)
    pen.done()
    return picture


def trace(
    picture: Picture,
    plot: Plot,
    across: Floats,
    values: Floats,
    color: Color,
    *,
    filled: bool = False,
) -> None:
    """Draw a curve, column by column, each as high as the curve goes within it, or all below."""
    base = int(plot.rows(0.0))
    edges = plot.left + np.arange(plot.width + 1)
    low, high = plot.across
    places = low + (edges - plot.left) / plot.width * (high - low)
    rows = plot.rows(np.interp(places, across, values))
    rows = np.clip(rows, plot.top, plot.top + plot.height - 1).astype(int)
    for column in range(plot.width):
        first, last = sorted((int(rows[column]), int(rows[column + 1])))
        last = max(last, base) if filled else last + 1
        picture[first : last + 1, plot.left + column] = color


def _numbers(text: str) -> tuple[float, ...]:
    numbers = tuple(float(part) for part in text.split(","))
    if len(numbers) != 3:
        raise argparse.ArgumentTypeError(f"{text!r} is not x,y,z")
    return numbers


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sensor_models.waveform", description="Draw the waveform of one pulse."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "scene", nargs="?", default="", help="name of a built-in scene, or the path of a manifest"
    )
    what.add_argument("--bush", action="store_true", help="a bush and a wall, 6 m and 86 m away")
    parser.add_argument("--position", type=_numbers, default=(0.0, 0.0, 1.8), help="x,y,z in m")
    parser.add_argument("--azimuth", type=float, default=0.0, help="degrees to the left of x")
    parser.add_argument("--elevation", type=float, default=0.0, help="degrees")
    parser.add_argument("--preset", default="", help="a product")
    parser.add_argument(
        "--set", type=setting, action="append", default=[], metavar="NAME=VALUE", help="a parameter"
    )
    parser.add_argument("--output", type=Path, default=Path("waveform.png"), help="file to write")
    return parser
