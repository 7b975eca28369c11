"""What presets give a user: each run through its FMU at its own rate, with its own defaults.

A function for each kind of sensor steps an FMU with a preset and nothing else set but where it is
and what is around it, and returns the numbers that data sheets speak of, by name.
"""

import functools
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.catalog import spec_of
from sensor_models.core.spec import scalars_of
from sensor_models.output.clouds import CloudFormat
from sensor_models.output.images import ImageFormat
from sensor_models.output.sinks import WriteFiles
from sensor_models.presets import load_preset
from sensor_models.scene.manifest import scene_folder
from tests.fmus.host import Instance, open_fmu

Numbers = dict[str, float]

G, DEGREE = 9.80665, math.pi / 180.0
SAMPLES = 8000
#: Half the side of the room that lidars stand in the middle of, m.
ROOM = 10.0
#: Around the normal of a wall, what directions err by does not matter to ranges.
NEAR = math.radians(10.0)
#: Where walls stand before a sensor, m.
WALLS = {"VLP-16 APD": 10.0, "LMS-Q560": 100.0, "VZ-400": 20.0, "D455": 4.0}

#: How far lidars see a surface of 10 %, m, and where plates stand: shares of that.
DARK = {"OS0-128": 15.0, "OS1-64": 40.0, "OS1-128": 40.0, "HDL-64E": 50.0, "Mid-360": 40.0}
DARK |= {"Avia": 190.0}
WITHIN, BEYOND = 0.97, 1.25

#: Where a corner stands before a radar, m: half of what it can tell apart, or 20 m.
CORNERS = {"ARS 408-21": 20.0, "AWR1843": 20.0, "IWR6843": 5.0}


def period_of(model: str, preset: str) -> float:
    """The time from one sample or frame to the next."""
    spec = spec_of(model)
    starts = {name: start for name, _, start in scalars_of(spec.all_parameters)}
    rate = float(load_preset(model, preset).get("sample_rate", starts["sample_rate"]))
    return 1.0 / rate if rate > 0.0 else spec.step


def write_scene(
    folder: Path, size: tuple[float, float, float], middle: float, share: float
) -> Path:
    """A scene of one matt box, whose middle is ahead of the sensor by so much."""
    path = folder / "scene.toml"
    path.write_text(
        'format = 1\nname = "box"\n'
        '[materials.matt]\nkind = "lambert"\nsource = "none"\n'
        f"surface = [{{ diffuse_reflectance = {share} }}]\n"
        f'[meshes.box]\nbox = {{ size = {list(size)} }}\nmaterial = "matt"\n'
        f'[[instances]]\nmesh = "box"\nentity_id = 7\nposition = [{middle}, 0, 0]\n'
    )
    return path


def wall(folder: Path, distance: float, share: float = 0.5) -> Path:
    """A scene with a wall across the x axis, as wide as it is far."""
    wide = 2.0 * distance
    return write_scene(folder, (0.2, wide, wide), distance + 0.1, share)


@contextmanager
def running(fmu: Path, values: dict[str, Any]) -> Iterator[Instance]:
    """An instance that was initialised with some values, its files in a folder of its own."""
    with tempfile.TemporaryDirectory() as name, open_fmu(fmu) as instance:
        instance.initialize({**values, "output_directory": name})
        instance.folder = Path(name)  # type: ignore[attr-defined]
        yield instance


def take(instance: Instance, period: float, frames: int) -> None:
    """Steps until so many frames are complete, and written."""
    count = 0
    while instance.get("frame.count") < frames:
        instance.step(count * period, period)
        count += 1
        assert count < frames + 3, "a frame is lost"
    instance.terminate()


def sampled(instance: Instance, period: float, count: int, names: list[str]) -> np.ndarray:
    """Outputs after each step."""
    found = np.empty((count, len(names)))
    for k in range(count):
        instance.step(k * period, period)
        found[k] = list(instance.get_all(names).values())
    return found


