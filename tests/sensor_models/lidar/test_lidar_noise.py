"""Errors of the lidar, each alone: distances, angles, detection; and where draws come from."""

import math

import numpy as np
import pytest

from sensor_models.kernels.lidar.points import measured
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarNoiseParameters, LidarParameters, ReturnMode
from sensor_models.light.beam import BeamParameters
from sensor_models.scene.model import Medium
from sensor_models.scene.tracing import RayScene
from tests import lidar_scenes as rig

RAYS = 100_000
FAR = rig.scene(rig.across(100.0, half=200.0))
CLOSE = rig.scene(rig.across(10.0))


def noisy(seen, pattern, frame=0, seed=1, **noise):
    return rig.capture(
        seen, pattern, frame=frame, threads=2, noise=LidarNoiseParameters(**noise), seed=seed
    )


def errors(seen, x, base, slope, rays=RAYS):
    points = noisy(seen, rig.ahead(rays), distance_sigma_base=base, distance_sigma_slope=slope)
    return points["range"].astype(float) - x


@pytest.mark.acceptance("DIST-1")
@pytest.mark.parametrize(("distance", "sigma"), [(0.0, 0.010), (10.0, 0.012), (100.0, 0.030)])
def test_dist_1_a_draw_of_one_moves_a_range_by_the_deviation(distance, sigma):
    noise = LidarNoiseParameters(distance_sigma_base=0.01, distance_sigma_slope=2e-4)
    detector = Lidar(noise=noise)._detector(0)
    assert measured(detector, distance, 1.0) - distance == pytest.approx(sigma, abs=1e-12)
    nearer = measured(detector, distance, -1.0) - distance
    assert nearer == pytest.approx(-min(sigma, distance), abs=1e-12)  # no range is negative


@pytest.mark.parametrize(("x", "sigma"), [(10.0, 0.012), (100.0, 0.030)])
def test_the_deviation_of_points_grows_with_the_distance(x, sigma):
    found = errors(rig.scene(rig.across(x, half=200.0)), x, 0.01, 2e-4)
    # The deviation of a deviation of n draws is 1 / sqrt(2 n).
    assert found.std() == pytest.approx(sigma, rel=4.0 / math.sqrt(2.0 * RAYS))


@pytest.mark.acceptance("DIST-2")
def test_dist_2_errors_are_normal():
    found = errors(FAR, 100.0, 0.01, 2e-4)
    assert len(found) == 100_000
    assert found.std() == pytest.approx(0.030, rel=0.01)  # the row's
    assert found.mean() == pytest.approx(0.0, abs=4.0 * 0.030 / math.sqrt(RAYS))
    # Shares within 1, 2, 3 deviations; 4 sigma of a binomial share.
    for times, share in ((1.0, 0.6826895), (2.0, 0.9544997), (3.0, 0.9973002)):
        within = (np.abs(found) < times * 0.030).mean()
        assert within == pytest.approx(share, abs=4.0 * math.sqrt(share * (1 - share) / RAYS))


@pytest.mark.acceptance("DIST-3")
def test_dist_3_without_deviations_nothing_changes():
    pattern = rig.aim(np.linspace(-0.9, 0.9, 999))
    clean = rig.capture(FAR, pattern)
    assert clean.tobytes() == noisy(FAR, pattern).tobytes()


@pytest.mark.parametrize("rows", [1, 4, 5])
def test_errors_of_neighbours_are_independent(rows):
    pattern = rig.aim(np.zeros(40_000), rows=rows)
    points = noisy(FAR, pattern, distance_sigma_base=0.03)
    error = (points["range"].astype(float) - 100.0).reshape(-1, rows) / 0.03
    pairs = {
        "rows": (error[:, :-1], error[:, 1:]),
        "columns": (error[:-1], error[1:]),
        "diagonal": (error[:-1, :-1], error[1:, 1:]),
        "frames": (
            error,
            (noisy(FAR, pattern, 1, distance_sigma_base=0.03)["range"].reshape(-1, rows) - 100.0)
            / 0.03,
        ),
    }
    for name, (one, other) in pairs.items():
        # The sum of n products of independent draws has a deviation of sqrt(n).
        assert abs((one * other).sum()) <= 4.5 * math.sqrt(one.size), name


def test_each_return_of_a_ray_has_an_error_of_its_own():
    pane = rig.across(5.0, of=1, thickness=0.01)
    seen = rig.scene(rig.across(10.0), pane, materials=(rig.lambert(), rig.glass(roughness=0.1)))
    own = {"own": {"return_mode": ReturnMode.dual}}
    noise = LidarNoiseParameters(distance_sigma_base=0.01)
    points = rig.capture(seen, rig.ahead(20_000), noise=noise, **own).reshape(-1, 2)
    error = (points["range"] - points["range"].mean(axis=0)) / 0.01
    assert abs((error[:, 0] * error[:, 1]).mean()) < 4.5 / math.sqrt(20_000)
    assert error.std() == pytest.approx(1.0, rel=4.0 / math.sqrt(80_000))


