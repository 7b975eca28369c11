"""Pictures of radars: ``python -m sensor_models.radar DIRECTORY`` draws those of ``docs/radar.md``.

``yard.png``   a frame in the yard: power over range and speed, and over the ground, with targets. A
               car comes from a wall, which shows it a second time behind itself.
``plate.png``  the cross section of a plate that turns, against its closed form.
``road.png``   a road with its ghosts and lobes beside theory (``radar_road``).
``cone.png``   what a cone radar finds from above, with the line to the nearest point.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.radar.cone import ConeRadar
from sensor_models.radar.obstacles import obstacles_of
from sensor_models.radar.parameters import ConeParameters
from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    Mimo,
    RayTracedParameters,
    TracingParameters,
)
from sensor_models.radar.ray_traced import Image, Motion, RayTracedRadar
from sensor_models.radar.targets import Detector, RadarTarget
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.pictures.radar_road import draw_road

Floats = NDArray[np.float64]

AHEAD = np.array([1.0, 0.0, 0.0, 0.0])
#: Below the strongest, what is still drawn, in dB.
DEPTH = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw all pictures into a directory."""
    parser = argparse.ArgumentParser(prog="python -m sensor_models.radar", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the pictures go")
    folder = parser.parse_args(arguments).directory
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {"yard": draw_yard, "plate": draw_plate, "cone": draw_cone, "road": draw_road}
    for name, draw in pictures.items():
        figure = draw()
        figure.savefig(folder / f"{name}.png", dpi=80)
        print(folder / f"{name}.png")
    return 0


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure((width, height), layout="constrained")


# ---- the yard ------------------------------------------------------------------------------------


def yard_frame(scene: Scene) -> tuple[RayTracedRadar, Motion, Image, list[RadarTarget]]:
    """A frame in the yard: the red car comes from the eastern wall."""
    own = RayTracedParameters(
        antenna=AntennaParameters(mimo=Mimo.ideal),
        tracing=TracingParameters(max_targets=40),
    )
    radar = RayTracedRadar(own, seed=1, identity="picture")
    bodies = np.array([[*body.position, *body.orientation] for body in scene.bodies])
    moves = np.zeros((len(bodies), 6))
    bodies[0, :2], moves[0, 0] = (11.0, 7.0), -6.0
    place, turn = np.array([3.0, 1.0, 0.8]), np.array([math.cos(0.12), 0.0, 0.0, math.sin(0.12)])
    motion = Motion(place, turn, np.zeros(3), bodies, moves)
    with RayScene(scene) as rays:
        image = radar.image(rays, motion, 0)
        targets = Detector(own, radar.radio).targets(rays, image)
    return radar, motion, image, targets


def draw_yard() -> Any:
    """Power over range and speed, and from above."""
    scene = load_scene("yard")
    radar, _, image, targets = yard_frame(scene)
    figure = _figure(11.0, 5.0)
    left, right = figure.subplots(1, 2)
    _range_and_speed(left, radar, image, targets)
    _from_above(right, radar, image, targets)
    return figure


def _level(power: Floats) -> Floats:
    found: Floats = 10.0 * np.log10(np.maximum(power, 1e-30) / 1e-3)
    return found


def _range_and_speed(
    axes: Any, radar: RayTracedRadar, image: Image, targets: list[RadarTarget]
) -> None:
    radio = radar.radio
    power = (np.abs(image.cube).astype(float) ** 2).mean(axis=2)
    level = _level(np.fft.fftshift(power, axes=1))[:, ::-1]
    speed, half = radio.fastest, 0.5 * radio.speed_cell
    edges = (-speed + half, speed + half, -0.5 * radio.range_cell, radio.farthest)
    shown = axes.imshow(
        level, origin="lower", aspect="auto", extent=edges, vmax=level.max(),
        vmin=level.max() - DEPTH, cmap="viridis",
    )  # fmt: skip
    axes.plot(
        [t.speed for t in targets], [t.range for t in targets], "o", mfc="none", mec="white", ms=7
    )
    axes.set(xlabel="speed, closing (m/s)", ylabel="range (m)", ylim=(0, 30), xlim=(-12, 12))
    axes.set_title("Range and speed; rings: targets")
    axes.figure.colorbar(shown, ax=axes, label="power of a cell (dBm)")


def _from_above(axes: Any, radar: RayTracedRadar, image: Image, targets: list[RadarTarget]) -> None:
    """The strongest of all speeds, by range and azimuth."""
    radio = radar.radio
    sines = np.linspace(-0.9, 0.9, 181)
    k = 2.0 * math.pi / radio.wavelength
    steering = np.exp(1j * k * np.outer(radio.virtual[:, 0], sines)) * radio.weights[:, np.newaxis]
    power = (np.abs(image.cube @ steering) ** 2).max(axis=1)
    ranges = np.arange(len(power)) * radio.range_cell
    x, y = np.outer(ranges, np.sqrt(1.0 - sines**2)), np.outer(ranges, sines)
    level = _level(power)
    mesh = axes.pcolormesh(
        y, x, level, vmax=level.max(), vmin=level.max() - DEPTH, cmap="viridis", shading="gouraud"
    )
    for target in targets:
        place = target.range * math.sin(target.azimuth), target.range * math.cos(target.azimuth)
        moves = abs(target.speed) > 1.0
        axes.plot(*place, "o", mfc="none", mec="red" if moves else "white", ms=7)
        if moves:
            axes.annotate(f"{target.speed:.1f}", place, color="red", fontsize=8)
    axes.set(xlabel="to the left (m)", ylabel="ahead (m)", xlim=(15, -15), ylim=(0, 30))
    axes.set_aspect("equal")
    axes.set_title("From above; red: moving targets, m/s")
    axes.figure.colorbar(mesh, ax=axes, label="strongest of all speeds (dBm)")


# ---- a plate on a turntable ----------------------------------------------------------------------


def plate_sections(angles: Floats, distance: float) -> Floats:
    """Cross sections of the plate of ``radar_range`` by the list of targets, NaN for none."""
    strong = AntennaParameters(transmit_power=15.8)  # far lobes are below the thresholds else
    own = RayTracedParameters(antenna=strong, tracing=TracingParameters(noise=False))
    radar = RayTracedRadar(own)
    detector = Detector(own, radar.radio)
    found = np.full(len(angles), np.nan)
    scene = load_scene("radar_range")
    with RayScene(scene) as rays:
        for place, angle in enumerate(angles):
            bodies = np.tile([-100.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (len(scene.bodies), 1))
            bodies[0] = [distance, 0, 0, math.cos(0.5 * angle), 0, 0, math.sin(0.5 * angle)]
            motion = Motion(np.zeros(3), AHEAD, np.zeros(3), bodies, np.zeros((len(bodies), 6)))
            targets = detector.targets(rays, radar.image(rays, motion, place))
            if targets:
                found[place] = targets[0].rcs
    return found


def draw_plate() -> Any:
    """The cross section of a plate over its angle."""
    angles, side, distance = np.radians(np.linspace(-40.0, 40.0, 161)), 0.1, 30.0
    wavelength = 299792458.0 / 77e9
    fine = np.radians(np.linspace(-40.0, 40.0, 4001))
    x = 2.0 * side / wavelength * np.sin(fine)
    closed = 4.0 * math.pi * side**4 / wavelength**2 * (np.cos(fine) * np.sinc(x)) ** 2
    found = plate_sections(angles, distance)
    figure = _figure(8.0, 4.2)
    axes = figure.subplots()
    axes.plot(np.degrees(fine), 10.0 * np.log10(closed + 1e-9), lw=0.8, label="closed form")
    axes.plot(np.degrees(angles), 10.0 * np.log10(found), ".", ms=5, label="list of targets")
    axes.set(xlabel="angle of the plate (deg)", ylabel="cross section (dBsm)", ylim=(-45, 22))
    axes.set_title("Plate of 0.1 m at 30 m, 77 GHz, 30 dB more power, without noise")
    axes.legend()
    axes.grid(alpha=0.3)
    return figure


# ---- the cone ------------------------------------------------------------------------------------


def draw_cone() -> Any:
    """What a cone radar finds in the yard, from above."""
    scene = load_scene("yard")
    obstacles = obstacles_of(scene, ignored=["ground", "road"])
    own = ConeParameters(length=20.0)
    bodies = np.array([[*body.position, *body.orientation] for body in scene.bodies])
    body = (-12.0, -4.0, 1.0, *AHEAD)
    found = ConeRadar(own).detect(obstacles, body, bodies, 0.0)
    figure = _figure(7.0, 5.0)
    axes = figure.subplots()
    half = own.length * math.tan(0.5 * own.h_angle)
    axes.plot([0, half, -half, 0], [0, own.length, own.length, 0], color="grey", label="cone")
    for number, target in enumerate(found.targets):
        x, y, _ = target.point
        axes.plot(y, x, "o", color="tab:red" if number == 0 else "tab:blue")
        axes.annotate(str(target.entity_id), (y, x), xytext=(4, 4), textcoords="offset points")
    x, y, _ = found.targets[0].point
    axes.plot([0, y], [0, x], color="tab:red", label=f"nearest: {found.targets[0].range:.2f} m")
    axes.set(xlabel="to the left (m)", ylabel="ahead (m)", xlim=(10, -10))
    axes.set_aspect("equal")
    axes.set_title("Nearest points of obstacles, by their entity ids")
    axes.legend()
    return figure
