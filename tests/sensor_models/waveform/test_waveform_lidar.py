"""The full-waveform lidar in scenes: beam, histogram, conservation, against ``Lidar``."""

import math

import numpy as np
import pytest
from scipy import integrate

from sensor_models.kernels.waveform.histogram import spots
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarParameters
from sensor_models.scene.model import Mesh, Sky
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import poses_of
from sensor_models.tools.pictures.waveform_slice import bush_and_wall
from sensor_models.waveform import (
    Binning,
    ExtractionWay,
    RayWeight,
    ReceiverParameters,
    ReceiverType,
    SubrayPattern,
    WaveformLidar,
    WaveformParameters,
)
from sensor_models.waveform.optics import (
    focal_distance,
    pack_pulse,
    rays_along_side,
    rays_of_square,
    spot_radius,
    waist_of,
)
from sensor_models.waveform.parameters import FWHM
from tests import lidar_scenes as rig

NS = 1e-9
LIGHT_SPEED = 299_792_458.0
RADIUS, FULL = 0.0125, 0.01
SQUARE = {"subray_pattern": SubrayPattern.grid, "subray_side": 51}
ONE = {"subrays": 1}


class Shot:
    """What one pulse along x shows."""

    def __init__(self, seen, receiver=None, frame=0, pattern=None, threads=1, **own):
        pattern = rig.aim() if pattern is None else pattern
        receiver = receiver or ReceiverParameters()
        self.lidar = WaveformLidar(WaveformParameters(**own), pattern, receiver, keeps=True, seed=5)
        with RayScene(seen, threads) as rays:
            cloud = self.lidar.capture(rays, rig.AT_ORIGIN, frame)
        self.points = cloud.points()
        self.rows, self.samples = cloud.waves.rows(), cloud.waves.samples()
        step = self.lidar.parameters_of_pulse.t_res
        first = self.rows["first"][0] if len(self.rows) else 0.0
        self.times = first + step * np.arange(len(self.samples))
        #: Energy in all samples, J.
        self.energy = float(self.samples.sum(dtype=float) * step)


def disc(x, radius, of=0):
    """A disc across the x axis, of 64 corners."""
    turn = np.arange(64) * math.tau / 64
    scale = math.sqrt(math.tau / 64 / math.sin(math.tau / 64))  # the area of the circle
    rim = np.stack([np.full(64, x), *(scale * radius * f(turn) for f in (np.cos, np.sin))], 1)
    corners = np.concatenate([[(x, 0.0, 0.0)], rim]).astype(np.float32)
    faces = [(0, 1 + (k + 1) % 64, 1 + k) for k in range(64)]
    return Mesh(corners, np.array(faces, np.uint32), np.full(64, of, np.int32))


# ---- section 12 ----------------------------------------------------------------------------------


@pytest.mark.acceptance("WF-1")
def test_the_virtual_focus():
    assert focal_distance(RADIUS, FULL) == pytest.approx(2.49998, abs=1e-5)


@pytest.mark.acceptance("WF-2")
def test_rays_for_a_spacing():
    for spacing, reach, exact, count in (
        (0.01, 80.0, 82.5007, 83), (0.02, 86.0, 44.250, 45), (0.01, 86.0, 88.501, 89),
    ):  # fmt: skip
        assert 2.0 * (RADIUS + reach * math.tan(FULL / 2)) / spacing == pytest.approx(
            exact, abs=1e-3
        )
        assert rays_along_side(RADIUS, FULL, reach, spacing) == count
    own = {"subray_pattern": SubrayPattern.spacing, "target_spacing": 0.02, "target_range": 86.0}
    pulse = pack_pulse(WaveformParameters(**own))
    assert len(pulse.share) == len(rays_of_square(45, RADIUS))
    at_target = pulse.offset + 86.0 * pulse.slope
    gaps = np.diff(np.unique(at_target[:, 0].round(9)))
    assert gaps.max() <= 0.02


