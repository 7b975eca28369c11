"""FMU ``Gnss``: the statistics of its error, the model behind it, scenes, latency, files."""

import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import allantools
import georinex
import numpy as np
import pymap3d
import pynmea2
import pytest

import build_fmus
from fmus.binding.compile import host_platform
from sensor_models.core.earth_magnetism import flux_density
from sensor_models.core.georeference import Georeference
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import ErrorMode, GnssParameters
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import MovingBodies, RayScene
from tests.fmus.driving import read_record
from tests.fmus.host import Instance, open_fmu
from tests.sensor_models.gnss.test_gnss_sensor import ROOF, pose_of_roof
from tests.sensor_models.scene_files import BOX, write_manifest
from tests.trajectories import body_state

PLACE = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
ORIGIN = {
    "origin.latitude": PLACE.latitude,
    "origin.longitude": PLACE.longitude,
    "origin.height": PLACE.height,
}


@pytest.fixture(scope="session")
def gnss_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Gnss.fmu"


def recorded(folder: Path) -> dict[str, Any]:
    return {"record": True, "output_directory": str(folder)}


@pytest.mark.acceptance("GNSS-19")
def test_gnss_19_spread_correlation_and_allan_deviation_of_the_error(
    gnss_fmu: Path, tmp_path: Path
) -> None:
    sigma, tau, count = (1.2, 1.2, 2.0), 60, 400_000
    white = {"error.white.horizontal": 0.0, "error.white.vertical": 0.0, "sample_rate": 1.0}
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**ORIGIN, **white, **recorded(tmp_path), "inputs_at_step_end": True})
        for start in range(0, count, 50_000):
            gnss.step(float(start), 50_000.0)
        gnss.terminate()
    found = read_record(tmp_path)
    place = (PLACE.latitude, PLACE.longitude, PLACE.height)
    columns = found["latitude"], found["longitude"], found["height"]
    errors = pymap3d.geodetic2enu(*columns, *place, deg=False)
    assert len(found["time"]) == count + 1
    for error, size in zip(errors, sigma, strict=True):
        assert error.std() == pytest.approx(size, rel=0.04)
        assert np.corrcoef(error[tau:], error[:-tau])[0, 1] == pytest.approx(math.exp(-1), abs=0.03)
        _, deviation, _, _ = allantools.oadev(error, 1.0, data_type="freq", taus=[tau])
        assert deviation[0] / size == pytest.approx(0.579812, rel=0.04)


def test_the_fmu_reports_what_the_model_does(gnss_fmu: Path) -> None:
    given = GnssParameters(error_mode=ErrorMode.pseudorange, velocity_correlated=0.1, nmea_on=True)
    model = Gnss(given, None, PLACE, seed=7, sensor="Gnss/rover")
    state = body_state((100.0, -40.0, 3.0), velocity=(3.0, 4.0, -1.0))
    inputs = {f"body.position.{a}": v for a, v in zip("xyz", state[:3].tolist(), strict=True)}
    inputs |= {f"body.velocity.{a}": v for a, v in zip("xyz", state[7:10].tolist(), strict=True)}
    with open_fmu(gnss_fmu, "rover") as gnss:
        own = {"error.mode": ErrorMode.pseudorange, "velocity.correlated": 0.1, "nmea.on": True}
        own["poses"] = 1  # it stays where it is, whatever its velocity
        gnss.initialize({**ORIGIN, **own, **inputs, "seed": 7})
        for k in range(5):
            gnss.step(0.5 * k, 0.5)
            reading, outputs = model.sample(k, 0.5 * k, state), gnss.outputs()
            velocity = tuple(outputs[f"velocity.{way}"] for way in ("east", "north", "up"))
            assert (outputs["latitude"], outputs["height"]) == (reading.latitude, reading.height)
            assert velocity == reading.velocity
            assert outputs["dop.position"] == reading.dop_position
            assert outputs["nmea.sentences"] == reading.nmea_sentences
            assert outputs["satellites"] == reading.satellites > 3


@pytest.mark.parametrize("at_end", [False, True])
def test_a_fix_is_shown_in_the_first_step_that_ends_late_enough(
    gnss_fmu: Path, at_end: bool
) -> None:
    rule = {"inputs_at_step_end": at_end, "sample_rate": 10.0, "latency": 0.25}
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**ORIGIN, **rule})
        assert gnss.get("sample.count") == 0
        for k in range(1, 60):
            gnss.step((k - 1) / 20, 1 / 20)
            newest = math.floor((k / 20 - 0.25) * 10 + 1e-9)
            assert gnss.get("sample.count") == max(newest + 1, 0), k
            assert gnss.get("sample.time") == max(newest, 0) / 10


