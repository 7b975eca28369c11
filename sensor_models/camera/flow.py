"""Optical flow and scene flow of a camera's frames, with masks (``kernels.camera.flow``).

Forward flow leads from a frame to what the camera sees one interval later, backward flow to one
earlier. A frame is complete when the later states are known. Before the start of a run everything
stands still, and the index says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.depth.camera import matrices_of
from sensor_models.core.quantities import ParameterError, boolean, check, choice, real, string
from sensor_models.kernels.camera.flow import follow
from sensor_models.kernels.camera.ways import Lens, Track
from sensor_models.light.spectra import is_metal, nearest_numbers
from sensor_models.output.flows import FlowFile, FlowFormat
from sensor_models.output.images import ImageFile
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Material, Scene, SurfaceKind
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

#: A coat as smooth as this, of a metal, counts as a mirror.
MIRROR_ROUGHNESS = 0.01


class FlowFrame(IntEnum):
    """The frame of the vectors of scene flow."""

    sensor = 0
    world = 1


@dataclass(frozen=True)
class FlowParameters:
    """Parameters: which flow is computed."""

    forward: bool = boolean(False, "Make the optical flow to one interval later, with its mask")
    backward: bool = boolean(False, "Make the optical flow to one interval earlier, with its mask")
    scene: bool = boolean(False, "Make the motion in m of what is seen to one interval later")
    interval: float = real(
        0.0, "s", "Between the instants; 0 takes the period of sample_rate",
        minimum=0.0, maximum=10.0,
    )  # fmt: skip
    tolerance: float = real(
        0.0, "m", "How much nearer what hides a point must be; 0: a thousandth of its distance",
        minimum=0.0,
    )  # fmt: skip
    frame: FlowFrame = choice(FlowFrame.sensor, "Frame of the vectors of scene flow")
    format: FlowFormat = choice(
        FlowFormat.npy, "Kind of file of optical flow that is written besides npy"
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def on(self) -> bool:
        """Whether any of it is made."""
        return self.forward or self.backward or self.scene

    def needs(self, interval: float) -> dict[str, float]:
        """How long after and before a frame the camera must be known."""
        ahead = interval if self.forward or self.scene else 0.0
        return {"ahead": ahead, "back": interval if self.backward else 0.0}

    def interval_at(self, rate: float) -> float:
        """The time between the instants at a sampling rate."""
        if self.on and self.interval == 0.0 and rate == 0.0:
            raise ParameterError(
                "flow.interval = 0.0 s takes the period of sample_rate, which is 0 Hz: allowed "
                "with that is more than 0 s"
            )
        return self.interval or (1.0 / rate if rate > 0.0 else 0.0)


@dataclass(frozen=True)
class FlowFileOutput:
    """The optical flow of the newest frame."""

    file: str = string(
        "", "Path of the optical flow to one interval later; flow_mask.npy is its mask"
    )


class FirstHits(NamedTuple):
    """The first surface that each pixel sees, (rows, columns)."""

    distance: NDArray[np.float32]  # along the ray, inf for nothing
    owner: NDArray[np.int32]
    material: NDArray[np.int32]


class Instants(NamedTuple):
    """Camera and bodies over a frame at one of its two instants."""

    poses: Floats  # of the camera, (1 or rows, 12)
    bodies: MovingBodies | None


class Flow(NamedTuple):
    """The flow of a frame, and its mask."""

    flow: NDArray[np.float32]  # (rows, columns, 2)
    scene: NDArray[np.float32]  # (rows, columns, 3), or of size 0
    mask: NDArray[np.uint8]


def flow_between(
    rays: RayScene,
    lens: Lens,
    axes: Floats,
    hits: FirstHits,
    now: Instants,
    then: Instants,
    own: FlowParameters,
    *,
    scene_flow: bool = False,
) -> Flow:
    """The flow from one instant to another; ``axes`` are the rays of the pixels' middles."""
    rows, columns = hits.distance.shape
    if axes.shape != (rows, columns, 3):  # the kernel trusts it
        raise ValueError(f"the rays are {axes.shape}, the pixels {hits.distance.shape}")
    found = Flow(
        np.empty((rows, columns, 2), np.float32),
        np.empty((rows, columns, 3) if scene_flow else (0, 0, 3), np.float32),
        np.empty((rows, columns), np.uint8),
    )
    rays.run(
        follow,
        lens,
        _track(rays, axes, now, then, own),
        np.ascontiguousarray(hits.distance, np.float32).reshape(-1),
        np.ascontiguousarray(hits.owner, np.int32).reshape(-1),
        np.ascontiguousarray(hits.material, np.int32).reshape(-1),
        found.flow.reshape(-1),
        found.scene.reshape(-1, 3),
        found.mask.reshape(-1),
        bodies=then.bodies,
    )
    return found


