"""Grain of pictures of the yard, with light that neighbours share and without.

``python -m tests.bench.grain`` writes the table of ``docs/ccd_camera.md``: the rms difference in
8-bit sRGB from a picture whose points each send 1,024 rays, at 1024 x 768, of the whole picture,
and of materials as far as they are ``INSIDE`` pixels from what is not of them. A minute or two.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import LightParameters, OpticsParameters, Sharing
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.camera.test_ccd_mitsuba import looking

EYE, TARGET, ANGLE = np.array([-14.0, -22.0, 8.4]), np.array([1.6, 0.6, 1.2]), 62.0
SIZE, INSIDE, FEWEST = (1024, 768), 8, 500
Floats = NDArray[np.float64]


class Taken(NamedTuple):
    """A picture, its exposure, and the material in the middle of each pixel."""

    numbers: Floats
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
    seen = camera.expose(rays, pose, frame)
    colors = camera.colors(seen.light, camera.day(rays))
    time = exposure or camera.auto_exposure().goal(camera.level_rate(seen.light, colors))
    numbers = camera.develop(rays.pool, seen.light, frame, time, colors)[0].astype(float)
    return Taken(numbers, time, seen.material)


def grain(size: tuple[int, int]) -> dict[str, tuple[float, float]]:
    """With shared light and without: of the whole picture (""), and of materials by their names."""
    pose, alone = looking(EYE, TARGET), Sharing.none
    with RayScene(load_scene("yard")) as rays:
        truth = taken(camera_of(size, LightParameters(rays=1024, sharing=alone)), rays, pose)
        squares = [
            squared_error(
                taken(
                    camera_of(size, LightParameters(sharing=kind)), rays, pose, 1, truth.exposure
                ).numbers,
                truth.numbers,
            )
            for kind in (Sharing.neighbours, alone)
        ]
        names = [material.name for material in rays.scene.materials]
    parts = {"": np.ones(truth.material.shape[:2], bool)}
    parts |= {name: inside(truth.material == k) for k, name in enumerate(names)}
    return {
        name: (rms(squares[0], part), rms(squares[1], part))
        for name, part in parts.items()
        if part.sum() >= FEWEST
    }


def squared_error(one: Floats, other: Floats) -> Floats:
    """The mean over colours of the squared difference, by pixel."""
    difference = (one - other) ** 2
    return difference.mean(axis=-1) if difference.ndim == 3 else difference


def rms(squares: Floats, part: NDArray[np.bool_]) -> float:
    """The root of the mean over some pixels."""
    return float(np.sqrt(squares[part].mean()))


def inside(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The pixels whose neighbourhood is all in a mask."""
    for axis in (0, 1):
        shifted = [np.roll(mask, shift, axis) for shift in range(-INSIDE, INSIDE + 1)]
        mask = np.logical_and.reduce(shifted)
    return mask


def main() -> None:
    """Write the table."""
    for name, (shared, alone) in grain(SIZE).items():
        print(f"{name or 'whole picture':20s} {shared:6.2f} {alone:6.2f}", flush=True)


if __name__ == "__main__":
    main()
