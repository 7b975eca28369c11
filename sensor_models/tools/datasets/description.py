"""The description of a data set, in TOML.

::

    [dataset]
    name = "yard"
    scene = "yard"                      # a built-in scene, or a manifest relative to this file
    samples = 1000
    seed = 1
    shard = 100                         # samples in a file
    format = "npz"                      # or "images": PNG and Parquet

    [pose]                              # of the body that the sensors are on
    area = [-12, -8, 12, 8]             # m: x, y of one corner and of the other
    height = [0.8, 2.0]                 # m above what is below
    yaw_deg = [-180, 180]               # a number, or from and to
    pitch_deg = 0                       # positive looks down
    roll_deg = 0
    look_at = "vehicle_1"               # a body, or [x, y, z]; then yaw and pitch add to that
    clearance = 0.8                     # m to the nearest surface
    on = ["road", "ground"]             # labels of what may be below; default: anything

    [bodies.vehicle_1]                  # movable bodies, on what is below unless z is given
    area = [-5, -5, 5, 5]
    yaw_deg = [-180, 180]
    on = ["road"]
    clearance = 2.0                     # m to the nearest surface, from 1 m above its origin

    [materials]                         # surfaces that look otherwise, by their names in the scene
    asphalt = ["asphalt", "concrete", "grass"]

    [weather]
    visibility = [50, 2000]             # m, uniform in the logarithm; in the air of the whole scene

    [sun]
    elevation_deg = [5, 80]
    azimuth_deg = [0, 360]

    [boxes]                             # what is labelled in the images of cameras
    labels = ["vehicle", "person"]
    smallest = 16                       # pixels that must be seen
    kitti = { vehicle = "Car" }         # text files, too, with these types; else labels' own names

    [sensors.front]                     # any that takes frames
    sensor = "DepthCamera"
    preset = "D455"
    parameters = { width = 320, height = 240 }

Everything that can be drawn may be a number instead, and whole tables may be missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensor_models.core.quantities import ParameterError
from sensor_models.core.toml_files import TomlError, read_toml
from sensor_models.output.files import check_names

FORMATS = ("npz", "images")
#: The most samples of a data set, and in a file of it; shards are counted when it goes on.
MOST_SAMPLES, MOST_IN_SHARD = 10_000_000, 100_000
#: Seeds are Integers of FMI, and none of a generator is below 0.
MOST_SEED = 2**31 - 1

Span = tuple[float, float]
Area = tuple[float, float, float, float]

_KEYS: Mapping[str, tuple[str, ...]] = {
    "dataset": ("name", "scene", "samples", "seed", "shard", "format"),
    "pose": ("area", "height", "yaw_deg", "pitch_deg", "roll_deg", "look_at", "clearance", "on"),
    "bodies": ("area", "z", "yaw_deg", "on", "clearance"),
    "weather": ("visibility",),
    "sun": ("elevation_deg", "azimuth_deg"),
    "boxes": ("labels", "smallest", "kitti"),
    "sensors": ("sensor", "preset", "parameters"),
}


@dataclass(frozen=True)
class PoseRule:
    """Where the body of the sensors may be, and where it looks."""

    area: Area = (-10.0, -10.0, 10.0, 10.0)
    height: Span = (1.0, 1.0)
    yaw_deg: Span = (-180.0, 180.0)
    pitch_deg: Span = (0.0, 0.0)
    roll_deg: Span = (0.0, 0.0)
    look_at: "str | tuple[float, float, float] | None" = None
    clearance: float = 0.5
    on: tuple[str, ...] = ()


@dataclass(frozen=True)
class BodyRule:
    """Where a movable body may stand."""

    area: Area
    yaw_deg: Span = (-180.0, 180.0)
    z: Span | None = None  # m; None: on what is below
    on: tuple[str, ...] = ()
    clearance: float = 0.0


@dataclass(frozen=True)
class SensorRule:
    """A sensor, and its name in the data set."""

    name: str
    sensor: str
    preset: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Description:
    """A data set before it is made."""

    name: str
    scene: str
    samples: int
    seed: int
    shard: int
    format: str
    pose: PoseRule
    bodies: dict[str, BodyRule]
    materials: dict[str, tuple[str, ...]]
    visibility: Span | None
    sun: tuple[Span, Span] | None  # elevation and azimuth in degrees
    labels: tuple[str, ...]
    smallest: int
    kitti: dict[str, str] | None  # types by labels; None: no text files
    sensors: tuple[SensorRule, ...]


def read_description(path: Path) -> Description:
    """Read and check a description."""
    try:
        content = read_toml(path)
        return _description(content, path.absolute().parent)
    except TomlError as error:
        raise ParameterError(str(error)) from error
    except (OSError, ValueError) as error:  # ParameterError is such
        raise ParameterError(f"{path}: {error}") from error


def _description(content: Mapping[str, Any], folder: Path) -> Description:
    _check("", content, (*_KEYS, "materials"))
    about = _table(content, "dataset", needed=("name", "scene", "samples"))
    weather, sun = _table(content, "weather"), _table(content, "sun")
    boxes = _table(content, "boxes")
    labels = tuple(_list("boxes.labels", boxes.get("labels", [])))
    sensors = tuple(
        _sensor(name, _checked(f"sensors.{name}.", table, _KEYS["sensors"], ("sensor",)))
        for name, table in content.get("sensors", {}).items()
    )
    if not sensors:
        raise ParameterError("sensors: there is none")
    check_names("sensors.", (sensor.name for sensor in sensors), also="-")
    return Description(
        name=str(about["name"]),
        scene=_scene(about["scene"], folder),
        samples=_count("dataset.samples", about["samples"], 1, MOST_SAMPLES),
        seed=_count("dataset.seed", about.get("seed", 0), 0, MOST_SEED),
        shard=_count("dataset.shard", about.get("shard", 100), 1, MOST_IN_SHARD),
        format=_one_of("dataset.format", about.get("format", "npz"), FORMATS),
        pose=_pose(_table(content, "pose")),
        bodies={
            name: _body(name, _checked(f"bodies.{name}.", table, _KEYS["bodies"], ("area",)))
            for name, table in content.get("bodies", {}).items()
        },
        materials={
            name: tuple(_list(f"materials.{name}", names))
            for name, names in content.get("materials", {}).items()
        },
        visibility=_positive("weather.visibility", weather.get("visibility")),
        sun=_sun(sun) if sun else None,
        labels=labels,
        smallest=_count("boxes.smallest", boxes.get("smallest", 16), 1, MOST_SEED),
        kitti=_types(boxes["kitti"], labels) if "kitti" in boxes else None,
        sensors=sensors,
    )


def _scene(given: Any, folder: Path) -> str:
    """The name of a scene, or the absolute path of its manifest."""
    text = str(given)
    return str(folder / text) if text.endswith(".toml") else text


def _pose(table: Mapping[str, Any]) -> PoseRule:
    plain = PoseRule()
    look = table.get("look_at")
    if look is not None and not isinstance(look, str):
        x, y, z = _numbers("pose.look_at", look, 3)
        look = (x, y, z)
    clearance = table.get("clearance", plain.clearance)
    return PoseRule(
        area=_area("pose.area", table.get("area", plain.area)),
        height=_span("pose.height", table.get("height", plain.height)),
        # what looks at something looks there, unless angles are given on top
        yaw_deg=_span("pose.yaw_deg", table.get("yaw_deg", plain.yaw_deg if look is None else 0.0)),
        pitch_deg=_span("pose.pitch_deg", table.get("pitch_deg", 0.0)),
        roll_deg=_span("pose.roll_deg", table.get("roll_deg", 0.0)),
        look_at=look,
        clearance=_span("pose.clearance", clearance)[0],
        on=tuple(_list("pose.on", table.get("on", []))),
    )


def _body(name: str, table: Mapping[str, Any]) -> BodyRule:
    where = f"bodies.{name}."
    return BodyRule(
        area=_area(f"{where}area", table["area"]),
        yaw_deg=_span(f"{where}yaw_deg", table.get("yaw_deg", (-180.0, 180.0))),
        z=_span(f"{where}z", table["z"]) if "z" in table else None,
        on=tuple(_list(f"{where}on", table.get("on", []))),
        clearance=_span(f"{where}clearance", table.get("clearance", 0.0))[0],
    )


def _types(given: Any, labels: tuple[str, ...]) -> dict[str, str]:
    """The word that stands for each label; what is not named keeps its own."""
    for label, word in _checked("boxes.kitti.", given, labels, ()).items():
        if not isinstance(word, str) or len(word.split()) != 1:
            raise ParameterError(f"boxes.kitti.{label} = {word!r} must be one word")
    return {label: "_".join(label.split()) for label in labels} | dict(given)


def _sun(table: Mapping[str, Any]) -> tuple[Span, Span]:
    return (
        _span("sun.elevation_deg", table.get("elevation_deg", (30.0, 30.0))),
        _span("sun.azimuth_deg", table.get("azimuth_deg", (0.0, 360.0))),
    )


def _sensor(name: str, table: Mapping[str, Any]) -> SensorRule:
    from sensor_models import catalog

    kind = table["sensor"]
    if kind not in catalog.names() or catalog.spec_of(kind).frames is None:
        seeing = [n for n in catalog.names() if catalog.spec_of(n).frames is not None]
        _one_of(f"sensors.{name}.sensor", kind, seeing)  # only now is it worth to import them all
    return SensorRule(
        name,
        kind,
        str(table.get("preset", "")),
        dict(table.get("parameters", {})),
    )


def _table(
    content: Mapping[str, Any], name: str, needed: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    return _checked(f"{name}.", content.get(name, {}), _KEYS[name], needed)


def _checked(
    where: str, table: Any, known: tuple[str, ...], needed: tuple[str, ...]
) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise ParameterError(f"{where.rstrip('.')} must be a table")
    for key in needed:
        if key not in table:
            raise ParameterError(f"{where}{key} is missing")
    _check(where, table, known)
    return table


def _check(where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ParameterError(f"{where}{key} is unknown, known: {', '.join(known)}")


def _numbers(name: str, given: Any, count: int) -> list[float]:
    fits = isinstance(given, (list, tuple)) and len(given) == count
    if not fits or not all(type(number) in (int, float) for number in given):
        raise ParameterError(f"{name} = {given!r} must be {count} numbers")
    return [float(number) for number in given]


def _span(name: str, given: Any) -> Span:
    """From and to; both the same for a number."""
    if type(given) in (int, float):
        return float(given), float(given)
    low, high = _numbers(name, given, 2)
    if low > high:
        raise ParameterError(f"{name} = {given!r} must be rising")
    return low, high


def _positive(name: str, given: Any) -> Span | None:
    if given is None:
        return None
    low, high = _span(name, given)
    if low <= 0.0:
        raise ParameterError(f"{name} = {given!r} must be above 0")
    return low, high


def _area(name: str, given: Any) -> Area:
    a, b, c, d = _numbers(name, given, 4)
    return min(a, c), min(b, d), max(a, c), max(b, d)


def _count(name: str, given: Any, least: int, most: int) -> int:
    if type(given) is not int or not least <= given <= most:
        raise ParameterError(f"{name} = {given!r} must be a whole number of {least} to {most}")
    return int(given)


def _list(name: str, given: Any) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise ParameterError(f"{name} = {given!r} must be a list of names")
    return list(given)


def _one_of(name: str, given: Any, known: Any) -> str:
    if given not in known:
        raise ParameterError(f"{name} = {given!r} is none of {', '.join(known)}")
    return str(given)