# ---- scenes --------------------------------------------------------------------------------------


def roof_at(time: float) -> dict[str, float]:
    names = [f"roof.position.{a}" for a in "xyz"] + [f"roof.orientation.{a}" for a in "wxyz"]
    return {**dict(zip(names, pose_of_roof(time).tolist(), strict=True)), "roof.velocity.x": 8.0}


@pytest.fixture(scope="module")
def roof(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A scene with a body, and an Environment built for it."""
    folder = tmp_path_factory.mktemp("roof")
    scene = write_manifest(folder, ROOF)
    what = ["--only", "Environment", "--scene", str(scene), "--platforms", host_platform()]
    assert build_fmus.main([*what, "--output", str(folder)]) == 0
    return scene, folder / "Environment.fmu"


def through(environment: Instance, gnss: Instance, cut: list[float], at_end: bool) -> None:
    for time, after in pairwise(cut):
        environment.set(roof_at(after if at_end else time))
        environment.step(time, after - time)
        gnss.step(time, after - time)


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("step", [0.05, 0.1, 0.4])
def test_moving_bodies_hide_satellites_where_they_were_at_the_instant(
    gnss_fmu: Path, roof: tuple[Path, Path], tmp_path: Path, step: float, at_end: bool
) -> None:
    scene = load_scene(roof[0])
    parameters = GnssParameters(error_mode=ErrorMode.off, elevation_mask=0.3)
    expected = []
    with RayScene(scene) as rays:
        model = Gnss(parameters, None, scene.origin, rays=rays)
        for k in range(77):
            bodies = MovingBodies(pose_of_roof(k / 10).reshape(1, 1, 7))
            expected.append(model.sample(k, k / 10, body_state(), bodies).satellites)
    assert len(set(expected)) > 3
    cut = [k * step for k in range(round(8.0 / step) + 1)]
    own = {"error.mode": 0, "elevation_mask": 0.3, "sample_rate": 10.0}
    rule = {"inputs_at_step_end": at_end}
    with open_fmu(roof[1], "world") as environment, open_fmu(gnss_fmu) as gnss:
        environment.initialize({"scene": str(roof[0]), **rule, **roof_at(0.0)})
        handle = environment.get("scene_handle")
        gnss.initialize({**own, **rule, **recorded(tmp_path), "scene_handle": handle})
        through(environment, gnss, cut, at_end)
        gnss.terminate()
    found = read_record(tmp_path)
    assert found["satellites"][:77].tolist() == expected


def test_a_scene_by_its_name_places_the_world(gnss_fmu: Path) -> None:
    own = {"error.mode": 0, "body.position.x": 60.0, "body.position.z": 1.7}
    with open_fmu(gnss_fmu) as gnss:
        gnss.initialize({**own, "scene": "street_canyon"})
        gnss.step(0.0, 0.1)
        canyon = gnss.outputs()
        gnss.reset()
        gnss.initialize({**own, **ORIGIN})
        gnss.step(0.0, 0.1)
        meadow = gnss.outputs()
    assert 0 < canyon["satellites"] < meadow["satellites"]
    if canyon["fix"] == 3:
        # rounding
        assert canyon["latitude"] == pytest.approx(meadow["latitude"], abs=1e-14)


@pytest.mark.parametrize(
    ("model", "output"), [("Magnetometer", "flux_density"), ("Imu", "magnetometer")]
)
def test_magnetic_sensors_feel_the_field_of_the_place_and_date(
    fmu_directory: Path, environment_fmu: Path, model: str, output: str
) -> None:
    with (
        open_fmu(environment_fmu, "world") as environment,
        open_fmu(fmu_directory / f"{model}.fmu") as sensor,
    ):
        environment.initialize({"scene": "street_canyon"})
        sensor.initialize({"scene_handle": environment.get("scene_handle")})
        found = [sensor.get(f"{output}.{axis}") for axis in "xyz"]
    field = flux_density(PLACE.latitude, PLACE.longitude, PLACE.height, 2026 + 181 / 365)
    # readings are of float64, the field of some 1e-5 T
    assert found == pytest.approx(field, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "output"), [("Magnetometer", "flux_density"), ("Imu", "magnetometer")]
)
def test_a_scene_on_the_earth_has_the_published_field(
    fmu_directory: Path, environment_fmu: Path, tmp_path: Path, model: str, output: str
) -> None:
    # Test value of NOAA/NCEI for WMM2025: 2026.0, 83 km, 86 degrees north, 46 degrees west; the
    # components to the north, east and down in nT.
    north, east, down = 2582.0, -1528.0, 54279.0
    world = """
[world]
origin = { latitude_deg = 86, longitude_deg = -46, height = 83000, heading_deg = 30 }
earth_field_date = 2026-01-01
"""
    scene = write_manifest(tmp_path, world + BOX)
    with (
        open_fmu(environment_fmu, "world") as environment,
        open_fmu(fmu_directory / f"{model}.fmu") as sensor,
    ):
        environment.initialize({"scene": str(scene)})
        sensor.initialize({"scene_handle": environment.get("scene_handle")})
        x, y, z = (1e9 * sensor.get(f"{output}.{axis}") for axis in "xyz")
    c, s = math.cos(math.radians(30.0)), math.sin(math.radians(30.0))
    # y points 30 degrees to the east of north; the values are printed to 1 nT
    assert x * c + y * s == pytest.approx(east, abs=0.75)
    assert y * c - x * s == pytest.approx(north, abs=0.75)
    assert -z == pytest.approx(down, abs=0.51)


# ---- files ---------------------------------------------------------------------------------------

#: A reader's own warning.
quiet = pytest.mark.filterwarnings("ignore:In a future version of xarray:FutureWarning")


@quiet
def test_a_record_brings_logs_that_other_programs_read(gnss_fmu: Path, tmp_path: Path) -> None:
    texts = {"nmea.on": True, "rinex.on": True, "error.mode": ErrorMode.pseudorange}
    rate = {"sample_rate": 5.0, "body.velocity.x": 7.0, "utc_start": "2026-03-09T23:59:59Z"}
    shown: dict[str, list[str]] = {"nmea.sentences": [], "rinex.epoch": []}
    with open_fmu(gnss_fmu, "rover") as gnss:
        gnss.initialize({**ORIGIN, **texts, **rate, **recorded(tmp_path)})
        for k in range(20):
            gnss.step(0.2 * k, 0.2)
            for name, lines in shown.items():
                lines.append(gnss.get(name))
        gnss.terminate()
    log, ranges = tmp_path / "rover.nmea", tmp_path / "rover.rnx"
    assert log.read_bytes().decode() == "".join(shown["nmea.sentences"])
    assert ranges.read_bytes().decode() == "".join(shown["rinex.epoch"])
    messages = [pynmea2.parse(line, check=True) for line in log.read_text().splitlines()]
    positions = [message for message in messages if message.sentence_type == "GGA"]
    found = read_record(tmp_path)
    # a minute of arc has five decimals
    latitudes = [message.latitude for message in positions]
    assert latitudes == pytest.approx(np.degrees(found["latitude"]).tolist(), abs=1e-7)
    read = georinex.load(ranges)
    assert len(read.time) == 20
    counts = read["C1C"].notnull().sum("sv").values
    assert counts.tolist() == found["satellites"].tolist()


def test_a_state_takes_the_logs_back(gnss_fmu: Path, tmp_path: Path) -> None:
    given = {**ORIGIN, "sample_rate": 10.0, "nmea.on": True, "latency": 0.15}
    logs = []
    for name in ("straight", "back"):
        with open_fmu(gnss_fmu) as gnss:
            gnss.initialize({**given, **recorded(tmp_path / name)})
            saved = gnss.saved()
            for k in range(30):
                if k == 12:
                    saved = gnss.saved()
                if k == 20 and name == "back":
                    gnss.restore(saved)
                    for again in range(12, 20):
                        gnss.step(0.1 * again, 0.1)
                gnss.step(0.1 * k, 0.1)
            gnss.terminate()
        logs.append((tmp_path / name / "sensor.nmea").read_bytes())
    assert logs[0] == logs[1]
    assert logs[0].count(b"GPGGA") == 30 - 1


def test_the_example_of_the_document_runs(
    gnss_fmu: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = (build_fmus.ROOT / "docs" / "gnss.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", document, re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    exec(example.replace("build/fmus/Gnss.fmu", str(gnss_fmu)), {})
    # fmpy itself tells of inputs that are not in the table
    latitude, least, most = map(float, capsys.readouterr().out.splitlines()[-1].split())
    assert latitude == pytest.approx(48.1, abs=0.01)
    assert 0 <= least < most
    files = {path.suffix for path in (tmp_path / "drive").iterdir()}
    assert files == {".parquet", ".nmea", ".rnx", ".jsonl"}
    found = read_record(tmp_path / "drive")
    assert len(found["time"]) == 138
