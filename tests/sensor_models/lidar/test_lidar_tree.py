"""The ray tree of the lidar in scenes whose answers are known in closed form.

Rays are traced in float32: ranges are good to some 1e-6 of the way, positions of children are
moved off their surfaces by as much. 1e-5 stands for both, where a row asks for more.
"""

import math

import numpy as np
import pytest

from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarParameters, PathConvention
from sensor_models.light.beam import BeamParameters
from sensor_models.scene.model import Medium, SurfaceKind
from sensor_models.scene.tracing import RayScene
from tests import lidar_scenes as rig
from tests.optics_twins import fresnel

FLOAT32 = 1e-5
SLAB = rig.across(5.0, of=1, thickness=0.01)
WALL = rig.across(10.0)
PANE = rig.scene(WALL, SLAB, materials=(rig.lambert(0.8), rig.glass(1.5)))


def echoes(seen=PANE, pattern=None, **own):
    """The echoes of one ray by node, and their forward weights if they come from a plate of 0.8."""
    points = rig.capture(seen, pattern, own=rig.ALL | own)
    return {int(point["node"]): point for point in points}


def forward_weight(point, reflectance=0.8):
    """W of an echo of a Lambert plate that is hit at right angles: I = W^2 C / pi."""
    return math.sqrt(point["intensity"] * math.pi / reflectance)


@pytest.mark.acceptance("TREE-1")
def test_tree_1_children_of_a_node_are_twice_it_and_one_or_two():
    # Node 5 is the second reflection within the pane: from node 0 through (2), back (5), and then
    # once more back (11) or out towards the sensor (12), where a second wall sends it back.
    behind = rig.across(-3.0, thickness=1.0)
    seen = rig.scene(WALL, SLAB, behind, materials=(rig.lambert(0.8), rig.glass(1.5)))
    found = echoes(seen, max_depth=4, weight_cutoff=0.0)
    assert found[11]["material_id"] == 1
    assert found[11]["range"] == pytest.approx(5.045, rel=FLOAT32)
    assert found[12]["material_id"] == 0
    assert found[12]["range"] == pytest.approx(5.0 + 0.03 + 7.0, rel=FLOAT32)
    assert max(found) <= 30  # the last of 31 nodes of depth 4


@pytest.mark.acceptance("TREE-2")
def test_tree_2_the_range_of_a_wall_behind_a_pane_is_the_optical_path():
    wall = echoes()[6]
    assert wall["material_id"] == 0
    assert wall["range"] == pytest.approx(10.005, rel=FLOAT32)


@pytest.mark.acceptance("TREE-3")
def test_tree_3_a_pane_is_passed_twice_each_way():
    wall = echoes()[6]
    assert forward_weight(wall) == pytest.approx(0.9216, rel=FLOAT32)
    assert wall["intensity"] * math.pi / 0.8 == pytest.approx(0.84934656, rel=FLOAT32)


@pytest.mark.acceptance("TREE-4")
def test_tree_4_the_second_echo_of_the_wall_is_node_24():
    second = echoes(max_depth=4)[24]
    assert second["material_id"] == 0
    assert second["range"] == pytest.approx(10.035, rel=FLOAT32)
    assert forward_weight(second) == pytest.approx(1.47456e-3, rel=FLOAT32)


@pytest.mark.acceptance("TREE-5")
def test_tree_5_all_ways_through_a_pane_add_up_to_its_transmittance():
    found = echoes(max_depth=8, weight_cutoff=1e-12).values()
    weights = [forward_weight(point) for point in found if point["material_id"] == 0]
    assert len(weights) == 4
    # Four terms of a geometric series leave 1e-11; intensities are float32.
    assert sum(weights) == pytest.approx((1 - 0.04) / (1 + 0.04), rel=1e-6)
    assert sum(weights) == pytest.approx(0.92307692, rel=FLOAT32)


@pytest.mark.acceptance("TREE-6")
def test_tree_6_a_cut_off_leaves_one_echo_of_the_wall():
    found = echoes(max_depth=4, weight_cutoff=0.05)
    assert [node for node, point in found.items() if point["material_id"] == 0] == [6]


def test_the_glint_of_the_back_of_a_pane_has_passed_its_front_twice():
    found = echoes()  # the row, TREE-7, is checked in float64 (kernels/light/test_light_tree.py)
    # Both interfaces reflect alike, so front and back differ by the way between them alone.
    share = found[2]["intensity"] / found[0]["intensity"]
    assert share == pytest.approx(0.96**2, rel=FLOAT32)
    assert share * 0.04 == pytest.approx(0.036864, rel=FLOAT32)
    assert found[2]["range"] == pytest.approx(5.015, rel=FLOAT32)


