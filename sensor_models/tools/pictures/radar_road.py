"""A road as a ray-traced radar sees it, with its ghosts and its lobes beside theory.

On the left, a frame on a road of asphalt between a guard rail of steel and a wall of concrete, with
two cars ahead. Crosses are where image theory has ghosts of the cars: each mirrored at the rail and
at the wall, at that range (there and back over the mirror) and half way (there straight and back
over the mirror).

On the right, a metal sphere over the same asphalt, dry and wet, at 12 to 30 m: the power of its
peak in the cube, by the default rays without noise, against the four ways of image theory, each at
its own length in the cell of range.
"""

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.radar.windows import kernel_at
from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    FieldParameters,
    Mimo,
    RayTracedParameters,
    TracingParameters,
)
from sensor_models.radar.ray_traced import Image, Motion, RayTracedRadar
from sensor_models.radar.targets import Detector, RadarTarget
from sensor_models.radar.waveform import Radio
from sensor_models.scene.manifest import load_scene, scene_folder
from sensor_models.scene.model import (
    Instance,
    Material,
    Mesh,
    RadarParameters,
    Scene,
    SurfaceKind,
    SurfaceParameters,
)
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

AHEAD = np.array([1.0, 0.0, 0.0, 0.0])
#: Height of the radar over the road, m.
HEIGHT = 0.5
#: Where rail and wall are, to the left, and the cars with the speeds of their closing.
RAIL, WALL = 4.0, -5.5
CARS = ((16.0, 1.2, 4.0), (24.0, -2.4, -3.0))
SIDE, LENGTH = 7.0, 46.0
RADIUS, OF_BALL = 0.1, 0.5
#: Indices n - j k of asphalt, dry and under a film of water.
INDICES = {"dry": 1.96 - 0.077j, "wet": 4.0 - 1.5j}

ROAD = """
format = 1
name = "road"
description = "A road between a guard rail and a wall"

[materials.acrylic_red]
base = "acrylic"
color = [0.75, 0.05, 0.05]

[labels]
window = 1

[meshes.road]
plane = {{ size = [60, 24] }}
material = "asphalt"

[meshes.rail]
box = {{ size = [46, 0.08, 0.31] }}
material = "steel"

[meshes.post]
box = {{ size = [0.1, 0.06, 0.75] }}
material = "steel"

[meshes.wall]
box = {{ size = [46, 0.3, 3] }}
material = "concrete"

[meshes.car]
file = "{car}"
parts.paint = {{ material = "paint_silver" }}
parts.glass = {{ label = "window" }}

[[instances]]
mesh = "road"
position = [25, 0, 0]

[[instances]]
mesh = "rail"
position = [24, {rail}, 0.6]

[[instances]]
mesh = "wall"
position = [24, {wall}, 1.5]
"""
POST = """
[[instances]]
mesh = "post"
position = [{x}, {y}, 0.375]
"""
CAR = """
[[bodies]]
name = "car_{number}"
position = [{x}, {y}, 0]

[[instances]]
mesh = "car"
body = "car_{number}"
entity_id = {number}
"""