def _track(
    rays: RayScene, axes: Floats, now: Instants, then: Instants, own: FlowParameters
) -> Track:
    """Camera and bodies of a frame as the kernel takes them."""
    bodies = [_poses_of(rays, instants.bodies) for instants in (now, then)]
    knots = max(map(len, bodies))
    before, after = (np.repeat(b, knots, axis=0) if len(b) < knots else b for b in bodies)
    moves = (before != after).any(axis=(0, 2))
    body = rays.view.body_of
    there = (body >= 0) & np.append(moves, False)[body]
    stays = np.array_equal(now.poses[:, 9:], then.poses[:, 9:])
    return Track(
        rows=axes.shape[0],
        columns=axes.shape[1],
        axes=np.ascontiguousarray(axes.reshape(-1)),
        now=np.ascontiguousarray(now.poses),
        then=np.ascontiguousarray(then.poses),
        times=np.linspace(0.0, 1.0, len(now.poses)) if len(now.poses) > 1 else np.zeros(1),
        bodies_now=np.ascontiguousarray(before),
        bodies_then=np.ascontiguousarray(after),
        moving=np.where(there, body, -1).astype(np.int32),
        some_move=bool(there.any()),
        looks_back=not stays or bool(there.any()),
        shows_others=shows_others(rays.scene),
        in_world=own.frame == FlowFrame.world,
        tolerance=own.tolerance,
    )


def _poses_of(rays: RayScene, bodies: MovingBodies | None) -> Floats:
    """Poses of bodies as kernels take them, (knots, bodies, 12)."""
    if bodies is None:  # where the scene has them
        return rays.view.bodies.poses
    turns = matrices_of(bodies.poses[..., 3:7])
    return np.concatenate([turns.reshape(*turns.shape[:2], 9), bodies.poses[..., :3]], axis=-1)


def shows_others(scene: Scene) -> NDArray[np.uint8]:
    """For each material, whether it shows something behind or before it: glass, or a mirror.

    The last entry, 0, is that of rays that hit nothing. If no material shows anything else, there
    are no entries at all.
    """
    shows = [_shows_others(material) for material in scene.materials]
    return np.array([*shows, False] if any(shows) else [], np.uint8)


def _shows_others(material: Material) -> bool:
    """Whether it is clear, or a mirror."""
    if material.kind is SurfaceKind.dielectric:
        return True
    numbers = nearest_numbers(material)
    return is_metal(material) and numbers.roughness_beckmann < MIRROR_ROUGHNESS


def flows_of(
    rays: RayScene,
    lens: Lens,
    axes: Floats,
    hits: FirstHits,
    now: Instants,
    at: Callable[[float], Instants],
    own: FlowParameters,
    interval: float,
) -> tuple[Any, ...]:
    """The files of the flow of a frame; ``at`` says where all is some time after it."""
    forward = backward = None
    if own.forward or own.scene:
        then = at(interval)
        forward = flow_between(rays, lens, axes, hits, now, then, own, scene_flow=own.scene)
    if own.backward:
        backward = flow_between(rays, lens, axes, hits, now, at(-interval), own)
    return flow_files(own, forward, backward)


def flow_files(own: FlowParameters, forward: Flow | None, backward: Flow | None) -> tuple[Any, ...]:
    """The files of a frame's flow."""
    files: list[Any] = []
    for name, found, wanted in (
        ("flow", forward, own.forward),
        ("flow_backward", backward, own.backward),
    ):
        if found is None or not (wanted or own.scene):
            continue
        if wanted:
            files.append(ImageFile(name, found.flow, unit="px"))
            if own.format != FlowFormat.npy:
                files.append(FlowFile(name, found.flow, found.mask, own.format))
        files.append(ImageFile(f"{name}_mask", found.mask))
        if found.scene.size:
            files.append(ImageFile("scene_flow", found.scene, unit="m"))
    return tuple(files)
