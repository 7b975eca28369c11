"""A vehicle that was set down: at rest, in balance, where it was asked to be."""

import mujoco
import numpy as np
import pytest

from fmus.vehicle.parameters import VehicleCommands, VehicleParameters
from fmus.vehicle.simulation import VehicleSimulation
from fmus.vehicle.solids import solids_of
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.manifest import load_scene
from tests.fmus.vehicle.driving import HALT, YARD, Floats, at_rest, drive

GRAVITY = 9.80665


def contact_force(vehicle: VehicleSimulation) -> Floats:
    """The sum of all contact forces, in the world frame."""
    engine, data = vehicle.model.engine, vehicle.data
    total, local = np.zeros(3), np.zeros(6)
    for number, contact in enumerate(data.contact):
        mujoco.mj_contactForce(engine, data, number, local)
        # from the first geom to the second
        sign = 1.0 if engine.geom_bodyid[contact.geom[1]] >= vehicle.model.body else -1.0
        total += sign * contact.frame.reshape(3, 3).T @ local[:3]
    return total


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"mass": 80.0, "suspension_stiffness": 5e3, "suspension_damping": 400.0},
        {"mass": 5000.0, "suspension_stiffness": 3e5, "suspension_damping": 2e4, "track": 1.8},
        {"wheel_radius": 0.5, "wheel_base": 1.5, "start_yaw": 2.0},
        {"friction": 0.1, "drive_torque": 0.0},
    ],
)
def test_it_is_at_rest_from_the_first_instant(parameters: dict[str, float]) -> None:
    track = drive(at_rest(**parameters), 2.0, HALT)
    assert np.abs(track.velocity[0]).max() == 0.0
    assert np.abs(track.acceleration).max() < 1e-3
    assert np.abs(track.angular_acceleration).max() < 1e-3
    assert np.abs(track.position - track.position[0]).max() < 1e-5
    assert np.abs(track.wheels[..., 0]).max() < 1e-5


@pytest.mark.parametrize("mass", [80.0, 400.0, 5000.0])
def test_the_ground_carries_the_weight(mass: float) -> None:
    vehicle = at_rest(mass=mass, suspension_stiffness=55.0 * mass, suspension_damping=5.0 * mass)
    engine = vehicle.model.engine
    assert engine.body_subtreemass[vehicle.model.body] == pytest.approx(mass, rel=1e-12)
    assert {frozenset(engine.geom(g).name for g in c.geom) for c in vehicle.data.contact} == {
        frozenset({f"tyre of wheel_{n}", "1 road"}) for n in (1, 2, 3, 4)
    }
    # what remains is mass times the acceleration that is left, 1e-4 m/s2
    assert contact_force(vehicle) == pytest.approx([0.0, 0.0, mass * GRAVITY], abs=1e-4 * mass)


def test_it_stands_on_its_wheels_where_and_as_it_was_asked() -> None:
    reading = at_rest(start_position=(3.0, -6.0), start_yaw=-2.5).reading()
    # tyres and springs give a little more in front, where the arm is
    assert reading.position == pytest.approx([3.0, -6.0, 0.0], abs=2e-3)
    w, x, y, z = reading.orientation.tolist()
    assert (w * w - z * z, 2.0 * w * z) == pytest.approx((np.cos(-2.5), np.sin(-2.5)), abs=1e-4)
    assert np.hypot(x, y) < 2e-3


def test_on_a_slope_it_stands_as_the_ground_lies() -> None:
    world = solids_of(YARD)
    x, y, reach = 30.0, -45.0, 0.5
    slope = np.array(
        [
            (world.height_at(x + reach, y) - world.height_at(x - reach, y)) / (2.0 * reach),
            (world.height_at(x, y + reach) - world.height_at(x, y - reach)) / (2.0 * reach),
        ]
    )
    assert np.hypot(*slope) > 0.05, "steep enough to tell"
    vehicle = at_rest(start_position=(x, y), start_yaw=1.0)
    up = vehicle.data.xmat[vehicle.model.body].reshape(3, 3)[:, 2]
    # springs give by 1 mm for each degree, and the ground bends a little below the wheels
    assert up == pytest.approx([*-slope, 1.0] / np.hypot(1.0, np.hypot(*slope)), abs=0.02)
    assert vehicle.reading().position[2] == pytest.approx(world.height_at(x, y), abs=0.02)


def test_the_arm_starts_where_it_is_commanded_to_be() -> None:
    vehicle = VehicleSimulation(VehicleParameters(), YARD)
    vehicle.start(VehicleCommands(boom=-0.5, stick=1.2))
    # servos give by the torque of the weight over their stiffness
    assert vehicle.reading().arm[:, 0] == pytest.approx([-0.5, 1.2], abs=0.02)
    assert (
        np.abs(drive(vehicle, 1.0, VehicleCommands(boom=-0.5, stick=1.2)).arm[:, :, 1]).max() < 1e-3
    )


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ((-4.0, 9.0), "building"),
        ((-14.6, 2.0), "tank"),
        ((2.0, -10.0), "vehicle_1"),
        ((119.0, 0.0), "border"),
    ],
)
def test_a_start_in_something_is_refused_with_its_name(
    place: tuple[float, float], what: str
) -> None:
    vehicle = VehicleSimulation(VehicleParameters(start_position=place), YARD)
    with pytest.raises(ParameterError) as refusal:
        vehicle.start(HALT)
    x, y = place
    assert f"start.position = ({x}, {y}) m is not free" in str(refusal.value)
    assert f"would stand in {what}" in str(refusal.value)


@pytest.mark.parametrize("place", [(0.0, 121.0), (1e4, 0.0)])
def test_a_start_beside_the_ground_is_refused(place: tuple[float, float]) -> None:
    vehicle = VehicleSimulation(VehicleParameters(start_position=place), YARD)
    with pytest.raises(ParameterError, match=r"is not on the ground, allowed is where the scene"):
        vehicle.start(HALT)


@pytest.mark.parametrize("scene", ["targets", "corridor", "bush_and_wall"])
def test_it_stands_in_every_scene(scene: str) -> None:
    vehicle = at_rest(load_scene(scene), start_position=(-5.0, 3.0))
    assert np.abs(vehicle.reading().acceleration).max() < 1e-3
    assert contact_force(vehicle)[2] == pytest.approx(400.0 * GRAVITY, abs=0.04)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"suspension_stiffness": 9e6, "mass": 20.0}, r"suspension\.stiffness = 9e\+06 N/m"),
        ({"suspension_damping": 9e5}, r"suspension\.damping = 900000 N\.s/m cannot be simulated"),
        ({"mass": 0.0}, r"mass = 0\.0 kg is out of range, allowed is 20 to 20000 kg"),
        (
            {"time_step": 0.01},
            r"time_step = 0\.01 s is out of range, allowed is 0\.0001 to 0\.002 s",
        ),
    ],
)
def test_parameters_that_cannot_be_are_refused(values: dict[str, float], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        VehicleParameters(**values)


@pytest.mark.parametrize("which", ["stiffness", "damping"])
def test_the_stiffest_suspension_that_is_allowed_is_stable(which: str) -> None:
    mass = 50.0
    unsprung, rate = 0.05 * mass, 1.4 / VehicleParameters().time_step
    most = {"stiffness": unsprung * rate**2, "damping": unsprung * rate}[which]
    vehicle = at_rest(mass=mass, **{f"suspension_{which}": most * (1.0 - 1e-12)})
    track = drive(vehicle, 3.0, VehicleCommands(drive_left=4.0, drive_right=6.0))
    assert np.abs(track.velocity[:, 2]).max() < 0.1