def imu(fmu: Path, preset: str) -> Numbers:
    """At rest, level, in the field of the Earth."""
    period = period_of("Imu", preset)
    parts = ("accelerometer", "gyroscope", "magnetometer")
    with running(fmu, {"preset": preset}) as instance:
        names = [f"{part}.{axis}" for part in parts for axis in "xyz"]
        readings = sampled(instance, period, SAMPLES, names)[100:]
        count = instance.get("sample.count")
    deviations = readings.std(axis=0)
    return {
        "rate / Hz": count / (SAMPLES * period),
        "accelerometer x / mg rms": deviations[0] / (1e-3 * G),
        "accelerometer z / mg rms": deviations[2] / (1e-3 * G),
        "gyroscope / (deg/s) rms": deviations[3:6].mean() / DEGREE,
        "magnetometer / mgauss rms": deviations[6:].mean() / 1e-7,
        "gravity / g": readings[:, 2].mean() / G,
    }


def encoder(fmu: Path, preset: str) -> Numbers:
    """A shaft that turns once."""
    period = period_of("Encoder", preset)
    found = np.empty(SAMPLES)
    with running(fmu, {"preset": preset}) as instance:
        for k in range(SAMPLES):
            angle = math.tau * (k + 0.5) / SAMPLES
            instance.set({"joint.position": angle})
            instance.step(k * period, period)
            found[k] = instance.get("position") - angle
    error = (found + math.pi) % math.tau - math.pi
    return {"error / deg rms": error.std() / DEGREE, "error / deg": abs(error).max() / DEGREE}


def gnss(fmu: Path, preset: str) -> Numbers:
    """A resting antenna under an open sky, read every two minutes, from the tenth on."""
    count, step, radius = 500, 120.0, 6378137.0
    names = ["latitude", "longitude", "velocity.east", "fix", "sample.count"]
    with running(fmu, {"preset": preset}) as instance:
        rows = sampled(instance, step, count, names)[5:]
    north, east = radius * rows[:, 0], radius * rows[:, 1]  # at the equator
    return {
        # what comes after the last given state is not known yet
        "rate / Hz": (rows[-1, 4] - 1) / ((count - 1) * step),
        "radius of half / m": float(np.median(np.hypot(north, east))),
        "velocity / (m/s) rms": rows[:, 2].std(),
        "fixes / 1": (rows[:, 3] == 3).mean(),
    }


def lidar(fmu: Path, preset: str) -> Numbers:
    """A lidar in the middle of a matt room, whose walls are 10 m away: all rays return."""
    given, period = load_preset("Lidar", preset), period_of("Lidar", preset)
    rays = int(given["pattern.rows"]) * int(given["pattern.columns"])
    frames = max(1, round(8000 / rays))
    values = {"output_format": int(CloudFormat.npy), "write_files": int(WriteFiles.on)}
    with tempfile.TemporaryDirectory() as name:
        room = write_scene(Path(name), (2.0 * ROOM,) * 3, 0.0, 0.5)
        with running(fmu, {"preset": preset, "scene": str(room), **values}) as instance:
            take(instance, period, frames)
            files = sorted(instance.folder.glob("*.points.npy"))[:frames]  # type: ignore[attr-defined]
            points = np.concatenate([np.load(file) for file in files])
    azimuth, elevation = (points[key].astype(float) for key in ("azimuth", "elevation"))
    truth = np.cos(elevation) * np.maximum(abs(np.cos(azimuth)), abs(np.sin(azimuth)))
    error = points["range"] - ROOM / np.maximum(truth, abs(np.sin(elevation)))
    # where a wall is met almost at right angles
    near = (abs((azimuth + math.pi / 4) % (math.pi / 2) - math.pi / 4) < NEAR) & (
        abs(elevation) < NEAR
    )
    return {
        **(dark_plates(fmu, preset) if preset in DARK else {}),
        "points a second / 1": len(points) / frames / period,
        "error / m": float(error[near].mean()),
        "error / m rms": float(error[near].std()),
        "lost / 1": 1.0 - len(points) / rays / frames,
        "false / 1": float((abs(error) > 0.5).mean()),
    }


