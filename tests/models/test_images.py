"""Files of images: what is read back is what was given, and nothing torn is ever seen."""

import io
import json
import threading

import numpy as np
import pytest
from PIL import Image

from sensor_models import images
from sensor_models.files import OutputError
from sensor_models.images import (
    FrameFiles,
    ImageFile,
    ImageFileParameters,
    ImageFormat,
    ImageWriter,
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


def test_a_sensor_that_is_faster_than_the_disk_waits(tmp_path, monkeypatch):
    go_on = threading.Event()
    write = ImageFile.write

    def slow(self, path):
        go_on.wait()
        write(self, path)

    monkeypatch.setattr(ImageFile, "write", slow)
    output = writer(tmp_path)
    many = 3 * images.QUEUED_FRAMES
    sensor = threading.Thread(target=lambda: [output.put(frame_of(k)) for k in range(many)])
    sensor.start()
    sensor.join(0.2)
    assert sensor.is_alive()
    assert not list(tmp_path.glob("*.npy"))
    go_on.set()
    sensor.join()
    output.close()
    assert len(lines_of(tmp_path)) == 1 + many


def test_an_error_of_the_disk_is_said_once_and_ends_the_writing(tmp_path):
    folder = tmp_path / "out"
    output = writer(folder)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    output.put(frame_of(0))
    with pytest.raises(OutputError, match="writing images of camera"):
        output.flush()
    output.put(frame_of(1))
    output.close()
    assert not folder.exists()


def test_a_place_that_is_no_directory_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be used"):
        writer(tmp_path / "file")
