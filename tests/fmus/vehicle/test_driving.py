"""A vehicle on the move: odometry, turning, obstacles, energy, and ten minutes at random."""

import mujoco
import numpy as np
import pytest

from fmus.vehicle.engine import SimulationError
from fmus.vehicle.parameters import VehicleCommands, VehicleParameters
from fmus.vehicle.simulation import VehicleSimulation
from tests.fmus.vehicle.driving import (
    HALT,
    LANE,
    RADIUS,
    YARD,
    at_rest,
    drive,
    lowest_above_terrain,
    random_commands,
    rolling,
)


@pytest.mark.parametrize("speed", [1.0, 2.0, -1.5])
def test_straight_driving_agrees_with_its_odometry(speed: float) -> None:
    yaw = LANE["start_yaw"] if speed > 0.0 else -LANE["start_yaw"]
    track = drive(at_rest(**{**LANE, "start_yaw": yaw}), 20.0, rolling(speed))
    way = np.linalg.norm(np.diff(track.position, axis=0), axis=1).sum()
    assert way == pytest.approx(20.0 * abs(speed), rel=0.02)  # the start takes some time
    turned = (track.wheels[-1] - track.wheels[0])[:, 0]
    # wheels roll on 0.1 % less than their radius, and slip a little while they accelerate
    assert RADIUS * turned == pytest.approx(np.full(4, np.sign(speed) * way), rel=0.005)
    assert np.abs(track.position[:, 0] - 20.0).max() < 0.02
    end = track.position[-1] - track.position[0]
    assert np.sign(end[1]) == 1.0


def test_wheels_turn_at_the_commanded_speed() -> None:
    track = drive(at_rest(**LANE), 3.0, rolling(1.2))
    # the drive is slower by the torque of the losses over its gain
    assert track.wheels[-1, :, 1] == pytest.approx(np.full(4, 1.2 / RADIUS), rel=2e-3)


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_opposite_wheels_turn_it_on_the_spot(turn: float) -> None:
    track = drive(at_rest(), 6.0, rolling(-turn, turn))
    rate = track.angular_velocity[200:, 2]
    # never faster than without slip, which is speed over half the track
    assert np.all((turn * rate > 0.5) & (turn * rate < 2.0))
    assert np.abs(track.position[:, :2] - track.position[0, :2]).max() < 0.3
    assert track.wheels[-1, :, 1] * turn * RADIUS == pytest.approx([-1.0, 1.0, -1.0, 1.0], rel=0.1)


def test_a_faster_right_side_turns_it_to_the_left() -> None:
    track = drive(at_rest(), 4.0, rolling(0.6, 1.2))
    assert track.angular_velocity[-1, 2] > 0.1
    assert track.position[-1, 1] > track.position[0, 1] + 0.5


def test_a_wall_stops_it() -> None:
    vehicle = at_rest(start_position=(8.0, 11.5), start_yaw=np.pi / 2.0)
    track = drive(vehicle, 6.0, rolling(1.5))
    front = 0.45 + 0.3 + 0.03 - 0.07  # half the wheel base, wheel, overhang, shift of the chassis
    face = 15.2 - 0.15
    assert track.position[-1, 1] + front == pytest.approx(face, abs=0.05)
    assert (track.position[:, 1] + front).max() < face + 0.05
    assert np.linalg.norm(track.velocity[-1]) < 0.05
    assert track.wheels[-1, :, 1].mean() > 1.0, "the wheels go on"


@pytest.mark.parametrize(("place", "yaw"), [((116.0, 3.0), 0.0), ((3.0, -116.0), -np.pi / 2.0)])
def test_it_does_not_leave_the_terrain(place: tuple[float, float], yaw: float) -> None:
    track = drive(at_rest(start_position=place, start_yaw=yaw), 8.0, rolling(2.0))
    assert np.abs(track.position[:, :2]).max() < 120.0
    assert lowest_above_terrain(track) > -0.05


def test_it_climbs_a_curb_and_comes_down_again() -> None:
    vehicle = at_rest(start_position=(6.5, 8.0), start_yaw=np.pi)
    up = drive(vehicle, 5.0, rolling(1.0))  # as far as the house
    assert up.position[-1, 2] == pytest.approx(0.12, abs=0.01)
    down = drive(vehicle, 5.0, rolling(-1.0))
    assert down.position[-1, 2] == pytest.approx(0.0, abs=0.01)


def test_traffic_pushes_it_aside() -> None:
    vehicle = at_rest(start_position=(2.0, 0.4), start_yaw=np.pi / 2.0)
    track = drive(vehicle, 30.0, HALT)
    moved = np.linalg.norm(track.position[-1, :2] - track.position[0, :2])
    assert moved > 2.0
    assert lowest_above_terrain(track) > -0.05
    assert np.linalg.norm(track.velocity, axis=1).max() < 6.0, "twice what hit it, and more"


