"""The lidar in random scenes against its slow twin: the same echoes, whatever stands there."""

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, seed, settings
from hypothesis import strategies as st

from sensor_models.lidar.parameters import LidarParameters, PathConvention
from sensor_models.light.beam import BeamParameters
from sensor_models.scene.model import Medium
from tests import lidar_scenes as rig
from tests.oracles_lidar import Tree, chosen

#: Rays are float32.
FLOAT32 = 1e-5
#: Media of this shape answer at k theta within 5 sigma = 1.6 %: the twin need not draw.
SHARP = 1e5

#: No angle is zero: rays along the faces of boxes are a matter of rounding.
angles = st.integers(-500, 499).map(lambda number: (number + 0.37) / 1000)


def reals(low, high):
    """Numbers that come in a thousand steps."""
    return st.integers(0, 1000).map(lambda number: low + (high - low) * number / 1000)


@st.composite
def materials(draw):
    """Surfaces of all kinds: matt, coated, mirrors, metals, clear ones."""
    kind = draw(st.sampled_from(["clear", "clear", "coated", "matt", "mirror", "metal"]))
    if kind == "matt":
        return rig.lambert(draw(reals(0.0, 1.0)))
    if kind == "coated":
        return rig.coated(
            roughness_beckmann=draw(reals(0.01, 1.0)),
            diffuse_reflectance=draw(reals(0.0, 0.9)),
            roughness_oren_nayar=draw(reals(0.0, 1.0)),
            ior=draw(reals(1.05, 2.5)),
            two_way=draw(st.booleans()),
        )
    if kind == "mirror":
        return rig.mirror(draw(reals(1e-4, 1e-2)))
    if kind == "metal":
        return rig.mirror(draw(reals(1e-3, 0.3)), draw(reals(0.1, 3.0)), draw(reals(1.0, 7.0)))
    absorption = draw(st.sampled_from([0.0, 1e-9, 1e-8]))
    return rig.glass(draw(reals(1.05, 2.4)), absorption, draw(reals(1e-4, 0.05)))


@st.composite
def media(draw):
    """Clear ones and ones that absorb, answer, slow light down."""
    answers = draw(st.booleans())
    return Medium(
        absorption=draw(reals(0.0, 0.1)),
        return_shape=SHARP,
        return_scale=draw(reals(0.5, 15.0)) / SHARP,
        return_probability=1.0 if answers else 0.0,
        ior=draw(st.sampled_from([1.0, 1.0, 1.33])),
        backscatter=draw(st.sampled_from([None, 0.01])),
    )


@st.composite
def boxes(draw, of=0, low=1.5, high=20.0):
    """A slab or block somewhere ahead, turned a little."""
    x = draw(reals(low, high))
    thickness = draw(reals(0.05, 6.0))
    half = draw(reals(2.0, 9.0))
    mesh = rig.across(x, of, thickness=thickness, half=half)
    axis = (draw(angles), draw(angles), 1.0)
    return rig.turned(mesh, axis, draw(angles), (x, 0.0, 0.0))


@st.composite
def scenes(draw):
    """Up to four bodies and up to three volumes, in each other's way; faces may be missing.

    Hypothesis comes to the simplest choices most often, so the simplest is the richest here.
    """
    surfaces = draw(st.lists(materials(), min_size=1, max_size=3))
    count = 5 - draw(st.integers(1, 4))
    solids = [draw(boxes(draw(st.integers(0, len(surfaces) - 1)))) for _ in range(count)]
    if draw(st.booleans()):
        solids[0] = opened(solids[0], draw(st.integers(0, 5)))
    around = tuple(draw(st.lists(media(), min_size=1, max_size=3)))
    volumes = [
        (draw(st.integers(0, len(around) - 1)), draw(boxes(low=2.0)))
        for _ in range(2 - draw(st.integers(0, 2)))
    ]
    if draw(st.booleans()):  # the sensor is in this one
        volumes.append((len(around) - 1, rig.across(-2.0, thickness=draw(reals(2.0, 9.0)))))
    return rig.scene(*solids, materials=tuple(surfaces), media=around, volumes=tuple(volumes))


def opened(mesh, side):
    """A box without one of its sides."""
    keep = np.arange(len(mesh.faces)) // 2 != side
    return dataclasses.replace(mesh, faces=mesh.faces[keep], face_material=mesh.face_material[keep])


@st.composite
def settings_of_lidars(draw):
    """How deep a tree may be, and what counts; the simplest choice lets most echoes through."""
    return {
        "max_depth": 6 - draw(st.integers(0, 6)),
        "weight_cutoff": draw(st.sampled_from([1e-8, 1e-4, 1e-3, 0.03])),
        "max_events": draw(st.sampled_from([32, 32, 1, 2])),
        "path_convention": draw(st.sampled_from(PathConvention)),
        "beam_on": draw(st.booleans()),
        "accept_half_angle": draw(st.sampled_from([0.02, 3e-3, 0.0])),
        "min_range": draw(st.sampled_from([0.0, 4.0])),
        "max_range": draw(st.sampled_from([1e300, 25.0])),
        "min_intensity": draw(st.sampled_from([0.0, 1e-6])),
    }