def dark_plates(fmu: Path, preset: str) -> Numbers:
    """Plates of 10 % on the left, within the reach of a lidar, and on the right, beyond it."""
    values = {"output_format": int(CloudFormat.npy), "write_files": int(WriteFiles.on)}
    near, far = WITHIN * DARK[preset], BEYOND * DARK[preset]
    plates = "".join(
        f'[[instances]]\nmesh = "{name}"\nentity_id = {number}\n'
        f"position = [{distance + 0.1}, {side * 0.26 * distance}, 0]\n"
        for number, (name, distance, side) in enumerate((("near", near, 1), ("far", far, -1)), 1)
    )
    meshes = "".join(
        f"[meshes.{name}]\nbox = {{ size = [0.2, {0.5 * distance}, {0.5 * distance}] }}\n"
        'material = "matt"\n'
        for name, distance in (("near", near), ("far", far))
    )
    with tempfile.TemporaryDirectory() as name:
        scene = Path(name) / "scene.toml"
        scene.write_text(
            'format = 1\nname = "plates"\n[materials.matt]\nkind = "lambert"\nsource = "none"\n'
            f"surface = [{{ diffuse_reflectance = 0.1 }}]\n{meshes}{plates}"
        )
        with running(fmu, {"preset": preset, "scene": str(scene), **values}) as instance:
            take(instance, period_of("Lidar", preset), 1)
            points = np.load(next(instance.folder.glob("*.points.npy")))  # type: ignore[attr-defined]
    inside = abs(points["azimuth"]) < 2.0 * NEAR  # where the plates are at their ranges
    return {
        "points within the reach / 1": float((points["entity_id"][inside] == 1).sum()),
        "points beyond the reach / 1": float((points["entity_id"] == 2).sum()),
    }


def waveform_lidar(fmu: Path, preset: str) -> Numbers:
    """A matt wall across the axis."""
    distance = WALLS[preset]
    values = {"output_format": int(CloudFormat.npy), "write_files": int(WriteFiles.on)}
    with tempfile.TemporaryDirectory() as name:
        scene = wall(Path(name), distance)
        with running(fmu, {"preset": preset, "scene": str(scene), **values}) as instance:
            take(instance, period_of("WaveformLidar", preset), 1)
            points = np.load(next(instance.folder.glob("*.points.npy")))  # type: ignore[attr-defined]
    azimuth, elevation = (points[key].astype(float) for key in ("azimuth", "elevation"))
    near = (abs(azimuth) < NEAR) & (abs(elevation) < NEAR)
    error = points["range"] - distance / (np.cos(azimuth) * np.cos(elevation))
    pulses = len(np.unique(np.stack([azimuth[near], elevation[near]]), axis=1).T)
    return {
        "error / m": float(error[near].mean()),
        "error / m rms": float(error[near].std()),
        "echoes a pulse / 1": near.sum() / pulses,
        "of the wall / 1": float((points["entity_id"][near] == 7).mean()),
    }


def stereo_camera(fmu: Path, preset: str) -> Numbers:
    """A wall across the axis of a depth camera."""
    distance = WALLS[preset]
    values = {"output_format": int(ImageFormat.npy), "write_files": int(WriteFiles.on)}
    with tempfile.TemporaryDirectory() as name:
        scene = wall(Path(name), distance)
        with running(fmu, {"preset": preset, "scene": str(scene), **values}) as instance:
            take(instance, period_of("DepthCamera", preset), 1)
            image = np.load(next(instance.folder.glob("*.depth.npy")))  # type: ignore[attr-defined]
    return {
        "error / m": float(image.mean() - distance),
        "error / m rms": float(image.std()),
        "lost / 1": float((image == 0.0).mean()),
    }


