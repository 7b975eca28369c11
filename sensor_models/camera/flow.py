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

from sensor_models.camera.depth import matrices_of
from sensor_models.core.quantities import ParameterError, boolean, check, choice, real, string
from sensor_models.kernels.camera import flow as kernel
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
    """What of flow is made."""

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
    """What pixels see first, (rows, columns)."""

    distance: NDArray[np.float32]  # along the ray, inf for nothing
    owner: NDArray[np.int32]
    material: NDArray[np.int32]


class Instants(NamedTuple):
    """Camera and bodies over a frame at one of its two instants."""

    poses: Floats  # of the camera, (1 or rows, 12)
    bodies: MovingBodies | None


class Flow(NamedTuple):
    """What comes out."""

    flow: NDArray[np.float32]  # (rows, columns, 2)
    scene: NDArray[np.float32]  # (rows, columns, 3), or of size 0
    mask: NDArray[np.uint8]


def flow_between(
    rays: RayScene,
    lens: kernel.Lens,
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
    knots_now, knots_then = _poses_of(now.bodies), _poses_of(then.bodies)
    knots = max(len(knots_now), len(knots_then))
    knots_now, knots_then = (np.resize(k, (knots, *k.shape[1:])) for k in (knots_now, knots_then))
    still = np.array_equal(now.poses, then.poses) and np.array_equal(knots_now, knots_then)
    track = kernel.Track(
        rows=rows,
        columns=columns,
        axes=np.ascontiguousarray(axes.reshape(-1, 3)),
        now=np.ascontiguousarray(now.poses),
        then=np.ascontiguousarray(then.poses),
        times=np.linspace(0.0, 1.0, len(now.poses)) if len(now.poses) > 1 else np.zeros(1),
        bodies_now=np.ascontiguousarray(knots_now),
        bodies_then=np.ascontiguousarray(knots_then),
        in_world=own.frame == FlowFrame.world,
        tolerance=own.tolerance,
        is_still=bool(still),
    )
    body = bodies_of(rays, hits.owner).reshape(-1)
    if knots_now.shape[1] == 0:  # nobody says where bodies are: they stand still
        body = np.full_like(body, -1)
    found = Flow(
        np.empty((rows, columns, 2), np.float32),
        np.empty((rows, columns, 3) if scene_flow else (0, 0, 3), np.float32),
        np.empty((rows, columns), np.uint8),
    )
    rays.run(
        kernel.follow,
        lens,
        track,
        np.ascontiguousarray(hits.distance.reshape(-1), np.float32),
        body,
        see_through(rays.scene)[hits.material.reshape(-1)],
        found.flow.reshape(-1, 2),
        found.scene.reshape(-1, 3),
        found.mask.reshape(-1),
        bodies=then.bodies,
    )
    return found


def _poses_of(bodies: MovingBodies | None) -> Floats:
    """Poses of bodies as kernels take them, (knots, bodies, 12)."""
    if bodies is None:
        return np.zeros((1, 0, 12))
    turns = matrices_of(bodies.poses[..., 3:7])
    return np.concatenate([turns.reshape(*turns.shape[:2], 9), bodies.poses[..., :3]], axis=-1)


def bodies_of(rays: RayScene, owner: NDArray[np.int32]) -> NDArray[np.int32]:
    """The bodies that facets are on, by their owners; -1 for none."""
    known = np.append(rays.view.body_of, np.int32(-1)).astype(np.int32)
    return np.ascontiguousarray(known[owner])


def see_through(scene: Scene) -> NDArray[np.uint8]:
    """Of each material whether it shows something else, 1 or 0; then 0 for none."""
    shows = [_shows_others(material) for material in scene.materials]
    return np.array([*shows, False], np.uint8)


def _shows_others(material: Material) -> bool:
    """Whether it is clear, or a mirror."""
    if material.kind is SurfaceKind.dielectric:
        return True
    numbers = nearest_numbers(material)
    return is_metal(material) and numbers.roughness_beckmann < MIRROR_ROUGHNESS


def flows_of(
    rays: RayScene,
    lens: kernel.Lens,
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


def load_flow(rays: RayScene, moving: MovingBodies) -> None:
    """Compile or load what flow needs."""
    lens = kernel.Lens(1.0, 1.0, 0.5, 0.5, False, False, (0.0,) * 8)
    hits = FirstHits(
        np.ones((1, 1), np.float32), np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int32)
    )
    pose = np.array([[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    place = Instants(pose, moving)
    axes = np.array([[1.0, 0.0, 0.0]])
    flow_between(rays, lens, axes, hits, place, place, FlowParameters())


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
