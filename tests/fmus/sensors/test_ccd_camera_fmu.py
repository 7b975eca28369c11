"""The FMU CcdCamera: files of pictures, photon transfer, exposure, flow, stereo."""

import json
import math
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from sensor_models import catalog
from sensor_models.camera.ccd.sensor import ccd_camera_of
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.named import named_parameters
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.fmus.host import Instance, open_fmu
from tests.sensor_models.scene_files import write_manifest

#: A matt wall all around the view, evenly lit by a sky alone, as long as it is far from its edges.
EVEN = """
[sky]
sky_spectrum = [[300e-9, 1e7], [1100e-9, 1e7]]
[materials.lamp]
kind = "lambert"
source = "estimate"
surface = [{ diffuse_reflectance = 0 }]
emission = [[300e-9, 1e7], [1100e-9, 1e7]]
[meshes.wall]
box = { size = [0.1, 100, 100] }
material = "lamp"
[[instances]]
mesh = "wall"
position = [10.05, 0, 0]
entity_id = 5
"""
#: A wall with boxes before it, for matches between pictures.
BOXES = """
[sky]
preset = "clear"
sun_direction = [-0.4, 0.3, 0.8]
[meshes.wall]
box = { size = [0.1, 40, 40] }
material = "concrete"
[meshes.box]
box = { size = [0.4, 0.5, 0.4] }
material = "brick"
[[instances]]
mesh = "wall"
position = [12.05, 0, 0]
""" + "".join(
    f'[[instances]]\nmesh = "box"\nposition = [{5 + 0.7 * k}, {1.1 * k - 2.5}, {0.3 * k - 0.7}]\n'
    for k in range(6)
)
SMALL = {"pixels.width": 32, "pixels.height": 24, "light.rays": 1, "sample_rate": 10.0}
CHIP = {
    "sensor.model": 1,
    "bands": 1,
    "sensor.dark_current": 0.0,
    "pixels.width": 200,
    "pixels.height": 150,
    # Pixels of 4.65 um, looking straight on, so that cos^4 leaves all of them the same.
    "ccd_size.width": 200 * 4.65e-6,
    "ccd_size.height": 150 * 4.65e-6,
    "focal_length": 1.0,
    "image_distance": 1.0,
    "f_number": 2.0,
}


@pytest.fixture(scope="module")
def ccd_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "CcdCamera.fmu"


def begin(camera: Instance, scene: str, folder: Path, **parameters: Any) -> None:
    camera.initialize({"scene": scene, "output_directory": str(folder), **parameters})


def index_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "index.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_frame_is_a_picture_with_its_intrinsics(ccd_fmu: Path, tmp_path: Path) -> None:
    scene = str(write_manifest(tmp_path, EVEN))
    with open_fmu(ccd_fmu) as camera:
        own = {"segmentation": True, "gamma": 0.5, "exposure_time": 1.0}
        begin(camera, scene, tmp_path / "out", **SMALL, **own)
        camera.step(0.0, 0.1)
        camera.terminate()
        assert (camera.get("frame.width"), camera.get("frame.height")) == (32, 24)
        file, labels = Path(camera.get("frame.file")), Path(camera.get("labels.file"))
        mean = camera.get("mean_intensity")
        shares = [camera.get(f"histogram_{n}.share") for n in range(1, 17)]
    picture = np.asarray(Image.open(file))
    assert picture.shape == (24, 32, 3)
    assert picture.dtype == np.uint8
    assert mean == pytest.approx(picture.mean() / 255.0, abs=1e-12)
    wanted = np.histogram(picture, bins=np.arange(17) * 16)[0] / picture.size
    np.testing.assert_allclose(shares, wanted, atol=1e-12)
    assert np.load(labels).shape == (24, 32)
    assert (np.load(labels.with_name(labels.name.replace("label", "entity"))) == 5).all()
    line = index_of(tmp_path / "out")[1]
    fx = 6.0072e-3 * 32 / 4.76e-3
    matrix = line["opencv"]["camera_matrix"]
    np.testing.assert_allclose(matrix, [[fx, 0, 15.5], [0, fx, 11.5], [0, 0, 1]], rtol=1e-3)
    assert line["camera_info"]["k"] == [n for row in matrix for n in row]
    assert line["camera_info"]["distortion_model"] == "plumb_bob"
    assert (line["exposure"], line["time"]) == (1.0, 0.0)
    assert min(line["white_balance"]) == 1.0
    np.testing.assert_allclose(np.sum(line["color_matrix"], axis=1), 1.0, atol=1e-9)
    assert 0.0 < line["color_residual"]["median_delta_e"] < line["color_residual"]["worst_delta_e"]


