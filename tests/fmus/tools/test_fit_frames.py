"""Through the FMUs: frames of targets with known parameters are fitted to these again.

Each run makes the frames of several trials, as noise is new in each frame; each trial is files and
a description, as of a device. Intervals hold the truth as often as chance allows.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sensor_models.output.images import ImageFormat
from sensor_models.presets import read_preset
from sensor_models.tools.pictures.fit_command import KINDS, main
from tests.fit_coverage import fewest, holds, quiet
from tests.fmus.flat_fields import BACK, GLOW, PITCH, photons_a_second, take
from tests.fmus.host import open_fmu
from tests.sensor_models.scene_files import write_manifest

TRIALS = 10
WALL = """
[materials.plate]
kind = "lambert"
source = "none"
surface = [{ wavelength = 905e-9, diffuse_reflectance = 0.5 }]
[meshes.wall]
box = { size = [1, 400, 400] }
material = "plate"
[[instances]]
mesh = "wall"
position = [0.5, 0, 0]
"""


def fitted(kind: str, description: Path) -> dict[str, Any]:
    return {e.name: e for e in KINDS[kind].fitter([description], {}, quiet).estimates}


def frames_of(folder: Path) -> list[str]:
    """The files of frames by their order."""
    lines = [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]
    return [str(folder / line["file"]) for line in lines if "file" in line]


def taken(
    fmu: Path, scene: Path, folder: Path, parameters: Mapping[str, Any], frames: int
) -> list[str]:
    """The files of so many frames of a sensor that does not move."""
    with open_fmu(fmu) as sensor:
        own = {"scene": str(scene), "output_directory": str(folder), "write_files": 2}
        sensor.initialize({**own, **parameters})
        for number in range(frames):
            sensor.step(0.1 * number, 0.1)
        sensor.terminate()
        assert sensor.get("frame.lost") == 0
    return frames_of(folder)[:frames]


def described(path: Path, head: str, groups: Iterable[Mapping[str, Any]]) -> Path:
    """A description of frames."""
    rows = [
        "[[frames]]\n" + "\n".join(f"{name} = {json.dumps(value)}" for name, value in group.items())
        for group in groups
    ]
    path.write_text(head + "\n".join(rows), encoding="utf-8")
    return path


def judged(kind: str, trials: Sequence[Path], truth: Mapping[str, float]) -> None:
    """Intervals of all trials hold the truth as often as chance allows."""
    found = [fitted(kind, trial) for trial in trials]
    for name, value in truth.items():
        held = sum(holds(each[name], value) for each in found)
        print(f"{kind} {name}: {held} of {len(found)}")
        assert held >= fewest(len(found)), [each[name].shown() for each in found]


#: Distances, and how far the lidar is turned and tipped away from the wall's normal.
PLACES = ((4.0, 0.0, 0.0), (15.0, 0.9, 0.0), (40.0, 0.0, -0.3), (25.0, 0.8, -0.7))
GRID = 50


def turned(distance: float, yaw: float, pitch: float) -> tuple[dict[str, float], list[float]]:
    """A body before the wall, and the wall's normal as it sees it."""
    half = 0.5 * yaw, 0.5 * pitch
    (c, s), (d, t) = ((math.cos(a), math.sin(a)) for a in half)
    quaternion = dict(zip("wxyz", (c * d, -s * t, c * t, s * d), strict=True))
    inputs = {f"body.orientation.{name}": value for name, value in quaternion.items()}
    level = math.cos(yaw)
    normal = [level * math.cos(pitch), -math.sin(yaw), level * math.sin(pitch)]
    return {"body.position.x": -distance, **inputs}, normal


