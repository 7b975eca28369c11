"""What a ray-traced radar sees over a ground and in mirrors, against image theory."""

import itertools
import math

import numpy as np
import pytest

from sensor_models.kernels.radar.fields import pane, reflection
from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    FieldParameters,
    Polarization,
    RayTracedParameters,
    TracingParameters,
)
from sensor_models.radar.ray_traced import Motion, RayTracedRadar
from sensor_models.radar.surfaces import flat_pieces, plane_extents, planes_of
from sensor_models.scene.model import Material, Mesh, SurfaceKind, SurfaceParameters
from sensor_models.scene.tracing import RayScene
from tests import radar_images as images
from tests import radar_range as range_
from tests.radar_between import between, theory_between
from tests.radar_range import METAL, WAVELENGTH, decibel

WAVENUMBER = 2.0 * math.pi / WAVELENGTH
#: An index of asphalt under a film of water.
WET = 4.0 - 1.5j
PLATE = 4.0 * math.pi * 0.1**4 / WAVELENGTH**2
SPHERE = math.pi * 0.1**2
#: With facets that are 0.03 mm from the sphere: those of 0.11 mm differ by 1 dB from way to way.
FINE_BALL = range_.ball(0.1, 6)
SHAPES = {
    "plate": (range_.plate(), PLATE),
    "sphere": (range_.ball(0.1, 5), SPHERE),
    "corner": (range_.corner(), PLATE / 3.0),
}


def of_index(index: complex | None) -> Material:
    return METAL if index is None else range_.matter(ior=index.real, extinction=-index.imag)


def radar_of(
    polarization: Polarization, fov: tuple[float, float], bounces: int = 3
) -> RayTracedRadar:
    """By all defaults but for the pattern, where rays are sent, and how far they are followed."""
    own = RayTracedParameters(
        antenna=AntennaParameters(pattern="isotropic", polarization=polarization),
        tracing=TracingParameters(noise=False, max_bounces=bounces),
        fov=FieldParameters(*fov),
    )
    return RayTracedRadar(own)


def seen(radar: RayTracedRadar, things, distance: float, frame: int = 0) -> float:
    """The cross section of all that comes back from about a distance."""
    with RayScene(range_.scene_of(*things), threads=1) as rays:
        rows = radar.trace(rays, range_.still(), frame).numbers
    rows = rows[np.abs(rows[:, 2] - 2.0 * distance) < 1.2]
    phases = np.exp(2j * np.pi * (rows[:, 2] / WAVELENGTH % 1.0))
    whole = ((rows[:, 0] + 1j * rows[:, 1]) * phases).sum()
    return abs(whole) ** 2 / radar.radio.received(1.0, distance)


def over_ground(shape, distance, height, of_target, polarization, index, bounces=3) -> float:
    """The cross section of a shape on a pole over a ground, the radar ``height`` over it."""
    ground = range_.triangles(range_.quad((1, -6, -height), (distance + 20, 0, 0), (0, 12, 0)))
    low = (height + of_target) / distance + 0.02
    radar = radar_of(polarization, (0.02, low), bounces)
    things = (
        (ground, np.eye(4), of_index(index), -1),
        (shape, range_.placed((distance, 0, of_target - height)), METAL, -1),
    )
    return seen(radar, things, distance)


