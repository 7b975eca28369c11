"""From files to presets that sensors take, for each kind, by the command line."""

import json
import math

import numpy as np
import pytest
from PIL import Image

from sensor_models.core.toml_files import read_toml
from sensor_models.presets import find_preset, read_preset
from sensor_models.presets.__main__ import problems
from sensor_models.tools.fitting.comparing import compare
from sensor_models.tools.fitting.estimates import Estimate, Fit, FitError
from sensor_models.tools.fitting.frames import clouds, pictures
from sensor_models.tools.fitting.likelihood import Scales
from sensor_models.tools.fitting.targets import read_targets
from sensor_models.tools.pictures.fit_command import main
from tests.fit_examples import (
    flat_fields,
    roof_log,
    still_log,
    turn_log,
    wall_clouds,
    wall_depths,
)


def run(kind: str, log, folder, *more: str):
    """The preset that a fit writes, checked by the sensors that it is for."""
    output = folder / "device.toml"
    assert main([kind, str(log), "--output", str(output), *more]) == 0
    preset = read_preset(output)
    assert list(problems(preset)) == []
    return preset


def test_a_still_log_becomes_a_preset_of_an_imu_and_its_parts(tmp_path, capsys) -> None:
    report = tmp_path / "report.html"
    preset = run("imu", still_log(tmp_path), tmp_path, "--report", str(report), "--name", "Unit 7")
    content = read_toml(tmp_path / "device.toml")["preset"]
    assert content["name"] == "Unit 7"
    assert content["datasheet"]["title"].startswith("fit imu of still.csv")
    assert json.dumps(content["unknown"]).count("not seen in these data") >= 1
    assert preset.sensors == ("Imu", "Gyroscope", "Accelerometer")
    found = preset.parameters
    assert found["sample_rate"] == 20.0
    assert found["gyroscope.noise.density.y"] == pytest.approx(1e-3, rel=0.05)
    # 0.1 m/s2 of each sample, without the rounding to steps of 0.02
    assert found["accelerometer.noise.density.z"] == pytest.approx(0.1 / math.sqrt(20.0), rel=0.05)
    assert found["accelerometer.discretization.lsb.z"] == pytest.approx(0.02)
    text = (tmp_path / "device.toml").read_text()
    assert "largest likelihood" in text
    assert any("bias_temperature" in line for line in preset.unknown)
    page = report.read_text()
    assert "data:image/png;base64," in page
    assert "gyroscope.noise.density.x" in page
    printed = capsys.readouterr().out
    assert "least Allan deviation" in printed
    assert "The one-sided density of a spectrum is 1.41421 of it" in printed


def test_comparisons_name_what_the_data_contradict(tmp_path, capsys) -> None:
    log = still_log(tmp_path)
    own = tmp_path / "own.toml"
    own.write_text(
        '[preset]\nname = "X"\nsensor = ["Imu", "Gyroscope"]\ndescription = "x"\n'
        '[preset.datasheet]\npublisher = "x"\ntitle = "x"\nrevision = "1"\n'
        "[parameters.gyroscope]\nnoise.one_sided = true\n"
        f"noise.density.x = {math.sqrt(2.0) * 1e-3}\nnoise.density.y = 1e-3\n"
        "noise.density.z = 1e-3\ninstability.xyz = 3e-4\n"
    )
    assert main(["imu", str(log), "--compare", str(own)]) == 0
    printed = capsys.readouterr().out.splitlines()

    def line(name: str) -> str:
        return next(text for text in printed if text.startswith(f"  {name}: preset"))

    assert line("gyroscope.noise.density.x").endswith("agrees")
    assert "CONTRADICTED, data 1.4" in line("gyroscope.noise.density.y")
    assert "data contradict" in "\n".join(printed)


