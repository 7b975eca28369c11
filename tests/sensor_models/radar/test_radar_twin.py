"""A ray-traced radar against a slow twin: currents on plates, point by point, sample by sample.

The twin knows no tubes, paths or kernels of windows. A chirp of the phase
psi(t) = 2 pi (f t + S t^2 / 2) goes from an antenna to each point of each plate, which moves, and
on to each receiver, tau later; what is mixed with it is psi(t) - psi(t - tau), of the strength
sqrt(P / loss) G cos / (4 pi r r') of physical optics for a conductor. The windowed samples are
transformed by numpy.
"""

import math

import numpy as np
import pytest

from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    ChirpParameters,
    FieldParameters,
    RayTracedParameters,
    TracingParameters,
)
from sensor_models.radar.ray_traced import Image, RayTracedRadar
from sensor_models.radar.targets import Detector
from sensor_models.scene.tracing import RayScene
from tests import radar_range as range_
from tests.radar_range import METAL, decibel

LIGHT = 299792458.0
SIDE, POINTS = 0.08, 16
#: Range, azimuth, speed of closing and how far each plate is turned off the line of sight.
PLATES = ((12.2, 0.3, 2.1, 0.004), (19.7, -0.25, 0.0, -0.006), (31.4, 0.05, -4.3, 0.005))
OWN = RayTracedParameters(
    antenna=AntennaParameters(pattern="isotropic", transmitters="0 0"),
    chirp=ChirpParameters(samples=128, count=64),
    fov=FieldParameters(azimuth=0.4, elevation=0.03),
    tracing=TracingParameters(noise=False),
)


def toward(azimuth: float) -> np.ndarray:
    return np.array([math.cos(azimuth), math.sin(azimuth), 0.0])


def points_of(azimuth: float, tilt: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of a plate around its middle, (n, 3), and its normal."""
    turn = range_.turned(azimuth + tilt)
    steps = SIDE * ((np.arange(POINTS) + 0.5) / POINTS - 0.5)
    y, z = (axis.ravel() for axis in np.meshgrid(steps, steps))
    return np.stack([0.0 * y, y, z], axis=1) @ turn.T, -turn[:, 0]


def twin_cube(radar: RayTracedRadar) -> np.ndarray:
    """The cube (range, Doppler, channels) of the plates."""
    chirp, radio = radar.parameters.chirp, radar.radio
    times = (np.arange(chirp.samples) - 0.5 * (chirp.samples - 1)) / chirp.sample_rate
    signal = np.zeros((chirp.samples, chirp.count, len(radio.receivers)), complex)
    patch = (SIDE / POINTS) ** 2
    own = radar.parameters.antenna
    for number in range(chirp.count):
        instant = (number - 0.5 * (chirp.count - 1)) * chirp.interval
        for distance, azimuth, speed, tilt in PLATES:
            points, normal = points_of(azimuth, tilt)
            points = points + (distance - speed * instant) * toward(azimuth)
            out = np.linalg.norm(points, axis=1)
            strength = -(points @ normal) / out * patch / (4.0 * math.pi)
            for channel, (y, z) in enumerate(radio.receivers):
                back = np.linalg.norm(points - [0.0, y, z], axis=1)
                delay = (out + back) / LIGHT
                now = times[:, np.newaxis]
                delay = delay - 2.0 * speed / LIGHT * now
                phase = own.frequency * delay + chirp.slope * (delay * now - 0.5 * delay**2)
                waves = np.exp(2j * np.pi * phase)
                signal[:, number, channel] += (waves * (strength / (out * back))).sum(axis=1)
    signal *= math.sqrt(own.transmit_power / own.loss) * own.gain
    for axis, count in enumerate(signal.shape[:2]):
        window = 1.0 + np.cos(2.0 * np.pi * (np.arange(count) - 0.5 * (count - 1)) / count)
        shape = (-1, 1, 1) if axis == 0 else (1, -1, 1)
        signal = np.fft.fft(signal * (window / window.sum()).reshape(shape), axis=axis)
    return signal


@pytest.fixture(scope="module")
def both() -> tuple[RayTracedRadar, RayScene, Image, np.ndarray]:
    radar = RayTracedRadar(OWN)
    things, motion = [], range_.still(len(PLATES))
    for body, (distance, azimuth, speed, tilt) in enumerate(PLATES):
        transform = range_.placed((0, 0, 0), range_.turned(azimuth + tilt))
        things.append((range_.plate(SIDE), transform, METAL, body))
        motion.bodies[body, :3] = distance * toward(azimuth)
        motion.velocities[body, :3] = -speed * toward(azimuth)
    with RayScene(range_.scene_of(*things, bodies=len(PLATES)), threads=1) as rays:
        yield radar, rays, radar.image(rays, motion, 0), twin_cube(radar)


def test_peaks_in_range_and_doppler_are_those_of_the_twin(both) -> None:
    radar, _, image, twin = both
    maps = [(np.abs(cube.astype(complex)) ** 2).sum(axis=2) for cube in (image.cube, twin)]
    for distance, _, speed, _ in PLATES:
        row = round(distance / radar.radio.range_cell)
        column = round(-speed / radar.radio.speed_cell)
        columns = np.arange(column - 2, column + 3) % maps[0].shape[1]
        near = [power[row - 2 : row + 3][:, columns] for power in maps]
        assert near[0].argmax() == near[1].argmax()
        strong = near[1] > 0.01 * near[1].max()
        assert np.abs(decibel(near[0][strong] / near[1][strong])).max() < 0.5


def test_targets_are_those_of_the_twin(both) -> None:
    radar, rays, image, twin = both
    detector = Detector(OWN, radar.radio)
    lists = [
        detector.targets(rays, Image(np.ascontiguousarray(cube, np.complex64), image.strongest, 0))
        for cube in (image.cube, twin)
    ]
    for body, (distance, azimuth, _, _) in enumerate(PLATES):
        mine, other = (
            min(found, key=lambda t: abs(t.range - distance) + abs(t.azimuth - azimuth))
            for found in lists
        )
        assert mine.entity_id == body + 1
        assert mine.range == pytest.approx(other.range, abs=0.01)
        assert mine.speed == pytest.approx(other.speed, abs=0.01)
        assert mine.azimuth == pytest.approx(other.azimuth, abs=0.005)
        assert decibel(mine.rcs / other.rcs) == pytest.approx(0.0, abs=0.5)