@pytest.mark.acceptance("WF-3")
def test_the_spot_widens():
    for reach, width in ((6.0, 0.08500), (86.0, 0.8850)):
        assert 2.0 * (RADIUS + reach * math.tan(FULL / 2)) == pytest.approx(width, abs=1e-4)
        pulse = pack_pulse(WaveformParameters(subray_pattern=SubrayPattern.grid, subray_side=401))
        widest = 2.0 * np.hypot(*(pulse.offset + reach * pulse.slope).T).max()
        assert widest == pytest.approx(width, rel=3e-3)


@pytest.mark.acceptance("WF-4")
def test_waist_and_radius_of_the_gaussian_beam():
    waist, rayleigh = waist_of(905e-9, FULL)
    assert waist == pytest.approx(57.6141e-6, rel=1e-5)
    assert rayleigh == pytest.approx(11.5228e-3, rel=1e-5)
    for z, radius in ((2.5, 12.5001e-3), (8.5, 42.5000e-3), (88.5, 442.500e-3)):
        assert spot_radius(905e-9, FULL, z) == pytest.approx(radius, rel=1e-5)


@pytest.mark.acceptance("WF-5")
@pytest.mark.parametrize("z", [0.0, 2.5, 88.5])
def test_irradiance_adds_up_to_the_power(z):
    waist, rayleigh = waist_of(905e-9, FULL)
    reach = 8.0 * spot_radius(905e-9, FULL, z)

    def ring(rho):
        return float(spots(np.array([rho]), z, 3.0, waist, rayleigh)[0]) * math.tau * rho

    total, _ = integrate.quad(ring, 0.0, reach, epsabs=0.0, epsrel=1e-12)
    assert total == pytest.approx(3.0, rel=1e-9)


@pytest.mark.acceptance("WF-6")
def test_irradiance_falls_with_the_range():
    waist, rayleigh = waist_of(905e-9, FULL)
    focus = focal_distance(RADIUS, FULL)
    near, far = (
        spots(np.zeros(1), focus + z, 1.0, waist, rayleigh)[0] for z in (6.0, 86.0)
    )  # fmt: skip
    assert near / far == pytest.approx(108.405, rel=1e-4)
    assert near / far * (86.0 / 6.0) ** 2 == pytest.approx(2.2271e4, rel=1e-4)


def drop(target, **own):
    """How much less comes back from 86 m than from 6 m."""
    found = [
        Shot(rig.scene(target(x)), extraction=ExtractionWay.peak, **own).energy for x in (6.0, 86.0)
    ]
    return found[0] / found[1]


@pytest.mark.acceptance("WF-8")
@pytest.mark.parametrize(
    ("radius", "expected"),
    [(0.01, 2.109e4), (0.02, 1.803e4), (0.05, 7046.0), (0.3, 295.5), (0.5, 205.4)],
)
def test_a_disc_in_the_beam_fades_by_its_size(radius, expected):
    """Of a beam cut at the aperture; section 34 has its values."""
    own = {"subray_pattern": SubrayPattern.grid, "subray_side": 301}
    assert drop(lambda x: disc(x, radius), **own) == pytest.approx(expected, rel=0.03)


@pytest.mark.acceptance("WF-9")
def test_a_wall_fades_with_the_square_of_the_range():
    assert drop(rig.across, **SQUARE) == pytest.approx(205.44, rel=0.005)


@pytest.mark.acceptance("WF-7")
def test_a_bush_is_dimmer_by_four_orders_of_magnitude_far_away():
    """VANE's bush, by the irradiance as there; of the largest sample and of all energy."""
    peaks, energies = [], []
    for x in (6.0, 86.0):
        own = {"subray_pattern": SubrayPattern.grid, "subray_side": 89}
        shot = Shot(bush_and_wall(x), ray_weight=RayWeight.irradiance, t_res=0.1 * NS, **own)
        of_bush = shot.samples[shot.times < 2.0 * (x + 0.6) / LIGHT_SPEED].astype(float)
        peaks.append(of_bush.max())
        energies.append(of_bush.sum())
    assert 3e3 < peaks[0] / peaks[1] < 5e4
    assert 3e3 < energies[0] / energies[1] < 5e4


@pytest.mark.acceptance("WF-7")
def test_weights_by_irradiance_count_the_spreading_twice_for_a_wall():
    own = {**SQUARE, "ray_weight": RayWeight.irradiance}
    found = drop(rig.across, **own)
    assert found == pytest.approx(205.44 * 108.405, rel=0.005)
    assert 3e3 < found < 5e4