def zones(fmu: Path, preset: str) -> Numbers:
    """Walls across the axis of a sensor of 64 zones: matt at 1 m and 3 m, and dark at 1 m."""
    found: Numbers = {}
    names = [f"zone_{k + 1}.range" for k in range(64)]
    for text, distance, share in (("1 m", 1.0, 0.5), ("3 m", 3.0, 0.5), ("1 m, dark", 1.0, 0.05)):
        with tempfile.TemporaryDirectory() as name:
            scene = wall(Path(name), distance, share)
            with running(fmu, {"preset": preset, "scene": str(scene)}) as instance:
                rows = sampled(instance, period_of("DepthCamera", preset), 100, names)[1:]
        valid = rows > 0.0
        mean = np.array(
            [column[known].mean() for column, known in zip(rows.T, valid.T, strict=True)]
        )
        found[f"error / m rms, {text}"] = float((rows - mean)[valid].std())
        found[f"invalid / 1, {text}"] = 1.0 - float(valid.mean())
    return found


def depth_camera(fmu: Path, preset: str) -> Numbers:
    """A camera, or a sensor of few zones."""
    return zones(fmu, preset) if preset == "VL53L5CX" else stereo_camera(fmu, preset)


def ccd_camera(fmu: Path, preset: str) -> Numbers:
    """The yard at noon, seen by 96 x 64 pixels in the middle of the chip."""
    given, pixels = load_preset("CcdCamera", preset), {"width": 96, "height": 64}
    values: dict[str, Any] = {"preset": preset, "scene": "yard", "body.position.z": 1.5}
    for side, count in pixels.items():
        values[f"pixels.{side}"] = count
        pitch = float(given[f"ccd_size.{side}"]) / float(given[f"pixels.{side}"])
        values[f"ccd_size.{side}"] = count * pitch
    with running(fmu, values) as instance:
        take(instance, period_of("CcdCamera", preset), 2)
        return {"brightness / 1": instance.get("mean_intensity")}


def corner(folder: Path, distance: float) -> Path:
    """A scene with nothing but a trihedral of 0.1 m, open toward the sensor."""
    shutil.copy(scene_folder("radar_range") / "trihedral.ply", folder)
    path = folder / "scene.toml"
    path.write_text(
        'format = 1\nname = "corner"\n[meshes.corner]\nfile = "trihedral.ply"\n'
        'material = "aluminium"\n[[instances]]\nmesh = "corner"\nentity_id = 7\n'
        f"position = [{distance}, 0, 0]\n"
    )
    return path


def radar(fmu: Path, preset: str) -> Numbers:
    """A trihedral of 0.1 m ahead, at rest."""
    period, distance, frames = period_of("Radar", preset), CORNERS[preset], 10
    names = ["target_1.range", "target_1.speed", "target_1.entity_id", "target_count"]
    with tempfile.TemporaryDirectory() as name:
        scene = corner(Path(name), distance)
        with running(fmu, {"preset": preset, "scene": str(scene)}) as instance:
            rows = sampled(instance, period, frames + 2, names)[2:]
    return {
        "error / m": abs(rows[:, 0] - distance).max(),
        "speed / (m/s)": abs(rows[:, 1]).max(),
        "of the corner / 1": (rows[:, 2] == 7).mean(),
        "targets a frame / 1": rows[:, 3].mean(),
    }


MEASURES: dict[str, Callable[[Path, str], Numbers]] = {
    "Imu": imu,
    "Encoder": encoder,
    "Gnss": gnss,
    "Lidar": lidar,
    "WaveformLidar": waveform_lidar,
    "DepthCamera": depth_camera,
    "CcdCamera": ccd_camera,
    "Radar": radar,
}


@functools.cache
def measured(fmu: Path, preset: str) -> Numbers:
    """The numbers of a preset, measured once."""
    return MEASURES[fmu.stem](fmu, preset)
