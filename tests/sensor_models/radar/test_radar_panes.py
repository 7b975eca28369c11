"""Panes in a ray-traced radar: what they send back, and what they let through on both ways.

A pane without losses has closed forms (Born, Wolf, "Principles of Optics", section 1.6.4). With
r = (1 - n) / (1 + n) of a face and the delay d = 2 pi n D / lambda of its thickness D it sends back

    R = r (1 - exp(2 i d)) / (1 - r^2 exp(2 i d))

of the amplitude, with phases that grow with the way as those of a beat do, and lets 1 - |R|^2 of
the power through: nothing comes back of half a wave within the pane, and of a quarter as much as
of one face between air and n^2.
"""

import cmath
import math

import numpy as np
import pytest

from sensor_models.radar.ray_parameters import Polarization
from sensor_models.scene.model import Material, RadarParameters, SurfaceKind, SurfaceParameters
from sensor_models.scene.tracing import RayScene
from tests import radar_range as range_
from tests.radar_range import METAL, WAVELENGTH

INDEX, FAR = 1.6, 20.0
#: How thick a pane is, in waves within it, and three more so that it is not too thin to be one.
QUARTER, HALF, EIGHTH = 3.25, 3.5, 3.125
GLASS = Material(
    "glass",
    SurfaceKind.dielectric,
    {905e-9: SurfaceParameters()},
    at_radar={WAVELENGTH: RadarParameters(ior=INDEX, extinction=0.0)},
)


def sent_back(waves: float) -> complex:
    """The coefficient of a pane."""
    r, twice = (1.0 - INDEX) / (1.0 + INDEX), cmath.exp(4j * math.pi * waves)
    return r * (1.0 - twice) / (1.0 - r * r * twice)


def sheet(waves: float, side: float) -> tuple[np.ndarray, np.ndarray]:
    """The two faces of a square pane across x; the front one is at the origin."""
    thick, h = waves * WAVELENGTH / INDEX, 0.5 * side
    front = range_.quad((0, -h, -h), (0, 0, side), (0, side, 0))
    return range_.triangles(front, range_.quad((thick, -h, -h), (0, side, 0), (0, 0, side)))


def echo(
    *things: tuple,
    distance: float = FAR,
    half: float = 0.08,
    polarization: Polarization = Polarization.vv,
) -> complex:
    """The sum of what comes back from a distance, as a wave."""
    radar = range_.radar_of(polarization, jitter=0.0)
    with RayScene(range_.scene_of(*things), threads=1) as rays:
        window = tuple(sign * half / distance for sign in (-1, -1, 1, 1))
        width = 0.5 * WAVELENGTH / distance
        rows = range_.tubes_of(radar, rays, range_.still(), window, width).numbers
    rows = rows[np.abs(rows[:, 2] - 2.0 * distance) < 0.5]
    phases = np.exp(2j * np.pi * rows[:, 2] / WAVELENGTH)
    return complex(((rows[:, 0] + 1j * rows[:, 1]) * phases).sum())


def test_closed_forms_of_panes() -> None:
    """The forms that the radar is compared with, not the radar."""
    assert abs(sent_back(HALF)) < 1e-12
    assert abs(sent_back(QUARTER)) == pytest.approx((INDEX**2 - 1.0) / (INDEX**2 + 1.0))


@pytest.mark.parametrize("waves", [QUARTER, EIGHTH, 3.4])
def test_a_pane_sends_back_what_its_two_faces_do_together(waves: float) -> None:
    """Against a metal plate in its place, which turns the wave round: amplitude and phase."""
    place = range_.placed((FAR, 0, 0))
    metal = echo((range_.plate(), place, METAL, -1))
    pane = echo((sheet(waves, 0.1), place, GLASS, -1))
    assert pane / metal == pytest.approx(-sent_back(waves), abs=0.005)


def test_half_a_wave_within_a_pane_sends_nothing_back() -> None:
    place = range_.placed((FAR, 0, 0))
    metal = echo((range_.plate(), place, METAL, -1))
    assert abs(echo((sheet(HALF, 0.1), place, GLASS, -1))) < 0.005 * abs(metal)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("waves", [QUARTER, HALF])
def test_an_echo_of_two_bounces_comes_back_through_all_panes(waves: float, count: int) -> None:
    """The way back is another one than the way out, and meets each pane once more."""
    corner = range_.dihedral(), range_.placed((FAR, 0, 0)), METAL, -1
    panes = [
        (sheet(waves, 2.0), range_.placed((5.0 + 4.0 * k, 0, 0)), GLASS, -1) for k in range(count)
    ]
    through = 1.0 - abs(sent_back(waves)) ** 2
    share = abs(echo(corner, *panes) / echo(corner)) ** 2
    assert share == pytest.approx(through ** (2 * count), rel=0.01)


def let_through(waves: float, angle: float) -> tuple[complex, complex]:
    """Of fields across and in the plane of incidence, what a pane lets through, and air not."""
    cosine = math.cos(angle)
    behind = math.sqrt(1.0 - (math.sin(angle) / INDEX) ** 2)
    thick = waves * WAVELENGTH / INDEX
    once = cmath.exp(2j * math.pi * thick * INDEX * behind / WAVELENGTH)
    air = cmath.exp(-2j * math.pi * thick * cosine / WAVELENGTH)
    faces = (
        (cosine - INDEX * behind) / (cosine + INDEX * behind),
        (INDEX * cosine - behind) / (INDEX * cosine + behind),
    )
    s, p = ((1.0 - r * r) * once * air / (1.0 - (r * once) ** 2) for r in faces)
    return s, p


@pytest.mark.parametrize("angle", [0.9, 1.1])
@pytest.mark.parametrize("polarization", [Polarization.vv, Polarization.hh])
@pytest.mark.parametrize("shape", [range_.plate(), range_.dihedral()])
def test_a_pane_aslant_lets_each_polarisation_through(shape, polarization, angle: float) -> None:
    """Once on the way out and once on the way back: of one bounce, and of two."""
    thing = shape, range_.placed((FAR, 0, 0)), METAL, -1
    pane = sheet(QUARTER, 2.0), range_.placed((5.0, 0, 0), range_.turned(angle)), GLASS, -1
    s, p = let_through(QUARTER, angle)
    expected = s if polarization == Polarization.vv else p
    assert abs(abs(s) / abs(p) - 1.0) > 0.05  # the two differ
    share = echo(thing, pane, polarization=polarization) / echo(thing, polarization=polarization)
    assert share == pytest.approx(expected**2, abs=0.01)


def test_a_pane_aslant_turns_a_polarisation_between_both() -> None:
    """Of one at 45 degrees a dihedral sends nothing back, as it turns one part of it round.

    Behind a pane that lets these parts through as s and p, (s^2 - p^2) / 2 is left; and of a plate,
    (s^2 + p^2) / 2.
    """
    pane = sheet(QUARTER, 2.0), range_.placed((5.0, 0, 0), range_.turned(1.0)), GLASS, -1
    s, p = let_through(QUARTER, 1.0)
    for shape, sign in ((range_.dihedral(), -1.0), (range_.plate(), 1.0)):
        thing = shape, range_.placed((FAR, 0, 0)), METAL, -1
        alone = abs(echo(thing))
        found = abs(echo(thing, pane, polarization=Polarization.plus45)) / alone
        assert found == pytest.approx(0.5 * abs(s * s + sign * p * p), abs=0.01)
    assert abs(s * s - p * p) > 0.1
