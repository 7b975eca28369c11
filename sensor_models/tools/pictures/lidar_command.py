"""Pictures of lidar frames and scan patterns.

``python -m sensor_models.lidar FILE``                  a cloud: pcd, ply, npy, las or laz
``python -m sensor_models.lidar --scene yard --preset OS0-128 --position 0,0,1.8``
``python -m sensor_models.lidar --pattern Avia --seconds 1``
``python -m sensor_models.lidar --pattern --set pattern.type=raster --set pattern.rows=20``

A range image, a view from above, or both. Points are coloured by intensity, entity, label, range,
height or number of the return; without ``--color``, the range image by range and the view from
above by intensity. ``--set`` changes any parameter of the lidar, by the FMU's name for it and in
SI units. ``--below 2`` leaves out what lies higher, such as the ceiling of a room, which would hide
what is under it. ``--names SCENE`` gives the legend of a file the names of entities and labels
that the scene has. With ``--speed`` the lidar moves forward, and the view ``motion`` shows one
sweep as it is measured and with its motion taken out, over what it sees at rest.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.named import setting
from sensor_models.core.placement import quaternion_of
from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.named import named_lidar
from sensor_models.lidar.parameters import OutputFrame, ScanMode
from sensor_models.lidar.readers import read_cloud
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import poses_of
from sensor_models.tools.pictures.clouds import (
    FIELD_OF,
    Shown,
    birds_eye,
    both,
    column,
    pattern_picture,
    range_image,
    side_by_side,
)
from sensor_models.tools.pictures.drawing import Picture
from sensor_models.tools.pictures.view import save_png

Points = NDArray[np.void]

#: What is shown, and the size of its picture.
VIEWS = {"range": (1280, 480), "birdseye": (1100, 900), "all": (1280, 1240), "motion": (1400, 760)}
LARGEST_PICTURE = 2**25  # pixels
MOST_PATTERN_RAYS = 20_000_000
#: Fields that say where a point is.
PLACES = frozenset(("x", "y", "z", "range", "azimuth", "elevation"))
#: Duration of a frame of a pattern that does not know its own, s.
WITHOUT_RATE = 0.1


@dataclass(frozen=True)
class Frame:
    """Points and where they come from."""

    points: Points
    title: str
    names: dict[str, dict[int, str]] = field(default_factory=dict)

    def shown(self, color: str, note: str = "") -> Shown:
        """The points in one kind of colour."""
        return Shown(self.points, color, f"{self.title}{note}", self.names)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make one picture; 0 if it went well."""
    parser = _parser()
    given = parser.parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    if sum(part is not None for part in (given.file, given.scene, given.pattern)) != 1:
        parser.error("needed is one of FILE, --scene and --pattern")
    try:
        picture, name = _picture(given)
        output = given.output or Path(f"{name}.png")
        save_png(picture, output)
    except (ParameterError, SceneError, OSError) as error:
        print(" ".join(str(error).splitlines()), file=sys.stderr)
        return 1
    print(f"{output}: {picture.shape[1]} x {picture.shape[0]} pixels")
    return 0


def _picture(given: argparse.Namespace) -> tuple[Picture, str]:
    """The picture that is asked for, and a name for it."""
    if given.pattern is not None:
        return picture_of_pattern(given), f"pattern-{given.pattern or 'lidar'}"
    if given.view == "motion":
        return picture_of_motion(given), f"{_name(given)}-motion"
    frame = read_frame(given.file, given.names) if given.file is not None else take_frame(given)
    frame = replace(frame, points=cut(frame.points, given.below))
    if not len(frame.points):
        raise ParameterError(f"{frame.title}: has no points to show")
    size = given.size or VIEWS[given.view]
    around, above = frame.shown(given.color or "range"), frame.shown(given.color or "intensity")
    if given.view == "range":
        return range_image(around, size), _name(given)
    if given.view == "birdseye":
        return birds_eye(above, size, given.area), _name(given)
    return both((around, above), size, given.area), _name(given)


def _name(given: argparse.Namespace) -> str:
    if given.file is not None:
        return Path(given.file).stem
    scene = Path(given.scene).stem if given.scene.endswith(".toml") else given.scene
    return "-".join(part for part in (scene, given.preset) if part)


