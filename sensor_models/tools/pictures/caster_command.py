"""Ideal images of large scenes, by many workers.

    python -m sensor_models.tools.caster split SCENE DIRECTORY --parts 8 --bands 450e-9,550e-9
    python -m sensor_models.tools.caster cast DIRECTORY --size 2000 2000 --position -20 0 8

``split`` divides a scene into parts on disk. ``cast`` renders what a camera sees of them, with
processes of this machine or with those of a Dask cluster (``--scheduler tcp://HOST:8786``). The
array that it writes (NumPy's npz) holds ``distance`` along each ray in m, ``facet``, ``weights``,
``normal`` and ``values`` in each band; ``--picture`` is its range from near, bright, to far.
``photograph`` takes a picture of parts with visible bands under the sky of a scene file.
"""

import argparse
import contextlib
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import OpticsParameters, PictureParameters
from sensor_models.camera.depth.parameters import DepthCameraParameters
from sensor_models.core.placement import quaternion_of
from sensor_models.core.quantities import ParameterError
from sensor_models.output.images import png_of_colors
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.threads.pool import processors
from sensor_models.tools.caster import (
    CastError,
    IdealImage,
    View,
    cast,
    photograph,
    read_parts,
    split,
)
from sensor_models.tools.pictures.camera_command import colors_of_distances
from sensor_models.tools.pictures.progress import ProgressLine
from sensor_models.tools.workers import WorkerPool
from sensor_models.tools.workers.cluster import ClusterPool
from sensor_models.tools.workers.local import LocalPool


def main(arguments: Sequence[str] | None = None) -> int:
    """Divide or cast; 0 if it went well."""
    given = _parser().parse_args(arguments)
    try:
        print(given.act(given))
    except (ParameterError, SceneError, CastError, RuntimeError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _split(given: argparse.Namespace) -> str:
    parts = split(load_scene(given.scene), given.directory, given.parts, bands=given.bands)
    return f"{parts.directory}: {parts.facets} facets in {len(parts.parts)} parts"


def _cast(given: argparse.Namespace) -> str:
    parts, view = read_parts(given.directory), _view(given)
    start = time.perf_counter()
    with contextlib.closing(_pool(given)) as pool, ProgressLine("casting") as progress:
        image = cast(parts, view, pool, progress)
    seconds = time.perf_counter() - start
    output = given.output or given.directory / "image.npz"
    with Path(output).open("wb") as file:
        np.savez(file, **vars(image))
    if given.picture:
        given.picture.write_bytes(_picture(image))
    rows, columns = view.shape
    hit = np.isfinite(image.distance).mean()
    return f"{output}: {columns} x {rows} rays, {hit:.0%} hit something, {seconds:.1f} s"


def _photograph(given: argparse.Namespace) -> str:
    (width, height), half = given.size, math.radians(0.5 * given.hfov)
    focal = 0.5 * width / math.tan(half)
    optics = OpticsParameters(width=width, height=height, intrinsics=(focal, focal, 0.0, 0.0))
    camera = CcdCamera(optics, PictureParameters(gamma=0.5, exposure_time=given.exposure))
    parts, sky, view = read_parts(given.directory), load_scene(given.scene).sky, _view(given)
    with contextlib.closing(_pool(given)) as pool, ProgressLine("casting") as progress:
        taken = photograph(
            parts, camera, pool, sky,
            position=view.position, orientation=view.orientation, progress=progress,
        )  # fmt: skip
    output = given.output or given.directory / "photograph.png"
    Path(output).write_bytes(png_of_colors(taken.numbers.astype(np.uint8)))
    return f"{output}: {width} x {height} pixels, {(taken.numbers >= 255).mean():.0%} at the top"


def _pool(given: argparse.Namespace) -> WorkerPool:
    if given.scheduler:
        return ClusterPool(given.scheduler)
    return LocalPool(given.workers, given.memory * 1e6)


def _view(given: argparse.Namespace) -> View:
    width, height = given.size
    optics = DepthCameraParameters(
        width=width, height=height, horizontal_fov=math.radians(given.hfov)
    )
    roll, pitch, yaw = (math.radians(angle) for angle in given.angles)
    return View(optics, tuple(given.position), quaternion_of(roll, pitch, yaw))


def _picture(image: IdealImage) -> bytes:
    seen = image.distance[np.isfinite(image.distance)]
    low, high = (seen.min(), np.percentile(seen, 99.0)) if len(seen) else (0.0, 1.0)
    values = np.where(np.isfinite(image.distance), image.distance, np.nan)
    return png_of_colors(colors_of_distances(values, float(low), float(max(high, low + 1e-3))))


def _bands(text: str) -> list[float]:
    return [float(part) for part in text.split(",") if part]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sensor_models.tools.caster",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    dividing = commands.add_parser("split", help="divide a scene into parts on disk")
    dividing.set_defaults(act=_split)
    dividing.add_argument("scene", help="name of a built-in scene, or path of a manifest")
    dividing.add_argument("directory", type=Path)
    dividing.add_argument("--parts", type=int, default=processors())
    dividing.add_argument(
        "--bands", type=_bands, default=[], help="up to six wavelengths in m, with commas"
    )
    casting = commands.add_parser("cast", help="render what a camera sees of the parts")
    casting.set_defaults(act=_cast)
    casting.add_argument("directory", type=Path)
    casting.add_argument("--output", type=Path, help="NPZ file; default: image.npz in DIRECTORY")
    casting.add_argument("--picture", type=Path, help="PNG file of the range")
    _add_view(casting)
    taking = commands.add_parser("photograph", help="take a picture of parts with visible bands")
    taking.set_defaults(act=_photograph)
    taking.add_argument("directory", type=Path)
    taking.add_argument("scene", help="whose sky it is: name of a scene, or path of a manifest")
    taking.add_argument("--output", type=Path, help="PNG; default: photograph.png in DIRECTORY")
    taking.add_argument("--exposure", type=float, default=0.4, help="of the chip, in s")
    _add_view(taking)
    return parser


def _add_view(casting: argparse.ArgumentParser) -> None:
    """Where the camera is, and who casts its rays."""
    casting.add_argument("--size", type=int, nargs=2, default=(2000, 2000), metavar=("W", "H"))
    casting.add_argument("--hfov", type=float, default=60.0, help="field of view in degrees")
    casting.add_argument(
        "--position", type=float, nargs=3, default=(0.0, 0.0, 1.5), metavar=("X", "Y", "Z")
    )
    casting.add_argument(
        "--angles",
        type=float,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=("ROLL", "PITCH", "YAW"),
        help="degrees; positive pitch looks down, positive yaw to the left",
    )
    casting.add_argument("--workers", type=int, default=processors(), help="processes here")
    casting.add_argument(
        "--memory", type=float, default=math.inf, help="MB of parts that a process holds"
    )
    casting.add_argument("--scheduler", default="", help="address of a Dask scheduler")