@pytest.mark.parametrize("of_target", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("index", [None, WET])
@pytest.mark.parametrize("polarization", [Polarization.vv, Polarization.hh])
def test_lobes_of_a_sphere_over_a_ground(polarization, index, of_target: float) -> None:
    """Nulls included: the four ways of image theory, each by geometric optics of the sphere.

    Theory has no ways that meet the sphere twice, of three surfaces. At 0.2 m, 0.1 m over the
    ground, these are a tenth of the direct one; so two surfaces are followed here.
    """
    plane = images.Plane(np.array([0.0, 0.0, -0.5]), np.array([0.0, 0.0, 1.0]), index)
    axis = np.array([0.0, 0.0, 1.0] if polarization == Polarization.vv else [0.0, 1.0, 0.0])
    distances = np.linspace(12.1, 29.7, 7)
    closed, found = [], []
    for distance in distances:
        centre = np.array([distance, 0.0, of_target - 0.5])
        ways = images.sphere_over(plane, centre, 0.1, np.zeros(3), axis, WAVELENGTH)
        closed.append(abs(sum(ways)) ** 2)
        section = over_ground(FINE_BALL, distance, 0.5, of_target, polarization, index, 2)
        found.append(section / SPHERE)
    levels, theory = decibel(np.array(found)), decibel(np.array(closed))
    assert np.corrcoef(levels, theory)[0, 1] > 0.95
    assert math.sqrt(float(((levels - theory) ** 2).mean())) < 1.5


@pytest.mark.parametrize(
    ("side", "polarization", "index", "distance"),
    [
        (0.1, Polarization.vv, None, 15.3),
        (0.1, Polarization.hh, None, 20.0),
        (0.05, Polarization.vv, WET, 20.0),
        (0.05, Polarization.vv, WET, 12.0),
    ],
)
def test_a_corner_over_a_ground(side, polarization, index, distance: float) -> None:
    """It returns more to where a wave came from than aside, so e counts less than e^2."""
    shape = range_.corner(side)
    found = over_ground(shape, distance, 0.5, 0.5, polarization, index)
    corners = (shape[0] + [distance, 0.0, 0.0])[np.array(shape[1])]
    plane = images.Plane(np.array([0.0, 0.0, -0.5]), np.array([0.0, 0.0, 1.0]), index)
    axis = np.array([0.0, 0.0, 1.0] if polarization == Polarization.vv else [0.0, 1.0, 0.0])
    theory, _, parts = images.section_over(
        plane, corners, np.zeros(3), axis, 2.2 * side, WAVELENGTH / 4.0, WAVELENGTH
    )
    assert abs(parts[1]) < 0.7 * abs(parts[0])
    assert decibel(found / theory) == pytest.approx(0.0, abs=1.0)


def in_mirror(shape, ahead, aside, index=None, polarization=Polarization.vv) -> float:
    """The cross section of a shape that is seen in an upright mirror of 2 m at 45 degrees alone."""
    along = np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0)
    begin = np.array([ahead, 0.0, -1.0]) - along
    mirror = range_.triangles(range_.quad(begin, 2.0 * along, (0.0, 0.0, 2.0)))
    facing = range_.turned(0.5 * math.pi)
    things = (
        (mirror, np.eye(4), of_index(index), -1),
        (shape, range_.placed((ahead, aside, 0.0), facing), METAL, -1),
    )
    return seen(radar_of(polarization, (0.1, 0.1)), things, ahead + aside)


@pytest.mark.parametrize("name", list(SHAPES))
@pytest.mark.parametrize(("ahead", "aside"), [(6.0, 4.0), (10.0, 8.0), (15.0, 12.0)])
def test_what_a_mirror_shows_is_as_bright_as_at_that_length(name, ahead, aside) -> None:
    shape, closed = SHAPES[name]
    assert decibel(in_mirror(shape, ahead, aside) / closed) == pytest.approx(0.0, abs=1.0)


@pytest.mark.parametrize("name", ["plate", "sphere"])
@pytest.mark.parametrize(("ahead", "aside", "on"), [(6.0, 4.0, 5.0), (8.0, 4.0, 8.0)])
def test_what_two_mirrors_show_one_in_the_other(name, ahead, aside, on) -> None:
    """A periscope: the sum of all three lengths counts, and both ways over both mirrors are one."""
    shape, closed = SHAPES[name]
    along = np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0)
    things = [(shape, range_.placed((ahead + on, aside, 0.0)), METAL, -1)]
    for beside in (0.0, aside):
        begin = np.array([ahead, beside, -1.0]) - along
        sheet = range_.triangles(range_.quad(begin, 2.0 * along, (0.0, 0.0, 2.0)))
        things.append((sheet, np.eye(4), METAL, -1))
    found = seen(radar_of(Polarization.vv, (0.1, 0.1)), tuple(things), ahead + aside + on)
    assert decibel(found / closed) == pytest.approx(0.0, abs=1.5)


