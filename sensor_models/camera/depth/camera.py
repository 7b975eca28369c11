"""Depth camera: distances, points, what is seen and its normals, of one camera or many at once.

A batch is an array of body poses of any shape, such as (environment, sensor); every output has
that shape before its rows and columns. All cameras of a ``DepthCamera`` have the same optics and
noise terms, but draws of their own: camera n of the batch counts on through the pixels. The first
one has the draws that it has alone.

Rolling shutter: each row may have a pose of its own (``camera.shutter``), and what a row holds
in the sensor frame is in that of its own instant. Movable bodies of the scene are seen where they
are at the instant of each row, if the caller tells (``moving``).

What a frame holds (module ``kernels.camera.depth`` has the equations):

image      depth or range after noise, limits and normalisation
metres     the same in m, where ``image`` is normalised
distance   range along the ray after noise; NaN for no reading within the limits
points     distance times the pixel's unit ray, NaN likewise: as in organised clouds elsewhere.
           GYM gives points at the far limit instead; the image tells such pixels apart.
entity, label, face   of the surface within max_range, -1 for none, whatever the noise
normal     of the face, toward the sensor, zeros for none; in the frame of the points

Not modelled: light and texture, so stereo matches and time-of-flight returns everywhere; several
paths of the light; motion blur.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.camera.depth.parameters import (
    DepthCameraParameters,
    ImageNoiseParameters,
    NormalizeMode,
    Projection,
    ZoneTarget,
)
from sensor_models.camera.depth.rays import lens_of, pixel_rays
from sensor_models.core.frames import SHORTEST, MountParameters
from sensor_models.core.placement import FramePlacementParameters, draw_placement, draw_placements
from sensor_models.core.quantities import NO_LIMIT, ParameterError
from sensor_models.core.random import stream_key
from sensor_models.kernels.camera import depth as kernel
from sensor_models.kernels.camera import layout as layout
from sensor_models.kernels.camera.ways import Lens
from sensor_models.light.spectra import nearest_numbers
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import SurfaceKind
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import Pose, pose_of

Floats = NDArray[np.float64]

#: Names of the random streams, in the order of the kernel's keys.
TERMS = ("noise.disparity", "noise.multiplier", "noise.dropout", "noise.edge", "noise.rms")
#: Least reflectance that counts for noise; darker targets return hardly less than that.
DARKEST = 0.01
#: Wavelength of the light that sensors of time of flight send, m.
LIGHT = 940e-9


class Frame(NamedTuple):
    """The outputs of one or many cameras, (..., rows, columns); None for what is off."""

    image: NDArray[np.float32] | None = None  # depth or range, m, or normalised
    metres: NDArray[np.float32] | None = None  # the same before it is normalised
    distance: NDArray[np.float32] | None = None  # m along the ray, NaN where there is none
    points: NDArray[np.float32] | None = None  # (..., rows, columns, 3)
    entity: NDArray[np.int32] | None = None  # -1 for none
    label: NDArray[np.int32] | None = None  # semantic label, -1 for none
    face: NDArray[np.int32] | None = None  # index of the face in its mesh
    normal: NDArray[np.float32] | None = None  # (..., rows, columns, 3)
    met: NDArray[np.float32] | None = None  # true distance of the first surface, inf for none
    owner: NDArray[np.int32] | None = None  # of its facet
    material: NDArray[np.int32] | None = None  # of that facet
    status: NDArray[np.int32] | None = None  # a ``ZoneStatus``


#: Kind and further axes of each output.
_LAYOUT: dict[str, tuple[Any, tuple[int, ...]]] = {
    "image": (np.float32, ()),
    "metres": (np.float32, ()),
    "distance": (np.float32, ()),
    "points": (np.float32, (3,)),
    "entity": (np.int32, ()),
    "label": (np.int32, ()),
    "face": (np.int32, ()),
    "normal": (np.float32, (3,)),
    "met": (np.float32, ()),
    "owner": (np.int32, ()),
    "material": (np.int32, ()),
    "status": (np.int32, ()),
}


class DepthCamera:
    """One kind of camera with its mount, its noise and its random streams."""

    def __init__(
        self,
        parameters: DepthCameraParameters | None = None,
        noise: ImageNoiseParameters | None = None,
        mount: MountParameters | None = None,
        placement: FramePlacementParameters | None = None,
        *,
        seed: int = 0,
        identity: str = "DepthCamera",
        distances: bool = False,
        first_hits: bool = False,
    ) -> None:
        """``distances`` makes ``distance`` and ``status``, which no parameter of GYM's asks for.

        It also makes ``metres``, if the image is normalised.

        ``first_hits`` makes ``met``, ``owner`` and ``material``, with one ray a pixel.
        """
        self.parameters = parameters or DepthCameraParameters()
        self.noise = noise or ImageNoiseParameters()
        self.mount = mount or MountParameters()
        self.placement = placement or FramePlacementParameters()
        own = self.parameters
        if self.noise.on and self.noise.is_stereo and own.projection != Projection.pinhole:
            raise ParameterError("noise.disparity needs a pinhole, whose rays have a disparity")
        self._wanted = {
            "image": own.return_image,
            "points": own.return_pointcloud,
            "face": own.return_faces,
            "normal": own.return_normals,
            **dict.fromkeys(("distance", "status"), distances),
            "metres": distances and own.return_image and own.normalize_range,
            **dict.fromkeys(("entity", "label"), own.segmentation),
            **dict.fromkeys(("met", "owner", "material"), first_hits),
        }
        self._axes = pixel_rays(own)[:, :, 0].reshape(-1, 3)
        self._directions = self._axes
        if own.rays_per_side > 1:
            self._directions = pixel_rays(own, own.rays_per_side).reshape(-1, 3)
        self._keys = np.array([stream_key(seed, identity, term) for term in TERMS])
        self._placing = stream_key(seed, identity, "placement")
        self.resets = 0

    @property
    def axes(self) -> Floats:
        """Unit rays through the middles of the pixels in the sensor frame, (rows, columns, 3)."""
        return self._axes.reshape(self.parameters.height, self.parameters.width, 3)

    @property
    def lens(self) -> Lens:
        """The lens of a pinhole."""
        return lens_of(self.parameters)

    @property
    def reach(self) -> float:
        """How far it sees, m."""
        return self.parameters.max_range

    def reset(self) -> None:
        """Begin anew: a random placement is drawn again."""
        self.resets += 1

    def mount_at(self, frame: int, camera: int = 0) -> MountParameters:
        """Where a camera sits on its body when it takes a frame."""
        if not self.placement.on:
            return self.mount
        return draw_placement(self.placement, self._placing, self._draw_of(frame), camera)

    def _mounts(self, cameras: int, frame: int) -> Floats:
        """Where the cameras of a batch sit on their bodies, (cameras, 7), or (1, 7) for all."""
        if not self.placement.on:
            return np.array([[*self.mount.position, *self.mount.orientation]])
        return draw_placements(self.placement, self._placing, self._draw_of(frame), cameras)

    def _draw_of(self, frame: int) -> int:
        """The number of the draw of a random placement."""
        return frame if self.placement.every_frame else self.resets

    def sensor_pose(self, body: ArrayLike, frame: int = 0) -> Pose:
        """Position and quaternion of one sensor in the world, of the pose of its body."""
        return pose_of(self.mount_at(frame), body)

    def capture(
        self,
        rays: RayScene | Sequence[RayScene],
        bodies: ArrayLike,
        frame: int = 0,
        *,
        rolling: bool = False,
        moving: MovingBodies | None = None,
        out: Frame | None = None,
    ) -> Frame:
        """Take a frame with every camera.

        Args:
            rays: the scene, or one for each entry of the first axis of ``bodies``.
            bodies: poses of the bodies, (..., 7): position, quaternion w, x, y, z. With
                ``rolling``, (..., rows, 7).
            frame: number of the frame, which the draws of noise go by.
            rolling: whether each row has its own pose, the rows evenly over the read-out.
            moving: where movable bodies of the scenes are during the read-out; None for where
                they were committed.
            out: an earlier frame of as many cameras, to be written over.
        """
        poses = np.asarray(bodies, float)
        shape = poses.shape[: -2 if rolling else -1]
        of_row = self._check_poses(poses, rolling)
        cameras = int(np.prod(shape, dtype=int))
        placed = self.placed(poses.reshape(cameras, of_row, 7), frame)
        result = self._new_frame(shape) if out is None else self._fitting(out, shape)
        images = self._images(result, cameras)
        scenes = [rays] if isinstance(rays, RayScene) else list(rays)
        if len(scenes) > 1 and (not shape or len(scenes) != shape[0]):
            raise ParameterError(f"{len(scenes)} scenes do not fit poses of the shape {shape}")
        share = cameras // len(scenes)
        for number, scene in enumerate(scenes):
            part = slice(number * share, (number + 1) * share)
            arrays: list[Any] = [array[part] for array in images]
            first = number * share
            self._render(scene, placed[part], frame, first, layout.Images(*arrays), moving)
        return result

    def _render(
        self,
        scene: RayScene,
        poses: Floats,
        frame: int,
        first: int,
        images: layout.Images,
        moving: MovingBodies | None,
    ) -> None:
        task, times = self._task(first, len(poses), frame), np.linspace(0.0, 1.0, poses.shape[1])
        lines = layout.Rays(self._directions, self._axes, poses, times)
        growths = self._growths(scene)
        scene.run(kernel.render, task, lines, self._keys, images, growths, bodies=moving)
        if images.truth.size:
            scene.pool.run(kernel.drop_edges, task, lines, self._keys, images)

    def _growths(self, scene: RayScene) -> Floats:
        """By how much noise is larger on each material of a scene; empty if on none."""
        reference = self.noise.reflectance
        if not self.noise.on or reference == 0.0:
            return np.empty(0)
        growths: Floats = np.ones(len(scene.scene.materials))
        for place, material in enumerate(scene.scene.materials):
            if material.at_wavelength and material.kind != SurfaceKind.dielectric:
                numbers = nearest_numbers(material, LIGHT)
                if numbers.extinction == 0.0:  # metals mirror instead
                    darkness = max(numbers.diffuse_reflectance, DARKEST)
                    growths[place] = math.sqrt(reference / darkness)
        return growths

    def _task(self, first: int, cameras: int, frame: int) -> layout.Task:
        own, noise = self.parameters, self.noise
        on = float(noise.on)
        ways = {NormalizeMode.max: layout.BY_MAX, NormalizeMode.minmax: layout.BY_LIMITS}
        return layout.Task(
            first=first,
            cameras=cameras,
            rows=own.height,
            columns=own.width,
            rays=own.rays_per_side**2,
            separation=math.inf if own.zone_target == ZoneTarget.mean else own.zone_separation,
            strongest=own.zone_target == ZoneTarget.strongest,
            frame=int(frame),
            depth=own.takes_depth,
            in_world=own.pointcloud_in_world_frame,
            normalise=ways[own.normalize_mode] if own.normalize_range else layout.AS_IT_IS,
            least=own.min_range,
            most=own.max_range,
            near=own.near_value,
            far=own.max_range if own.far_value == NO_LIMIT else own.far_value,
            pixel_metres=self.noise.baseline * own.focal_lengths[0] if noise.is_stereo else 0.0,
            disparity_sigma=on * noise.disparity_sigma,
            disparity_step=on * noise.disparity_step,
            multiplier=on * noise.multiplier,
            far_multiplier=on * noise.far_multiplier,
            far_from=noise.far_from if noise.far_multiplier > 0.0 else math.inf,
            rms=on * noise.rms,
            bias=on * noise.bias,
            scale_error=on * noise.scale_error,
            dropout=on * noise.dropout,
            edge_dropout=on * noise.edge_dropout,
            edge_jump=noise.edge_jump,
            sees_all=self._wanted["met"],
        )

    def _check_poses(self, poses: Floats, rolling: bool) -> int:
        """How many poses a camera has in a frame."""
        rows = self.parameters.height
        fits = poses.ndim >= 1 and poses.shape[-1] == 7
        if not fits or (rolling and (poses.ndim < 2 or poses.shape[-2] != rows)):
            wanted = f"(..., {rows}, 7)" if rolling else "(..., 7)"
            raise ParameterError(f"poses of shape {poses.shape} are not {wanted}")
        lengths = np.linalg.norm(poses[..., 3:], axis=-1)
        if not (np.isfinite(poses).all() and (lengths >= SHORTEST).all()):
            raise ParameterError(
                "a pose is not finite or its quaternion has no direction, allowed are x, y, z and "
                f"a quaternion w, x, y, z with a length of at least {SHORTEST:g}"
            )
        return rows if rolling else 1

    def placed(self, poses: Floats, frame: int) -> Floats:
        """Poses of the sensors as the kernel takes them, (cameras, rows or 1, 12)."""
        mounts = self._mounts(len(poses), frame)
        position = mounts[:, None, :3, None]
        turn = matrices_of(mounts[:, None, 3:])
        of_bodies = matrices_of(poses[..., 3:])
        placed = np.empty((*poses.shape[:2], 12))
        placed[..., :9] = (of_bodies @ turn).reshape(*poses.shape[:2], 9)
        placed[..., 9:] = poses[..., :3] + (of_bodies @ position)[..., 0]
        return placed

    def _new_frame(self, shape: tuple[int, ...]) -> Frame:
        size = (*shape, self.parameters.height, self.parameters.width)
        return Frame(
            **{
                name: np.empty((*size, *_LAYOUT[name][1]), _LAYOUT[name][0])
                for name, wanted in self._wanted.items()
                if wanted
            }
        )

    def _fitting(self, frame: Frame, shape: tuple[int, ...]) -> Frame:
        size = (*shape, self.parameters.height, self.parameters.width)
        for name, wanted in self._wanted.items():
            array, (kind, more) = getattr(frame, name), _LAYOUT[name]
            fits = (array is not None) == wanted
            if fits and wanted:
                fits = array.shape == (*size, *more) and array.dtype == kind
                fits = fits and array.flags.c_contiguous
            if not fits:
                raise ValueError(f"out.{name} is not of a frame of cameras of the shape {shape}")
        return frame

    def _images(self, frame: Frame, cameras: int) -> layout.Images:
        pixels = self.parameters.height * self.parameters.width
        arrays: dict[str, Any] = {}
        for name, (kind, more) in _LAYOUT.items():
            array = getattr(frame, name)
            arrays[name] = (
                np.empty((0, pixels, *more), kind)
                if array is None
                else array.reshape(cameras, pixels, *more)
            )
        edges = cameras if self.noise.on and self.noise.edge_dropout > 0.0 else 0
        return layout.Images(**arrays, truth=np.empty((edges, pixels), np.float32))


def matrices_of(quaternions: Floats) -> Floats:
    """Rotation matrices of quaternions of any length, (..., 4) to (..., 3, 3)."""
    unit = quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(unit, -1, 0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    matrices: Floats = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    return matrices