def draw_road() -> Any:
    """The frame, and lobes over the ground."""
    from matplotlib.figure import Figure

    figure = Figure((12.5, 5.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
    _draw_frame(left)
    _draw_lobes(right)
    return figure


# ---- the road ------------------------------------------------------------------------------------


def road() -> Scene:
    """The road, of a manifest that is written for it."""
    rail, wall = RAIL, WALL - 0.15
    text = ROAD.format(car=(scene_folder("yard") / "car.glb").as_posix(), rail=rail, wall=wall)
    text += "".join(POST.format(x=x, y=rail + 0.1) for x in range(2, 47, 4))
    text += "".join(CAR.format(number=n + 1, x=x, y=y) for n, (x, y, _) in enumerate(CARS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.toml"
        path.write_text(text, encoding="utf-8")
        return load_scene(path, allow_outside=True)


def road_frame() -> tuple[Radio, Image, list[RadarTarget]]:
    """A frame on the road."""
    own = RayTracedParameters(
        antenna=AntennaParameters(mimo=Mimo.ideal), tracing=TracingParameters(max_targets=40)
    )
    radar, scene = RayTracedRadar(own, seed=1, identity="picture"), road()
    bodies = np.array([[*body.position, *body.orientation] for body in scene.bodies])
    moves = np.zeros((len(bodies), 6))
    moves[:, 0] = [-speed for _, _, speed in CARS]
    motion = Motion(np.array([0.0, 0.0, HEIGHT]), AHEAD, np.zeros(3), bodies, moves)
    with RayScene(scene) as rays:
        image = radar.image(rays, motion, 0)
        return radar.radio, image, Detector(own, radar.radio).targets(rays, image)


def ghosts(x: float, y: float) -> list[tuple[float, float]]:
    """Where image theory has ghosts of what is at a place: to the left, and ahead."""
    found, straight = [], math.hypot(x, y)
    for mirror in (RAIL - 0.04, WALL):
        image = 2.0 * mirror - y
        over = math.hypot(x, image)
        half = 0.5 * (straight + over)
        sine = 0.5 * (y / straight + image / over)  # of the array, for there and back
        found += [(image, x), (half * sine, half * math.sqrt(1.0 - sine * sine))]
    return found


def _draw_frame(axes: Any) -> None:
    radio, image, targets = road_frame()
    sines = np.linspace(-0.8, 0.8, 241)
    k = 2.0 * math.pi / radio.wavelength
    steering = np.exp(1j * k * np.outer(radio.virtual[:, 0], sines)) * radio.weights[:, np.newaxis]
    power = (np.abs(image.cube @ steering) ** 2).max(axis=1)
    ranges = np.arange(len(power)) * radio.range_cell
    x, y = np.outer(ranges, np.sqrt(1.0 - sines**2)), np.outer(ranges, sines)
    level = 10.0 * np.log10(np.maximum(power, 1e-30) / 1e-3)
    mesh = axes.pcolormesh(
        y, x, level, vmax=level.max(), vmin=level.max() - 65.0, cmap="viridis", shading="gouraud"
    )
    for target in targets:
        place = target.range * math.sin(target.azimuth), target.range * math.cos(target.azimuth)
        moves = abs(target.speed) > 1.0
        axes.plot(*place, "o", mfc="none", mec="red" if moves else "white", ms=7)
        if moves:
            axes.annotate(f"{target.speed:.1f}", place, color="red", fontsize=8)
    axes.axvline(RAIL, color="white", lw=0.8)
    axes.axvline(WALL, color="white", lw=0.8, ls="--")
    for cx, cy, _ in CARS:
        axes.add_patch(_outline(cx, cy))
        places = np.array(ghosts(cx - 2.2, cy))
        axes.plot(places[:, 0], places[:, 1], "x", color="orange", ms=7)
    axes.set(xlabel="to the left (m)", ylabel="ahead (m)", xlim=(16, -16), ylim=(0, 36))
    axes.set_title("Rail (line), wall (dashed), cars; crosses: ghosts by image theory")
    axes.figure.colorbar(mesh, ax=axes, label="strongest of all speeds (dBm)")


def _outline(x: float, y: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((y - 0.9, x - 2.2), 1.8, 4.4, fill=False, ec="white", lw=0.8)


# ---- lobes ---------------------------------------------------------------------------------------


def ball_over(index: complex) -> tuple[Scene, Mesh]:
    """A ball on a body over a ground of an index, and its mesh."""
    wavelength = 299792458.0 / 77e9
    numbers = RadarParameters(ior=index.real, extinction=-index.imag)
    light = {905e-9: SurfaceParameters()}
    ground = Material("ground", SurfaceKind.lambert, light, at_radar={wavelength: numbers})
    targets = load_scene("radar_range")
    ball = next(i for i in targets.instances if i.entity_id == 4)
    mesh = targets.meshes[ball.mesh]
    metal = targets.materials[int(mesh.face_material[0])]
    far = np.array([[1, -6, 0], [50, -6, 0], [50, 6, 0], [1, 6, 0]], np.float32)
    faces = np.array([[0, 1, 2], [0, 2, 3]], np.uint32)
    meshes = (
        Mesh(far, faces, np.zeros(2, np.int32)),
        Mesh(mesh.vertices, mesh.faces, np.ones(len(mesh.faces), np.int32)),
    )
    instances = Instance(0, np.eye(4), 1), Instance(1, np.eye(4), 2, body=0)
    return Scene("lobes", meshes, instances, (ground, metal), bodies=targets.bodies[:1]), mesh


def lobes(index: complex, distances: Floats) -> Floats:
    """The power of the peak of a ball over a ground, by the power of the ball alone, in dB."""
    found = []
    own = RayTracedParameters(
        antenna=AntennaParameters(pattern="isotropic"),
        fov=FieldParameters(0.02, 0.12),
        tracing=TracingParameters(noise=False),
    )
    radar = RayTracedRadar(own)
    scene, _ = ball_over(index)
    with RayScene(scene) as rays:
        for distance in distances:
            bodies = np.array([[distance, 0.0, OF_BALL, *AHEAD]])
            place = np.array([0.0, 0.0, HEIGHT])
            motion = Motion(place, AHEAD, np.zeros(3), bodies, np.zeros((1, 6)))
            cube, _ = radar.synthesise(rays, radar.trace(rays, motion, 0))
            near = int(distance / radar.radio.range_cell) + np.arange(-4, 5)
            power = float((np.abs(cube[near, 0, 0]) ** 2).max())
            unit = radar.radio.received(math.pi * RADIUS**2, distance)
            found.append(10.0 * math.log10(power / unit))
    return np.array(found)


def lobes_of_theory(radio: Radio, index: complex, distances: Floats) -> Floats:
    """The same by the four ways of image theory, each in the cells at its own range."""
    found = []
    for distance in distances:
        centre, k = np.array([distance, OF_BALL]), 2.0 * math.pi / radio.wavelength
        stations = np.array([[0.0, HEIGHT], [0.0, -HEIGHT]])
        ways = []
        for one, of_one in zip(stations, (False, True), strict=True):
            for other, of_other in zip(stations, (False, True), strict=True):
                point = _mirrored_at(one, other, centre)
                there, back = (float(np.linalg.norm(s - point)) for s in (one, other))
                factor = 1.0 + 0j
                for station, is_image in ((one, of_one), (other, of_other)):
                    if is_image:
                        factor *= _fresnel(index, point - station)
                spread = there * back + 0.5 * RADIUS * (there + back)
                ways.append((factor * distance**2 / spread, there + back))
        first = int(distance / radio.range_cell)
        cells = []
        for cell in range(first - 4, first + 5):
            total = 0j
            for amplitude, length in ways:
                window = int(radio.window.range)
                shape = kernel_at(
                    window, radio.chirp.samples, 0.5 * length / radio.range_cell - cell
                )
                total += amplitude * shape * np.exp(1j * k * length)
            cells.append(abs(total) ** 2)
        found.append(10.0 * math.log10(max(cells)))
    return np.array(found)


def _mirrored_at(one: Floats, other: Floats, centre: Floats) -> Floats:
    """The point of the ball that a wave from one place to another is mirrored at."""
    point = centre
    for _ in range(20):
        toward = [s - point for s in (one, other)]
        normal: Floats = np.sum([way / np.linalg.norm(way) for way in toward], axis=0)
        point = centre + RADIUS * normal / np.linalg.norm(normal)
    return point


def _fresnel(index: complex, way: Floats) -> complex:
    """The factor of the ground for upright fields."""
    sine = float(way[1] / np.linalg.norm(way))
    square = index * index
    root = np.sqrt(square - 1.0 + sine * sine)
    return complex((square * sine - root) / (square * sine + root))


def _draw_lobes(axes: Any) -> None:
    radio = RayTracedRadar(RayTracedParameters()).radio
    fine, some = np.linspace(12.0, 30.0, 721), np.linspace(12.0, 30.0, 91)
    for number, (name, index) in enumerate(INDICES.items()):
        lift = -40.0 * number
        theory, found = lobes_of_theory(radio, index, fine), lobes(index, some)
        axes.plot(fine, theory + lift, lw=0.8, color="grey", label=None if number else "theory")
        axes.plot(some, found + lift, ".", ms=4, label=f"rays, {name} asphalt" + (
            f", {lift:.0f} dB" if lift else ""
        ))  # fmt: skip
    axes.set(xlabel="distance (m)", ylabel="power, by that of the sphere alone (dB)")
    axes.set_ylim(-90, 15)
    axes.set_title("A sphere of 0.1 m radius, 0.5 m over the road, radar at 0.5 m")
    axes.legend(loc="lower left")
    axes.grid(alpha=0.3)
