"""Files of images: what is read back is what was given."""

import io
import json
from dataclasses import replace

import cv2
import numpy as np
import pytest
from PIL import Image

from sensor_models.output.images import (
    FrameFiles,
    ImageFile,
    ImageFileParameters,
    ImageFormat,
    ImageWriter,
    PictureFile,
    png_bytes,
    png_scale,
    tiff_bytes,
)

VALUES = np.random.default_rng(2).uniform(0.0, 20.0, (7, 5)).astype(np.float32)


def writer(directory, sensor="camera"):
    return ImageWriter(sensor, ImageFileParameters(output_directory=str(directory)), {"a": 1})


def frame_of(number, *files):
    return FrameFiles(number, files or (ImageFile("depth", VALUES),), {"frame": number})


def lines_of(directory):
    return [json.loads(line) for line in (directory / "index.jsonl").read_text().splitlines()]


def test_a_png_of_16_bit_carries_its_scale():
    with Image.open(io.BytesIO(png_bytes(VALUES, 1e-3, "m"))) as picture:
        assert picture.mode == "I;16"
        assert picture.info == {"scale": "0.001", "unit": "m"}
        stored = np.array(picture)
    np.testing.assert_allclose(stored * 1e-3, VALUES, rtol=0, atol=0.5001e-3)  # half a step


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("bits", [1, 6, 8, 10, 12, 16])
def test_pictures_of_all_depths_are_as_bright_as_they_are(tmp_path, bits, channels):
    """The largest number is white, and the scale in the file leads back to all numbers."""
    largest = 2**bits - 1
    numbers = np.linspace(0, largest, 60).round().astype(np.uint16).reshape(5, -1, channels)
    file = PictureFile("picture", numbers, largest)
    about = file.write(tmp_path / "a.png")
    stored = cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_UNCHANGED).reshape(numbers.shape)
    stored = stored[:, :, ::-1]  # OpenCV has blue first
    full = 255 if bits <= 8 else 65535
    assert (stored.dtype, stored.max()) == (np.uint8 if bits <= 8 else np.uint16, full)
    np.testing.assert_allclose(stored / full, numbers / largest, atol=0.5 / full)  # half a step
    with Image.open(tmp_path / "a.png") as picture:
        scale = float(picture.text.get("scale", 1.0))
        assert picture.text.get("unit", "1") == "1"
    assert about["scale"] == scale == largest / full
    np.testing.assert_array_equal(np.round(scale * stored), numbers)
    for other in (ImageFormat.npy, ImageFormat.tiff):
        about = replace(file, format=other).write(tmp_path / "other")
        assert about["scale"] == 1.0


def test_what_a_png_cannot_hold_is_put_at_its_ends():
    odd = np.array([[np.nan, -1.0, np.inf, 1e9, 65.535]])
    with Image.open(io.BytesIO(png_bytes(odd, 1e-3, "m"))) as picture:
        assert np.array(picture).tolist() == [[0, 0, 65535, 65535, 65535]]


def test_the_scale_of_a_png_lets_the_largest_value_in():
    assert png_scale(10.0) == 1e-3
    assert 300.0 / png_scale(300.0) == pytest.approx(65535)


def test_a_tiff_has_the_same_bits():
    with Image.open(io.BytesIO(tiff_bytes(VALUES))) as picture:
        assert picture.mode == "F"
        assert np.array(picture).tobytes() == VALUES.tobytes()


def test_each_file_of_a_frame_has_a_line_in_the_index(tmp_path):
    ids = np.arange(35, dtype=np.int32).reshape(7, 5)
    files = (
        ImageFile("depth", VALUES, ImageFormat.png, 1e-3, "m"),
        ImageFile("entity", ids),
    )
    output = writer(tmp_path)
    output.put(frame_of(0, *files))
    output.put(frame_of(1, ImageFile("depth", VALUES, ImageFormat.tiff, unit="m")))
    output.flush()
    assert (tmp_path / "camera-000001.depth.tiff").is_file()
    output.close()
    head, *lines = lines_of(tmp_path)
    assert head["parameters"] == {"a": 1}
    assert [line["file"] for line in lines] == [
        "camera-000000.depth.png",
        "camera-000000.entity.npy",
        "camera-000001.depth.tiff",
    ]
    assert lines[0] | {"scale": 1e-3, "width": 5, "height": 7, "unit": "m"} == lines[0]
    np.testing.assert_array_equal(np.load(tmp_path / lines[1]["file"]), ids)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        [*(line["file"] for line in lines), "index.jsonl"]
    )