def test_each_way_over_a_ground_and_a_wall_counts_once() -> None:
    """A sphere over a ground and beside a wall: straight, over one, over both; there and back.

    Each pair of ways has the cross section of the sphere, which is the same in all directions.
    """
    ground = range_.triangles(range_.quad((1, -6, -0.5), (40, 0, 0), (0, 9, 0)))
    wall = range_.triangles(range_.quad((1, 3, -0.5), (0, 0, 6), (40, 0, 0)))
    place = np.array([16.0, 0.0, 0.6])
    things = (
        (ground, np.eye(4), METAL, -1),
        (wall, np.eye(4), METAL, -1),
        (FINE_BALL, range_.placed(place), METAL, -1),
    )
    radar = radar_of(Polarization.vv, (0.45, 0.12))
    with RayScene(range_.scene_of(*things), threads=1) as rays:
        rows = radar.trace(rays, range_.still(), 0).numbers
    seen_at = place * np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]])
    seen_at += np.array([[0, 0, 0], [0, 0, -1], [0, 6, 0], [0, 6, -1]])
    ways, lengths = images.unit(seen_at)[:, 1:], np.linalg.norm(seen_at, axis=1) - 0.1
    for out, back in itertools.product(range(4), range(4)):
        near = np.abs(rows[:, 4:6] - ways[out]).max(axis=1) < 0.015
        near &= np.abs(rows[:, 6:8] - ways[back]).max(axis=1) < 0.015
        length = 0.5 * (lengths[out] + lengths[back])
        own = rows[near & (np.abs(0.5 * rows[:, 2] - length) < 0.1)]
        phases = np.exp(2j * np.pi * (own[:, 2] / WAVELENGTH % 1.0))
        section = abs(((own[:, 0] + 1j * own[:, 1]) * phases).sum()) ** 2
        section /= radar.radio.received(1.0, math.sqrt(lengths[out] * lengths[back]))
        assert decibel(section / SPHERE) == pytest.approx(0.0, abs=1.5), (out, back)


def test_speeds_of_ways_over_a_ground_and_a_wall_that_moves() -> None:
    """There over the one and back over the other, both ways round: half of how that length goes."""
    ground = range_.triangles(range_.quad((1, -6, -0.5), (40, 0, 0), (0, 9, 0)))
    wall = range_.triangles(range_.quad((0, 0, -0.5), (0, 0, 6), (40, 0, 0)))
    place, bodies = np.array([16.0, 0.0, 0.6]), np.zeros((2, 7))
    bodies[:, 3] = 1.0
    bodies[:, :3] = place, (1.0, 3.0, 0.0)
    moves, own = np.zeros((2, 6)), np.array([5.0, 1.0, 0.0])
    moves[:, :3] = (-3.0, 1.0, 0.5), (0.0, -2.0, 0.0)
    things = (
        (ground, np.eye(4), METAL, -1),
        (wall, np.eye(4), METAL, 1),
        (FINE_BALL, np.eye(4), METAL, 0),
    )
    motion = Motion(np.zeros(3), range_.IDENTITY, own, bodies, moves)
    with RayScene(range_.scene_of(*things, bodies=2), threads=1) as rays:
        rows = radar_of(Polarization.vv, (0.45, 0.12)).trace(rays, motion, 0).numbers

    def over(time: float) -> list[np.ndarray]:
        """Ways to where both show the sphere."""
        sensor, ball = own * time, place + moves[0, :3] * time
        aside = 2.0 * (3.0 + moves[1, 1] * time) - ball[1]
        shown = np.array([[ball[0], ball[1], -1.0 - ball[2]], [ball[0], aside, ball[2]]])
        return list(shown - sensor)

    closing = [sum(np.linalg.norm(way) for way in over(time)) for time in (-1e-4, 1e-4)]
    speed = -0.5 * (closing[1] - closing[0]) / 2e-4
    ways = images.unit(np.array(over(0.0)))[:, 1:]
    for out, back in ((0, 1), (1, 0)):
        near = np.abs(rows[:, 4:6] - ways[out]).max(axis=1) < 0.015
        near &= np.abs(rows[:, 6:8] - ways[back]).max(axis=1) < 0.015
        weights = (rows[near, :2] ** 2).sum(axis=1)
        assert weights.sum() > 0.0
        assert np.average(rows[near, 3], weights=weights) == pytest.approx(speed, abs=0.05)


def test_lobes_of_a_sphere_between_a_ground_and_a_wall() -> None:
    """All sixteen ways with their phases; without those over two mirrors it is another curve."""
    distances = np.linspace(12.1, 19.9, 7)
    levels = decibel(np.array([between(distance) for distance in distances]))
    theory, without = (
        decibel(np.array([theory_between(d, crossing=crossing) for d in distances]))
        for crossing in (True, False)
    )
    assert np.corrcoef(levels, theory)[0, 1] > 0.95
    assert math.sqrt(float(((levels - theory) ** 2).mean())) < 1.5
    assert math.sqrt(float(((without - theory) ** 2).mean())) > 3.0


@pytest.mark.parametrize("polarization", [Polarization.vv, Polarization.hh])
def test_the_ghost_in_a_wall_of_brick_has_its_fresnel_factor_twice(polarization) -> None:
    index = 1.9774 - 0.0028j
    r_s, r_p = reflection(index, math.cos(0.25 * math.pi))
    factor = abs(r_s if polarization == Polarization.vv else r_p) ** 4
    for name, (shape, closed) in SHAPES.items():
        found = in_mirror(shape, 10.0, 8.0, index, polarization)
        assert decibel(found / (closed * factor)) == pytest.approx(0.0, abs=1.0), name


