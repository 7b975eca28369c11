"""The pictures of ``docs/ccd_camera.md``.

``python -m sensor_models.tools.pictures.ccd_command FOLDER`` writes them all: the yard at noon, at
dusk and in fog, and all included scenes so; without and with vignetting and distortion; by a
rolling shutter; its flow in the usual colours; the crossing by its heat; and plates with all maps.
The camera has its defaults but for its lens, and sees with several rays a pixel.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import (
    LightParameters,
    OpticsParameters,
    PictureParameters,
    Shutter,
)
from sensor_models.camera.ccd.thermal import ThermalOutput, ThermalParameters
from sensor_models.camera.flow import FirstHits, FlowParameters, Instants, flow_between
from sensor_models.scene.manifest import load_scene, manifest_path, read_manifest
from sensor_models.scene.model import Medium, Scene
from sensor_models.scene.schema import SkyTable
from sensor_models.scene.sky import sky_of
from sensor_models.scene.tracing import RayScene
from sensor_models.scene.weather import absorption_by_visibility
from sensor_models.tools.pictures.map_plates import plates
from sensor_models.tools.pictures.view import (
    Camera,
    daylight,
    is_lit,
    pose_of,
    save_png,
    whole_scene,
)

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

VIEW = Camera((-14.0, -22.0, 8.4), (1.6, 0.6, 1.2), math.radians(62.0))
LOW = Camera((-12.0, -10.0, 1.6), (2.0, 4.0, 1.6), math.radians(70.0))
SIZE = 480, 320
#: The included scenes, and the size of each of their small pictures.
SCENES = (
    "yard", "street_canyon", "crossing", "corridor", "bush_and_wall", "targets", "radar_range",
)  # fmt: skip
SMALL = 220, 150


def at_noon(scene: Scene) -> Scene:
    """A clear day, with the sun where the manifest has it, or high."""
    return scene if is_lit(scene.sky) else replace(scene, sky=daylight(scene.sky))


def at_dusk(scene: Scene) -> Scene:
    """The sun three degrees above the horizon."""
    sky = sky_of(SkyTable(preset="clear", sun_direction=(0.45, -0.62, 0.04)))
    return replace(scene, sky=sky)


def in_fog(scene: Scene) -> Scene:
    """A visibility of 60 m under clouds."""
    fog = Medium("fog", absorption=absorption_by_visibility(60.0))
    sky = sky_of(SkyTable(preset="overcast", sun_direction=(0.45, -0.62, 0.64)))
    return replace(scene, sky=sky, media=(fog, *scene.media[1:]))


def taken(scene: Scene, view: Camera, size: tuple[int, int], samples: int) -> Pixels:
    """What the camera with its defaults makes of a scene."""
    focal = size[0] / (2.0 * math.tan(view.field_of_view / 2.0))
    camera = CcdCamera(
        OpticsParameters(
            width=size[0], height=size[1], intrinsics=(focal, focal, 0.0, 0.0),
            sample_factor=samples,
        )
    )  # fmt: skip
    with RayScene(scene) as rays:
        return developed(camera, rays, pose_of(view))


def of_all_scenes(_: Scene) -> Pixels:
    """Each included scene in a row: at noon, at dusk, in fog."""
    rows = []
    for name in SCENES:
        scene, view = load_scene(name), view_of(name)
        lights = (at_noon(scene), at_dusk(scene), in_fog(scene))
        rows.append(np.concatenate([taken(lit, view, SMALL, 3) for lit in lights], axis=1))
    return np.concatenate(rows)


def view_of(name: str) -> Camera:
    """The view that the manifest of a scene has."""
    table = read_manifest(manifest_path(name)).view
    if table is None:
        return whole_scene(load_scene(name))
    return Camera(table.position, table.target, math.radians(table.field_of_view_deg))


def camera_of(vignetting: float, bend: float) -> CcdCamera:
    """A camera of 60 degrees."""
    focal = SIZE[0] / (2.0 * math.tan(math.radians(30.0)))
    optics = OpticsParameters(
        width=SIZE[0], height=SIZE[1], intrinsics=(focal, focal, 0.0, 0.0), vignetting=vignetting,
        distortion=(bend, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), sample_factor=2,
    )  # fmt: skip
    return CcdCamera(optics, PictureParameters(exposure_time=0.3))


def developed(camera: CcdCamera, rays: RayScene, poses: Floats) -> Pixels:
    """A picture of 8 bits."""
    seen = camera.expose(rays, poses)
    colors = camera.colors(seen.light, camera.day(rays))
    return camera.develop(rays.pool, seen.light, 0, colors=colors)[0].astype(np.uint8)


def of_a_lens(scene: Scene) -> Pixels:
    """A plain picture beside one with vignetting and distortion."""
    cameras = camera_of(0.0, 0.0), camera_of(150.0, -0.25)
    with RayScene(scene) as rays:
        pictures = [developed(camera, rays, pose_of(LOW)) for camera in cameras]
    return np.concatenate(pictures, axis=1)


def of_heat(_: Scene) -> Pixels:
    """The crossing at dusk, and by what its surfaces send by themselves, from -5 to 35 °C."""
    scene, view = load_scene("crossing"), view_of("crossing")
    light = taken(at_dusk(scene), view, SIZE, 2)
    thermal = ThermalParameters(
        on=True, output=ThermalOutput.temperature, temperature=(268.15, 308.15), netd=0.05
    )
    focal = SIZE[0] / (2.0 * math.tan(view.field_of_view / 2.0))
    optics = OpticsParameters(
        width=SIZE[0], height=SIZE[1], intrinsics=(focal, focal, 0.0, 0.0), sample_factor=2
    )
    camera = CcdCamera(optics, PictureParameters(bands=1), thermal=thermal)
    with RayScene(scene) as rays:
        heat = developed(camera, rays, pose_of(view))
    return np.concatenate([light, np.repeat(heat, 3, axis=2)], axis=1)


def of_maps(_: Scene) -> Pixels:
    """Plates with maps of roughness and metal, of normals, and of light."""
    view = Camera((0.0, -6.0, 1.9), (0.0, 0.0, 1.05), math.radians(64.0))
    return taken(plates(), view, (640, 256), 3)


def turned(pose: Floats, yaw: float) -> Floats:
    """A pose turned about the vertical."""
    cosine, sine = math.cos(yaw), math.sin(yaw)
    about = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    result = pose.copy()
    result[0, :9] = (about @ pose[0, :9].reshape(3, 3)).ravel()
    return result


def of_a_rolling_shutter(scene: Scene) -> Pixels:
    """By a camera that turns by 8 degrees while its rows are read."""
    picture = PictureParameters(exposure_time=0.3, shutter=Shutter["rolling"], line_time=1e-4)
    camera = camera_of(0.0, 0.0)
    camera = CcdCamera(camera.optics, picture)
    angles = np.linspace(-math.radians(4.0), math.radians(4.0), 65)
    poses = np.concatenate([turned(pose_of(LOW), angle) for angle in angles])
    with RayScene(scene) as rays:
        return developed(camera, rays, poses)


def of_flow(scene: Scene) -> Pixels:
    """The flow of half a metre ahead and 2 degrees to the left; hidden pixels are black."""
    camera = camera_of(0.0, 0.0)
    camera = CcdCamera(replace(camera.optics, sample_factor=1), light=LightParameters(rays=1))
    now = pose_of(LOW)
    then = turned(now, math.radians(2.0))
    then[0, 9:] += 0.5 * now[0, [0, 3, 6]]
    with RayScene(scene) as rays:
        seen = camera.expose(rays, now)
        hits = FirstHits(seen.distance, seen.owner, seen.material)
        found = flow_between(
            rays, camera.flow_lens(), camera.axes(), hits,
            Instants(now, None), Instants(then, None), FlowParameters(),
        )  # fmt: skip
    colors = flow_colors(found.flow)
    colors[(found.mask == 1) | (found.mask == 2)] = 0
    return colors


def flow_colors(flow: NDArray[np.float32]) -> Pixels:
    """Flow as colours: the hue is its direction, the saturation its share of the longest."""
    length = np.hypot(flow[..., 0], flow[..., 1])
    share = length / max(float(length.max()), 1e-9)
    hue = np.arctan2(-flow[..., 1], -flow[..., 0]) / (2.0 * math.pi) + 0.5
    parts = [
        np.clip(np.abs((6.0 * hue + shift) % 6.0 - 3.0) - 1.0, 0.0, 1.0) for shift in (0, 4, 2)
    ]
    full = np.stack(parts, axis=-1)
    picture: Pixels = np.rint(255.0 * (1.0 - share[..., None] * (1.0 - full))).astype(np.uint8)
    return picture


PICTURES = {
    "noon": lambda scene: taken(at_noon(scene), VIEW, SIZE, 3),
    "dusk": lambda scene: taken(at_dusk(scene), VIEW, SIZE, 3),
    "fog": lambda scene: taken(in_fog(scene), VIEW, SIZE, 3),
    "scenes": of_all_scenes,
    "lens": of_a_lens,
    "rolling": of_a_rolling_shutter,
    "flow": of_flow,
    "thermal": of_heat,
    "maps": of_maps,
}


def written(folder: Path, only: Sequence[str] = ()) -> Iterator[Path]:
    """Write all pictures, or some."""
    scene = load_scene("yard")
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        if only and name not in only:
            continue
        file = folder / f"{name}.png"
        save_png(make(scene), file)
        yield file


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures to a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=(), help="these pictures")
    given = parser.parse_args(arguments)
    for file in written(given.folder, given.only):
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