@pytest.mark.parametrize("bands", [1, 3])
@pytest.mark.parametrize("bits", [8, 12])
def test_all_formats_hold_the_same_numbers(
    ccd_fmu: Path, tmp_path: Path, bands: int, bits: int
) -> None:
    scene = str(write_manifest(tmp_path, BOXES))
    found = []
    for number, name in enumerate(("npy", "png", "tiff")):
        folder = tmp_path / name
        with open_fmu(ccd_fmu) as camera:
            begin(
                camera, scene, folder, **{**SMALL, "light.rays": 8}, bands=bands, bit_depth=bits,
                output_format=number, exposure_time=0.1,
            )  # fmt: skip
            camera.step(0.0, 0.1)
            camera.terminate()
            file = camera.get("frame.file")
        read = np.load(file) if name == "npy" else cv2.imread(file, cv2.IMREAD_UNCHANGED)
        if name == "png" and bits == 12:  # spread over 16 bit
            scale = index_of(folder)[1]["scale"]
            assert scale == 4095 / 65535
            with Image.open(file) as picture:
                assert float(picture.text["scale"]) == scale
            read = np.round(scale * read).astype(np.uint16)
        found.append(read[:, :, ::-1] if bands == 3 and name != "npy" else read)
    assert found[0].dtype == (np.uint8 if bits == 8 else np.uint16)
    assert len(np.unique(found[0])) > 10
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.acceptance("EMVA-7")
def test_photon_transfer_of_its_own_frames(ccd_fmu: Path, tmp_path: Path) -> None:
    """Two frames a level: slope, dark noise and full well by the method of EMVA 1288."""
    scene = str(write_manifest(tmp_path, EVEN))
    per_second = 0.6 * 1e7 * 300e-9 * math.pi * 0.9 / 16.0 * 4.65e-6**2
    per_second *= 550e-9 / (6.62607015e-34 * 299_792_458.0)  # the spectrum is flat in energy
    levels = np.linspace(0.02, 0.7, 12) * 15000.0 / per_second
    means, variances = [], []
    with open_fmu(ccd_fmu) as camera:
        begin(camera, scene, tmp_path / "out", **CHIP, output_format=0, **{"light.rays": 1})
        times = [1e-9, 1e-9, *np.repeat(levels, 2), *[2.0 * 15000.0 / per_second] * 2]
        for number, exposure in enumerate(times):
            camera.set({"exposure": float(exposure)})
            camera.step(0.1 * number, 0.1)
        camera.terminate()
    frames = [np.load(file).astype(float) for file in sorted((tmp_path / "out").glob("*.npy"))]
    assert len(frames) == len(times)
    for one, other in zip(frames[::2], frames[1::2], strict=True):
        means.append(0.5 * (one.mean() + other.mean()))
        variances.append(0.5 * (one - other).var())
    slope = np.polyfit(
        np.array(means[1:-1]) - means[0], np.array(variances[1:-1]) - variances[0], 1
    )
    assert slope[0] == pytest.approx(0.25, rel=0.01)
    assert math.sqrt(variances[0]) == pytest.approx(1.0408, rel=0.01)
    assert (means[-1] - means[0]) / 0.25 == pytest.approx(15000.0, rel=0.01)
    assert variances[-1] == 0.0
    response = np.polyfit(levels, np.array(means[1:-1]) - means[0], 1)[0]
    assert response / 0.25 == pytest.approx(per_second, rel=0.01)


def test_the_exposure_is_that_of_the_stamp(ccd_fmu: Path, tmp_path: Path) -> None:
    scene = str(write_manifest(tmp_path, EVEN))
    with open_fmu(ccd_fmu) as camera:
        begin(camera, scene, tmp_path / "out", **SMALL, exposure_time=0.002)
        for number, exposure in enumerate((0.0, 0.001, 0.004)):
            camera.set({"exposure": exposure})
            camera.step(0.25 * number, 0.25)
        camera.terminate()
    lines = index_of(tmp_path / "out")[1:]
    known = {round(line["time"], 6): line["exposure"] for line in lines}
    assert known[0.0] == known[0.1] == known[0.2] == 0.002
    assert known[0.3] == known[0.4] == 0.001
    assert known[0.5] == 0.004