def test_points_move_along_their_rays():
    pattern = rig.aim(np.linspace(-0.9, 0.9, 50), 0.1)
    points = noisy(CLOSE, pattern, distance_sigma_base=0.5)
    places = np.stack([points[name] for name in "xyz"], axis=1)
    expected = points["range"].astype(float)[:, None] * pattern.directions(0)
    np.testing.assert_allclose(places, expected, atol=1e-5)  # float32 of some 10 m


def test_distances_are_not_negative():
    points = noisy(rig.scene(rig.across(0.1)), rig.ahead(2000), distance_sigma_base=1.0)
    assert (points["range"] == 0.0).mean() > 0.4
    assert (points["range"] >= 0.0).all()


def test_misses_stay_misses():
    pattern = rig.aim(np.full(100, math.pi))
    assert len(noisy(CLOSE, pattern, distance_sigma_base=1.0, azimuth_sigma=0.1)) == 0


# ---- angles -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "axis"), [("azimuth_sigma", 2), ("elevation_sigma", 1)])
def test_jitter_turns_rays_and_not_what_is_reported(name, axis):
    """On a wall slanted by 45 degrees, a ray that is off by a reads 10 / (1 + tan a) cos a."""
    turn = np.eye(3)[axis]
    wall = rig.turned(rig.across(10.0, half=40.0), turn, math.radians(45.0), (10.0, 0.0, 0.0))
    sigma = 1e-3
    pattern = rig.ahead(RAYS)
    points = noisy(rig.scene(wall), pattern, **{name: sigma})
    assert (points["azimuth"] == 0.0).all()
    assert (points["elevation"] == 0.0).all()
    np.testing.assert_allclose(points["y"], 0.0, atol=1e-6)
    np.testing.assert_allclose(points["z"], 0.0, atol=1e-6)
    np.testing.assert_allclose(points["x"], points["range"], rtol=1e-6)
    # dr/da = 10 at 45 degrees; the next order is sigma, and 4 sigma of a deviation.
    error = points["range"].astype(float) - 10.0
    assert error.std() == pytest.approx(10.0 * sigma, rel=4.0 / math.sqrt(2 * RAYS) + 5.0 * sigma)
    assert error.mean() == pytest.approx(
        0.0, abs=4.0 * 10.0 * sigma / math.sqrt(RAYS) + 20.0 * sigma**2
    )


def test_angles_are_normal_and_independent():
    """Hits counted on the four quarters of a target that meet on the ray's nominal way."""
    quarters = [
        rig.box((10.0, min(0.0, 20.0 * y), min(0.0, 20.0 * z)),
                (10.5, max(0.0, 20.0 * y), max(0.0, 20.0 * z)))
        for y in (-1, 1) for z in (-1, 1)
    ]  # fmt: skip
    noise = {"azimuth_sigma": 2e-3, "elevation_sigma": 1e-3}
    points = noisy(rig.scene(*quarters), rig.ahead(RAYS), **noise)
    share = np.bincount(points["entity_id"] - 100, minlength=4) / RAYS
    np.testing.assert_allclose(share, 0.25, atol=4.0 * math.sqrt(0.1875 / RAYS))
    # 0.02 m off to the side is one deviation of the azimuth: a strip that wide has 68.27 %.
    strip = rig.box((9.0, -0.018, -20.0), (9.1, 0.018, 21.0))
    points = noisy(rig.scene(rig.across(20.0), strip), rig.ahead(RAYS), **noise)
    inside = (points["entity_id"] == 101).mean()
    assert inside == pytest.approx(0.6826895, abs=4.0 * math.sqrt(0.2166 / RAYS))


def test_all_rays_of_a_beam_share_their_jitter():
    edge = rig.box((10.0, 0.0, -20.0), (10.1, 30.0, 21.0))
    seen = rig.scene(rig.across(30.0, half=60.0), edge)
    device = Lidar(
        LidarParameters(**rig.ALL, subrays=30),
        rig.ahead(2000),
        BeamParameters(divergence_half_angle=1e-6),
        LidarNoiseParameters(azimuth_sigma=1e-2),
    )
    counts = np.bincount(rig.capture(seen, lidar=device)["return_count"], minlength=3)
    # A beam of 1e-6 rad straddles the edge once in 1e4.
    assert counts[2] <= 4
    assert counts[1] > 1990


# ---- detection --------------------------------------------------------------------------------


def test_echoes_are_detected_with_their_probability():
    device = Lidar(LidarParameters(detection_probability=0.7), rig.ahead(RAYS))
    points = rig.capture(CLOSE, lidar=device, threads=2)
    share = len(points) / RAYS
    assert share == pytest.approx(0.7, abs=4.0 * math.sqrt(0.21 / RAYS))