@pytest.mark.acceptance("TREE-8")
def test_tree_8_a_pane_sends_its_whole_reflectance_into_the_cone_of_the_detector():
    glint = echoes(accept_half_angle=3e-3)[0]
    assert glint["intensity"] == pytest.approx(1414.71, rel=1e-3)  # the row's
    cone = 2.0 * math.pi * (1.0 - math.cos(3e-3))
    assert glint["intensity"] * cone == pytest.approx(0.0400, rel=1e-3)


@pytest.mark.acceptance("TREE-9")
def test_tree_9_water_slows_and_absorbs():
    water = rig.glass(1.33, extinction=0.1 * rig.WAVELENGTH / (4.0 * math.pi))
    bottom = rig.across(3.0, half=15.0, thickness=0.5)  # stands in the water
    pool = rig.across(1.0, of=1, thickness=4.0)
    found = echoes(rig.scene(bottom, pool, materials=(rig.lambert(0.8), water)))[2]
    assert found["material_id"] == 0
    assert found["range"] == pytest.approx(3.66, rel=FLOAT32)
    assert found["intensity"] * math.pi / 0.8 == pytest.approx(0.64370, rel=FLOAT32)


@pytest.mark.acceptance("TREE-10")
@pytest.mark.parametrize(("start", "expected"), [(0.0, 0.36788), (15.0, 0.60653)])
def test_tree_10_fog_takes_light_on_the_way_within_it(start, expected):
    fog = (1, rig.across(10.0, thickness=10.0))
    seen = rig.scene(rig.across(30.0), media=(Medium(), Medium("fog", 0.05)), volumes=(fog,))
    body = rig.at(start, 0, 0)
    (point,) = rig.capture(seen, body=body)
    assert point["range"] == pytest.approx(30.0 - start, rel=FLOAT32)
    assert point["intensity"] * math.pi / 0.8 == pytest.approx(expected, rel=2e-5)  # 5 digits
    assert point["node"] == 0


@pytest.mark.acceptance("TREE-11")
@pytest.mark.parametrize(
    ("sigma", "angle", "expected", "tolerance"),
    [(0.01, 0.0, 0.0111249, 1e-4), (0.001, 0.0, 0.529412, 1e-4), (0.01, 60.0, 0.0220, 0.02)],
)
def test_tree_11_the_share_that_a_rough_mirror_sends_on(sigma, angle, expected, tolerance):
    tilt = math.radians(angle)
    sheet = rig.turned(rig.across(5.0, of=1, thickness=0.1), (0, 0, 1), tilt, (5.0, 0.0, 0.0))
    # The mirrored ray goes 3 m along the mirror direction to a plate across its way.
    away = math.pi - 2.0 * tilt
    plate = rig.turned(rig.across(8.0, half=1.0, thickness=0.1), (0, 0, 1), -away, (5.0, 0.0, 0.0))
    surface = rig.mirror(sigma)
    seen = rig.scene(plate, sheet, materials=(rig.lambert(0.8), surface))
    start = rig.at(3.0 if angle == 0.0 else 0.0)
    points = rig.capture(seen, body=start, own=rig.ALL | {"accept_half_angle": 3e-3})
    found = next(point for point in points if point["node"] == 1)
    reflectance = fresnel(1.0, complex(0.15, 3.6), math.cos(tilt))[0]
    assert found["material_id"] == 0
    assert forward_weight(found) / reflectance == pytest.approx(expected, rel=tolerance)


@pytest.mark.acceptance("TREE-12")
@pytest.mark.parametrize(
    ("convention", "expected"),
    [(PathConvention.round_trip, 8.4312e-4), (PathConvention.one_way, 4.87685e-3)],
)
def test_tree_12_a_plate_at_50_m_in_haze(convention, expected):
    seen = rig.scene(rig.across(50.0), media=(Medium("haze", 0.01),))
    own = {"beam_on": True, "path_convention": convention}
    (point,) = rig.capture(seen, own=own, beam=BeamParameters(emitter_radius=0.01))
    assert point["intensity"] == pytest.approx(expected, rel=1e-4)  # the row's


@pytest.mark.acceptance("LAM-1")
@pytest.mark.parametrize(("angle", "expected"), [(0.0, 0.2546479), (60.0, 0.1273240)])
def test_lam_1_a_plate_reads_its_reflectance_times_the_cosine(angle, expected):
    plate = rig.turned(rig.across(7.0), (0, 0, 1), math.radians(angle), (7.0, 0.0, 0.0))
    (point,) = rig.capture(rig.scene(plate))
    assert point["intensity"] == pytest.approx(expected, rel=FLOAT32)
    assert point["incidence"] == pytest.approx(math.radians(angle), abs=5e-4)  # acos of float32