def assert_same(points, expected):
    """The points of a ray are its echoes.

    Ranges to 1e-5, as float32 rays are good to; an echo of a medium to the 1.6 % of its draw.
    Intensities to 1e-3: normals and directions are off by 1e-7 rad each, of a lobe no narrower
    than tan(b/2) = 5e-4, and by twice that after each reflection.
    """
    assert points["node"].tolist() == [echo.node for echo in expected]
    assert points["atmospheric"].tolist() == [int(echo.atmospheric) for echo in expected]
    surface = points["atmospheric"] == 0
    truth = np.array([(e.range, e.intensity, e.incidence) for e in expected]).reshape(-1, 3)
    np.testing.assert_allclose(points["range"][surface], truth[surface, 0], rtol=FLOAT32)
    np.testing.assert_allclose(points["intensity"][surface], truth[surface, 1], rtol=1e-3)
    np.testing.assert_allclose(points["incidence"][surface], truth[surface, 2], atol=1e-3)
    assert points["material_id"].tolist() == [echo.material for echo in expected]
    assert points["entity_id"].tolist() == [echo.entity for echo in expected]
    np.testing.assert_allclose(points["range"][~surface], truth[~surface, 0], rtol=0.02)
    # An extinction of 0.1 over 2 % of 15 m there and back, and of ways before it.
    np.testing.assert_allclose(points["intensity"][~surface], truth[~surface, 1], rtol=0.2)


@settings(max_examples=400)
@given(scenes(), settings_of_lidars(), angles, angles, reals(-1.0, 0.5))
def test_echoes_are_those_of_the_twin(seen, own, azimuth, elevation, x):
    parameters = LidarParameters(**rig.ALL, **own)
    beam = BeamParameters(emitter_radius=0.01)
    tree = Tree(seen, parameters, beam)
    body = rig.at(x, 0.013, -0.017)
    level = np.cos(elevation)
    along = level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)
    every = tree.of_ray(body[:3], along)
    assume(not tree.doubtful)
    expected = chosen(every, parameters.return_mode, parameters.max_returns)
    weakest = min((echo.intensity for echo in expected), default=0.0)
    rest = max((echo.intensity for echo in set(every) - set(expected)), default=0.0)
    assume(rest < 0.5 * weakest or rest == 0.0)  # else the last digits choose
    points = rig.capture(seen, rig.aim(azimuth, elevation), body, own=rig.ALL | own, beam=beam)
    assert_same(points, expected)


def test_the_twin_is_asked_about_scenes_that_matter():
    """Of random scenes, many rays are no matter of rounding, and have more echoes than one.

    Hypothesis takes numbers from the source of all modules that are imported, so the examples
    depend on the tests before; and it varies what it had, so those of one seed are alike.
    Therefore eight seeds are asked. Of other eights, between 0.16 and 0.24 have more echoes.
    """
    counts = []

    @settings(max_examples=100)
    @given(scenes(), settings_of_lidars(), angles, angles)
    def count(seen, own, azimuth, elevation):
        tree = Tree(seen, LidarParameters(**rig.ALL, **own))
        level = np.cos(elevation)
        along = level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)
        found = tree.of_ray([0.0, 0.013, -0.017], along)
        counts.append(-1 if tree.doubtful else len(found))

    for number in range(8):
        seed(number)(count)()
    assert len(counts) >= 800
    assert np.mean(np.array(counts) >= 0) > 0.5
    assert np.mean(np.array(counts) >= 2) > 0.12
    assert max(counts) >= 6


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4])
def test_the_twin_knows_the_wall_behind_a_pane(depth):
    """The twin itself, against a geometric series."""
    pane = rig.across(5.0, of=1, thickness=0.01)
    seen = rig.scene(rig.across(10.0), pane, materials=(rig.lambert(0.8), rig.glass(1.5)))
    tree = Tree(seen, LidarParameters(max_depth=depth))
    walls = [e for e in tree.of_ray((0, 0.1, 0.07), (1, 0, 0)) if e.material == 0]
    assert [e.node for e in walls] == [[], [], [6], [6], [6, 24]][depth]
    for number, echo in enumerate(walls):
        weight = 0.9216 * 0.04 ** (2 * number)
        # The corners of the pane are float32: 10 mm to 1e-7 m.
        assert echo.range == pytest.approx(10.005 + 0.03 * number, rel=1e-6)
        assert echo.intensity == pytest.approx(weight**2 * 0.8 / np.pi, rel=1e-9)