def cut(points: Points, below: float) -> Points:
    """The points that lie below a height in m, in the frame that they are given in."""
    return points if below == math.inf else points[np.asarray(column(points, "z"), float) < below]


def read_frame(path: Path, scene: str = "") -> Frame:
    """The points of a file, but for those that are nowhere, with the names of a scene."""
    points = read_cloud(path)
    known = np.ones(len(points), bool)
    for name in PLACES.intersection(points.dtype.names or ()):
        known &= np.isfinite(points[name])
    points = points[known]
    names = names_of(load_scene(scene)) if scene else {}
    return Frame(points, f"{path.name}: {len(points):,} points", names)


def names_of(scene: Scene) -> dict[str, dict[int, str]]:
    """The names of the entities and of the labels of a scene."""
    entities = {instance.entity_id: instance.name for instance in scene.instances}
    return {"entity": entities, "label": dict(scene.labels)}


# ---- taking frames -----------------------------------------------------------------------------


def take_frame(given: argparse.Namespace) -> Frame:
    """Frames of a scene, one or several, as one cloud."""
    lidar, rate = named_lidar(given.preset, dict(given.set))
    scene = load_scene(given.scene)
    points = _take(lidar, rate, scene, given, given.speed)
    return _framed(given, scene, points)


def picture_of_motion(given: argparse.Namespace) -> Picture:
    """One sweep as it is measured and with its motion taken out, over what is seen at rest."""
    if given.scene is None or given.speed == 0.0:
        raise ParameterError("the view motion needs --scene and a --speed")
    scene = load_scene(given.scene)
    clouds = []
    for corrected, speed in ((False, 0.0), (False, given.speed), (True, given.speed)):
        settings = {
            **dict(given.set),
            "scan_mode": ScanMode.rolling,
            "output_frame": OutputFrame.sensor,
            "motion_correction": corrected,
        }
        lidar, rate = named_lidar(given.preset, settings)
        clouds.append(cut(_take(lidar, rate, scene, given, speed), given.below))
    if not all(map(len, clouds)):
        raise ParameterError(f"{given.scene}: the lidar sees nothing there")
    names = _framed(given, scene, clouds[0]).names
    shown = [
        Shown(cloud, given.color or "intensity", title, names)
        for cloud, title in zip(
            clouds[1:],
            (f"as measured at {given.speed:g} m/s", "with motion_correction; grey: at rest"),
            strict=True,
        )
    ]
    size = given.size or VIEWS["motion"]
    return side_by_side((shown[0], shown[1]), clouds[0], size, given.area)


def _take(
    lidar: Lidar, rate: float, scene: Scene, given: argparse.Namespace, speed: float
) -> Points:
    """The points of all frames that are asked for, from a lidar that moves forward."""
    duration = 1.0 / rate if rate > 0.0 else 0.0
    if speed != 0.0 and not duration:
        raise ParameterError("--speed needs a lidar with a sample_rate, by its preset or --set")
    yaw = math.radians(given.yaw)
    forward = speed * np.array([math.cos(yaw), math.sin(yaw), 0.0])
    clouds = []
    with RayScene(scene) as rays:
        for number in range(given.frames):
            _tell(f"frame {number + 1} of {given.frames}: {lidar.rays:,} rays")
            times = np.linspace(0.0, duration, lidar.spans + 1) if lidar.rolls else np.zeros(1)
            bodies = np.empty((len(times), 7))
            places = (number * duration + times)[:, None] * forward
            bodies[:, :3] = np.array(given.position) + places
            bodies[:, 3:] = quaternion_of(0.0, 0.0, yaw)
            cloud, columns = lidar.new_cloud(wide=True), (0, lidar.pattern.columns)
            poses = poses_of(lidar.mount, bodies)
            lidar.scan(rays, poses, number, (number * duration, duration), columns, cloud)
            clouds.append(cloud.points())
    _tell("")
    return np.concatenate(clouds)


def _framed(given: argparse.Namespace, scene: Scene, points: Points) -> Frame:
    where = ", ".join(f"{part:g}" for part in given.position)
    title = f"{scene.name}, {given.preset or 'lidar'} at ({where}) m: {len(points):,} points"
    return Frame(points, title, names_of(scene))