@pytest.mark.acceptance("WF-10")
def test_rays_of_a_square_that_the_aperture_lets_through():
    places = rays_of_square(51, RADIUS)
    assert len(places) == 2053
    cell = (2.0 * RADIUS / 51) ** 2
    share = 2.0 / (math.pi * RADIUS**2) * np.exp(-2.0 * (places**2).sum(1) / RADIUS**2) * cell
    assert share.sum() == pytest.approx(0.8660, abs=1e-3)
    pulse = pack_pulse(WaveformParameters(**SQUARE))
    assert pulse.share.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.acceptance("WF-11")
@pytest.mark.parametrize(("x", "number"), [(6.0, 80), (86.0, 1147)])
def test_the_bin_of_a_range(x, number):
    width = 0.5 * LIGHT_SPEED * 0.5 * NS
    assert width == pytest.approx(0.074948, abs=1e-6)
    own = {**ONE, "binning": Binning.nearest, "pulse_duration": 0.0}
    shot = Shot(rig.scene(rig.across(x)), extraction=ExtractionWay.peak, **own)
    (full,) = np.nonzero(shot.samples)
    assert round(shot.times[full[0]] / (0.5 * NS) - 0.5) == number


@pytest.mark.acceptance("WF-13")
def test_a_histogram_of_bins_is_off_by_up_to_half_a_bin_and_splatting_is_not():
    seen = rig.scene(rig.across(12.0))
    own = {**ONE, "pulse_duration": 2.0 * FWHM * NS, "extraction": ExtractionWay.peak}
    for binning, expected in ((Binning.nearest, 12.029), (Binning.linear, 12.0)):
        shot = Shot(seen, binning=binning, **own)
        centroid = (shot.samples * shot.times).sum() / shot.samples.sum() * LIGHT_SPEED / 2
        assert centroid == pytest.approx(expected, abs=1e-3)
    shot = Shot(seen, binning=Binning.nearest, **own)
    peak = shot.times[np.argmax(shot.samples)] * LIGHT_SPEED / 2
    assert peak == pytest.approx(12.029, abs=1e-3)
    assert shot.points["range"][0] == pytest.approx(12.029, abs=1e-3)


def bush(x, seed=1):
    """Leaves in a ball of 0.4 m, and a wall 1.5 m behind them."""
    rng = np.random.default_rng(seed)
    leaves, half = [], np.array([0.002, 0.025, 0.025])
    for _ in range(200):
        at = rng.normal(0.0, 0.15, 3).clip(-0.4, 0.4) + np.array([x, 0.0, 0.0])
        low, high = at - half, at + half
        leaves.append(rig.turned(rig.box(low, high), rng.normal(size=3), rng.uniform(0, 3), at))
    return rig.scene(*leaves, rig.across(x + 1.5))


@pytest.mark.acceptance("WF-12")
def test_a_bush_before_a_wall():
    """VANE's figure 5: the bush first, and the far pulse lies in more bins."""
    own = {"subray_pattern": SubrayPattern.grid, "subray_side": 89, "pulse_duration": 0.0}
    bins = []
    for x in (6.0, 86.0):
        shot = Shot(bush(x), extraction=ExtractionWay.peak, **own)
        near = shot.times < 2.0 * (x + 1.0) / LIGHT_SPEED
        assert shot.samples[near].max() > 0.0
        assert shot.samples[~near].max() > 0.0
        bins.append(np.count_nonzero(shot.samples))
        if x == 6.0:
            assert shot.samples[near].max() > shot.samples[~near].max()
    assert bins[1] > bins[0]


