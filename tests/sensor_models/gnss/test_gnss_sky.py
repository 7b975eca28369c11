"""What a scene does to the sky of a receiver."""

import math

import numpy as np
import pytest

from sensor_models.core.georeference import Georeference
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import ConstellationChoice, ErrorMode, GnssParameters, Multipath
from sensor_models.kernels.gnss import sky as at
from sensor_models.scene.model import Body, Instance
from sensor_models.scene.tracing import MovingBodies, RayScene
from tests import oracles_rays as twin
from tests.trajectories import body_state

PLACE = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
#: Walls 15 m east and west of the origin, 12 m high, as long as the sky is wide.
CANYON = [
    twin.box((15.0, -10_000.0, -1.0), (16.0, 10_000.0, 12.0)),
    twin.box((-16.0, -10_000.0, -1.0), (-15.0, 10_000.0, 12.0)),
]


def receiver(rays, **parameters):
    return Gnss(GnssParameters(**parameters), None, PLACE, rays=rays)


def used(gnss):
    return [satellite.number - 1 for satellite, _ in gnss.observations]


@pytest.mark.acceptance("GNSS-15")
def test_gnss_15_between_two_walls():
    with RayScene(twin.scene_of(*CANYON)) as rays:
        gnss = receiver(rays, elevation_mask=math.radians(10.0), error_mode=ErrorMode.off)
        reading = gnss.sample(0, 0.0, body_state())
    assert used(gnss) == [0, 13, 17, 20]
    assert reading.satellites == 4
    # the tolerance of the acceptance row
    found = (reading.dop_position, reading.dop_horizontal)
    assert found == pytest.approx((13.71817, 6.39927), abs=1e-4)


def test_a_turned_world_hides_what_its_walls_stand_before():
    # In a world turned by 90 degrees, walls along y run from west to east.
    turned = Georeference(PLACE.latitude, PLACE.longitude, PLACE.height, math.pi / 2)
    with RayScene(twin.scene_of(*CANYON)) as rays:
        gnss = Gnss(GnssParameters(error_mode=ErrorMode.off), None, turned, rays=rays)
        gnss.sample(0, 0.0, body_state())
        seen = gnss.sky
    above = seen[:, at.UP] >= math.sin(math.radians(5.0))
    # a wall 12 m high at 15 m to the north and south
    hidden = above & (15.0 * seen[:, at.UP] < 12.0 * np.abs(seen[:, at.NORTH]))
    assert hidden.any()
    assert ((seen[:, at.STATUS] == at.HIDDEN) == hidden).all()


def test_sky_visibility_off_sees_through_everything():
    with RayScene(twin.scene_of(*CANYON)) as rays:
        gnss = receiver(rays, sky_visibility=False)
        assert gnss.sample(0, 0.0, body_state()) == receiver(None).sample(0, 0.0, body_state())


def carried(height):
    """A scene with a body that is a plate around the origin at a height above it."""
    plate = twin.box((-50.0, -50.0, height), (50.0, 50.0, height + 0.1))
    return twin.scene_of(
        plate, instances=(Instance(0, np.eye(4), 1, body=0),), bodies=(Body("car"),)
    )


def test_the_carrying_body_hides_satellites():
    with RayScene(carried(0.5)) as rays:
        assert receiver(rays).sample(0, 0.0, body_state()).satellites == 0
    with RayScene(carried(-1.0)) as rays:
        assert receiver(rays).sample(0, 0.0, body_state()).fix == 3
    with RayScene(carried(-0.1)) as rays:  # the antenna lies on it
        assert receiver(rays).sample(0, 0.0, body_state()).fix == 3