def test_each_echo_is_detected_or_not_by_itself():
    pane = rig.across(5.0, of=1, thickness=0.01)
    seen = rig.scene(rig.across(10.0), pane, materials=(rig.lambert(), rig.glass(roughness=0.1)))
    every = rig.capture(seen, own=rig.ALL)
    rays = 5000
    own = rig.ALL | {"detection_probability": 0.5}
    points = rig.capture(seen, rig.ahead(rays), own=own)
    for echo in every[:3]:
        found = (points["node"] == echo["node"]).sum() / rays
        assert found == pytest.approx(0.5, abs=4.0 * 0.5 / math.sqrt(rays))
    # The strongest is missed by half of the rays, which then report the next.
    strongest = rig.capture(seen, rig.ahead(rays), own={"detection_probability": 0.5})
    order = np.argsort(-every["intensity"])
    for rank in range(2):
        share = (strongest["node"] == every["node"][order[rank]]).sum() / rays
        expected = 0.5 ** (rank + 1)
        sigma = math.sqrt(expected * (1 - expected) / rays)
        assert share == pytest.approx(expected, abs=4.0 * sigma)


def test_nothing_is_detected_with_probability_zero():
    assert len(rig.capture(CLOSE, rig.ahead(1000), own={"detection_probability": 0.0})) == 0


# ---- streams ----------------------------------------------------------------------------------

ALL_TERMS = {
    "distance_sigma_base": 0.02,
    "distance_sigma_slope": 1e-3,
    "azimuth_sigma": 1e-3,
    "elevation_sigma": 2e-3,
}
MIST = Medium("mist", 0.01, 2.0, 5.0, 0.5)
SLANTED = rig.turned(rig.across(12.0, half=40.0), (0, 1, 2), 0.6, (12.0, 0.0, 0.0))
MISTY = rig.scene(SLANTED, media=(MIST,))


def full(frame=0, seed=1, identity="Lidar", **noise):
    """Points of many rays with all errors, but for those that are given."""
    device = Lidar(
        LidarParameters(**rig.ALL, detection_probability=noise.pop("detection", 1.0)),
        rig.aim(np.linspace(-0.5, 0.5, 512), rows=8),
        noise=LidarNoiseParameters(**(ALL_TERMS | noise)),
        seed=seed,
        identity=identity,
    )
    with RayScene(MISTY, 1) as rays:
        return device.capture(rays, rig.AT_ORIGIN, frame)


def table(cloud):
    return cloud.points().tobytes()


def test_a_seed_repeats_and_others_differ():
    first = table(full())
    assert first == table(full())
    others = [full(seed=2), full(identity="other"), full(frame=1)]
    for other in others:
        assert table(other) != first
        assert not np.isin(full().points()["range"], other.points()["range"]).any()


@pytest.mark.parametrize("off", ["azimuth_sigma", "elevation_sigma"])
def test_one_error_does_not_shift_another(off):
    """Echoes of the mist lie at the same distances, with the same errors, however rays are off."""
    both, one = full(), full(**{off: 0.0})

    def mist_of(cloud):
        points = cloud.points()
        return points["range"][points["atmospheric"] == 1]

    # Which ray meets the wall first may change: rays with an echo in both.
    assert np.isin(mist_of(one), mist_of(both)).mean() > 0.99
    assert table(both) != table(one)


def test_errors_of_distances_do_not_shift_angles_or_echoes():
    clean = full(distance_sigma_base=0.0, distance_sigma_slope=0.0)
    off = full()
    np.testing.assert_array_equal(clean.counts, off.counts)
    one, other = clean.points(), off.points()
    for name in ("intensity", "incidence", "node", "atmospheric"):
        np.testing.assert_array_equal(one[name], other[name])
    assert (one["range"] != other["range"]).mean() > 0.99


def test_detection_does_not_shift_errors_of_what_is_detected():
    seen = rig.scene(SLANTED)
    noise = LidarNoiseParameters(**ALL_TERMS)
    pattern = rig.aim(np.linspace(-0.5, 0.5, 512))
    every, some = (
        rig.capture(seen, pattern, noise=noise, own={"detection_probability": p})
        for p in (1.0, 0.6)
    )
    assert 200 < len(some) < 400
    assert np.isin(some["range"], every["range"]).all()


def test_without_errors_a_scene_at_rest_looks_the_same_in_each_frame():
    device = Lidar(LidarParameters(**rig.ALL), rig.aim(np.linspace(-0.5, 0.5, 300)))
    with RayScene(rig.scene(SLANTED), 2) as rays:
        frames = [device.capture(rays, rig.AT_ORIGIN, frame).points() for frame in range(3)]
    assert len(frames[0]) == 300
    assert frames[0].tobytes() == frames[1].tobytes() == frames[2].tobytes()


def test_errors_of_distances_leave_intensities_alone():
    device = Lidar(
        LidarParameters(),
        rig.aim(np.linspace(-0.5, 0.5, 300)),
        noise=LidarNoiseParameters(distance_sigma_base=0.05),
    )
    with RayScene(rig.scene(SLANTED), 1) as rays:
        frames = [device.capture(rays, rig.AT_ORIGIN, frame).points() for frame in range(2)]
    np.testing.assert_array_equal(frames[0]["intensity"], frames[1]["intensity"])
    assert (frames[0]["range"] != frames[1]["range"]).all()
