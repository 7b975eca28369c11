"""Figures of the ray-traced radar that take more frames than a test should: ``python -m
tests.radar_figures [NAME ...]``.

noise       targets in 100 frames of noise alone, by all defaults
nearest     frames of 100 in which the nearest target is the one of 10 dBsm at 20 m
detection   the share of a steady target's frames in which it is found, beside Marcum's Q
speeds      the largest errors of speed and azimuth from -30 to 30 m/s, with ``speed_extended``
mirrors     a sphere between a ground and a wall, beside image theory, by the spacing of rays
stages      processor time of each kernel in a frame of the yard, the radar and the bodies moving
bounces     processor time of such a frame by the surfaces that a path may meet
"""

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sensor_models.radar.ray_parameters import (
    CfarParameters,
    CfarType,
    RayTracedParameters,
    SpeedExtended,
    TracingParameters,
)
from sensor_models.radar.ray_traced import Motion, RayTracedRadar
from sensor_models.radar.targets import Detector
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.radar_between import between, theory_between
from tests.radar_range import decibel
from tests.sensor_models.radar import test_radar_thresholds as thresholds
from tests.smallest_scene import smallest_scene

FRAMES = 100
#: Frames of the yard that are clocked.
FEW = 4
LEVELS = np.arange(13.0, 22.0)
TRIALS = 400
SPEEDS = np.arange(-30.0, 30.1, 0.5)
AZIMUTHS = (-0.7, 0.0, 0.4)
#: Distances of the sphere, m, and spacings of rays, m.
DISTANCES = np.linspace(12.1, 19.9, 13)
SPACINGS = (0.02, 0.01, 0.005)


def noise(rays: RayScene) -> str:
    counts = thresholds.noise_frames(rays, RayTracedParameters(), FRAMES)
    return f"{sum(counts)} targets in {FRAMES} frames"


def nearest(rays: RayScene) -> str:
    own = RayTracedParameters()
    radar = RayTracedRadar(own, seed=6)
    detector = Detector(own, radar.radio)
    amplitude, right, worst = math.sqrt(radar.radio.received(10.0, 20.0)), 0, 0.0
    for frame in range(FRAMES):
        row = [amplitude, 0.0, 40.0, 0.0, 0, 0, 0, 0]
        targets = thresholds.in_noise(rays, radar, detector, [row], frame)
        first = min(targets, key=lambda target: target.range)
        right += first.entity_id == 1
        worst = max(worst, abs(first.range - 20.0))
    return f"right in {right} of {FRAMES}, range within {1e3 * worst:.1f} mm"


def detection(rays: RayScene) -> str:
    worst = {}
    for kind in CfarType:
        own = RayTracedParameters(chirp=thresholds.SMALL, cfar=CfarParameters(type=kind))
        shares = thresholds.shares_of_detections(rays, own, LEVELS, TRIALS)
        rows = [
            f"{level:.0f} dB {found:.3f} ({closed:.3f})"
            for level, (found, closed) in zip(LEVELS, shares, strict=True)
        ]
        print(f"  {kind.name}, found (theory): " + ", ".join(rows))
        worst[kind.name] = max(abs(found - closed) for found, closed in shares)
    return ", ".join(f"{name} within {most:.3f}" for name, most in worst.items())


def speeds(rays: RayScene) -> str:
    own = RayTracedParameters(tracing=TracingParameters(speed_extended=SpeedExtended.hypotheses))
    radar = RayTracedRadar(own, seed=8)
    detector, errors, extra, missed = Detector(own, radar.radio), [], 0, 0
    for azimuth in AZIMUTHS:
        gain, u = 10.0 * math.cos(azimuth) ** 2, math.sin(azimuth)
        amplitude = math.sqrt(radar.radio.received(10.0, 20.0, gain))
        for frame, speed in enumerate(SPEEDS):
            row = [amplitude, 0.0, 40.0, speed, u, 0.0, u, 0.0]
            targets = thresholds.in_noise(rays, radar, detector, [row], frame)
            extra += len(targets) > 1
            missed += len(targets) == 0
            errors += [(abs(t.speed - speed), abs(t.azimuth - azimuth)) for t in targets[:1]]
    most = np.max(errors, axis=0)
    return (
        f"{len(AZIMUTHS) * len(SPEEDS)} frames: speed within {most[0]:.4f} m/s, azimuth within "
        f"{math.degrees(most[1]):.3f} deg, {extra} with more targets, {missed} with none"
    )