def test_bodies_are_where_they_are_said_to_be():
    pose = np.array([[1000.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    away = MovingBodies(pose[np.newaxis])
    with RayScene(carried(0.5)) as rays:
        gnss = receiver(rays)
        assert gnss.sample(0, 0.0, body_state(), bodies=away).fix == 3
        assert gnss.sample(1, 1.0, body_state()).fix == 0
        rays.move_all(pose)
        rays.commit()
        assert gnss.sample(2, 2.0, body_state()).fix == 3


def test_a_lost_fix_holds_the_reading_and_starts_rtk_anew():
    from sensor_models.gnss.parameters import Solution

    pose = np.array([[1000.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    away = MovingBodies(pose[np.newaxis])
    with RayScene(carried(0.5)) as rays:
        gnss = receiver(rays, solution=Solution.rtk, rtk_convergence_time=2.0)
        readings = [gnss.sample(k, float(k), body_state(), bodies=away) for k in range(4)]
        assert [r.carrier_solution for r in readings] == [1, 1, 2, 2]
        lost = gnss.sample(4, 4.0, body_state((5.0, 5.0, 0.0)))
        assert (lost.fix, lost.carrier_solution, lost.satellites) == (0, 0, 0)
        held = readings[-1]
        for name in ("latitude", "longitude", "height", "velocity"):
            assert getattr(lost, name) == getattr(held, name)
        again = [gnss.sample(k, float(k), body_state(), bodies=away) for k in (5, 6, 7)]
        assert [r.carrier_solution for r in again] == [1, 1, 2]


def range_errors(gnss):
    """Errors of the ranges in use, without what the elevation makes of them."""
    sky = gnss.sky
    return {
        row: sky[row, at.ERROR] * sky[row, at.UP]
        for row in range(len(sky))
        if sky[row, at.STATUS] == at.USED
    }


def test_what_hides_a_satellite_shifts_no_noise():
    with RayScene(twin.scene_of(*CANYON)) as rays:
        walls, meadow = (
            receiver(scene, error_mode=ErrorMode.pseudorange) for scene in (rays, None)
        )
        for k in range(4):
            walls.sample(k, float(k), body_state())
            meadow.sample(k, float(k), body_state())
            few, many = range_errors(walls), range_errors(meadow)
            assert 0 < len(few) < len(many)
            assert few == {row: many[row] for row in few}


def test_bias_takes_hidden_satellites_into_use():
    given = {"error_mode": ErrorMode.pseudorange, "constellation": ConstellationChoice.all}
    with RayScene(twin.scene_of(*CANYON)) as rays:
        plain = receiver(rays, **given)
        some = receiver(rays, multipath=Multipath.bias, nlos_mean=50.0, **given)
        every = receiver(rays, multipath=Multipath.bias, nlos_probability=1.0, **given)
        none = receiver(rays, multipath=Multipath.bias, nlos_probability=0.0, **given)
        counts = [gnss.sample(0, 0.0, body_state()).satellites for gnss in (plain, some, every)]
        assert counts[0] < counts[1] < counts[2]
        assert none.sample(0, 0.0, body_state()) == plain.sample(0, 0.0, body_state())
        sky = some.sky
    late = sky[:, at.STATUS] == at.REFLECTED
    assert (sky[late, at.DETOUR] > 0.0).all()
    # the errors of those that are seen stay what they were
    assert range_errors(some) == range_errors(plain)


def test_image_takes_the_satellites_that_a_wall_shows():
    tower = twin.box((-16.0, -10_000.0, -1.0), (-15.0, 10_000.0, 80.0))
    with RayScene(twin.scene_of(CANYON[0], tower)) as rays:
        gnss = receiver(rays, error_mode=ErrorMode.pseudorange, multipath=Multipath.image)
        gnss.sample(0, 0.0, body_state((-3.0, 0.0, 0.0)))
        sky = gnss.sky
    east, _, up = sky[:, at.ALONG : at.ALONG + 3].T
    # Hidden by the low wall, 18 m away; shown by the tower, 12 m away, whose image of the antenna
    # is 42 m from the low wall and must see the satellite over it.
    hidden = (up >= math.sin(math.radians(5.0))) & (18.0 * up < 12.0 * east)
    shown = hidden & (42.0 * up > 12.0 * east)
    assert shown.any()
    assert ((sky[:, at.STATUS] == at.REFLECTED) == shown).all()
    # walls are of float32
    assert sky[shown, at.DETOUR] == pytest.approx(24.0 * east[shown], rel=1e-6)


def test_threads_give_the_same_bits():
    given = {"error_mode": ErrorMode.pseudorange, "multipath": Multipath.image}
    states = []
    for threads in (1, 2):
        with RayScene(twin.scene_of(*CANYON), threads) as rays:
            gnss = receiver(rays, **given)
            for k in range(5):
                gnss.sample(k, float(k), body_state((0.5 * k, 3.0 * k, 1.0)))
            states.append(gnss.state)
    assert (states[0] == states[1]).all()
