"""Grain of pictures of the yard, with light that neighbours share and without.

``python -m tests.bench.grain`` writes the table of ``docs/ccd_camera.md``: the rms difference in
8-bit sRGB from a picture whose points each send 1,024 rays, at 1024 x 768, of the whole picture,
and of materials as far as they are ``INSIDE`` pixels from what is not of them. The last column is
the mean light of all pixels of a material, of ``FRAMES`` pictures with sharing over that of the
truth. Two or three minutes.

``python -m tests.bench.grain 0`` to ``5`` does the same in some seconds for one of ``CUTS``, parts
of that picture where grain shows: cars, leaves, walls in shade, panes. The truth has 512 rays then,
and the mean light of the part with sharing over that of the truth is told as well. A second number
is ``light.rays`` of the picture with sharing, 16 else.
"""

import math
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.camera import CcdCamera, Seen
from sensor_models.camera.ccd.parameters import LightParameters, OpticsParameters, Sharing
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.camera.test_ccd_mitsuba import looking

EYE, TARGET, ANGLE = np.array([-14.0, -22.0, 8.4]), np.array([1.6, 0.6, 1.2]), 62.0
SIZE, INSIDE, FEWEST, FRAMES = (1024, 768), 8, 500, 4
#: Left column, top row, width and height.
CUTS = (
    (260, 430, 220, 130), (590, 270, 210, 150), (430, 130, 200, 130), (700, 560, 140, 100),
    (860, 330, 164, 110), (0, 470, 100, 150),
)  # fmt: skip
Floats = NDArray[np.float64]


class Taken(NamedTuple):
    """A picture, its light, its exposure, and the material in the middle of each pixel."""

    numbers: Floats
    light: NDArray[np.float32]
    exposure: float
    material: NDArray[np.int32]


def camera_of(size: tuple[int, int], light: LightParameters) -> CcdCamera:
    """The camera of all these pictures."""
    focal = size[0] / 2.0 / np.tan(np.radians(ANGLE / 2.0))
    optics = OpticsParameters(width=size[0], height=size[1], intrinsics=(focal, focal, 0.0, 0.0))
    return CcdCamera(optics, light=light)


def taken(
    camera: CcdCamera, rays: RayScene, pose: Floats, frame: int = 0, exposure: float = 0.0
) -> Taken:
    """A picture; its exposure follows the light if none is given."""
    seen, time, numbers = made(camera, rays, pose, frame, exposure)
    return Taken(numbers.astype(float), seen.light, time, seen.material)


def made(
    camera: CcdCamera, rays: RayScene, pose: Floats, frame: int = 0, exposure: float = 0.0
) -> tuple[Seen, float, NDArray[np.uint16]]:
    """A picture as a camera makes it: what is seen, the exposure, and digital numbers."""
    seen = camera.expose(rays, pose, frame)
    colors = camera.colors(seen.light, camera.day(rays))
    time = exposure or camera.auto_exposure().goal(camera.level_rate(seen.light, colors))
    return seen, time, camera.develop(rays.pool, seen.light, frame, time, colors)[0]


class Grain(NamedTuple):
    """The grain of a part of the picture, with shared light and without; the ratio of means."""

    shared: float
    alone: float
    mean: float


def grain(size: tuple[int, int]) -> dict[str, Grain]:
    """Of the whole picture (""), and of materials by their names."""
    pose, alone = looking(EYE, TARGET), Sharing.none
    with RayScene(load_scene("yard")) as rays:
        truth = taken(camera_of(size, LightParameters(rays=1024, sharing=alone)), rays, pose)
        camera = camera_of(size, LightParameters(sharing=Sharing.neighbours))
        frames = [taken(camera, rays, pose, 1 + k, truth.exposure) for k in range(FRAMES)]
        camera = camera_of(size, LightParameters(sharing=alone))
        own = taken(camera, rays, pose, 1, truth.exposure)
        names = [material.name for material in rays.scene.materials]
    squares = [squared_error(each.numbers, truth.numbers) for each in (frames[0], own)]
    light = np.mean([each.light for each in frames], axis=0, dtype=float)
    parts = {"": np.ones(truth.material.shape[:2], bool)}
    parts |= {name: truth.material == k for k, name in enumerate(names)}
    found = {}
    for name, part in parts.items():
        inner = inside(part) if name else part
        if part.sum() >= FEWEST:
            mean = float(light[part].sum() / truth.light[part].sum(dtype=float))
            found[name] = Grain(rms(squares[0], inner), rms(squares[1], inner), mean)
    return found


def cut_of(cut: tuple[int, int, int, int], light: LightParameters) -> CcdCamera:
    """The camera of a part of the picture."""
    left, top, width, height = cut
    whole = camera_of(SIZE, light)
    camera = CcdCamera(replace(whole.optics, width=width, height=height), light=light)
    rays = whole.directions.reshape(SIZE[1], SIZE[0], 3)
    rays = rays[top : top + height, left : left + width].reshape(-1, 3)
    camera.directions = np.ascontiguousarray(rays)
    return camera


def grain_in(cut: tuple[int, int, int, int], count: int = 16) -> tuple[float, float, float]:
    """In a part of the picture: grain with shared light and without, and the ratio of the means."""
    pose, (left, top, width, height) = looking(EYE, TARGET), cut
    with RayScene(load_scene("yard")) as rays:
        whole = camera_of(SIZE, LightParameters(rays=count, sharing=Sharing.neighbours))
        seen = whole.expose(rays, pose, 1).light
        colors = whole.colors(seen, whole.day(rays))
        time = whole.auto_exposure().goal(whole.level_rate(seen, colors))
        part = seen[top : top + height, left : left + width]
        camera = cut_of(cut, LightParameters(rays=512, sharing=Sharing.none))
        truth = camera.expose(rays, pose, 3).light
        alone = cut_of(cut, LightParameters(sharing=Sharing.none)).expose(rays, pose, 1).light
        numbers = [
            camera.develop(rays.pool, light, 0, time, colors)[0].astype(float)
            for light in (part, alone, truth)
        ]
    everywhere = np.ones((height, width), bool)
    shared, own = (rms(squared_error(each, numbers[2]), everywhere) for each in numbers[:2])
    return shared, own, float(part.sum(dtype=float) / truth.sum(dtype=float))


def squared_error(one: Floats, other: Floats) -> Floats:
    """The mean over colours of the squared difference, by pixel."""
    difference = (one - other) ** 2
    return difference.mean(axis=-1) if difference.ndim == 3 else difference


def rms(squares: Floats, part: NDArray[np.bool_]) -> float:
    """The root of the mean over some pixels; not a number if there are none."""
    return float(np.sqrt(squares[part].mean())) if part.any() else math.nan


def inside(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The pixels whose neighbourhood is all in a mask."""
    for axis in (0, 1):
        shifted = [np.roll(mask, shift, axis) for shift in range(-INSIDE, INSIDE + 1)]
        mask = np.logical_and.reduce(shifted)
    return mask


def main() -> None:
    """Write the table, or what one of the parts has."""
    if len(sys.argv) > 1:
        cut, *count = map(int, sys.argv[1:])
        print("{:.2f} {:.2f} {:.4f}".format(*grain_in(CUTS[cut], *count)), flush=True)
        return
    for name, found in grain(SIZE).items():
        numbers = f"{found.shared:6.2f} {found.alone:6.2f} {found.mean:7.4f}"
        print(f"{name or 'whole picture':20s} {numbers}", flush=True)


if __name__ == "__main__":
    main()