def test_flat_fields_become_a_preset_of_a_camera(tmp_path) -> None:
    folder = tmp_path / "flat"
    folder.mkdir()
    flat_fields(folder)
    preset = run("ccd", folder, tmp_path, "--report", str(tmp_path / "ccd.png"))
    found = preset.parameters
    assert found["sensor.system_gain"] == pytest.approx(0.2, rel=0.02)
    assert found["sensor.read_noise"] == pytest.approx(8.0, rel=0.02)
    assert found["sensor.full_well"] == pytest.approx(15_000, rel=0.02)
    assert found["sensor.qe"] == pytest.approx(0.5, rel=0.02)
    assert found["sensor.prnu"] == 0.0  # there is none
    assert found["sensor.model"] == "emva"
    assert (found["pixels.width"], found["pixels.height"], found["bit_depth"]) == (100, 80, 12)
    with Image.open(tmp_path / "ccd.png") as picture:
        assert picture.width > 400


def test_clouds_of_walls_become_a_preset_of_a_lidar_with_its_beams(tmp_path, capsys) -> None:
    folder = tmp_path / "walls"
    folder.mkdir()
    wall_clouds(folder)
    preset = run("lidar", folder, tmp_path)
    found = preset.parameters
    assert found["noise.distance_sigma_base"] == pytest.approx(0.03, rel=0.1)
    assert found["detection_probability"] == pytest.approx(6000 / 6400)
    assert found["intensity.full_scale"] == pytest.approx(2.55, rel=0.01)
    assert found["pattern.rows"] == 4
    assert any("noise by the intensity" in text for text in preset.unknown)
    rows = (tmp_path / "beams.csv").read_text().splitlines()
    assert rows[0] == "ring,elevation_deg,azimuth_deg"
    angles = [float(row.split(",")[1]) for row in rows[1:]]
    assert angles == pytest.approx([-3.0, -1.0, 1.0, 3.0], abs=1e-3)
    assert "plane fitted" in capsys.readouterr().out


def test_depths_of_walls_become_a_preset_of_a_depth_camera(tmp_path) -> None:
    wall_depths(tmp_path)
    preset = run("depth", tmp_path / "walls.toml", tmp_path)
    found = preset.parameters
    assert found["noise.disparity.rms"] == pytest.approx(0.1, rel=0.05)
    assert found["noise.dropout"] == pytest.approx(0.05, abs=0.01)
    assert found["noise.multiplier"] == 0.0
    assert (found["noise.on"], found["noise.baseline"], found["width"]) == (True, 0.1, 64)


def test_fixes_become_a_preset_of_a_receiver(tmp_path) -> None:
    found = run("gnss", roof_log(tmp_path), tmp_path).parameters
    assert found["error.white.vertical"] == pytest.approx(0.4, rel=0.1)
    assert found["error.correlated.horizontal"] == pytest.approx(1.5, rel=0.3)
    assert 20.0 < found["error.time_constant"] < 80.0
    assert found["error.mode"] == "fixed"