def test_on_a_slippery_slope_it_slides_as_a_block_would() -> None:
    vehicle = at_rest(start_position=(116.0, -102.0), start_yaw=0.0, friction=0.1)
    up = vehicle.data.xmat[vehicle.model.body].reshape(3, 3)[:, 2]
    track = drive(vehicle, 1.0, HALT)
    sine, cosine = np.sqrt(1.0 - up[2] ** 2), up[2]
    assert sine > 0.2, "steep enough to slide"
    # across its wheels, with the drives holding them; the ground bends a little on the way
    expected = 9.80665 * (sine - 0.1 * cosine) * track.times
    speed = np.linalg.norm(track.velocity, axis=1)
    assert speed[50:] == pytest.approx(expected[50:], rel=0.05)


def test_on_a_slope_that_is_not_slippery_it_stays() -> None:
    track = drive(at_rest(start_position=(116.0, -102.0), start_yaw=0.0), 5.0, HALT)
    assert np.linalg.norm(track.position[-1] - track.position[0]) < 0.02


def test_without_drive_it_rolls_and_gains_no_energy() -> None:
    vehicle = at_rest(**LANE, drive_torque=0.0)
    vehicle.model.engine.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    vehicle.data.qvel[1] = 3.0
    vehicle.data.qvel[vehicle.model.engine.jnt_dofadr[vehicle.model.wheels]] = 3.0 / RADIUS
    energies, speeds = [], []
    for k in range(100):
        vehicle.advance(0.05 * (k + 1), HALT)
        energies.append(float(vehicle.data.energy.sum()))
        speeds.append(float(np.linalg.norm(vehicle.reading().velocity)))
    # what compressed tyres hold, and the springs of the servos, comes and goes: force times way
    gain = np.diff(energies)
    assert gain.max() < 400.0 * 9.81 * 1e-3
    assert energies[-1] < energies[0]
    assert 2.0 < speeds[-1] < speeds[0], "it rolls on, and losses slow it"


def test_the_arm_follows_its_commands_and_stops_at_what_is_in_its_way() -> None:
    vehicle = at_rest()
    free = drive(vehicle, 3.0, VehicleCommands(boom=0.3, stick=1.5))
    assert free.arm[-1, :, 0] == pytest.approx([0.3, 1.5], abs=0.03)  # give of the servos
    down = drive(vehicle, 3.0, VehicleCommands(boom=-1.3, stick=0.5))
    assert down.arm[-1, 0, 0] > -1.1, "the stick is on the ground"
    assert np.abs(down.velocity[-1]).max() < 0.01


def test_nothing_falls_through_the_terrain_in_random_driving() -> None:
    """Two minutes; ``python -m tests.fmus.vehicle.driving`` does ten."""
    track = drive(at_rest(), 120.0, random_commands(1))
    assert np.isfinite(track.position).all()
    assert lowest_above_terrain(track) > -0.05
    assert np.abs(track.position[:, :2]).max() < 120.0
    assert np.linalg.norm(np.diff(track.position[:, :2], axis=0), axis=1).sum() > 60.0


@pytest.mark.parametrize("duration", [1e9, 1e300])
def test_a_step_of_too_many_inner_steps_is_refused_and_changes_nothing(duration: float) -> None:
    vehicle, twin = at_rest(), at_rest()
    before = {name: array.tobytes() for name, array in vehicle.state().items()}
    with pytest.raises(SimulationError, match=r"more than 1000000 inner steps .* at most \d+ s"):
        vehicle.advance(duration, rolling(1.0))
    assert {name: array.tobytes() for name, array in vehicle.state().items()} == before
    for each in (vehicle, twin):
        each.advance(0.1, rolling(1.0))
    assert vehicle.reading().position.tolist() == twin.reading().position.tolist()


def test_times_coarser_than_the_inner_step_are_refused() -> None:
    vehicle = VehicleSimulation(VehicleParameters(), YARD, start=1.7e18)
    vehicle.start(HALT)
    for end in (1.7e18, 1.7e18 + 256.0):
        with pytest.raises(SimulationError, match="numbers of this size are 256 s apart"):
            vehicle.advance(end, rolling(1.0))


def test_times_that_are_coarser_than_inner_steps_are_refused_and_unix_seconds_are_not() -> None:
    vehicle = VehicleSimulation(VehicleParameters(), YARD, 1.7e18)  # Unix time in ns
    vehicle.start(HALT)
    before = {name: array.tobytes() for name, array in vehicle.state().items()}
    with pytest.raises(SimulationError, match=r"too far from 0: .* 256 s apart, .* time_step = "):
        vehicle.advance(1.7e18 + 256.0, rolling(1.0))
    assert {name: array.tobytes() for name, array in vehicle.state().items()} == before
    late, early = VehicleSimulation(VehicleParameters(), YARD, 1.7e9), at_rest()
    late.start(HALT)
    late.advance(1.7e9 + 0.5, rolling(1.0))
    early.advance(0.5, rolling(1.0))
    assert late.reading().position.tolist() == early.reading().position.tolist()
