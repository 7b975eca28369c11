"""What a radar takes for a target: rates of false alarms and of detections, and side lobes."""

import math

import numpy as np
import pytest
from scipy.stats import beta, ncx2

from sensor_models.kernels.radar.detection import stands_out
from sensor_models.kernels.radar.windows import TAPS
from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    CfarParameters,
    CfarType,
    ChirpParameters,
    Mimo,
    RayTracedParameters,
    SpeedExtended,
    TracingParameters,
    Window,
)
from sensor_models.radar.ray_traced import Image, RayTracedRadar
from sensor_models.radar.targets import Detector, RadarTarget, _sectors
from sensor_models.radar.thresholds import Test, cells_apart, test_of, threshold_factor
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.radar.test_radar_detection import listed
from tests.smallest_scene import smallest_scene

Test.__test__ = False  # type: ignore[attr-defined]
test_of.__test__ = False  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def rays():
    with RayScene(smallest_scene(), threads=2) as scene:
        yield scene


def windowed_noise(window: Window, lines: int, cells: int, seed: int = 1) -> np.ndarray:
    """Powers of cells of noise that went through a window: its transform is a sum of neighbours."""
    random = np.random.default_rng(seed)
    a, b = TAPS[int(window)]
    taps = np.array([b, a, 1.0, a, b])
    white = random.normal(size=(2, lines, cells + 4))
    draws = (white[0] + 1j * white[1]) / math.sqrt(2.0 * (taps**2).sum())
    mixed = sum(tap * draws[:, k : k + cells] for k, tap in enumerate(taps))
    return np.abs(mixed) ** 2