# ---- energy, and the other lidar -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["spiral", "square"])
def test_energy_in_all_bins_is_that_of_all_rays(kind):
    """A tilted plate, ray by ray in NumPy: f cos, solid angle and share of each."""
    tilt, x = 0.6, 20.0
    plate = rig.turned(rig.across(x, half=60.0), (0.0, 1.0, 0.0), tilt, (x, 0.0, 0.0))
    own = {"subrays": 300} if kind == "spiral" else SQUARE
    shot = Shot(rig.scene(plate), **own)
    pulse = shot.lidar.pulse
    start = np.column_stack([np.zeros(len(pulse.share)), pulse.offset])
    along = np.column_stack([np.ones(len(pulse.share)), pulse.slope])
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    normal = np.array([-math.cos(tilt), 0.0, math.sin(tilt)])
    if abs(((x, 0, 0) - start[0]) @ normal) < 1.0:
        pytest.fail("the plate lies along the rays")
    way = (((x, 0.0, 0.0) - start) @ normal) / (along @ normal)
    cosine = -(along @ normal)
    angle = 0.03 * 0.03 * along[:, 0] / way**2
    energy = 5e-9 / FWHM * math.sqrt(math.tau)
    expected = energy * (pulse.share * 0.8 / math.pi * cosine * angle).sum()
    assert shot.energy == pytest.approx(expected, rel=1e-6)


def test_a_target_that_fills_the_beam_returns_its_own_intensity_and_power():
    shot = Shot(rig.scene(rig.across(30.0)), peak_power=75.0, subrays=200, t_res=0.1 * NS)
    (point,) = shot.points
    assert point["intensity"] == pytest.approx(0.8 / math.pi, rel=2e-3)
    expected = 75.0 * 0.8 / math.pi * 9e-4 / 30.0**2
    assert point["amplitude"] == pytest.approx(expected, rel=2e-3)
    assert point["echo_width"] == pytest.approx(5 * NS, rel=3e-3)
    assert point["entity_id"] == 100


def test_one_ray_without_noise_is_where_a_lidar_sees_it():
    pattern = rig.aim(np.linspace(-0.5, 0.5, 21), np.linspace(-0.2, 0.3, 21))
    seen = rig.scene(rig.across(4.0), rig.box((2.0, 0.2, -0.5), (2.5, 0.9, 0.4)))
    expected = rig.capture(seen, pattern, lidar=Lidar(LidarParameters(), pattern))
    own = {**ONE, "t_res": 0.01 * NS, "t_stop": 60 * NS, "pulse_duration": 1 * NS}
    shot = Shot(seen, pattern=pattern, extraction=ExtractionWay.peak, **own)
    assert len(shot.points) == len(expected) == 21
    np.testing.assert_allclose(shot.points["range"], expected["range"], atol=1e-6)
    for name in ("entity_id", "material_id", "incidence", "azimuth", "ring"):
        np.testing.assert_array_equal(shot.points[name], expected[name])


@pytest.mark.acceptance("FW-15")
@pytest.mark.parametrize(("degrees", "x", "spot"), [(45.0, 97.5, 0.5), (60.0, 7.5, 0.05)])
def test_a_tilted_plate_widens_its_echo(degrees, x, spot):
    """w^2 = s^2 + (omega tan(alpha) / c)^2, with omega the spot's radius to 1/e^2."""
    assert RADIUS + x * math.tan(FULL / 2) == pytest.approx(spot, rel=1e-4)
    tilt, duration = math.radians(degrees), 2.0 * FWHM * NS
    plate = rig.turned(rig.across(x, half=200.0), (0.0, 1.0, 0.0), tilt, (x, 0.0, 0.0))
    own = {"subray_pattern": SubrayPattern.grid, "subray_side": 151, "t_res": 0.1 * NS}
    shot = Shot(rig.scene(plate), pulse_duration=duration, **own)
    (point,) = shot.points
    # Rays beyond the radius are cut off: the variance of what is left, by its closed form.
    cut = 1.0 - 2.0 / math.expm1(2.0)
    spread = spot * math.sqrt(cut) * math.tan(tilt) / LIGHT_SPEED
    expected = math.hypot(2.0 * NS, spread)
    share = shot.samples / shot.samples.sum(dtype=float)
    variance = share @ (shot.times - share @ shot.times) ** 2
    assert math.sqrt(variance) == pytest.approx(expected, rel=3e-3)
    # The light of a disc is no Gaussian over time, which the fit takes it for.
    assert point["echo_width"] == pytest.approx(FWHM * expected, rel=2e-2)