@pytest.mark.parametrize(
    ("two_way", "expected"),
    [
        pytest.param(
            False,
            (0.391026, 0.248954, 0.314810),
            marks=pytest.mark.acceptance("BRDF-10"),
            id="brdf_10",
        ),
        pytest.param(
            True,
            (0.381751, 0.238290, 0.272101),
            marks=pytest.mark.acceptance("BRDF-11"),
            id="brdf_11",
        ),
    ],
)
def test_a_coated_plate_reads_its_bidirectional_reflectance(two_way, expected):
    coat = rig.coated(two_way=two_way)  # the rows' numbers are the defaults
    for angle, f in zip((0.0, 30.0, 60.0), expected, strict=True):
        tilt = math.radians(angle)
        plate = rig.turned(rig.across(7.0), (0, 1, 0), tilt, (7.0, 0.0, 0.0))
        (point,) = rig.capture(rig.scene(plate, materials=(coat,)))
        assert point["intensity"] / math.cos(tilt) == pytest.approx(
            f, rel=2e-5
        )  # float32, 6 digits


def test_a_mirror_shows_a_ghost_straight_behind_it():
    tilt = math.radians(45.0)
    sheet = rig.turned(rig.across(5.0, of=1, thickness=0.1), (0, 0, 1), tilt, (5.0, 0.0, 0.0))
    target = rig.box((4.0, -3.5, -1.1), (6.0, -3.0, 1.0))
    silver = rig.mirror(1e-4)
    seen = rig.scene(target, sheet, materials=(rig.lambert(0.5), silver))
    points = rig.capture(seen, own=rig.ALL)
    ghost = points[points["node"] == 1][0]
    assert ghost["range"] == pytest.approx(8.0, rel=FLOAT32)
    np.testing.assert_allclose([ghost[axis] for axis in "xyz"], [8.0, 0.0, 0.0], atol=1e-4)
    assert ghost["entity_id"] == 100
    share = forward_weight(ghost, 0.5)
    reflectance = fresnel(1.0, complex(0.15, 3.6), math.cos(tilt))[0]
    tau_squared = math.tan(1.5e-3 / 2.0) ** 2 / math.cos(tilt)
    assert share == pytest.approx(reflectance * tau_squared / (2e-8 + tau_squared), rel=FLOAT32)


def test_without_depth_only_the_first_interface_answers():
    assert list(echoes(max_depth=0)) == [0]


def test_light_that_is_totally_reflected_goes_nowhere_else():
    # Within a block of glass, beyond the critical angle of 41.8 degrees.
    block = rig.box((-5.0, -4.13, -4.27), (5.0, 4.0, 4.0), of=1)
    wall = rig.across(8.0)
    seen = rig.scene(wall, block, materials=(rig.lambert(0.8), rig.glass(1.5)))
    body = rig.at(-5.0 - 20.0 * math.cos(0.3), 3.9 - 20.0 * math.sin(0.3))
    found = {
        int(point["node"]): point
        for point in rig.capture(seen, rig.aim(0.3), body, own=rig.ALL | {"weight_cutoff": 0.0})
    }
    # In through the face at x = -5 (node 0), bent, and the face y = 4 beyond the critical angle
    # (node 2): its reflected child 5 carries all, its transmitted child 6 does not exist.
    assert 6 not in found
    inside = math.asin(math.sin(0.3) / 1.5)
    assert math.degrees(math.pi / 2 - inside) > 41.8103
    at_side = 0.1 / math.sin(inside)
    assert found[2]["range"] == pytest.approx(20.0 + 1.5 * at_side, rel=FLOAT32)
    assert 5 in found


def test_a_perfect_mirror_face_to_face_has_a_finite_intensity():
    perfect = rig.mirror(0.0, ior=1e-3, extinction=1e3)
    (point,) = rig.capture(rig.scene(rig.across(5.0), materials=(perfect,)), own={"max_depth": 0})
    # All of it within the cone of the detector, tan^2(b/2) for alpha^2: f = 1 / (4 pi tan^2(b/2)).
    expected = 1.0 / (4.0 * math.pi * math.tan(1.5e-3 / 2.0) ** 2)
    assert point["intensity"] == pytest.approx(expected, rel=1e-3)  # R of this metal is 1 - 4e-9


