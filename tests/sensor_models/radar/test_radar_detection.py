"""What a ray-traced radar makes of paths: windows, cubes, noise, thresholds, targets."""

import math

import numpy as np
import pytest

from sensor_models.core.random import stream_key
from sensor_models.kernels.radar.detection import CELL_AVERAGING, ORDERED, stands_out
from sensor_models.kernels.radar.noise import add_noise
from sensor_models.kernels.radar.pages import PATH_SIZE
from sensor_models.kernels.radar.windows import kernel_at, window_of
from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    CfarType,
    ChirpParameters,
    Mimo,
    RayTracedParameters,
    Synthesis,
    TracingParameters,
    Window,
    WindowParameters,
)
from sensor_models.radar.ray_traced import Image, Paths, RayTracedRadar, new_pages
from sensor_models.radar.targets import Detector, share_of_way
from sensor_models.radar.thresholds import threshold_factor
from sensor_models.radar.waveform import Radio
from sensor_models.scene.tracing import RayScene
from tests import radar_range as range_
from tests.radar_range import decibel
from tests.smallest_scene import smallest_scene

RECTANGULAR, HANN, HAMMING, BLACKMAN = Window
LIGHT = 299792458.0


@pytest.fixture(scope="module")
def rays():
    with RayScene(smallest_scene(), threads=2) as scene:
        yield scene


def radio_of(window: WindowParameters | None = None, **antenna) -> Radio:
    given = {"transmit_power": 10**-1.8, "noise_figure": 10**1.4, **antenna}
    return Radio(AntennaParameters(**given), ChirpParameters(), window or WindowParameters())


