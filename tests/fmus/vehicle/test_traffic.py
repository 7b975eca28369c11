"""Paths of the traffic: closed, smooth, with exact velocities, and clear of what stands there."""

from dataclasses import replace

import numpy as np
import pytest

from fmus.vehicle.solids import solids_of, turn_z
from fmus.vehicle.traffic import TRIPS, Oval, Traffic, Trip
from sensor_models.scene.model import Body
from tests.fmus.vehicle.driving import YARD, Floats

YARD_TRAFFIC = Traffic(YARD.bodies, TRIPS["yard"])
ROUND = TRIPS["yard"]["vehicle_1"].path.length / TRIPS["yard"]["vehicle_1"].speed  # s
TIMES = np.linspace(0.0, ROUND, 1001)

OVALS = [
    Oval((1.0, 2.0), 0.3, 40.0, -0.4),
    Oval((-3.0, 0.5), 2.0, 25.0, -0.2, direction=-1),
    TRIPS["yard"]["vehicle_1"].path,
]


@pytest.mark.parametrize("oval", OVALS)
def test_a_path_comes_back_to_its_start(oval: Oval) -> None:
    there, back = oval.position_at(np.array([0.0, oval.length * (1.0 - 1e-15)]))
    assert there == pytest.approx(oval.start, abs=0.0)
    assert back == pytest.approx(oval.start, abs=1e-12)
    first, last = oval.heading_at(np.array([0.0, oval.length]))
    assert last - first == pytest.approx(oval.direction * 2.0 * np.pi, abs=1e-14)


@pytest.mark.parametrize("direction", [1, -1])
def test_without_a_shape_a_path_is_a_circle(direction: int) -> None:
    oval = Oval((0.0, 0.0), 0.0, 2.0 * np.pi * 5.0, 0.0, direction)
    distance = np.linspace(-10.0, 80.0, 1001)
    angle = distance / 5.0
    expected = 5.0 * np.column_stack([np.sin(angle), direction * (1.0 - np.cos(angle))])
    # the fourth power of the distance of knots, 0.015 m, over 384 and the cube of the radius
    assert np.abs(oval.position_at(distance) - expected).max() < 1e-11
    assert oval.curvature_at(distance) == pytest.approx(np.full(1001, direction / 5.0), abs=1e-15)


@pytest.mark.parametrize("oval", OVALS)
def test_heading_and_curvature_are_derivatives(oval: Oval) -> None:
    distance, step = np.linspace(0.0, oval.length, 501), 1e-3
    ahead, behind = oval.position_at(distance + step), oval.position_at(distance - step)
    heading = oval.heading_at(distance)
    ways = np.column_stack([np.cos(heading), np.sin(heading)])
    # a sixth of step squared times the square of the curvature, which is below 0.5 / m
    assert np.abs((ahead - behind) / (2.0 * step) - ways).max() < 1e-7
    turn = (oval.heading_at(distance + step) - oval.heading_at(distance - step)) / (2.0 * step)
    assert turn == pytest.approx(oval.curvature_at(distance), abs=1e-7)


def test_velocities_of_the_traffic_are_derivatives_of_its_poses() -> None:
    step = 1e-3
    now, ahead, behind = (YARD_TRAFFIC.states(TIMES + by) for by in (0.0, step, -step))
    moved = (ahead[..., :3] - behind[..., :3]) / (2.0 * step)
    # a sixth of step squared times speed cubed times curvature squared: 1e-7
    assert np.abs(moved - now[..., 7:10]).max() < 2e-7
    turned = angle_of(ahead[..., 3:7], behind[..., 3:7]) / (2.0 * step)
    assert np.abs(turned - now[..., 12]).max() < 2e-7
    assert np.abs(now[..., 10:12]).max() == 0.0


def angle_of(later: Floats, earlier: Floats) -> Floats:
    """The angle about z between orientations about z."""
    sine = later[..., 3] * earlier[..., 0] - later[..., 0] * earlier[..., 3]
    return 2.0 * np.arcsin(sine)


def test_speeds_are_constant_and_bodies_look_where_they_go() -> None:
    states = YARD_TRAFFIC.states(TIMES)
    speed = np.linalg.norm(states[..., 7:10], axis=-1)
    assert np.abs(speed - 2.0).max() < 1e-14
    w, z = states[..., 3], states[..., 6]
    forward = np.stack([w * w - z * z, 2.0 * w * z], axis=-1)
    assert np.abs(forward - states[..., 7:9] / 2.0).max() < 1e-14


def test_the_traffic_stays_on_the_ground() -> None:
    world = solids_of(YARD)
    for body in YARD_TRAFFIC.states(TIMES[::5]).transpose(1, 0, 2):
        heights = np.array([world.height_at(x, y) for x, y in body[:, :2].tolist()])
        # the scene sets its vehicles down 1 cm above the road
        assert np.abs(body[:, 2] - heights).max() <= 0.01 + 1e-9


def test_the_traffic_is_clear_of_all_that_stands_there() -> None:
    world = solids_of(YARD)
    grown = [replace(s, half_size=s.half_size + 0.5) for s in world.solids if not s.is_ground]
    curb = [replace(s, half_size=s.half_size + 0.5) for s in world.solids if s.name == "pavement"]
    for body, states in zip(
        YARD.bodies, YARD_TRAFFIC.states(TIMES[::5]).transpose(1, 0, 2), strict=True
    ):
        half = world.bodies[body.name].half_size
        marks = np.array([[a, b, 0.0] for a in np.linspace(-1, 1, 9) for b in (-1, 0, 1)]) * half
        for state in states:
            turn = turn_z(2.0 * np.arctan2(state[6], state[3]))
            for x, y in (marks @ turn.T + state[:3])[:, :2].tolist():
                assert not [s.name for s in (*grown, *curb) if s.is_at(x, y)]


def test_vehicles_keep_their_distance() -> None:
    states = YARD_TRAFFIC.states(TIMES)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        apart = np.linalg.norm(states[:, a, :2] - states[:, b, :2], axis=-1)
        assert apart.min() > 8.0  # and the longest is 5.4 m


def test_bodies_without_a_trip_rest_where_the_scene_puts_them() -> None:
    bodies = (Body("one", (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0)), Body("other"))
    path = Oval((0.0, 0.0), 0.0, 10.0)
    states = Traffic(bodies, {"other": Trip(path, 0.0, 1.0)}).states(np.array([0.0, 2.5]))
    assert states[:, 0].tolist() == [[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0, *[0.0] * 6]] * 2
    assert states[1, 1, :2] == pytest.approx([10.0 / (2.0 * np.pi)] * 2, abs=1e-9)
    assert Traffic((), {}).states(np.zeros(2)).shape == (2, 0, 13)