def test_mirrors_that_make_a_corner_count_once() -> None:
    """Two plates of 0.4 m at 8 m are mirrors to each other; each order is another ray's."""
    shape, distance, half = range_.dihedral(0.4), 8.0, 0.05
    things = ((shape, range_.placed((distance, 0, 0)), METAL, -1),)
    with RayScene(range_.scene_of(*things), threads=1) as rays:
        radar = range_.radar_of(jitter=0.01)
        window = (-half, -half, half, half)
        width = WAVELENGTH / distance
        paths = range_.tubes_of(radar, rays, range_.still(), window, width)
    found = range_.cross_section(radar, paths, distance)
    corners = (shape[0] + [distance, 0.0, 0.0])[np.array(shape[1])]
    place = np.zeros(3)

    def wave(points):
        return images.polarised(images.unit(points), np.array([0.0, 0.0, 1.0]))

    whole = images.scattered(corners, place, wave, place, wave, 0.64, WAVELENGTH / 3.0, WAVENUMBER)
    far = float(np.linalg.norm(corners.reshape(-1, 3).mean(axis=0)))
    theory = abs(whole) ** 2 * (distance / far) ** 4
    assert decibel(found / theory) == pytest.approx(0.0, abs=0.4)


def test_a_sphere_before_a_mirror_is_seen_three_ways() -> None:
    """Straight, half over the mirror both ways round, and all over it, with their lengths."""
    wall = range_.triangles(range_.quad((2, 3, -3), (30, 0, 0), (0, 0, 6)))
    things = (
        (wall, np.eye(4), METAL, -1),
        (SHAPES["sphere"][0], range_.placed((16.0, 0.0, 0.0)), METAL, -1),
    )
    radar = radar_of(Polarization.vv, (0.4, 0.01))
    with RayScene(range_.scene_of(*things), threads=1) as rays:
        rows = radar.trace(rays, range_.still(), 0).numbers
    over = math.hypot(16.0, 6.0)
    for length, ways in ((16.0, 1), (0.5 * (16.0 + over), 2), (over, 1)):
        own = rows[np.abs(0.5 * rows[:, 2] + 0.1 - length) < 0.1]
        sums = {}
        for row in own:  # by where they leave and come from
            way = tuple(np.round(row[[4, 6]], 1).tolist())
            phase = np.exp(2j * np.pi * (row[2] / WAVELENGTH % 1.0))
            sums[way] = sums.get(way, 0j) + (row[0] + 1j * row[1]) * phase
        most = max(abs(whole) for whole in sums.values())
        strong = [whole for whole in sums.values() if abs(whole) > 0.3 * most]
        assert len(strong) == ways
        for whole in strong:
            section = abs(whole) ** 2 / radar.radio.received(1.0, length)
            assert decibel(section / SPHERE) == pytest.approx(0.0, abs=1.0)


def test_how_far_planes_reach() -> None:
    """A square of two triangles, a strip, and two small squares far apart in one plane."""
    square = range_.quad((0, 0, 0), (2, 0, 0), (0, 2, 0))
    strip = range_.quad((0, 0, 1), (10, 0, 0), (0, 0.3, 0))
    one, other = (range_.quad((x, 0, 3), (0.1, 0, 0), (0, 0.1, 0)) for x in (0.0, 8.0))
    vertices, faces = range_.triangles(square, strip, one, other)
    mesh = Mesh(vertices.astype(np.float32), faces.astype(np.uint32), np.zeros(8, np.int32))
    assert plane_extents(mesh)[:4] == pytest.approx([2.0, 2.0, 0.3, 0.3], rel=1e-5)
    assert (plane_extents(mesh)[4:] < 0.01).all()
    empty = Mesh(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.uint32), np.zeros(0, np.int32))
    assert len(plane_extents(empty)) == 0


def test_planes_are_remembered_by_what_they_depend_on() -> None:
    """Of an equal mesh the same ones; of other corners, faces, materials or clear ones, others."""
    vertices, faces = range_.triangles(range_.quad((0, 0, 0), (2, 0, 0), (0, 2, 0)))

    def mesh(scale: float = 1.0, material: int = 0) -> Mesh:
        numbers = np.full(len(faces), material, np.int32)
        return Mesh((scale * vertices).astype(np.float32), faces.astype(np.uint32), numbers)

    opaque, clear = np.array([False, False]), np.array([True, False])
    first = planes_of(mesh(), opaque)
    assert planes_of(mesh(), opaque) is first
    others = planes_of(mesh(2.0), opaque), planes_of(mesh(1.0, 1), opaque), planes_of(mesh(), clear)
    assert all(other is not first for other in others)
    assert others[0].extents == pytest.approx(2.0 * first.extents)