def listed(rows: list[list[float]], entities: list[int] | None = None) -> Paths:
    """Paths as they are traced."""
    pages = new_pages(len(rows) // 1024 + 1)
    for place, row in enumerate(rows):
        pages.numbers[place // 1024, place % 1024] = row
        pages.entities[place // 1024, place % 1024] = entities[place] if entities else 1
    pages.used[:, 2] = [min(1024, len(rows) - 1024 * page) for page in range(len(pages.used))]
    return Paths(pages, np.arange(len(pages.used)), 0, 0)


def path(amplitude: complex, distance: float, speed: float, u: float = 0.0) -> list[float]:
    row = [amplitude.real, amplitude.imag, 2.0 * distance, speed, u, 0.0, u, 0.0]
    assert len(row) == PATH_SIZE
    return row


def radar_of(**parts) -> RayTracedRadar:
    return RayTracedRadar(RayTracedParameters(**parts), seed=3, identity="radar")


@pytest.mark.acceptance("RAD-13")
def test_cells_and_limits_of_the_default_chirp() -> None:
    radio = radio_of()
    found = [radio.bandwidth, radio.range_cell, radio.farthest, radio.speed_cell, radio.fastest]
    expected = [768e6, 0.195177, 49.9654, 0.168985, 10.81502]
    assert [*found, radio.duration] == pytest.approx([*expected, 11.52e-3], rel=1e-5)
    assert -30.0 * radio.shift_of_speed == pytest.approx(-0.0770, abs=1e-4)


@pytest.mark.acceptance("RAD-15")
@pytest.mark.parametrize(
    ("window", "width", "lobe", "loss"),
    [
        (RECTANGULAR, 0.886, -13.26, -3.922),
        (HANN, 1.442, -31.47, -1.424),
        (HAMMING, 1.304, -42.67, -1.751),
        (BLACKMAN, 1.644, -58.11, -1.099),
    ],
)
def test_kernels_of_windows(window: Window, width: float, lobe: float, loss: float) -> None:
    count = 4096
    cells = np.linspace(0.0, 8.0, 16001)
    level = np.abs([kernel_at(int(window), count, cell) for cell in cells])
    half = cells[int(np.argmax(level < math.sqrt(0.5)))]
    assert 2.0 * half == pytest.approx(width, abs=2e-3)
    falls = int(np.argmax(np.diff(level) > 0.0))
    assert 2.0 * decibel(level[falls:].max()) == pytest.approx(lobe, abs=0.02)
    assert 2.0 * decibel(kernel_at(int(window), count, 0.5)) == pytest.approx(loss, abs=2e-3)
    if window == HANN:
        assert kernel_at(int(window), count, 0.5) == pytest.approx(0.8488264, abs=1e-6)


@pytest.mark.parametrize("window", list(Window))
@pytest.mark.parametrize("count", [16, 33])
def test_kernels_are_transforms_of_their_windows(window: Window, count: int) -> None:
    n = np.arange(count) - 0.5 * (count - 1)
    for cell in (0.0, 0.3, 2.7, -5.5, 7.0):
        summed = (window_of(int(window), count) * np.exp(-2j * np.pi * n * cell / count)).sum()
        assert kernel_at(int(window), count, cell) == pytest.approx(summed.real, abs=1e-12)
        assert summed.imag == pytest.approx(0.0, abs=1e-12)


@pytest.mark.acceptance("RAD-17")
@pytest.mark.parametrize(("speed", "level"), [(0.0, -200.0), (5.0, -32.0)])
def test_the_kernel_against_the_transform_of_samples(
    rays: RayScene, speed: float, level: float
) -> None:
    """With the whole kernel, which is cut off nowhere, and the samples of one scatterer."""
    own = radar_of(tracing=TracingParameters(synthesis=Synthesis.beat))
    row = path(1.0 + 0j, 20.03, speed)
    cube, _ = own.synthesise(rays, listed([row]))
    wave, radio = own.radio.kernel_waveform, own.radio
    r = (wave.slope * row[2] / LIGHT - 2.0 * speed / radio.wavelength) * wave.samples / wave.rate
    d = -speed / radio.speed_cell
    ranges = np.array([kernel_at(1, wave.samples, cell - r) for cell in range(wave.samples)])
    cells = np.fft.fftfreq(wave.chirps, 1.0 / wave.chirps)
    dopplers = np.array([kernel_at(1, wave.chirps, cell - d) for cell in cells])
    delay = row[2] / LIGHT
    phase = wave.frequency * delay - 0.5 * wave.slope * delay**2
    made = np.exp(2j * np.pi * phase) * np.outer(ranges, dopplers)
    made = made * np.exp(-4j * np.pi * speed * radio.instants[1] / radio.wavelength)
    off = float(2.0 * decibel(np.abs(cube[:, :, 4] - made).max() / np.abs(made).max() + 1e-30))
    if speed:
        assert off == pytest.approx(level, abs=1.0)
    else:
        assert off < level


def test_the_cube_by_kernels_is_that_by_samples(rays: RayScene) -> None:
    """Many paths at rest, across the ends of range and with all channels: 47 dB down."""
    random = np.random.default_rng(1)
    rows = [
        path(complex(*random.normal(size=2)), distance, 0.0, u)
        for distance, u in zip(random.uniform(0.05, 49.9, 300), random.uniform(-0.9, 0.9, 300),
                               strict=True)
    ]  # fmt: skip
    cubes = [
        radar_of(tracing=TracingParameters(synthesis=kind)).synthesise(rays, listed(rows))[0]
        for kind in Synthesis
    ]
    off = np.abs(cubes[0] - cubes[1]).max() / np.abs(cubes[1]).max()
    assert 2.0 * decibel(off) < -40.0


def test_slow_paths_of_all_speeds_agree_as_well(rays: RayScene) -> None:
    random = np.random.default_rng(2)
    rows = [path(1.0 + 0j, 20.0 + 0.1 * k, random.uniform(-1.0, 1.0)) for k in range(40)]
    cubes = [
        radar_of(tracing=TracingParameters(synthesis=kind)).synthesise(rays, listed(rows))[0]
        for kind in Synthesis
    ]
    off = np.abs(cubes[0] - cubes[1]).max() / np.abs(cubes[1]).max()
    assert 2.0 * decibel(off) < -30.0


@pytest.mark.acceptance("RAD-18")
def test_powers_of_the_radar_equation() -> None:
    radio = radio_of()
    milliwatt = 1e-3
    assert decibel(radio.received(10.0, 50.0) / milliwatt) == pytest.approx(-107.128, abs=1e-3)
    assert decibel(radio.noise / milliwatt) == pytest.approx(-142.400, abs=1e-3)
    plain = radio_of(WindowParameters(range=RECTANGULAR, doppler=RECTANGULAR))
    assert decibel(plain.noise / milliwatt) == pytest.approx(-145.921, abs=1e-3)
    corner = 10**1.44143
    ratio = radio.received(corner, 50.0) / radio.noise
    assert decibel(ratio) == pytest.approx(39.685, abs=1e-3)


def test_noise_has_its_power_and_its_correlation(rays: RayScene) -> None:
    cube, out = np.zeros((128, 64, 6), complex), np.zeros((128, 64, 6), np.complex64)
    rays.run(add_noise, stream_key(1, "a", "noise"), 5, 1.0, (1, 0), cube, out)
    power = float((np.abs(out) ** 2).mean())
    assert power == pytest.approx(2.0 * 1.5, rel=0.03)  # Hann along range, none along Doppler
    along = (out[1:] * out[:-1].conj()).mean().real / power
    assert along == pytest.approx(2.0 / 3.0, abs=0.03)  # with phases from the middle of samples
    over = (out[:, 1:] * out[:, :-1].conj()).mean()
    assert abs(over) / power < 0.03
    again = np.zeros_like(out)
    with RayScene(smallest_scene(), threads=1) as alone:
        alone.run(add_noise, stream_key(1, "a", "noise"), 5, 1.0, (1, 0), cube, again)
    assert (again == out).all()


@pytest.mark.acceptance("RAD-20")
@pytest.mark.parametrize(
    ("cells", "rank", "rate", "mean", "ordered"),
    [
        (16, 12, 1e-3, 8.638824, 7.421411),
        (16, 12, 1e-4, 12.452471, 11.080194),
        (24, 18, 1e-6, 18.678706, 16.293288),
    ],
)
def test_threshold_factors(cells: int, rank: int, rate: float, mean: float, ordered: float) -> None:
    assert threshold_factor(CfarType.ca, cells, rank, rate) == pytest.approx(mean, abs=1e-6)
    assert threshold_factor(CfarType.os, cells, rank, rate) == pytest.approx(ordered, abs=1e-6)


def share_found(kind: int, alpha: float, target: float, trials: int) -> float:
    """How often a cell of a line of exponential cells stands out, with a target in it."""
    random = np.random.default_rng(7)
    lines = random.exponential(size=(trials, 21)).astype(np.float32)
    if target:
        lines[:, 10] *= 1.0 + target
    return sum(stands_out(line, 10, kind, 16, 2, 12, alpha, 1) for line in lines) / trials


@pytest.mark.acceptance("RAD-22")
@pytest.mark.parametrize(("kind", "law"), [(CELL_AVERAGING, CfarType.ca), (ORDERED, CfarType.os)])
def test_false_alarms(kind: int, law: CfarType) -> None:
    alpha = threshold_factor(law, 16, 12, 1e-3)
    assert share_found(kind, alpha, 0.0, 400_000) == pytest.approx(1e-3, abs=2e-4)


@pytest.mark.acceptance("RAD-23")
@pytest.mark.parametrize(
    ("kind", "law", "expected"),
    [(CELL_AVERAGING, CfarType.ca, 0.55792), (ORDERED, CfarType.os, 0.51445)],
)
def test_detections_of_a_fluctuating_target(kind: int, law: CfarType, expected: float) -> None:
    ratio = 10**1.3
    alpha = threshold_factor(law, 16, 12, 1e-4)
    smaller = alpha / (1.0 + ratio)
    closed = (
        (1.0 + smaller / 16) ** -16
        if law == CfarType.ca
        else math.prod((16 - i) / (16 - i + smaller) for i in range(12))
    )
    assert closed == pytest.approx(expected, abs=1e-5)
    assert share_found(kind, alpha, ratio, 20_000) == pytest.approx(expected, abs=0.015)


@pytest.mark.acceptance("RAD-23")
def test_detections_of_a_steady_target() -> None:
    """By a threshold at known noise, after Marcum: drawn from its law."""
    random = np.random.default_rng(8)
    noise = random.normal(scale=math.sqrt(0.5), size=(2, 400_000))
    power = (noise[0] + math.sqrt(10**1.3)) ** 2 + noise[1] ** 2
    assert (power > -math.log(1e-4)).mean() == pytest.approx(0.98305, abs=1e-3)


@pytest.mark.parametrize("window", list(Window))
def test_one_scatterer_is_found_between_its_cells(window: Window) -> None:
    for share in (0.0, 0.11, 0.37, 0.5):
        ratio = kernel_at(int(window), 256, 1.0 - share) / kernel_at(int(window), 256, share)
        assert share_of_way(window, 256, ratio) == pytest.approx(share, abs=2e-4)


@pytest.mark.parametrize("mimo", list(Mimo))
@pytest.mark.parametrize("array", ["", "0 0; 0 0.0019; 0.0078 0"], ids=["line", "surface"])
def test_targets_of_paths(rays: RayScene, mimo: Mimo, array: str) -> None:
    """Range, speed, angles and cross section of two paths, by arrays in a line and in a surface."""
    antenna = AntennaParameters(mimo=mimo, transmitters=array)
    own = RayTracedParameters(antenna=antenna, tracing=TracingParameters(noise=False))
    radar = RayTracedRadar(own)
    level = 0.1 if array else 0.0
    rows, wanted = [], []
    for distance, speed, azimuth in ((15.3, 2.2, 0.31), (31.8, -1.7, -0.52)):
        u, w = math.sin(azimuth) * math.cos(level), math.sin(level)
        forward = math.cos(azimuth) * math.cos(level)
        gain = own.antenna.gain * forward**2
        amplitude = math.sqrt(radar.radio.received(5.0, distance, gain))
        rows.append([amplitude, 0.0, 2.0 * distance, speed, u, w, u, w])
        wanted.append((distance, speed, azimuth))
    cube, strongest = radar.synthesise(rays, listed(rows, [8, 9]))
    image = Image(cube.astype(np.complex64), strongest, 0)
    found = Detector(own, radar.radio).targets(rays, image)[:2]
    for target, (distance, speed, azimuth), entity in zip(found, wanted, (8, 9), strict=True):
        short = speed * radar.radio.shift_of_speed
        assert target.range == pytest.approx(distance - short, abs=2e-3)
        assert target.speed == pytest.approx(speed, abs=2e-3)
        assert target.azimuth == pytest.approx(azimuth, abs=2e-3)
        assert target.elevation == pytest.approx(level, abs=6e-3)
        assert decibel(target.rcs / 5.0) == pytest.approx(0.0, abs=0.1)
        assert target.entity_id == entity


def test_the_result_depends_on_no_thread() -> None:
    """A scene of corners and a mirror, its cube traced by one thread and by three."""
    wall = range_.triangles(range_.quad((5, 4, -2), (20, 0, 0), (0, 0, 4)))
    scene = range_.scene_of(
        (wall, np.eye(4), range_.matter(ior=2.0, roughness_rms=2e-4), -1),
        (range_.corner(0.4), range_.placed((12, 1, 0)), range_.METAL, -1),
    )
    cubes = []
    for threads in (1, 3):
        with RayScene(scene, threads=threads) as traced:
            cubes.append(radar_of().image(traced, range_.still(), 4).cube)
    assert (cubes[0] == cubes[1]).all()
