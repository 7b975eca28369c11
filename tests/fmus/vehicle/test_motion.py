"""Readings fit together, steps may be cut anyhow, states continue bit for bit."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from fmus.vehicle.engine import SimulationError
from fmus.vehicle.parameters import VehicleCommands, VehicleParameters
from fmus.vehicle.simulation import VehicleReading, VehicleSimulation
from tests.fmus.vehicle.driving import (
    HALT,
    LANE,
    YARD,
    Floats,
    Track,
    at_rest,
    drive,
    random_commands,
    rolling,
)

STEP = 1e-3


def swerving(instant: float) -> VehicleCommands:
    """Smooth commands of all kinds."""
    a, b = np.sin(3.0 * instant), np.sin(2.0 * instant)
    return VehicleCommands(6.0 + 4.0 * b + 2.0 * a, 6.0 + 4.0 * b - 2.0 * a, 0.2 * a - 0.2, 0.4 * b)


@pytest.fixture(scope="module")
def swerve() -> Track:
    """4 s of driving on level ground, reading for reading."""
    return drive(at_rest(), 4.0, swerving, STEP)


def rates(values: Floats) -> Floats:
    """Central differences, for all instants but the first and the last."""
    return (values[2:] - values[:-2]) / (2.0 * STEP)


def test_velocity_adds_up_to_position(swerve: Track) -> None:
    moved = np.cumsum(0.5 * STEP * (swerve.velocity[1:] + swerve.velocity[:-1]), axis=0)
    # the trapezoid errs by an eighth of step squared for each change of the acceleration
    tolerance = STEP**2 / 8.0 * np.abs(np.diff(swerve.acceleration, axis=0)).sum(axis=0) + 1e-9
    error = np.abs(swerve.position[1:] - swerve.position[0] - moved).max(axis=0)
    assert np.all(error < 4.0 * tolerance)
    assert np.abs(moved).max() > 0.5, "far enough to tell"


@pytest.mark.parametrize("motion", ["", "angular_"])
def test_acceleration_is_the_derivative_of_velocity(swerve: Track, motion: str) -> None:
    velocity = getattr(swerve, f"{motion}velocity")
    acceleration = getattr(swerve, f"{motion}acceleration")[1:-1]
    error = np.abs(rates(velocity) - acceleration).max(axis=1)
    # A sixth of step squared times the third derivative, which the springs make 1e3 / s2 times
    # the velocity; but where a wheel begins or ends to slide, acceleration has a step.
    assert np.quantile(error, 0.98) < 1e-3 * np.abs(acceleration).max()
    assert np.median(error) < 1e-3
    assert np.abs(acceleration).max() > 1.0, "fast enough to tell"


def test_angular_velocity_is_the_derivative_of_orientation(swerve: Track) -> None:
    assert np.abs(np.linalg.norm(swerve.orientation, axis=1) - 1.0).max() < 1e-14
    w, x, y, z = (rates(swerve.orientation)[:, n] for n in range(4))
    # twice the rate of the quaternion times its conjugate
    a, b, c, d = swerve.orientation[1:-1].T
    found = 2.0 * np.column_stack(
        [
            -w * b + x * a - y * d + z * c,
            -w * c + x * d + y * a - z * b,
            -w * d - x * c + y * b + z * a,
        ]
    )
    jump = np.abs(np.diff(swerve.angular_acceleration, axis=0)).max()
    assert np.abs(found - swerve.angular_velocity[1:-1]).max() < STEP * jump
    assert np.abs(found).max() > 0.3, "turned fast enough to tell"


@pytest.mark.parametrize("part", ["wheels", "arm"])
def test_joint_velocities_are_derivatives_of_joint_positions(swerve: Track, part: str) -> None:
    joints = getattr(swerve, part)
    found, expected = rates(joints[..., 0]), joints[1:-1, :, 1]
    # a difference is the mean over two steps, and errs by at most the velocity's change in them
    change = np.abs(np.diff(joints[..., 1], axis=0))
    assert np.all(np.abs(found - expected) < np.maximum(change[1:], change[:-1]) + 1e-6)


# ---- steps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1e-3, 7e-3, 1e-2, 0.07])
def test_communication_steps_of_any_length_give_the_same_drive(step: float) -> None:
    reference = at_rest(**LANE)
    reference.advance(0.7, rolling(1.0, 1.4))
    found = drive(at_rest(**LANE), 0.7, rolling(1.0, 1.4), step)
    # all have inner steps of 1 ms; rounding of their lengths and of where the solver starts differs
    assert found.position[-1] == pytest.approx(reference.reading().position, abs=1e-6)
    assert found.velocity[-1] == pytest.approx(reference.reading().velocity, abs=1e-5)
    assert found.times[-1] == pytest.approx(0.7)


def test_a_step_is_filled_exactly_whatever_the_inner_step() -> None:
    vehicle = at_rest()
    for end in (0.0004, 0.0123, 0.02, 0.5):
        before = float(vehicle.data.time)
        vehicle.advance(end, HALT)
        assert float(vehicle.data.time) - before == pytest.approx(end - before, abs=1e-12)
        assert vehicle.model.engine.opt.timestep <= VehicleParameters().time_step * (1.0 + 1e-9)
    vehicle.advance(0.5, rolling(1.0))  # no time at all
    assert float(vehicle.data.time) == pytest.approx(0.5, abs=1e-12)


def test_halving_the_inner_step_hardly_changes_the_drive() -> None:
    ends = [
        drive(at_rest(**LANE, time_step=step), 2.0, swerving).position[-1] for step in (1e-3, 5e-4)
    ]
    assert ends[0] == pytest.approx(ends[1], abs=0.02)


# ---- states ----------------------------------------------------------------------------------


def bits(reading: VehicleReading) -> list[bytes]:
    return [part.tobytes() for part in reading]


def continued(vehicle: VehicleSimulation, commands: Callable[[float], VehicleCommands]) -> bytes:
    track = drive(vehicle, 1.0, commands)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in vars(track).values())


@pytest.mark.parametrize("instant", [0.0, 0.37, 3.0])
def test_a_state_continues_bit_for_bit(instant: float) -> None:
    commands = random_commands(5)
    vehicle = at_rest()
    drive(vehicle, instant, commands)
    state, there = vehicle.state(), vehicle.traffic()
    expected = continued(vehicle, commands)
    vehicle.restore(state)
    assert vehicle.traffic().tobytes() == there.tobytes()
    assert continued(vehicle, commands) == expected
    other = VehicleSimulation(VehicleParameters(), YARD, start=77.0)
    other.restore(state)
    assert continued(other, commands) == expected


def test_a_state_owns_its_arrays() -> None:
    vehicle = at_rest()
    state = vehicle.state()
    before = {name: array.tobytes() for name, array in state.items()}
    drive(vehicle, 0.1, rolling(1.0))
    assert {name: array.tobytes() for name, array in state.items()} == before


@pytest.mark.parametrize("damage", ["lacks", "short", "single", "nan", "more"])
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(damage: str) -> None:
    vehicle = at_rest()
    drive(vehicle, 0.2, rolling(1.0))
    state, before = vehicle.state(), vehicle.state()
    engine = state.pop("engine")
    state |= {
        "lacks": {},
        "short": {"engine": engine[:-1]},
        "single": {"engine": engine.astype(np.float32)},
        "nan": {"engine": np.where(np.arange(len(engine)) == 9, np.nan, engine)},
        "more": {"engine": engine, "other": engine},
    }[damage]
    with pytest.raises(SimulationError, match="are not those of this model"):
        vehicle.restore(state)
    assert vehicle.state()["engine"].tobytes() == before["engine"].tobytes()
    assert vehicle.time == before["time"][1]


def test_vehicles_in_two_threads_drive_as_they_do_alone() -> None:
    alone = [continued(at_rest(), random_commands(seed)) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as threads:
        together = [
            threads.submit(lambda s=s: continued(at_rest(), random_commands(s))) for s in (1, 2)
        ]
        assert [future.result() for future in together] == alone


# ---- divergence ------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [1e4, 1e12, np.nan])
def test_a_simulation_that_diverges_is_refused_and_says_nothing_elsewhere(
    speed: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    vehicle = at_rest()
    drive(vehicle, 0.1, rolling(1.0))
    good = vehicle.state()
    vehicle.data.qvel[2] = speed
    bad = vehicle.state()
    with pytest.raises(SimulationError, match="diverges at a speed of"):
        vehicle.advance(0.2, rolling(1.0))
    assert vehicle.state()["engine"].tobytes() == bad["engine"].tobytes()
    assert vehicle.time == 0.1
    vehicle.restore(good)
    assert np.abs(drive(vehicle, 0.5, HALT).velocity[-1]).max() < 0.05
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [1e300, -9e9, 1e5])
def test_a_state_that_no_vehicle_can_be_in_is_refused_or_driven_and_says_nothing_elsewhere(
    number: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    vehicle, refused = at_rest(), 0
    drive(vehicle, 0.1, rolling(1.0))
    good = vehicle.state()
    for place in range(len(good["engine"])):
        forged = {name: array.copy() for name, array in good.items()}
        forged["engine"][place] = number
        try:
            vehicle.restore(forged)
            vehicle.advance(vehicle.time + 0.002, rolling(1.0))
        except SimulationError:
            refused += 1
            if vehicle.state()["engine"][place] != number:  # the state, and not the step
                assert vehicle.state()["engine"].tobytes() == good["engine"].tobytes()
                assert vehicle.time == good["time"][1]
        vehicle.restore(good)
    assert refused == len(good["engine"]) or abs(number) < 1e10
    assert refused > 10
    assert np.abs(drive(vehicle, 0.5, HALT).velocity[-1]).max() < 0.05
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_who_listens_to_the_engine_hears_it_again_afterwards() -> None:
    heard: list[str] = []
    usual = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(heard.append)
    try:
        vehicle = at_rest()
        vehicle.data.qpos[2] = 1e12
        with pytest.raises(SimulationError, match="diverges"):
            vehicle.advance(0.1, HALT)
        assert heard == []
        other = at_rest()  # the engine warns once of each thing
        other.data.qpos[2] = 1e12
        mujoco.mj_step(other.model.engine, other.data)
        assert len(heard) == 1
    finally:
        mujoco.set_mju_user_warning(usual)


def test_one_that_falls_beside_its_ground_is_refused_in_the_end() -> None:
    ground = tuple(i for i in YARD.instances if i.name == "lane")
    bridge = replace(YARD, instances=ground, bodies=())
    vehicle = at_rest(bridge, **LANE)
    vehicle.data.qpos[2] -= 5.0  # below it
    with pytest.raises(SimulationError, match="falls for ever"):
        vehicle.advance(200.0, HALT)