def test_rays_of_a_spiral_have_the_middle_and_the_width_of_the_beam():
    for count in (8, 19, 127):
        pulse = pack_pulse(WaveformParameters(subrays=count))
        x, y = pulse.offset.T / RADIUS
        assert pulse.share.sum() == pytest.approx(1.0, rel=1e-12)
        assert pulse.share.min() > 0.2 / count
        moments = [pulse.share @ term for term in (x, y, x * y, x * x - y * y)]
        np.testing.assert_allclose(moments, 0.0, atol=1e-12)
        # Of the density e^(-2 rho^2) within 1.
        weight, power = (
            integrate.quad(lambda rho, n=n: rho**n * math.exp(-2.0 * rho**2), 0.0, 1.0)[0]
            for n in (3, 1)
        )
        assert pulse.share @ (x * x + y * y) == pytest.approx(weight / power, rel=1e-9)


@pytest.mark.parametrize("degrees", [45.0, 60.0, 70.0, 78.0])
@pytest.mark.parametrize("azimuth", [0.0, 1.0])
def test_a_tilted_plate_is_one_echo_without_a_bias(degrees, azimuth):
    """19 rays, 10 m away, tilted about a level and a slanted axis."""
    x, axis = 10.0, (0.0, math.cos(azimuth), math.sin(azimuth))
    plate = rig.turned(rig.across(x, half=200.0), axis, math.radians(degrees), (x, 0.0, 0.0))
    shot = Shot(rig.scene(plate))
    (point,) = shot.points
    # The middle of the light in range, with what the tilt does to its strength.
    assert point["range"] == pytest.approx(x, abs=0.004 + 0.002 * math.tan(math.radians(degrees)))
    share = shot.samples / shot.samples.sum(dtype=float)
    middle = 0.5 * LIGHT_SPEED * float(share @ shot.times)
    assert point["range"] == pytest.approx(middle, abs=0.02)


@pytest.mark.parametrize("way", list(ExtractionWay))
@pytest.mark.parametrize("step", [0.5, 1.0])
def test_a_wall_is_where_it_is_at_any_place_between_samples(way, step):
    """Errors of the ways at two to four samples a standard deviation, without noise."""
    errors, widths = [], []
    for x in np.arange(20.0, 20.15, 0.0171):
        own = {"extraction": way, "t_res": step * NS, **ONE, "divergence_full_angle": 0.0}
        (point,) = Shot(rig.scene(rig.across(x)), **own).points
        errors.append(float(point["range"]) - np.float32(x))
        widths.append(float(point["echo_width"]) / (5 * NS))
    bound = 1e-3 if step == 0.5 else 2e-3
    assert np.abs(errors).max() < (3e-3 if way == ExtractionWay.peak else bound)
    np.testing.assert_allclose(widths, 1.0, atol=0.01 if way == ExtractionWay.gaussian else 0.02)


def test_two_surfaces_in_one_beam_are_two_echoes():
    edge = rig.box((20.0, -5.0, 0.0), (20.5, 5.0, 5.0))
    shot = Shot(rig.scene(edge, rig.across(23.0)), subrays=400)
    assert shot.points["range"] == pytest.approx([20.0, 23.0], abs=5e-3)
    assert shot.points["entity_id"].tolist() == [100, 101]
    assert shot.points["return_number"].tolist() == [1, 2]
    assert shot.points["return_count"].tolist() == [2, 2]


def test_nothing_comes_back_from_nothing_and_from_beyond_the_gate():
    assert not len(Shot(rig.scene(rig.across(160.0))).points)
    late = Shot(rig.scene(rig.across(10.0)), t_start=100 * NS)
    assert not len(late.points)
    assert not len(late.rows)


