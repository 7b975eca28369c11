"""A picture of what a depth camera sees.

``python -m sensor_models.camera SCENE [--show depth|range|entity|label|normal] [--output FILE]``

SCENE is the name of a built-in scene or the path of a manifest. Distances are coloured from near
(bright) to far (dark), black where there is no reading; ids each have a colour of their own, grey
for none; normals have their components x, y, z, in the sensor frame, as red, green and blue.
``--preset`` takes a product, ``--set`` changes any parameter of the camera, by the FMU's name for
it and in SI units.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models import catalog
from sensor_models.camera.depth.camera import DepthCamera
from sensor_models.camera.depth.sensor import camera_of
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import multiply_quaternions
from sensor_models.core.named import named_parameters, setting
from sensor_models.core.placement import quaternion_of
from sensor_models.core.quantities import ParameterError
from sensor_models.output.images import png_of_colors
from sensor_models.presets import load_preset
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene

Picture = NDArray[np.uint8]

SHOWN = ("depth", "range", "entity", "label", "normal")
#: Colours of distances at even steps from near to far; between them it is linear.
NEAR_TO_FAR = np.array(
    [(252, 253, 191), (254, 159, 109), (222, 73, 104), (140, 41, 129), (59, 15, 112), (0, 0, 4)]
)
NO_ID = (60, 60, 60)
WITHOUT_PRESET = {
    "width": 640,
    "height": 480,
    "horizontal_fov": math.radians(87.0),
    "max_range": 30.0,
}
GOLDEN_RATIO = (1.0 + math.sqrt(5.0)) / 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Make one picture; 0 if it went well."""
    given = _parser().parse_args(arguments)
    try:
        picture = picture_of(given)
        output = given.output or Path(f"{given.show}.png")
        output.write_bytes(png_of_colors(picture))
    except (ParameterError, SceneError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{output}: {picture.shape[1]} x {picture.shape[0]} pixels")
    return 0


def camera_from(given: argparse.Namespace) -> DepthCamera:
    """The camera that the arguments ask for: a preset, or one with a wide view, and settings."""
    spec = catalog.spec_of("DepthCamera")
    sizes = {"width": given.size and given.size[0], "height": given.size and given.size[1]}
    angles = {"horizontal_fov": given.hfov and math.radians(given.hfov)}
    chosen = {**sizes, **angles, "max_range": given.max_range}
    values = {
        **(load_preset(spec.name, given.preset) if given.preset else WITHOUT_PRESET),
        **{name: value for name, value in chosen.items() if value is not None},
        **({"noise.on": True} if given.noise else {}),
        **dict(given.set),
        "calculate_depth": given.show == "depth",
        "return_normals": given.show == "normal",
        "segmentation": True,
        "normalize_range": False,
    }
    parameters = named_parameters(spec, values)
    seed = parameters.of(SamplingParameters).seed
    return camera_of(parameters, seed, spec.name, distances=True)


def picture_of(given: argparse.Namespace) -> Picture:
    """The picture that the arguments ask for."""
    camera = camera_from(given)
    roll, pitch, yaw = (math.radians(angle) for angle in given.angles)
    # Yaw first: the camera looks around before it looks up and down.
    turn = _then(quaternion_of(0.0, 0.0, yaw), quaternion_of(0.0, pitch, 0.0))
    pose = (*given.position, *_then(turn, quaternion_of(roll, 0.0, 0.0)))
    with RayScene(load_scene(given.scene)) as rays:
        frame = camera.capture(rays, pose)
    if frame.entity is None or frame.label is None or frame.image is None or frame.distance is None:
        raise ParameterError("the camera gives no image")
    if given.show in ("entity", "label"):
        return colors_of_ids(frame.entity if given.show == "entity" else frame.label)
    if given.show == "normal" and frame.normal is not None:
        return colors_of_normals(frame.normal)
    valid = np.isfinite(frame.distance)
    return colors_of_distances(
        np.where(valid, frame.image, np.nan), 0.0, camera.parameters.max_range
    )


def _then(
    first: tuple[float, float, float, float], second: tuple[float, float, float, float]
) -> tuple[float, float, float, float]:
    w, x, y, z = multiply_quaternions(np.array(first), np.array(second)).tolist()
    return w, x, y, z


def colors_of_distances(values: NDArray[np.floating], low: float, high: float) -> Picture:
    """Colours from near to far; black for what is no number."""
    share = np.clip((np.nan_to_num(values, nan=high) - low) / (high - low), 0.0, 1.0)
    places = share * (len(NEAR_TO_FAR) - 1)
    steps = np.arange(len(NEAR_TO_FAR))
    colors = np.stack([np.interp(places, steps, channel) for channel in NEAR_TO_FAR.T], axis=-1)
    colors[np.isnan(values)] = 0.0
    return np.round(colors).astype(np.uint8)


def colors_of_ids(ids: NDArray[np.integer]) -> Picture:
    """A colour for each id: hues that steps of the golden ratio keep apart."""
    hue = (ids / GOLDEN_RATIO) % 1.0
    bright = np.where((ids // 7) % 2 == 0, 0.95, 0.65)
    channels = [
        bright * np.clip(np.abs((hue * 6.0 + shift) % 6.0 - 3.0) - 1.0, 0.1, 1.0)
        for shift in (0.0, 4.0, 2.0)
    ]
    colors = np.round(255.0 * np.stack(channels, axis=-1)).astype(np.uint8)
    colors[ids < 0] = NO_ID
    return colors


def colors_of_normals(normals: NDArray[np.floating]) -> Picture:
    """Components from -1 to 1 as red, green and blue; black for none."""
    colors = np.round(127.5 * (normals + 1.0)).astype(np.uint8)
    colors[~normals.any(axis=-1)] = 0
    return colors


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sensor_models.camera", description="A picture of what a depth camera sees."
    )
    parser.add_argument("scene", help="name of a built-in scene, or path of a manifest")
    parser.add_argument("--show", choices=SHOWN, default="depth")
    parser.add_argument("--output", type=Path, help="PNG file; what is shown gives its name")
    parser.add_argument("--size", type=int, nargs=2, metavar=("W", "H"))
    parser.add_argument("--hfov", type=float, help="field of view in degrees")
    parser.add_argument("--max-range", type=float, help="metres")
    parser.add_argument("--preset", default="", help="camera; default: 640 x 480 over 87 degrees")
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument(
        "--position", type=float, nargs=3, default=(0.0, 0.0, 1.5), metavar=("X", "Y", "Z")
    )
    parser.add_argument(
        "--angles",
        type=float,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=("ROLL", "PITCH", "YAW"),
        help="degrees; yaw is applied first, positive to the left, positive pitch looks down",
    )
    parser.add_argument("--noise", action="store_true", help="with noise")
    return parser


if __name__ == "__main__":
    sys.exit(main())
