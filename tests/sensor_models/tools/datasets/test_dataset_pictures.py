"""Pictures of data sets: 8 bits of sRGB, of textured surfaces, and of heat."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sensor_models.camera.ccd.colors import color_difference, lab
from sensor_models.light.spectra import linear_color
from sensor_models.tools.datasets.dataset import make_dataset
from sensor_models.tools.workers.local import LocalPool
from tests.sensor_models.scene_files import write_manifest

#: Patches of a board, sRGB; the last is its white.
PATCHES = np.array([[200, 80, 60], [70, 150, 90], [60, 90, 190], [110, 110, 110], [230, 230, 230]])
SCENE = """
[sky]
preset = "clear"
sun_direction = [0.1, -0.7, 0.7]
[materials.board]
kind = "lambert"
source = "estimate"
temperature = 310.0
emissivity = 1.0
surface = [{ wavelength = 905e-9, diffuse_reflectance = 0.5 }]
[meshes.board]
box = { size = [5, 0.1, 5] }
material = "board"
texture = { image = "patches.png", size = [5, 5] }
[meshes.ground]
plane = { size = [40, 40] }
material = "asphalt"
[[bodies]]
name = "thing"
[[instances]]
mesh = "ground"
label = "ground"
[[instances]]
mesh = "board"
body = "thing"
label = "thing"
position = [0, 0, 2.6]
"""
DESCRIPTION = """
[dataset]
name = "pictures"
scene = "scene.toml"
samples = 1
format = "images"
[pose]
area = [-0.01, -6.01, 0.01, -5.99]
height = [2.6, 2.6]
look_at = [0, 0, 2.6]
[boxes]
labels = ["thing"]
kitti = {}
[sensors.eye]
sensor = "CcdCamera"
[sensors.eye.parameters]
"pixels.width" = 100
"pixels.height" = 60
"intrinsics.fx" = 110
"intrinsics.fy" = 110
"light.rays" = 64
[sensors.heat]
sensor = "CcdCamera"
[sensors.heat.parameters]
"pixels.width" = 50
"pixels.height" = 30
"intrinsics.fx" = 55
"intrinsics.fy" = 55
bands = 1
"thermal.on" = true
"thermal.output" = "temperature"
"thermal.temperature.lower" = 280.0
"thermal.temperature.upper" = 330.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pictures")
    stripes = np.repeat(np.repeat(PATCHES[None], 20, axis=1), 100, axis=0).astype(np.uint8)
    Image.fromarray(stripes).save(place / "patches.png")
    write_manifest(place, "labels = { ground = 1, thing = 2 }\n" + SCENE)
    (place / "set.toml").write_text(DESCRIPTION)
    with LocalPool(1) as pool:
        make_dataset(place / "set.toml", place / "out", pool)
    return place / "out"


def test_pictures_are_of_8_bits_and_srgb(folder: Path) -> None:
    """Undone, the curve of sRGB leaves a board's colours in the sun, as shares of its white."""
    told = json.loads((folder / "annotations.json").read_text())
    (name,) = (i["file_name"] for i in told["images"] if "eye" in i["file_name"])
    with Image.open(folder / name) as picture:
        assert picture.mode == "RGB"
        pixels = np.asarray(picture)
    assert pixels.dtype == np.uint8
    assert (folder / "kitti" / "eye" / "label_2" / "000000.txt").read_text().startswith("thing ")
    columns = [50 + round(110 / 5.95 * (patch - 2.0)) for patch in range(5)]
    seen = np.array([pixels[20:40, c - 3 : c + 4].mean(axis=(0, 1)) for c in columns])
    assert seen.max() < 254.0
    light = linear_color((seen / 255.0).tolist())
    wanted = linear_color((PATCHES / 255.0).tolist())
    # As far as a chart is off by CIEDE2000: 3 in the median, 6 at worst.
    off = color_difference(lab(light / light[4] * wanted[4]), lab(wanted))
    assert np.median(off) < 3.0
    assert off.max() < 6.0


def test_a_thermal_camera_is_a_sensor_like_others(folder: Path) -> None:
    with Image.open(folder / "shard-00000" / "heat" / "000000.image.png") as picture:
        pixels = np.asarray(picture)
    assert pixels.dtype == np.uint8
    board = pixels[10:20, 18:32]
    np.testing.assert_allclose(280.0 + 50.0 / 255.0 * board.astype(float), 310.0, atol=0.2)
    assert pixels[0, 0] < board.min()  # the sky is colder