def picture_of_pattern(given: argparse.Namespace) -> Picture:
    """Where the rays of a preset point in some seconds."""
    lidar, rate = named_lidar(given.pattern, dict(given.set))
    pattern, duration = lidar.pattern, 1.0 / rate if rate > 0.0 else WITHOUT_RATE
    seconds = given.seconds or duration
    frames = math.ceil(seconds / duration - 1e-9)
    if frames * lidar.rays > MOST_PATTERN_RAYS:
        raise ParameterError(f"{seconds:g} s are {frames * lidar.rays:,} rays, too many to draw")
    angles = np.concatenate([pattern.angles(number) for number in range(frames)], axis=1)
    times = (np.arange(frames)[:, None] + pattern.offset).ravel() * duration
    kept = times < seconds * (1.0 + 1e-9)
    name = given.pattern or dict(given.set).get("pattern.type", "grid")
    title = f"{name}: {int(kept.sum()):,} rays in {seconds:.4g} s"
    azimuth, elevation = angles[:, kept]
    return pattern_picture(azimuth, elevation, times[kept], title, given.size, given.within)


def _tell(text: str) -> None:
    """Say what is going on, if a person watches; an empty text takes the last one away."""
    if sys.stderr.isatty():
        print(f"\r{text:<60}" + ("" if text else "\r"), end="", file=sys.stderr, flush=True)


# ---- arguments ---------------------------------------------------------------------------------


def _joined(arguments: Sequence[str]) -> list[str]:
    """Arguments with lists tied to their options: one that starts with - looks like an option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in ("--position", "--within", "--below"):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _numbers(text: str) -> tuple[float, ...]:
    numbers = tuple(float(part) for part in text.split(","))
    if not all(map(math.isfinite, numbers)):
        raise ValueError(text)
    return numbers


def _point(text: str) -> tuple[float, float, float]:
    x, y, z = _numbers(text)
    return x, y, z


def _within(text: str) -> tuple[float, float, float, float]:
    right, left, bottom, top = _numbers(text)
    if right >= left or bottom >= top:
        raise ValueError(text)
    return right, left, bottom, top


def _size(text: str) -> tuple[int, int]:
    width, height = (int(part) for part in text.split("x"))
    if width < 1 or height < 1 or width * height > LARGEST_PICTURE:
        raise ValueError(text)
    return width, height


def _positive(text: str) -> float:
    number = float(text)
    if not 0.0 < number < math.inf:
        raise ValueError(text)
    return number


def _height(text: str) -> float:
    (number,) = _numbers(text)
    return number


def _count(text: str) -> int:
    number = int(text)
    if not 0 < number <= 1000:
        raise ValueError(text)
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sensor_models.lidar", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("file", type=Path, nargs="?", metavar="FILE", help="point cloud")
    add("--scene", help="take a frame of a built-in scene, or of a manifest")
    add("--pattern", nargs="?", const="", metavar="PRESET", help="show where rays point, and when")
    add("--preset", default="", help="lidar that takes the frame; default: a grid of 128 x 512")
    add("--set", type=setting, action="append", default=[], metavar="NAME=VALUE")
    add("--position", type=_point, default=(0.0, 0.0, 1.8), help="x,y,z in m")
    add("--yaw", type=float, default=0.0, help="degrees, positive to the left")
    add("--speed", type=float, default=0.0, help="m/s forward while it scans")
    add("--frames", type=_count, default=1, help="number of frames in one picture")
    add("--seconds", type=_positive, default=0.0, help="of a pattern; default: one frame")
    add("--view", choices=VIEWS, default="all")
    add("--color", choices=FIELD_OF)
    add("--area", type=_positive, default=0.0, help="from above: metres around the origin")
    add("--below", type=_height, default=math.inf, help="m: leave out the points above it")
    add("--names", default="", metavar="SCENE", help="of a FILE: whose names the legend has")
    add("--within", type=_within, help="of a pattern: degrees right,left,bottom,top")
    add("--size", type=_size, help="WIDTHxHEIGHT in pixels")
    add("--output", type=Path, help="PNG file; named after what it shows by default")
    return parser


if __name__ == "__main__":
    sys.exit(main())