def test_a_lidar_before_walls_is_fitted_to_what_it_was(fmu_directory: Path, tmp_path: Path) -> None:
    truth = {
        "noise.distance_sigma_base": 0.01,
        "noise.distance_sigma_slope": 3e-4,
        "noise.azimuth_sigma": 1e-3,
        "noise.elevation_sigma": 2e-3,
        "detection_probability": 0.9,
        "range_step": 0.002,
    }
    pattern = {
        "pattern.type": 0, "pattern.rows": GRID, "pattern.columns": GRID,
        "pattern.elevation.min": -0.1, "pattern.elevation.max": 0.1,
        "pattern.azimuth.min": -0.1, "pattern.azimuth.max": 0.1,
        "scan_mode": 0, "max_range": 200.0, "sample_rate": 10.0, "output_format": 4,
        "intensity.kind": 1, "intensity.bits": 16, "intensity.full_scale": 1.2,
        "output_double": True,
    }  # fmt: skip
    scene = write_manifest(tmp_path, WALL)
    groups: list[list[dict[str, Any]]] = [[] for _ in range(TRIALS)]
    for number, place in enumerate(PLACES):
        inputs, normal = turned(*place)
        own = {**pattern, **truth, **inputs, "seed": number}
        files = taken(fmu_directory / "Lidar.fmu", scene, tmp_path / f"at{number}", own, TRIALS)
        facts = {"distance": place[0], "normal": normal, "rays": GRID**2, "reflectance": 0.5}
        for group, file in zip(groups, files, strict=True):
            group.append({"files": [Path(file).relative_to(tmp_path).as_posix()], **facts})
    trials = [described(tmp_path / f"{n}.toml", "", group) for n, group in enumerate(groups)]
    judged("lidar", trials, {**truth, "intensity.full_scale": 1.2})
    again = tmp_path / "again.toml"
    assert main(["lidar", str(trials[0]), "--output", str(again)]) == 0
    assert read_preset(again).parameters_of("Lidar")["intensity.kind"] == "reflectivity"


def test_a_depth_camera_before_walls_is_fitted_to_what_it_was(
    fmu_directory: Path, tmp_path: Path
) -> None:
    truth = {"noise.disparity.rms": 0.08, "noise.multiplier": 4e-3, "noise.dropout": 0.02}
    camera = {
        "width": 80, "height": 60, "intrinsics.fx": 640.0, "intrinsics.fy": 640.0,
        "intrinsics.cx": 40.0, "intrinsics.cy": 30.0, "max_range": 50.0, "noise.on": True,
        "noise.baseline": 0.095, "sample_rate": 10.0, "output_format": 0, "segmentation": False,
    }  # fmt: skip
    scene = write_manifest(tmp_path, WALL)
    head = "focal_length = 640.0\nbaseline = 0.095\n"
    groups: list[list[dict[str, Any]]] = [[] for _ in range(TRIALS)]
    for number, distance in enumerate((0.8, 2.0, 5.0)):
        own = {**camera, **truth, **turned(distance, 0.1, 0.05)[0], "seed": number}
        fmu = fmu_directory / "DepthCamera.fmu"
        files = taken(fmu, scene, tmp_path / f"at{number}", own, TRIALS)
        for group, file in zip(groups, files, strict=True):
            group.append({"files": [Path(file).relative_to(tmp_path).as_posix()]})
    trials = [described(tmp_path / f"{n}.toml", head, group) for n, group in enumerate(groups)]
    judged("depth", trials, truth)


def test_a_camera_before_a_glow_is_fitted_to_what_it_was(
    fmu_directory: Path, tmp_path: Path
) -> None:
    truth = {
        "sensor.qe": 0.6,
        "sensor.system_gain": 0.25,
        "sensor.read_noise": 6.0,
        "sensor.full_well": 12_000.0,
        "sensor.dark_current": 2000.0,
        "sensor.prnu": 0.01,
    }
    chip = {**truth, "pixels.width": 96, "pixels.height": 96, "ccd_size.width": 96 * PITCH,
            "ccd_size.height": 96 * PITCH, "seed": 4,
            "output_format": int(ImageFormat.npy)}  # fmt: skip
    scene = str(write_manifest(tmp_path, GLOW))
    full = truth["sensor.full_well"] / truth["sensor.qe"] / photons_a_second()
    kinds = {
        "bright": ([share * full for share in (0.02, 0.1, 0.25, 0.4, 0.6, 1.4)], {}),
        "dark": ([1e-4, 0.04], BACK),
    }
    groups: list[list[dict[str, Any]]] = [[] for _ in range(TRIALS)]
    for name, (levels, inputs) in kinds.items():
        exposures = [level for level in levels for _ in range(4 * TRIALS)]
        own = {**chip, **inputs}
        files = take(fmu_directory / "CcdCamera.fmu", scene, tmp_path / name, exposures, own)
        for number, level in enumerate(levels):
            for trial in range(TRIALS):
                first = 4 * (TRIALS * number + trial)
                of_trial = [f.relative_to(tmp_path).as_posix() for f in files[first : first + 4]]
                photons = 0.0 if name == "dark" else level * photons_a_second()
                facts = {"exposure": level, "dark": name == "dark", "photons": photons}
                groups[trial].append({"files": of_trial, **facts})
    trials = [described(tmp_path / f"{n}.toml", "", group) for n, group in enumerate(groups)]
    judged("ccd", trials, truth)