def test_background_light_is_that_of_sun_and_sky():
    """A white wall in the sun: L = rho / pi (E n.s + pi L_sky); it adds shot noise."""
    spectrum = ((900e-9, 1e9), (910e-9, 1e9))
    sky = Sky((-1.0, 0.0, 0.0), spectrum, ((900e-9, 1e8), (910e-9, 1e8)))
    receiver = ReceiverParameters(type=ReceiverType.apd)
    noise = {}
    for name, light in (("dark", Sky()), ("sunny", sky)):
        shot = Shot(rig.scene(rig.across(20.0), sky=light), receiver, peak_power=1.0)
        (point,) = shot.points
        noise[name] = float(point["amplitude"] / point["snr"])
        packed = shot.lidar.receiver_in(rig.scene(rig.across(20.0), sky=light))
    radiance = 0.8 / math.pi * (1e9 + math.pi * 1e8)
    power = radiance * 30e-9 * math.pi / 4 * 0.01**2 * 9e-4 * 0.8
    more = packed.density * packed.response * power / (0.5 * NS) * packed.squares
    scale = packed.response * packed.optics
    assert noise["sunny"] ** 2 - noise["dark"] ** 2 == pytest.approx(more / scale**2, rel=0.1)


# ---- draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ReceiverType.apd, ReceiverType.sipm, ReceiverType.spad])
def test_threads_and_parts_do_not_matter_frames_do(kind):
    pattern = rig.aim(np.linspace(-0.3, 0.3, 60))
    seen = rig.scene(rig.across(15.0))
    receiver = ReceiverParameters(type=kind, filter_sigma=1 * NS)
    own = {"peak_power": 0.05, "subrays": 7, "t_stop": 200 * NS, "extraction": ExtractionWay.peak}
    one = Shot(seen, receiver, pattern=pattern, **own)
    two = Shot(seen, receiver, pattern=pattern, threads=2, **own)
    assert len(one.points) >= 30
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.samples, two.samples)
    other = Shot(seen, receiver, frame=1, pattern=pattern, **own)
    assert not np.array_equal(one.samples, other.samples)
    lidar = WaveformLidar(WaveformParameters(**own), pattern, receiver, keeps=True, seed=5)
    with RayScene(seen, 1) as rays:
        cloud = lidar.new_cloud()
        poses = poses_of(lidar.mount, rig.AT_ORIGIN.reshape(1, -1))
        for columns in ((0, 17), (17, 18), (18, 60)):
            lidar.scan(rays, poses, 0, (0.0, 0.0), columns, cloud)
    np.testing.assert_array_equal(cloud.points(), one.points)
    np.testing.assert_array_equal(cloud.waves.rows(), one.rows)


def test_ranges_of_a_noisy_receiver_scatter_as_much_as_their_signal_to_noise_says():
    """2000 pulses on a wall: s of the filtered pulse, noise correlated by the filter."""
    receiver = ReceiverParameters(type=ReceiverType.apd, filter_sigma=1 * NS)
    own = {"peak_power": 0.5, "subrays": 1, "t_stop": 200 * NS}
    shot = Shot(rig.scene(rig.across(15.0)), receiver, pattern=rig.ahead(2000), **own)
    snr = shot.points["snr"].astype(float)
    assert 10.0 < snr.mean() < 100.0
    assert shot.points["range"].mean() == pytest.approx(15.0, abs=2e-3)
    scatter = shot.points["range"].std() * 2.0 / LIGHT_SPEED
    # White noise of the density S before the filter: the bound is that of an unfiltered fit.
    pulse, white = 5.0 * NS / FWHM, snr.mean() / math.sqrt(2.0 * math.sqrt(math.pi) * 1 * NS)
    bound = math.sqrt(2.0 * pulse / math.sqrt(math.pi)) / white
    bound /= math.hypot(pulse, 1 * NS) / pulse * 0.8  # the filter lowers the peak
    assert 0.5 * bound < scatter < 2.0 * bound


def test_too_few_rays_for_a_tilted_plate_are_counted():
    """At 85 deg and 60 m, 19 rays of 10 mrad lie 1.5 m apart in depth, 1,000 do not."""
    plate = rig.turned(rig.across(60.0, half=900.0), (0.0, 1.0, 0.0), math.radians(85), (60, 0, 0))
    for rays, few in ((19, True), (1000, False)):
        lidar = WaveformLidar(WaveformParameters(subrays=rays), rig.aim())
        with RayScene(rig.scene(plate), 1) as seen:
            cloud = lidar.capture(seen, rig.AT_ORIGIN)
        assert (cloud.coarse > 0) is few
        assert len(cloud.points()) > 0