def test_flat_pieces_hang_together_by_their_edges() -> None:
    """Two triangles of a square, a third one of another material, one bent off, and one apart."""
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0.01), (5, 0, 0),
               (6, 0, 0), (6, 1, 0), (-1, 0, 0)]  # fmt: skip
    faces = [[6, 7, 8], [0, 1, 2], [0, 2, 3], [0, 3, 9], [1, 4, 5]]
    mesh = Mesh(
        np.array(corners, np.float32),
        np.array(faces, np.uint32),
        np.array([0, 0, 0, 1, 0], np.int32),
    )
    assert flat_pieces(mesh).tolist() == [0, 1, 1, 3, 4]
    strip = range_.triangles(*(range_.quad((x, 0, 0), (1, 0, 0), (0, 1, 0)) for x in range(300)))
    vertices, faces = (np.array(part) for part in strip)
    mesh = Mesh(
        vertices.astype(np.float32), faces.astype(np.uint32), np.zeros(len(faces), np.int32)
    )
    assert (flat_pieces(mesh) == 0).all()


def test_a_pane_sends_back_its_own_echo() -> None:
    """As a plate of its size does, by the coefficient of both faces."""
    thick, distance = 0.004, 20.0
    numbers = range_.RadarParameters(ior=2.5, extinction=0.05)
    light = {905e-9: SurfaceParameters()}
    clear = Material("clear", SurfaceKind.dielectric, light, at_radar={WAVELENGTH: numbers})
    h = 0.05
    sheet = range_.triangles(
        range_.quad((0, -h, -h), (0, 0, 2 * h), (0, 2 * h, 0)),
        range_.quad((thick, -h, -h), (0, 2 * h, 0), (0, 0, 2 * h)),
    )
    radar = radar_of(Polarization.vv, (0.02, 0.02))
    found = seen(radar, ((sheet, range_.placed((distance, 0, 0)), clear, -1),), distance)
    r_s, _, _, _ = pane(2.5 - 0.05j, 1.0, thick, WAVENUMBER)
    one_face = abs((1.0 - (2.5 - 0.05j)) / (1.0 + (2.5 - 0.05j))) ** 2
    assert abs(10.0 * math.log10(abs(r_s) ** 2 / one_face)) > 1.0  # the two differ
    assert decibel(found / (PLATE * abs(r_s) ** 2)) == pytest.approx(0.0, abs=0.4)


@pytest.mark.parametrize(("side", "goes_on"), [(0.05, False), (0.6, True)])
def test_tubes_go_on_from_a_facet_as_far_as_it_sends_rays(side: float, goes_on: bool) -> None:
    """A plate turned by 45 degrees at 5 m, and another one 4 m beside it, where it would show it.

    With 0.05 m the wave of the first one is wider than itself from 0.3 m on.
    """
    turn = range_.turned(-0.25 * math.pi)
    things = (
        (range_.plate(side), range_.placed((5.0, 0.0, 0.0), turn), METAL, -1),
        (
            range_.plate(0.3),
            range_.placed((5.0, 4.0, 0.0), range_.turned(0.5 * math.pi)),
            METAL,
            -1,
        ),
    )
    radar = radar_of(Polarization.vv, (0.1, 0.1))
    with RayScene(range_.scene_of(*things), threads=1) as rays:
        lengths = radar.trace(rays, range_.still(), 0).numbers[:, 2]
    assert bool((lengths > 13.0).any()) == goes_on
    assert (np.abs(lengths - 10.0) < 1.0).any()


def test_what_is_hidden_takes_no_tubes() -> None:
    wall = range_.triangles(range_.quad((5, -3, -3), (0, 6, 0), (0, 0, 6)))
    ball = (SHAPES["sphere"][0], range_.placed((10.0, 0.0, 0.0)), METAL, -1)
    radar, counts = radar_of(Polarization.vv, (0.1, 0.1)), []
    for things in (((wall, np.eye(4), METAL, -1),), ((wall, np.eye(4), METAL, -1), ball), (ball,)):
        with RayScene(range_.scene_of(*things), threads=1) as rays:
            counts.append(radar.trace(rays, range_.still(), 0).tubes)
    assert counts[1] == counts[0]
    assert counts[2] > 1000