def reference(test: Test, powers: np.ndarray) -> np.ndarray:
    """What a threshold of the middle cell is a multiple of."""
    middle, first = powers.shape[1] // 2, max(test.guard + 1, test.apart)
    steps = first + test.apart * np.arange(test.cells // 2)
    cells = np.concatenate([powers[:, middle - steps], powers[:, middle + steps]], axis=1)
    if test.kind == CfarType.ca:
        return cells.mean(axis=1)
    return np.sort(cells, axis=1)[:, test.rank - 1]


@pytest.mark.parametrize("window", list(Window))
@pytest.mark.parametrize("kind", list(CfarType))
def test_the_rate_of_false_alarms_is_the_one_that_is_measured(window, kind) -> None:
    """By counting at 1e-2, and far down by the law of a cell beside what was drawn around it."""
    powers = windowed_noise(window, 40_000, 61)
    for rate in (1e-2, 1e-5):
        own = CfarParameters(type=kind, false_alarms_per_frame=0.0, false_alarm=rate)
        test = test_of(own, window, 61, 1)
        law = np.exp(-test.alpha * reference(test, powers)).mean()
        assert law == pytest.approx(rate, rel=0.04 if rate == 1e-2 else 0.12)
        if rate == 1e-2:
            lines = powers.astype(np.float32)
            found = sum(
                stands_out(line, 30, int(kind), test.cells, test.guard, test.rank, test.alpha,
                           test.apart) for line in lines
            )  # fmt: skip
            assert found / len(lines) == pytest.approx(rate, rel=0.15)  # 3 sigma


def test_cells_of_a_threshold_are_those_that_share_next_to_no_noise() -> None:
    assert [cells_apart(window) for window in Window] == [1, 2, 2, 3]


@pytest.mark.parametrize("samples", [2, 7, 20, 256])
def test_short_lines_have_fewer_cells(samples: int) -> None:
    test = test_of(CfarParameters(), Window.hann, samples, samples)
    assert 1 <= test.cells <= 16
    assert 1 <= test.rank <= test.cells
    assert math.isfinite(test.alpha)
    assert not stands_out(np.ones(samples, np.float32), 0, 1, test.cells, 2, test.rank, test.alpha,
                          test.apart)  # fmt: skip


def noise_frames(rays: RayScene, own: RayTracedParameters, frames: int) -> list[int]:
    """How many targets are listed in frames of noise."""
    radar = RayTracedRadar(own, seed=11)
    detector = Detector(own, radar.radio)
    cube, strongest = radar.synthesise(rays, listed([[0.0] * 8]))
    empty = strongest._replace(entity=np.full_like(strongest.entity, -1))
    found = []
    for frame in range(frames):
        noisy = radar.with_noise(rays, cube, frame)
        found.append(len(detector.targets(rays, Image(noisy, empty, 0))))
    return found


def test_noise_alone_makes_no_more_targets_than_are_allowed(rays: RayScene) -> None:
    """Measured where there are some: as many as are asked for, or fewer, as peaks are less than
    cells; and by the defaults."""
    most = TracingParameters(max_targets=1000)
    own = RayTracedParameters(cfar=CfarParameters(false_alarms_per_frame=30.0), tracing=most)
    mean = float(np.mean(noise_frames(rays, own, 5)))
    assert 0.5 * 30.0 < mean < 30.0
    assert sum(noise_frames(rays, RayTracedParameters(), 30)) <= 1


SMALL = ChirpParameters(samples=64, count=16)


def in_noise(rays: RayScene, radar: RayTracedRadar, detector: Detector, rows, frame: int):
    """The targets of paths in the noise of a frame."""
    cube, strongest = radar.synthesise(rays, listed(rows, list(range(1, len(rows) + 1))))
    noisy = radar.with_noise(rays, cube, frame)
    return detector.targets(rays, Image(noisy, strongest, 0))


def marcum(ratio: float, threshold: np.ndarray) -> np.ndarray:
    """The share of cells of a steady signal in noise that are above a threshold (Marcum's Q)."""
    return ncx2.sf(2.0 * threshold, 2, 2.0 * ratio)


def shares_of_detections(
    rays: RayScene, own: RayTracedParameters, levels, trials: int
) -> list[tuple[float, float]]:
    """The share of frames in which a steady target is found, and that of theory, by its level.

    Swerling 0: Marcum's Q over the law of the threshold, of independent cells.
    """
    radar, kind = RayTracedRadar(own, seed=4), own.cfar.type
    detector = Detector(own, radar.radio)
    rate = own.cfar.false_alarms_per_frame / (64 * 16 * 24)
    alpha = threshold_factor(kind, 16, 12, rate)
    quantiles = (np.arange(4000) + 0.5) / 4000
    if kind == CfarType.os:
        threshold = -alpha * np.log(beta.ppf(quantiles, 16 - 12 + 1, 12))
    else:
        threshold = alpha * np.random.default_rng(2).gamma(16.0, 1.0 / 16.0, 4000)
    cell, u, shares = 30, float(detector._u[14]), []
    for level in levels:
        ratio = 10.0 ** (0.1 * level)
        row = [math.sqrt(ratio * radar.radio.noise), 0.0, 2 * cell * radar.radio.range_cell, 0.0,
               u, 0.0, u, 0.0]  # fmt: skip
        found = 0
        for frame in range(trials):
            targets = in_noise(rays, radar, detector, [row], frame)
            found += any(abs(t.range / radar.radio.range_cell - cell) < 1.5 for t in targets)
        shares.append((found / trials, float(marcum(ratio, threshold).mean())))
    return shares


@pytest.mark.parametrize("kind", list(CfarType))
def test_detections_of_a_steady_target_are_those_of_theory(rays: RayScene, kind) -> None:
    own = RayTracedParameters(chirp=SMALL, cfar=CfarParameters(type=kind))
    for found, closed in shares_of_detections(rays, own, (15.0, 17.0, 19.0), 300):
        assert found == pytest.approx(closed, abs=0.05)


def test_the_nearest_of_all_is_the_target(rays: RayScene) -> None:
    """One of 10 dBsm at 20 m, in each of many frames."""
    own = RayTracedParameters()
    radar = RayTracedRadar(own, seed=6)
    detector = Detector(own, radar.radio)
    amplitude = math.sqrt(radar.radio.received(10.0, 20.0))
    for frame in range(25):
        targets = in_noise(rays, radar, detector, [[amplitude, 0.0, 40.0, 0.0, 0, 0, 0, 0]], frame)
        nearest = min(targets, key=lambda t: t.range)
        assert nearest.entity_id == 1
        assert nearest.range == pytest.approx(20.0, abs=0.02)


def of_two(
    rays: RayScene, apart: float, further: float, weaker: float = 1.0
) -> list[list[RadarTarget]]:
    """Targets of two scatterers so many resolutions and m apart, at phases all around."""
    own = RayTracedParameters()
    radar = RayTracedRadar(own, seed=5)
    detector = Detector(own, radar.radio)
    random, found = np.random.default_rng(1), []
    amplitude = math.sqrt(radar.radio.received(80.0, 20.0))
    for frame in range(8):
        u, v = random.uniform(-0.4, 0.4), random.uniform(-8.0, 8.0)
        other = u + apart / 6.0  # lambda / D of twelve half wavelengths
        second = weaker * amplitude * np.exp(2j * np.pi * frame / 8)
        rows = [
            [amplitude, 0.0, 40.0, v, u, 0.0, u, 0.0],
            [second.real, second.imag, 40.0 + 2.0 * further, v, other, 0.0, other, 0.0],
        ]
        found.append(in_noise(rays, radar, detector, rows, frame))
    return found


@pytest.mark.parametrize("apart", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("further", [0.0, 0.1])
def test_side_lobes_of_a_merged_peak_are_no_targets(
    rays: RayScene, apart: float, further: float
) -> None:
    """Two scatterers that array and chirp do not tell apart were up to sixteen targets."""
    counts = [len(targets) for targets in of_two(rays, apart, further)]
    assert max(counts) <= 2
    assert np.mean(counts) < 1.2


@pytest.mark.parametrize(
    ("apart", "further", "weaker"), [(2.0, 0.05, 1.0), (3.0, 0.0, 0.5), (0.0, 0.7, 0.5)]
)
def test_targets_that_are_told_apart_stay(rays: RayScene, apart, further, weaker) -> None:
    counts = [len(targets) for targets in of_two(rays, apart, further, weaker)]
    assert min(counts) == 2
    assert np.mean(counts) < 2.3


def test_a_target_in_the_last_half_cell_is_at_the_farthest_range(rays: RayScene) -> None:
    own = RayTracedParameters(tracing=TracingParameters(noise=False))
    radar = RayTracedRadar(own)
    detector, cell = Detector(own, radar.radio), radar.radio.range_cell
    rows = [[1e-6, 0.0, 2.0 * 255.7 * cell, 0, 0, 0, 0, 0], [1e-7, 0, 40.0, 0, 0, 0, 0, 0]]
    cube, strongest = radar.synthesise(rays, listed(rows, [5, 6]))
    targets = detector.targets(rays, Image(cube.astype(np.complex64), strongest, 0))
    assert [target.entity_id for target in targets] == [5, 6]
    assert targets[0].range == pytest.approx(255.7 * cell, abs=0.01)
    unit = radar.radio.received(1.0, 255.7 * cell)
    assert 10.0 * math.log10(targets[0].rcs * unit / 1e-12) == pytest.approx(0.0, abs=0.1)


FAST = (-30.0, -24.2, -17.0, -11.3, -10.0, 0.0, 6.5, 14.0, 21.7, 30.0)


@pytest.mark.parametrize("azimuth", [0.0, 0.4, -0.7])
def test_speeds_beyond_the_unambiguous_one(rays: RayScene, azimuth: float) -> None:
    own = RayTracedParameters(tracing=TracingParameters(speed_extended=SpeedExtended.hypotheses))
    radar = RayTracedRadar(own, seed=8)
    detector, u = Detector(own, radar.radio), math.sin(azimuth)
    gain = 10.0 * math.cos(azimuth) ** 2
    amplitude = math.sqrt(radar.radio.received(10.0, 20.0, gain))
    for frame, speed in enumerate(FAST):
        row = [amplitude, 0.0, 40.0, speed, u, 0.0, u, 0.0]
        targets = in_noise(rays, radar, detector, [row], frame)
        assert len(targets) == 1
        assert targets[0].speed == pytest.approx(speed, abs=0.05)
        assert targets[0].azimuth == pytest.approx(azimuth, abs=math.radians(0.5))
        assert targets[0].entity_id == 1
        assert 10.0 * math.log10(targets[0].rcs / 10.0) == pytest.approx(0.0, abs=0.3)


def test_a_slow_target_beside_a_fast_one_keeps_its_speed(rays: RayScene) -> None:
    """In the same cell of range and Doppler, and 10 dB apart."""
    own = RayTracedParameters(tracing=TracingParameters(speed_extended=SpeedExtended.hypotheses))
    radar = RayTracedRadar(own, seed=8)
    detector, folded = Detector(own, radar.radio), 2.0 * radar.radio.fastest
    amplitude = math.sqrt(radar.radio.received(30.0, 20.0))
    shift = radar.radio.shift_of_speed * folded
    rows = [
        [amplitude, 0.0, 40.0, 4.0 + folded, 0.0, 0.0, 0.0, 0.0],
        [0.32 * amplitude, 0.0, 40.0 - 2.0 * shift, 4.0, 0.5, 0.0, 0.5, 0.0],
    ]
    targets = in_noise(rays, radar, detector, rows, 0)
    assert [round(t.speed, 1) for t in targets] == [round(4.0 + folded, 1), 4.0]
    assert [round(math.sin(t.azimuth), 1) for t in targets] == [0.0, 0.5]


@pytest.mark.parametrize("mimo", list(Mimo))
def test_a_plain_device_folds_fast_speeds(rays: RayScene, mimo: Mimo) -> None:
    """In turns it also sees them in a wrong direction, and several of them."""
    own = RayTracedParameters(antenna=AntennaParameters(mimo=mimo))
    radar = RayTracedRadar(own, seed=8)
    detector, speed = Detector(own, radar.radio), 1.6 * radar.radio.fastest
    amplitude = math.sqrt(radar.radio.received(10.0, 20.0))
    targets = in_noise(rays, radar, detector, [[amplitude, 0, 40.0, speed, 0, 0, 0, 0]], 0)
    folded = speed - 2.0 * radar.radio.fastest
    assert targets[0].speed == pytest.approx(folded, abs=0.05)
    if mimo == Mimo.ideal:
        assert targets[0].azimuth == pytest.approx(0.0, abs=0.005)
    else:
        assert abs(targets[0].azimuth) == pytest.approx(0.149, abs=0.003)
        assert len(targets) > 1


@pytest.mark.parametrize("sine", np.linspace(-1.0, 1.0, 41).tolist())
def test_entities_are_looked_for_in_the_two_nearest_sectors(sine: float) -> None:
    """Those whose middles are nearest; at the ends of the sines there is one."""
    middles = (np.arange(16) + 0.5) / 8.0 - 1.0
    away = np.abs(middles - sine)
    found = _sectors(sine, 16)
    assert len(found) == (1 if abs(sine) > middles[-1] else 2) or min(away) < 1e-9
    assert away[found].max() <= np.sort(away)[1] + 1e-9
    assert away[found].min() == pytest.approx(away.min())