def mirrors(_rays: RayScene) -> str:
    closed = decibel(np.array([theory_between(distance) for distance in DISTANCES]))
    found = {}
    for spacing in SPACINGS:
        sections = [between(distance, spacing) for distance in DISTANCES]
        found[spacing] = decibel(np.array(sections))
        error = found[spacing] - closed
        print(
            f"  rays.spacing {spacing}: correlation {np.corrcoef(found[spacing], closed)[0, 1]:.4f}"
            f", mean {error.mean():+.2f} dB, rms {math.sqrt((error**2).mean()):.2f} dB"
        )
    apart = np.abs(found[SPACINGS[0]] - found[SPACINGS[-1]]).max()
    return f"by default within {apart:.2f} dB of the finest rays at {len(DISTANCES)} distances"


class Clocked:
    """A scene whose kernels are clocked: the processor time of each, s."""

    def __init__(self, rays: RayScene) -> None:
        self._rays = rays
        self.took: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rays, name)

    def run(self, kernel: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        start = time.process_time()
        self._rays.run(kernel, *arguments, **named)
        own = time.process_time() - start
        self.took[kernel.__name__] = self.took.get(kernel.__name__, 0.0) + own


def frames_of_the_yard(bounces: int) -> tuple[int, float, dict[str, float]]:
    """Tubes of a frame, its processor time and that of its kernels, s."""
    own = RayTracedParameters(tracing=TracingParameters(max_bounces=bounces))
    scene, radar = load_scene("yard"), RayTracedRadar(own)
    bodies = np.array([[*body.position, *body.orientation] for body in scene.bodies])
    speeds = np.tile([3.0, 1.0, 0.0, 0.0, 0.0, 0.0], (len(bodies), 1))
    ahead, turn = np.array([5.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
    motion = Motion(np.array([0.0, 0.0, 1.0]), turn, ahead, bodies, speeds)
    detector = Detector(radar.parameters, radar.radio)
    with RayScene(scene, threads=1) as rays:
        clocked: Any = Clocked(rays)
        for frame in range(FEW + 1):
            if frame == 1:  # the first one loads kernels and makes room
                clocked.took.clear()
                start = time.process_time()
            image = radar.image(clocked, motion, frame)
            detector.targets(clocked, image)
        whole = time.process_time() - start
    return image.tubes, whole / FEW, {name: took / FEW for name, took in clocked.took.items()}


def stages(_rays: RayScene) -> str:
    tubes, whole, took = frames_of_the_yard(TracingParameters.max_bounces)
    took["Python between them"] = whole - sum(took.values())
    rows = sorted(took.items(), key=lambda row: -row[1])
    of_each = ", ".join(f"{name} {1e3 * one:.1f}" for name, one in rows)
    return f"{tubes} tubes, {1e3 * whole:.0f} ms a frame: {of_each}"


def bounces(_rays: RayScene) -> str:
    rows = []
    for most in range(1, TracingParameters.max_bounces + 1):
        tubes, whole, _ = frames_of_the_yard(most)
        rows.append(f"{most}: {tubes} tubes, {1e3 * whole:.0f} ms")
    return "; ".join(rows)


FIGURES: dict[str, Callable[[RayScene], str]] = {
    call.__name__: call for call in (noise, nearest, detection, speeds, mirrors, stages, bounces)
}


def main(names: list[str]) -> None:
    """Print the figures of some names, or of all."""
    with RayScene(smallest_scene(), threads=2) as rays:
        for name in names or FIGURES:
            print(f"{name}: {FIGURES[name](rays)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