def test_flow_of_a_camera_that_drives(ccd_fmu: Path, tmp_path: Path) -> None:
    """Toward a wall at 2 m/s: each pixel flows away from the middle by its share."""
    scene = str(write_manifest(tmp_path, EVEN))
    forward = {f"flow.{name}": True for name in ("forward", "backward", "scene")}
    with open_fmu(ccd_fmu) as camera:
        begin(camera, scene, tmp_path / "out", **SMALL, **forward, **{"flow.format": 1},
              motion_samples=2, exposure_time=1e-3)  # fmt: skip
        for number in range(4):
            camera.set({"body.position.x": 0.2 * number, "body.velocity.x": 2.0})
            camera.step(0.1 * number, 0.1)
        camera.terminate()
        assert Path(camera.get("flow.file")).is_file()
    middle = np.stack(np.meshgrid(np.arange(32) - 15.5, np.arange(24) - 11.5), axis=-1)
    flows = sorted((tmp_path / "out").glob("*.flow.npy"))
    assert flows
    for number, file in enumerate(flows):
        away = 10.0 - 0.2 * number
        np.testing.assert_allclose(np.load(file), middle * 0.2 / (away - 0.2), atol=2e-4)
        motion = np.load(str(file).replace(".flow.", ".scene_flow."))
        np.testing.assert_allclose(motion, np.broadcast_to((-0.2, 0, 0), motion.shape), atol=1e-4)
        mask = np.load(str(file).replace(".flow.", ".flow_mask."))
        assert not mask.any()  # the corner moves by a third of a pixel
        flo = cv2.readOpticalFlow(str(file.with_suffix(".flo")))
        np.testing.assert_array_equal(flo, np.load(file))
    back = np.load(str(flows[1]).replace(".flow.", ".flow_backward."))
    np.testing.assert_allclose(back, -middle * 0.2 / 10.0, atol=2e-4)


def test_two_cameras_see_the_distance_by_their_disparity(ccd_fmu: Path, tmp_path: Path) -> None:
    """Stereo matches of OpenCV's against f b / z of the true distances."""
    scene, baseline, focal = str(write_manifest(tmp_path, BOXES)), 0.2, 160.0
    pictures = []
    for name, side in (("left", 0.5), ("right", -0.5)):
        folder = tmp_path / name
        with open_fmu(ccd_fmu, name) as camera:
            begin(
                camera, scene, folder, bands=1, segmentation=True, sample_factor=2,
                exposure_time=0.1, full_scale=2.0, output_format=1,
                **{"pixels.width": 160, "pixels.height": 120, "intrinsics.fx": focal,
                   "mount.position.y": side * baseline, "light.rays": 32},
            )  # fmt: skip
            camera.step(0.0, 0.1)
            camera.terminate()
            pictures.append(cv2.imread(camera.get("frame.file"), cv2.IMREAD_UNCHANGED))
    (file,) = (tmp_path / "left").glob("*.distance.npy")
    u, v = np.meshgrid(np.arange(160) - 79.5, np.arange(120) - 59.5)
    depth = np.load(file) / np.sqrt(1.0 + (u**2 + v**2) / focal**2)
    matcher = cv2.StereoSGBM_create(0, 16, 5, 8 * 25, 32 * 25, 1, 63, 10)
    found = matcher.compute(*pictures).astype(float) / 16.0
    entity = np.load(str(file).replace("distance", "entity"))
    edge = cv2.erode((entity > 1).astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    known = edge & (found > 0.0)
    assert known.sum() > 200
    off = np.abs(found - focal * baseline / depth)[known]
    assert np.median(off) < 0.25
    assert np.mean(off < 1.0) > 0.9


def test_a_thermal_picture_is_that_of_the_model(ccd_fmu: Path, tmp_path: Path) -> None:
    """To the bit, with its noise, and in kelvins as the index says."""
    wall = EVEN.replace('source = "estimate"', 'source = "estimate"\ntemperature = 305.0', 1)
    path = write_manifest(tmp_path, wall.replace("[sky]", "[sky]\nair_temperature = 280.0", 1))
    own = {
        **SMALL, "scene": str(path), "bands": 1, "bit_depth": 16,
        "thermal.on": True, "thermal.netd": 0.1,
        "thermal.temperature.lower": 280.0, "thermal.temperature.upper": 320.0,
    }  # fmt: skip
    files = {"output_directory": str(tmp_path / "out"), "output_format": 0}
    with open_fmu(ccd_fmu) as camera:
        camera.initialize({**own, **files, "thermal.output": 1})
        camera.step(0.0, 0.1)
        camera.terminate()
        found = np.load(camera.get("frame.file"))
    line = index_of(tmp_path / "out")[1]
    kelvin = line["temperature_offset"] + line["temperature_scale"] * found.astype(float)
    # 0.95 of a body at 305 K and 0.05 of the air and sky before it, with 768 draws of 0.1 K.
    assert 300.0 < kelvin.mean() < 304.9
    values = {**own, "thermal.output": "temperature"}
    pose = np.array([[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    pictures = []
    with RayScene(load_scene(path)) as rays:
        for netd in (0.1, 0.0):
            groups = named_parameters(
                catalog.spec_of("CcdCamera"), {**values, "thermal.netd": netd}
            )
            model = ccd_camera_of(groups, groups.of(SamplingParameters).seed, "CcdCamera/sensor")
            numbers, _ = model.develop(rays.pool, model.expose(rays, pose).light, 0)
            pictures.append(numbers[..., 0])
    np.testing.assert_array_equal(found, pictures[0])
    # Of what the wall mirrors, few rays have grain of their own: noise is what is there besides.
    noise = line["temperature_scale"] * (found.astype(float) - pictures[1])
    assert noise.std() == pytest.approx(0.1, rel=0.1)