@pytest.mark.parametrize("surface", [rig.lambert(), rig.coated(), rig.mirror(), rig.glass()])
def test_grazing_rays_have_finite_intensities(surface):
    floor = rig.box((-100.0, -101.0, -1.0), (103.0, 102.0, 0.0))
    down = -np.geomspace(1e-3, 1e-9, 40)
    # From so near above the floor that rays of 1e-3 rad still hit it.
    body = rig.at(0, 0, 1e-3)
    points = rig.capture(
        rig.scene(floor, materials=(surface,)), rig.aim(0.01, down), body, own=rig.ALL
    )
    assert len(points) > 0
    assert np.isfinite(points["intensity"]).all()
    assert np.isfinite(points["range"]).all()
    assert (points["intensity"] > 0.0).all()


def test_a_black_surface_does_not_answer_but_stops_the_ray():
    black = rig.lambert(0.0)
    seen = rig.scene(rig.across(5.0, of=1), rig.across(8.0), materials=(rig.lambert(), black))
    assert len(rig.capture(seen)) == 0


@pytest.mark.parametrize("where", [math.nan, math.inf])
def test_a_sensor_that_is_nowhere_sees_nothing(where):
    body = rig.at(where, 0, 0)
    assert len(rig.capture(PANE, rig.ahead(5), body)) == 0


def test_exit_from_a_body_of_glass_that_was_never_entered_is_ignored():
    # Only the face that looks away from the sensor is there.
    back = rig.box((5.0, -5.1, -5.2), (6.0, 5.0, 5.0), of=1)
    keep = np.all(back.vertices[back.faces][:, :, 0] == 6.0, axis=1)
    open_glass = rig.rays_twin.mesh_of(
        back.vertices, back.faces[keep], face_material=np.ones(keep.sum(), np.int32)
    )
    seen = rig.scene(WALL, open_glass, materials=(rig.lambert(0.8), rig.glass()))
    (point,) = rig.capture(seen, own=rig.ALL)
    assert point["material_id"] == 0
    assert point["range"] == pytest.approx(10.0, rel=FLOAT32)
    assert point["intensity"] == pytest.approx(0.8 / math.pi, rel=FLOAT32)


def test_one_way_counts_losses_and_widening_on_the_way_there_only():
    beam = BeamParameters(emitter_radius=0.01)
    both = {"beam_on": True, **rig.ALL}
    there = rig.capture(PANE, own=both | {"path_convention": PathConvention.one_way}, beam=beam)
    back = rig.capture(PANE, own=both, beam=beam)
    np.testing.assert_array_equal(there["node"], back["node"])

    def factor(path):
        width = path * math.tan(1.5e-3) + 0.01
        return -math.expm1(-2.0 * (0.01 / width) ** 2) / -math.expm1(-2.0)

    wall = there["node"] == 6
    reduced = 9.99 + 0.01 / 1.5
    expected = 0.9216 * 0.8 / math.pi * factor(reduced)
    assert there["intensity"][wall] == pytest.approx(expected, rel=FLOAT32)
    expected = 0.9216**2 * 0.8 / math.pi * factor(2.0 * reduced)
    assert back["intensity"][wall] == pytest.approx(expected, rel=FLOAT32)


@pytest.mark.parametrize("reflectance", [0.0, 0.3])
def test_a_retro_reflective_sheet_adds_its_own_lobe(reflectance):
    sheet = rig.material(
        SurfaceKind.lambert, diffuse_reflectance=reflectance, retro_reflectance=500.0
    )
    (point,) = rig.capture(rig.scene(rig.across(5.0), materials=(sheet,)))
    assert point["intensity"] == pytest.approx(500.0 + reflectance / math.pi, rel=FLOAT32)


@pytest.mark.parametrize("rays", [16, 300])
def test_there_is_room_for_the_branches_of_the_deepest_trees(rays):
    """Every branch splits between the panes: of all trees these have most branches at once."""
    panes = [rig.across(0.5 + 0.2 * k, of=1, thickness=0.1) for k in range(20)]
    walls = rig.across(5.0), rig.across(-1.5, thickness=1.0)
    seen = rig.scene(*walls, *panes, materials=(rig.mirror(), rig.glass(1.5)))
    own = LidarParameters(**rig.ALL, max_depth=14, weight_cutoff=0.0)
    with RayScene(seen, 1) as opened:
        cloud = Lidar(own, rig.ahead(rays)).capture(opened, rig.AT_ORIGIN)
    assert cloud.cut_off["depth"] > rays * 2**10, "most trees are full"
    assert cloud.cut_off["branches"] == 0
