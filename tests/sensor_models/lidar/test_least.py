"""What branches of a ray must have left to be followed: no echo that counts is lost by it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.kernels.light.beam import beam_factor, beam_of
from sensor_models.kernels.light.facing import strength_of
from sensor_models.kernels.light.surfaces import surface_at
from sensor_models.lidar import lidar as lidars
from sensor_models.lidar.least import Least, greatest_strength, least_of
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.named import named_lidar
from sensor_models.lidar.parameters import LidarParameters, PathConvention
from sensor_models.light.beam import BeamMode, BeamParameters, pack_beam
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene

#: Angles of incidence, next to the normal finely, as glints are narrow.
ANGLES = np.concatenate([np.geomspace(1e-6, 1.57, 400), [0.0]])
NO_TABLES = np.zeros(0)


@given(
    kind=st.sampled_from([0.0, 1.0, 2.0]),
    ior=st.floats(0.2, 4.0),
    extinction=st.floats(0.0, 8.0),
    slope_squared=st.floats(0.0, 0.9),
    base=st.floats(0.0, 0.5),
    base_slope=st.floats(-0.1, 0.2),
    retro=st.sampled_from([0.0, 250.0]),
    around=st.floats(1.0, 1.7),
    cone=st.floats(2.5e-7, 1e-3),
)
@settings(deadline=None, max_examples=200)
def test_no_surface_sends_back_more_than_the_greatest_strength(
    kind: float, ior: float, extinction: float, slope_squared: float, base: float,
    base_slope: float, retro: float, around: float, cone: float,
) -> None:  # fmt: skip
    row = np.array([[kind, ior, extinction, slope_squared, base, base_slope, 0.0, retro]])
    if kind == 2.0:  # a clear interface has nothing below, and behind it is one of the media
        row[0, 4:6] = 0.0
    media = np.array([[0.0, 1.0, 1.0, 0.0, around, 0.0], [0.0, 1.0, 1.0, 0.0, ior, 0.0]])
    most = greatest_strength(row, media, NO_TABLES, cone)
    surface = surface_at(row, 0)
    for angle in ANGLES:
        along = (math.sin(angle), 0.0, -math.cos(angle))
        found = strength_of(surface, along, (0.0, 0.0, 1.0), math.cos(angle), around, cone)
        assert found <= most * (1.0 + 1e-9)


def test_a_smooth_surface_that_faces_the_ray_is_the_strongest() -> None:
    """R_0 / 4 pi tan^2(half of the cone), and the medium that sends back more than that."""
    cone, index = 1e-6, 1.5
    row = np.array([[2.0, index, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    media = np.array([[0.0, 1.0, 1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0, index, 0.0]])
    closed = 0.04 / (4.0 * math.pi * cone)
    assert greatest_strength(row, media, NO_TABLES, cone) == pytest.approx(closed, rel=1e-12)
    media[0, 5] = 1e6
    assert greatest_strength(row, media, NO_TABLES, cone) == 1e6
    assert greatest_strength(row, media, np.ones(1), cone) == math.inf


@given(
    mode=st.sampled_from(BeamMode),
    clamp=st.booleans(),
    half_angle=st.floats(1e-4, 0.02),
    detector=st.floats(1e-3, 0.1),
    emitter=st.floats(0.0, 0.05),
    offset=st.sampled_from([0.0, 0.0, 0.01, 0.05]),
    convention=st.sampled_from(PathConvention),
    least=st.floats(1e-9, 1e-2),
    strength=st.floats(0.1, 1e5),
)
@settings(deadline=None, max_examples=300)
def test_what_has_less_left_is_below_the_threshold(
    mode: BeamMode, clamp: bool, half_angle: float, detector: float, emitter: float,
    offset: float, convention: PathConvention, least: float, strength: float,
) -> None:  # fmt: skip
    own = LidarParameters(min_intensity=least, weight_cutoff=0.0, path_convention=convention)
    beam = pack_beam(BeamParameters(mode, half_angle, detector, offset, emitter, clamp))
    found, round_trip = least_of(own, beam, strength), convention == PathConvention.round_trip
    assert found.weight > 0.0
    for reduced in (0.0, 1e-3, 0.1, 1.0, 10.0, 100.0):
        weight = max(found.weight, found.detected_from + found.detected_by * reduced)
        path = 2.0 * reduced if round_trip else reduced
        back = weight if round_trip else 1.0
        intensity = weight * back * strength * beam_factor(beam_of(beam), path)
        assert intensity < least


def test_without_a_threshold_and_for_divided_beams_the_cutoff_stays() -> None:
    beam = pack_beam(BeamParameters())
    plain = Least(1e-4, 0.0, 0.0)
    assert least_of(LidarParameters(), beam, 10.0) == plain
    assert least_of(LidarParameters(min_intensity=1e-3, subrays=7), beam, 10.0) == plain
    # The strength of what tables send back is not known.
    assert least_of(LidarParameters(min_intensity=1e-3), beam, math.inf) == plain


@pytest.mark.parametrize("place", [(0.0, -8.0, 1.8), (4.0, 2.0, 1.2)])
def test_points_are_those_of_all_branches(
    place: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among cars, panes and sheeting, to the bit; and fewer branches are met at the end."""
    with RayScene(load_scene("yard"), threads=1) as rays:
        body = np.array([*place, 1.0, 0.0, 0.0, 0.0])

        def cloud(lidar: Lidar) -> tuple[bytes, int]:
            taken = lidar.capture(rays, body)
            return taken.pack().tobytes(), taken.cut_off["depth"]

        found, met = cloud(named_lidar("OS0-128")[0])

        def all_branches(own: LidarParameters, beam: object, _strength: float) -> Least:
            return least_of(replace(own, min_intensity=0.0), beam, 1.0)  # type: ignore[arg-type]

        monkeypatch.setattr(lidars, "least_of", all_branches)
        whole, all_met = cloud(named_lidar("OS0-128")[0])
    assert found == whole
    assert met < all_met
