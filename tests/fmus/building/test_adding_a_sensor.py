"""A sensor of one's own, outside the project: what CONTRIBUTING says it takes is enough."""

import inspect
import math
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy.validation import validate_fmu

import build_fmus
from fmus.binding.compile import host_platform
from sensor_models import catalog
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.spec import PresetParameters, SensorSpec
from tests.conftest import SEEING
from tests.fmus import histories, toys
from tests.fmus.driving import read_record
from tests.fmus.fmi import test_all_sensors, test_states
from tests.fmus.host import open_fmu
from tests.fmus.pages import page_of

#: What a seeing sensor may take outside of its model, and a scalar one in all, lines of code.
MOST_LINES = 60
FILES = {
    "Thermometer": toys.SCALAR,
    "Altimeter": toys.ALTIMETER,
    "Profiler": toys.PROFILER_MODEL + toys.PROFILER,
    "RangeCamera": toys.RANGE_CAMERA,
}
#: Its rows are under way as a rule; what is random is where it sits.
RANGE_CAMERA = {**histories.SEEN, "rolling_shutter": 0.015, "mount.randomization.on": True}


@pytest.fixture(scope="module")
def own_fmus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toys, built by the command line."""
    folder = tmp_path_factory.mktemp("own")
    for name, text in FILES.items():
        (folder / f"own_{name.lower()}.py").write_text(text)
    modules = [str(file) for file in sorted(folder.glob("*.py"))]
    arguments = ["--output", str(folder), "--platforms", host_platform(), "--only", *FILES]
    assert build_fmus.main(["--module", *modules, *arguments]) == 0
    return folder


@pytest.mark.parametrize("text", [toys.SCALAR, toys.ALTIMETER, toys.PROFILER, toys.RANGE_CAMERA])
def test_the_toys_have_the_promised_size(text: str) -> None:
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    assert len(lines) <= MOST_LINES


@pytest.mark.parametrize("name", FILES)
def test_it_is_valid_and_has_a_page(own_fmus: Path, name: str) -> None:
    fmu = own_fmus / f"{name}.fmu"
    assert validate_fmu(str(fmu)) == []
    assert name.encode() in page_of(fmu)


def test_it_asks_for_packages_of_its_own(own_fmus: Path) -> None:
    with zipfile.ZipFile(own_fmus / "Thermometer.fmu") as archive:
        wanted = archive.read("resources/requirements.txt").decode().splitlines()
    assert {"scipy>=0", "hypothesis>=6"} < set(wanted)


def test_a_scalar_sensor_samples_records_and_continues(own_fmus: Path, tmp_path: Path) -> None:
    where = {"record": True, "output_directory": str(tmp_path), "sample_rate": 10.0}
    with open_fmu(own_fmus / "Thermometer.fmu") as sensor:
        sensor.initialize({**where, "gain": 3.0})
        for k, position in enumerate((0.0, 2.0, 1.0, 0.5)):
            if k == 2:
                saved = sensor.saved()
            sensor.set({"joint.position": position})
            sensor.step(0.1 * k, 0.1)
        assert sensor.get("temperature") == 6.0
        sensor.restore(saved)
        sensor.set({"joint.position": 4.0})
        sensor.step(0.2, 0.1)
        assert sensor.get("temperature") == 12.0
        assert "gain = -1.0 K is out of range" in refusal_of_gain(own_fmus)
        sensor.terminate()
    assert read_record(tmp_path)["temperature"].tolist() == [0.0, 6.0, 12.0]


def refusal_of_gain(own_fmus: Path) -> str:
    with open_fmu(own_fmus / "Thermometer.fmu") as sensor:
        return sensor.refusal(sensor.set, {"gain": -1.0})


def test_a_scalar_sensor_sees_the_scene(own_fmus: Path) -> None:
    with open_fmu(own_fmus / "Altimeter.fmu") as sensor:
        sensor.initialize({"scene": "targets", "body.position.z": 7.0})
        for k in range(2):
            sensor.set({"body.position.z": 7.0 + k})
            sensor.step(0.1 * k, 0.1)
        assert sensor.get("height") == pytest.approx(8.0, abs=1e-5)  # of float32


def test_a_sensor_takes_frames(own_fmus: Path, tmp_path: Path) -> None:
    where = {"scene": "targets", "output_directory": str(tmp_path), "record": True, "rays": 3}
    with open_fmu(own_fmus / "Profiler.fmu", "down") as sensor:
        sensor.initialize(where)
        assert sensor.get("frame.count") == 0
        for k in range(3):
            sensor.set({"body.position.z": 5.0 + k})
            sensor.step(0.1 * k, 0.1)
            assert sensor.get("frame.count") == k + 1
        sensor.terminate()
        file = sensor.get("frame.file")
    assert file == str(tmp_path / "down-000002.profile.npy")
    np.testing.assert_allclose(np.load(file), 7.0, atol=1e-5)
    np.testing.assert_allclose(read_record(tmp_path)["lowest"], [5.0, 6.0, 7.0], atol=1e-5)


def test_rows_are_seen_from_where_the_sensor_is_at_their_own_instants(
    own_fmus: Path, tmp_path: Path
) -> None:
    """Looking straight down while it climbs at 4 m/s: a row sees the ground from its own height."""
    rows, columns, readout, step = 5, 3, 0.08, 0.03
    down = {"mount.orientation.w": math.sqrt(0.5), "mount.orientation.y": math.sqrt(0.5)}
    own = {"rows": rows, "columns": columns, "rolling_shutter": readout, "sample_rate": 10.0}
    with open_fmu(own_fmus / "RangeCamera.fmu", "down") as sensor:
        sensor.initialize({"scene": "targets", "output_directory": str(tmp_path), **own, **down})
        for k in range(8):
            height = 2.0 + 4.0 * step * k
            sensor.set({"body.position.z": height, "body.velocity.z": 4.0})
            sensor.step(step * k, step)
        sensor.terminate()
        assert sensor.get("frame.count") == 2
    up, left = np.linspace(0.4, -0.4, rows), np.linspace(0.5, -0.5, 2 * columns)
    for number in range(2):
        height = 2.0 + 4.0 * (0.1 * number + np.linspace(0.0, readout, rows))
        longer = np.sqrt(1.0 + up[:, None] ** 2 + left**2).reshape(rows, columns, 2)
        found = np.load(tmp_path / f"down-00000{number}.distance.npy")
        expected = height[:, None] * longer.mean(axis=2)
        np.testing.assert_allclose(found, expected, atol=1e-5)  # of float32


def suite() -> Iterator[Callable[..., None]]:
    """What is tested of every sensor of the catalog that sees."""
    for module in (test_all_sensors, test_states):
        for name, test in vars(module).items():
            marks = [mark.args for mark in getattr(test, "pytestmark", ())]
            if name.startswith("test_") and any(
                mark[:1] == ("model",) and {*SEEING} <= {*mark[1]} for mark in marks
            ):
                yield test


@pytest.mark.parametrize(
    "check", [*suite()], ids=lambda check: check.__name__.removeprefix("test_")
)
def test_it_does_all_that_every_sensor_of_the_catalog_does(
    own_fmus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: Callable[..., None]
) -> None:
    monkeypatch.setitem(histories.OWN, "RangeCamera", RANGE_CAMERA)
    monkeypatch.setattr(test_all_sensors, "SEEING", [*SEEING, "RangeCamera"])
    given: dict[str, Any] = {
        "fmu": own_fmus / "RangeCamera.fmu",
        "fmu_directory": own_fmus,
        "model": "RangeCamera",
        "tmp_path": tmp_path,
        "monkeypatch": monkeypatch,
        "at_step_end": False,
    }
    check(**{name: given[name] for name in inspect.signature(check).parameters})


def test_the_suite_of_the_catalog_is_found() -> None:
    names = {check.__name__ for check in suite()}
    assert len(names) >= 12
    assert "test_a_state_continues_bit_by_bit" in names


def test_a_sensor_of_the_catalog_is_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "toy_in_the_catalog.py"
    file.write_text(toys.SCALAR)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(catalog.PLACES, "Thermometer", "toy_in_the_catalog:SPEC")
    assert "Thermometer" in build_fmus.fmu_sources()
    assert build_fmus.main(["--list"]) == 0
    assert "Thermometer on a heater" in capsys.readouterr().out
    assert build_fmus.main(["--docs", str(tmp_path / "docs"), "--only", "Thermometer"]) == 0
    assert "gain" in (tmp_path / "docs" / "Thermometer.html").read_text()


@pytest.mark.parametrize("text", ["", "x = 1\n", toys.SCALAR + "OTHER = SPEC\n"])
def test_a_file_with_no_spec_or_with_two_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    file = tmp_path / "own_nothing.py"
    file.write_text(text)
    assert build_fmus.main(["--module", str(file), "--list"]) == 1
    assert "SensorSpec" in capsys.readouterr().err


@pytest.mark.parametrize("name", catalog.names())
def test_a_spec_of_the_catalog_is_complete(name: str) -> None:
    spec = catalog.spec_of(name)
    assert isinstance(spec, SensorSpec)
    assert spec.name == name
    assert callable(spec.create)
    assert spec.state
    assert spec.sinks
    assert {group.declaring for group in spec.groups()} > {PresetParameters, SamplingParameters}