def test_codes_become_a_preset_of_an_encoder(tmp_path) -> None:
    found = run("encoder", turn_log(tmp_path), tmp_path).parameters
    assert found["resolution"] == pytest.approx(math.tau / 2048, rel=1e-12)
    assert found["noise.rms"] == pytest.approx(1e-3, rel=0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exposure = 1", "has no [[frames]]"),
        ("[[frames]]\nexposure = 1", "frames[0].files: must be a list"),
        ('[[frames]]\nfiles = ["a*.png"]', "there is no file a*.png beside frames.toml"),
        ('[[frames]]\nfiles = ["frames.toml"]\nlight = 1', "light is unknown, known: exposure"),
        ('[[frames]]\nfiles = ["frames.toml"]\nexposure = "long"', "exposure: 'long' is no number"),
        ('[[frames]]\nfiles = ["frames.toml"]\ndark = 1', "dark: must be true or false"),
        ('[[frames]]\nfiles = ["frames.toml"]', "a picture is .png"),
        ("[[frames", "frames.toml"),
    ],
)
def test_mistakes_in_descriptions_are_named(tmp_path, capsys, text: str, message: str) -> None:
    (tmp_path / "frames.toml").write_text(text)
    assert main(["ccd", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err


def test_other_mistakes_are_named(tmp_path, capsys) -> None:
    log = still_log(tmp_path)
    (tmp_path / "off.csv").write_text("time,gyro_x\n" + "".join(f"{n},0\n" for n in range(300)))
    assert main(["imu", str(tmp_path / "off.csv")]) == 1
    assert "off.csv: gyroscope.x never change" in capsys.readouterr().err
    cases = {
        ("imu", str(log), "--column", "gyroscope.x"): "must be name=theirs",
        ("imu", str(log), str(log)): "imu takes one still log, 2 are given",
        ("imu", str(log), "--report", "x.pdf"): "a report is .html or .png",
        ("imu", str(log), "--compare", "VLP-16"): "preset 'VLP-16' is unknown for Imu",
        ("gnss", str(log)): "there is no column for latitude",
        ("lidar", str(log)): "frames are described by a TOML file",
    }
    for words, message in cases.items():
        assert main(list(words)) == 1
        assert message in capsys.readouterr().err


def test_a_preset_of_another_sensor_is_no_peer() -> None:
    fit = Fit("encoder", ("Encoder",), [Estimate("noise.rms", 1.0, 0.9, 1.1, "rad", "x")])
    with pytest.raises(FitError, match="is for Lidar, the data are of Encoder"):
        compare(fit, find_preset("Lidar", "VLP-16"))
    (judged,) = compare(fit, find_preset("Encoder", "AMT102-V"))
    assert judged.contradicted
    assert "preset 0 rad, data 1 [0.9, 1.1] rad: CONTRADICTED" in judged.shown()


def test_what_is_not_seen_is_shown_as_a_bound() -> None:
    assert Estimate("x", 0.1, 0.0, 2.0, "m", "").shown() == "not seen, at most 2 m"
    assert Estimate("x", 3.0, 1.0, math.inf, "s", "").shown() == "more than 1 s"
    assert not Estimate("x", 0.1, -0.2, 0.3, "m", "").is_seen
    assert Estimate("x", 5.0, 0.0, 9.0, "s", "", may_be_absent=False).is_seen


def test_profiles_are_those_of_a_known_law() -> None:
    """Of n normal draws, the interval of the deviation is where n (x² - 1 - 2 ln x) is 3.84."""
    n, squares = 10, 10.0

    def log_likelihood(sizes):
        return -0.5 * (n * math.log(sizes[0] ** 2) + squares / sizes[0] ** 2)

    scales = Scales(log_likelihood, np.array([3.0]))
    best = scales.peak([np.array([2.0])])
    assert best.parameters[0] == pytest.approx(1.0, rel=1e-4)
    for end in scales.interval(best, 0):
        assert n * (end**-2 - 1.0 + 2.0 * math.log(end)) == pytest.approx(3.841, abs=0.02)


def test_frames_of_all_kinds_are_read(tmp_path) -> None:
    pixels = np.arange(12, dtype=np.uint16).reshape(3, 4)
    np.save(tmp_path / "a.npy", pixels)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    Image.fromarray(pixels.astype(np.float32)).save(tmp_path / "a.tiff")
    for _, found in pictures(sorted(tmp_path.glob("a.*"))):
        assert np.array_equal(found, pixels)
    (tmp_path / "b.csv").write_text("x,y,z,reflectivity\n1,2,3,4\n")
    (tmp_path / "c.pcd").write_text(
        "VERSION .7\nFIELDS x y z i\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nPOINTS 1\n"
        "DATA ascii\n1 2 3 4\n"
    )
    for _, cloud in clouds([tmp_path / "b.csv", tmp_path / "c.pcd"]):
        assert [cloud[name].tolist() for name in ("x", "y", "z", "intensity")] == [
            [1],
            [2],
            [3],
            [4],
        ]
    (tmp_path / "d.csv").write_text("x,y\n1,2\n")
    with pytest.raises(FitError, match="has no field z; there are x, y"):
        list(clouds([tmp_path / "d.csv"]))
    (tmp_path / "e.png").write_bytes(b"none")
    with pytest.raises(FitError, match=r"e\.png: is no picture"):
        list(pictures([tmp_path / "e.png"]))
    (tmp_path / "f.pcd").write_text("FIELDS x y z\nDATA binary\n")
    with pytest.raises(FitError, match=r"f\.pcd: is no PCD file"):
        list(clouds([tmp_path / "f.pcd"]))
    with pytest.raises(FitError, match="has 0 TOML files"):
        read_targets([tmp_path], {}, {})
