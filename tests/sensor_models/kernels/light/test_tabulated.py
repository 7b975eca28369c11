"""Surfaces that are tables, before lidars: closed forms of matt and coated ones."""

import math

import numpy as np
import pytest

from sensor_models.scene.brdf import table_of
from sensor_models.scene.model import Medium, SurfaceParameters
from tests import brdf_tables
from tests import lidar_scenes as rig

COAT = SurfaceParameters(
    diffuse_reflectance=0.4, ior=1.5, roughness_beckmann=0.12, roughness_oren_nayar=0.2
)
ANGLES = np.radians([0.0, 3.0, 11.0, 24.0, 37.0, 52.0, 68.0, 79.0])


def intensities(material, *, volumes=(), media=(rig.AIR,), **own):
    """Of a plate 10 m away at some angles."""
    found = []
    for angle in ANGLES:
        plate = rig.turned(rig.across(10.0, thickness=0.1), [0, 0, 1], angle, (10.0, 0.0, 0.0))
        seen = rig.scene(plate, materials=(material,), media=media, volumes=volumes)
        points = rig.capture(seen, own=own)
        found.append(float(points["intensity"][0]))
    return np.array(found)


@pytest.mark.parametrize("reflectance", [0.1, 0.2, 0.5, 0.8])
def test_a_table_of_a_matt_surface_answers_as_the_closed_form(reflectance):
    table = brdf_tables.material(brdf_tables.lambert_table(reflectance))
    assert intensities(table) == pytest.approx(intensities(rig.lambert(reflectance)), rel=1e-3)


def test_a_table_answers_in_fog_as_outside_of_it():
    fog = Medium("fog", absorption=0.02)
    volumes = ((1, rig.box((3.0, -30.0, -30.0), (30.0, 30.0, 30.0))),)
    given = {"media": (rig.AIR, fog), "volumes": volumes}
    table = brdf_tables.material(brdf_tables.lambert_table(0.5))
    plain = intensities(rig.lambert(0.5), **given)
    assert (plain > 0.0).all()
    assert intensities(table, **given) == pytest.approx(plain, rel=1e-3)


def test_a_table_of_a_coated_surface_answers_as_the_closed_form_to_one_percent():
    theta = np.radians(np.linspace(0.0, 90.0, 46))
    rows = brdf_tables.coated_rows(COAT, theta, [0.0, math.pi])
    table = brdf_tables.material(table_of(rows))
    error = intensities(table) / intensities(rig.coated(**_numbers(COAT))) - 1.0
    assert np.median(np.abs(error)) < 0.01
    assert np.abs(error).max() < 0.02


def test_a_reflector_has_its_lobe_besides_its_table():
    matt = brdf_tables.lambert_table(0.2)
    bare, bright = (brdf_tables.material(matt, 0.2, retro) for retro in (0.0, 70.0))
    more = intensities(bright) / intensities(bare)
    expected = 1.0 + 70.0 * np.cos(ANGLES) ** 2 / (0.2 / math.pi)
    assert more == pytest.approx(expected, rel=1e-3)


def test_light_goes_on_from_a_smooth_table_as_from_a_smooth_coat():
    """A peak as wide as the steps of the table sends as much on as the coat it was made of."""
    metal = SurfaceParameters(
        diffuse_reflectance=0.0, ior=2.05, extinction=8.26, roughness_beckmann=0.1
    )
    theta = np.radians(np.linspace(0.0, 90.0, 181))
    table = brdf_tables.material(table_of(brdf_tables.coated_rows(metal, theta, [0.0, math.pi])))
    plate = rig.turned(rig.across(10.0, thickness=0.1), [0, 0, 1], 0.5, (10.0, 0.0, 0.0))
    # the light goes on to the side, where there is a wall
    wall = rig.box((-60.0, -41.0, -40.0), (30.0, -39.0, 40.0), of=1)

    def second(material):
        seen = rig.scene(plate, wall, materials=(material, rig.lambert(0.9)))
        own = {**rig.ALL, "weight_cutoff": 1e-7, "min_intensity": 0.0}
        points = rig.capture(seen, own=own)
        assert len(points) == 2
        return float(points["intensity"][-1])

    coat = rig.coated(**_numbers(metal))
    assert second(table) == pytest.approx(second(coat), rel=0.05)


def test_a_neighbour_that_is_a_table_does_not_enter():
    """Rays of one packet that hit a table and other surfaces answer as alone."""
    others = [rig.lambert(0.3), rig.coated(**_numbers(COAT)), rig.mirror(0.2)]
    table = brdf_tables.material(brdf_tables.lambert_table(0.6))
    plates = [rig.box((5.0 + k, 2.0 * k, -1.0), (6.0 + k, 2.0 * k + 1.9, 1.0), k) for k in range(4)]
    aim = [math.atan2(2.0 * k + 0.9, 5.0 + k) for k in range(4)]
    seen = rig.scene(*plates, materials=(others[0], table, *others[1:]))
    together = rig.capture(seen, rig.aim(np.array(aim)))["intensity"]
    alone = [rig.capture(seen, rig.aim(angle))["intensity"][0] for angle in aim]
    assert together.tolist() == alone


def _numbers(surface):
    return {name: value for name, value in vars(surface).items() if name not in ("band", "brdf")}
