"""Systems with FMUs that are not of this project: what is read of them, and how they are run."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fmpy.ssp.ssd import read_ssd

import build_fmus
from fmus.tools.systems import DescriptionError, System, read_system
from fmus.tools.systems.foreign import read_foreign
from fmus.tools.systems.units import Unit, mismatch, own_unit
from tests.masters.test_systems import HOSTS, in_a_host, outputs_of
from tests.pendulum import build_pendulum, description, phi, write_fmu

MODELS = {name: source.model for name, source in build_fmus.fmu_sources().items()}
PAGE = (build_fmus.ROOT / "docs" / "masters.md").read_text()
SWING, SWING_IMU = (t for t in re.findall("```toml\n(.*?)```", PAGE, re.DOTALL) if "Swing" in t)

G = 9.80665

#: Steps of a run.
STEPS = 60
#: Half of the steps of the AS5048A, and five sigma of its noise of 2.73 steps.
ENCODER_ERROR = (0.5 + 5 * 2.73) * 2 * np.pi / 16384


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_pendulum(tmp_path_factory.mktemp("pendulum"))


Describe = Callable[..., System]


@pytest.fixture
def describe(tmp_path: Path) -> Describe:
    """Reads the system of the page, with changes; its pendulum has only a description."""
    write_fmu(tmp_path / "Pendulum.fmu", description())
    (tmp_path / "swing_imu.toml").write_text(SWING_IMU)

    def read(*changes: tuple[str, str]) -> System:
        text = SWING
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "swing.toml").write_text(text)
        return read_system(tmp_path / "swing.toml", MODELS)

    return read


def test_variables_have_the_types_units_and_ranges_of_the_description(tmp_path: Path) -> None:
    table = read_foreign(write_fmu(tmp_path / "x.fmu", description()))
    assert table.model_name == "Mechanics.Pendulum"
    assert len(table.of_causality("output")) == 15
    angle, length = table.by_name["rev.phi"], table.by_name["L"]
    assert table.unit_of(angle) == Unit("rad", {"rad": 1})  # by its type
    assert (
        length.quantity.refusal("L", 0.0) == "L = 0.0 m is out of range, allowed is at least 0.01 m"
    )
    assert length.causality == "parameter"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('fmiVersion="2.0"', 'fmiVersion="3.0"', "is for FMI 3.0 and has CoSimulation; "),
        ("CoSimulation", "ModelExchange", "has no CoSimulation; needed is FMI 2.0"),
        ("</ModelVariables>", "", "is no FMU: mismatched tag"),
    ],
)
def test_files_that_cannot_be_used_are_refused_with_the_reason(
    describe: Describe, tmp_path: Path, old: str, new: str, message: str
) -> None:
    write_fmu(tmp_path / "Bad.fmu", description().replace(old, new))
    with pytest.raises(DescriptionError) as refusal:
        describe(("Pendulum.fmu", "Bad.fmu"))
    assert str(tmp_path / "Bad.fmu") in str(refusal.value)
    assert message in str(refusal.value)


BAD: dict[str, tuple[str, str, str]] = {
    "no file": ('"Pendulum.fmu"', '"None.fmu"', "None.fmu is no FMU: "),
    "a preset": ("parameters.phi0 = 0.2", 'preset = "x"', "has no presets"),
    "no parameter": ("phi0", "phi1", "phi1 is no parameter or input of this FMU"),
    "wrong type": ("phi0 = 0.2", "phi0 = true", "phi0 = True has the wrong type"),
    "out of range": ("phi0 = 0.2", "L = 0.0", "L = 0.0 m is out of range"),
    "another unit": (
        "pendulum.rev.phi",
        "pendulum.phi_deg",
        "pendulum.phi_deg does not fit encoder.joint.position: deg (0.0174533 rad) is not rad",
    ),
    "another dimension": ("rev.w", "body.v[1]", "m/s (1 m.s-1) is not rad/s (1 rad.s-1)"),
    "another type": (
        '"pendulum.rev.w", "encoder.joint.velocity"',
        '"pendulum.rev.w", "imu.scene_handle"',
        "rev.w at pendulum.rev.w is Real, and scene_handle at imu.scene_handle is Integer",
    ),
    "an input as output": ('["pendulum.rev.w", ', '["pendulum.L", ', "connects nothing"),
    "an angle for a quaternion": (
        "imu.body.euler.pitch",
        "imu.body.orientation.y",
        "body.phi[2] does not fit imu.body.orientation.y: rad is not 1; angles go to"
        " body.euler.roll, .pitch and .yaw, with orientation_input = euler",
    ),
    "a member that there is not": (
        "imu.body.euler.pitch",
        "imu.body.euler.heading",
        "body.euler.heading is no input of imu, imu.body.euler has pitch, roll, yaw",
    ),
    "a group that there is not": (
        "imu.body.euler.pitch",
        "imu.body.angles.pitch",
        "body.angles.pitch is no input of imu, imu.body has acceleration, angular_acceleration,"
        " angular_velocity, euler, orientation, position, velocity",
    ),
    "an output that there is not": (
        '["pendulum.rev.w", ',
        '["pendulum.rev.omega", ',
        "rev.omega is no output of pendulum, pendulum.rev has phi, w",
    ),
    "a third word": ('.position"],', '.position", "any"],', "is no pair of names, nor one with"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_a_system_that_does_not_fit_is_refused_with_the_reason(
    describe: Describe, case: str
) -> None:
    old, new, message = BAD[case]
    with pytest.raises(DescriptionError) as refusal:
        describe((old, new))
    assert message in str(refusal.value)


def test_units_are_compared_unless_asked_not_to(describe: Describe) -> None:
    system = describe(
        ("pendulum.rev.phi", "pendulum.phi_deg"),
        ('joint.position"]', 'joint.position", "any unit"]'),
    )
    first = system.connections[0]
    assert (first.output.name, first.input.name) == ("phi_deg", "joint.position")


@pytest.mark.parametrize(
    ("output", "taken", "reason"),
    [
        (None, own_unit("m"), ""),
        (Unit("rad/s", {"s": -1}), own_unit("rad/s"), ""),  # of Modelica tools
        (Unit("rad", {}), own_unit("rad"), ""),
        (own_unit("rad"), own_unit("1"), "rad is not 1"),
        (Unit("rad", {}), own_unit("1"), "rad (1 1) is not 1"),
        (Unit("deg", {"rad": 1}, 0.0174533), own_unit("1"), "deg (0.0174533 rad) is not 1"),
        (Unit("meter", {"m": 1}), own_unit("m"), ""),
        (Unit("m"), own_unit("m"), ""),  # by its name
        (Unit("furlong"), own_unit("m"), "furlong may not be m"),
        (Unit("km", {"m": 1}, 1e3), own_unit("m"), "km (1000 m) is not m"),
        (Unit("degC", {"K": 1}, 1.0, 273.15), own_unit("K"), "degC (1 K + 273.15) is not K"),
        (Unit("N", {"kg": 1, "m": 1, "s": -2}), own_unit("m/s2"), "N (1 kg.m.s-2) is not m/s2 "),
    ],
)
def test_units_are_the_same_by_what_they_are_made_of(
    output: Unit | None, taken: Unit, reason: str
) -> None:
    found = mismatch(output, taken)
    assert found.startswith(reason) if reason else not found


def test_a_choice_and_a_switch_of_another_fmu_are_set(describe: Describe, tmp_path: Path) -> None:
    types = (
        '<SimpleType name="Mode"><Enumeration><Item name="slow" value="1"/>'
        '<Item name="fast" value="4"/></Enumeration></SimpleType></TypeDefinitions>'
    )
    more = (
        '<ScalarVariable name="mode" valueReference="0" causality="parameter" variability="fixed">'
        '<Enumeration declaredType="Mode" start="1"/></ScalarVariable>'
        '<ScalarVariable name="on" valueReference="0" causality="parameter" variability="fixed">'
        '<Boolean start="false"/></ScalarVariable></ModelVariables>'
    )
    text = description().replace("</TypeDefinitions>", types).replace("</ModelVariables>", more)
    write_fmu(tmp_path / "Modes.fmu", text)
    set_so = 'Modes.fmu"\nparameters.mode = "fast"\nparameters.on = true'
    (part, *_) = describe(('Pendulum.fmu"', set_so)).parts
    assert {name: int(value) for name, value in part.numbers.items() if name != "phi0"} == {
        "mode": 4,
        "on": 1,
    }
    with pytest.raises(DescriptionError, match="mode = 'quick' is none of slow, fast"):
        describe(('Pendulum.fmu"', 'Modes.fmu"\nparameters.mode = "quick"'))


# ---- run -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swing(
    pendulum: Path, fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[System, Path]:
    """The system of the page, and its package."""
    folder = tmp_path_factory.mktemp("swing")
    (folder / "fmus").symlink_to(fmu_directory)
    (folder / "Pendulum.fmu").symlink_to(pendulum)
    (folder / "swing.toml").write_text(SWING)
    (folder / "swing_imu.toml").write_text(SWING_IMU)
    system = build_fmus.read_ssp_source(folder / "swing.toml", build_fmus.fmu_sources())
    return system, build_fmus.write_ssp(system, folder / "fmus")


def test_the_package_holds_the_file_and_the_connections(
    swing: tuple[System, Path], pendulum: Path
) -> None:
    with zipfile.ZipFile(swing[1]) as archive:
        assert archive.read("resources/pendulum.fmu") == pendulum.read_bytes()
    found = {
        (c.startElement, c.startConnector, c.endElement, c.endConnector)
        for c in read_ssd(str(swing[1])).system.connections
    }
    assert ("pendulum", "rev.phi", "encoder", "joint.position") in found
    assert ("pendulum", "body.v[3]", "imu", "body.velocity.z") in found


@pytest.mark.parametrize("host", HOSTS)
def test_sensors_measure_somebody_elses_dynamics_in_every_master(
    swing: tuple[System, Path], tmp_path: Path, host: str
) -> None:
    system, ssp = swing
    for name in ("files", "shared"):
        (tmp_path / name).mkdir(mode=0o700)
    rows = in_a_host(host, system, ssp, tmp_path)
    parts = {part.name: outputs_of(part).in_order for part in system.parts}
    values = {
        (part, name): np.array([row[part][parts[part].index(name)] for row in rows])
        for part, name in (
            ("pendulum", "rev.phi"),
            ("encoder", "position"),
            ("encoder", "sample.time"),
            ("imu", "sample.time"),
            ("imu", "accelerometer.x"),
            ("imu", "accelerometer.z"),
            ("imu", "gyroscope.y"),
        )
    }
    steps = 0.01 * np.arange(1, STEPS + 1)
    truth = [phi(time, start=0.2) for time in steps]
    np.testing.assert_allclose(values["pendulum", "rev.phi"], truth, atol=1e-9)
    # Encoders count from 0 to a turn; what a master did at the start is forgotten by then.
    late = values["encoder", "sample.time"] > 0.05
    assert late.sum() > 50
    read = (values["encoder", "position"][late] + np.pi) % (2 * np.pi) - np.pi
    expected = [phi(time, start=0.2) for time in values["encoder", "sample.time"][late]]
    np.testing.assert_allclose(read, expected, atol=ENCODER_ERROR)
    # An IMU that swings with its rod feels what holds it, and nothing across, up to its noise. The
    # zeros that some masters set first are no motion that it feels.
    now = values["imu", "sample.time"][late]
    angle = np.array([phi(time, start=0.2) for time in now])
    rate = -0.2 * np.sqrt(G) * np.sin(np.sqrt(G) * now)
    along = rate**2 + G * np.cos(angle)
    np.testing.assert_allclose(values["imu", "accelerometer.z"][late], along, atol=0.2)
    np.testing.assert_allclose(values["imu", "accelerometer.x"][late], 0.0, atol=0.2)
    np.testing.assert_allclose(values["imu", "gyroscope.y"][late], -rate, atol=0.04)
