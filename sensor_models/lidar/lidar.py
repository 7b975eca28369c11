"""Lidar: rays of a scan pattern through a scene, and the points that they make.

A ``Lidar`` knows its pattern, its optics, its errors and where it sits on its body. ``capture``
takes a whole frame from one pose. ``scan`` makes some columns of a frame from poses at knots, for
sensors that move while they scan; ``lidar.sweep`` decides which are due. What the kernel is given
are four structures: the scan (when and where rays go), the path (what light meets), the detector
and the output. ``kernels.lidar.scan`` has the steps of a ray, ``kernels.light.tree`` its tree.

A frame is a ``CloudBuffer`` (``output.points``): room for the returns of all rays, with a count for
each ray. Its ``points()`` are those that there are, ray by ray. Positions in the world are relative
to its ``shift``, unless they are float64.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.frames import MountParameters
from sensor_models.core.random import stream_key
from sensor_models.kernels.lidar import layout
from sensor_models.kernels.lidar import scan as kernel
from sensor_models.kernels.light import media as medium_kernel
from sensor_models.kernels.light import surfaces as surface_kernel
from sensor_models.kernels.light.paths import LIMITS, Path
from sensor_models.lidar.least import Least, greatest_strength, least_of
from sensor_models.lidar.parameters import (
    OF_SCENE,
    AmbientParameters,
    IntensityKind,
    LidarNoiseParameters,
    LidarParameters,
    OutputFrame,
    PathConvention,
    ScanMode,
)
from sensor_models.lidar.patterns import PatternParameters, ScanPattern, make_pattern
from sensor_models.lidar.walk import RAYS, WalkParameters, walk_table
from sensor_models.light.beam import BeamParameters, pack_beam
from sensor_models.light.media import absorption_by_extinction, pack_media
from sensor_models.light.surfaces import pack_materials
from sensor_models.light.tabulated import lidar_tables
from sensor_models.output.points import CloudBuffer
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Medium, Scene, SurfaceKind
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import poses_of
from sensor_models.threads.pool import Work

Floats = NDArray[np.float64]

#: Names of the random streams, in the order of the kernel's keys.
TERMS = ("noise.distance", "noise.azimuth", "noise.elevation", "ambient.return", "detection")

#: Of those, the one that says which rays a medium answers goes with the path.
ECHO_TERM = TERMS.index("ambient.return")

#: Positions in the world are relative to a point of a grid so wide, that nearest to the sensor:
#: the origin, as a rule. Within 8 km of it float32 is good to a quarter of a millimetre.
SHIFT_STEP = 10_000.0

#: Knots of a rolling frame; more, where the pattern has more columns, up to the second number.
FEWEST_KNOTS, MOST_KNOTS = 256, 2048


class Met(NamedTuple):
    """What the rays of a lidar meet in a scene, the first fields of a ``Path``."""

    surfaces: Floats  # of the materials
    media: Floats  # of the scene, then the insides of the materials
    medium_of_volume: NDArray[np.int32]
    tables: Floats  # of surfaces that are tables


class Lidar:
    """One kind of lidar with its pattern, its mount and its random streams."""

    def __init__(
        self,
        parameters: LidarParameters | None = None,
        pattern: PatternParameters | ScanPattern | None = None,
        beam: BeamParameters | None = None,
        noise: LidarNoiseParameters | None = None,
        ambient: AmbientParameters | None = None,
        mount: MountParameters | None = None,
        *,
        walk: WalkParameters | None = None,
        seed: int = 0,
        identity: str = "Lidar",
        rate: float = 0.0,
    ) -> None:
        """``rate`` is that of frames in Hz; 0: one for each step of a master."""
        self.parameters = parameters or LidarParameters()
        self.beam = beam or BeamParameters()
        self.noise = noise or LidarNoiseParameters()
        self.ambient = ambient or AmbientParameters()
        self.mount = mount or MountParameters()
        duration = 1.0 / rate if rate > 0.0 else 0.0
        self.pattern = (
            pattern
            if isinstance(pattern, ScanPattern)
            else make_pattern(pattern or PatternParameters(), duration)
        )
        self._shape = pack_beam(self.beam)
        self._beam = self._shape.copy()
        if not self.parameters.beam_on:
            self._beam[:2] = 0.0  # neither spread nor width: the factor is 1
        self._cone = float(np.tan(0.5 * self.parameters.acceptance(self.beam)) ** 2)
        self._keys = np.array([stream_key(seed, identity, term) for term in TERMS])
        self.walk = walk or WalkParameters()
        self._walk = walk_table(self.walk, beam_spread(RAYS, 1.0)[:, 0])
        self._spread = beam_spread(self.parameters.subrays, self.beam.divergence_half_angle)
        self._materials: tuple[Scene, Met, Least] | None = None
        self._angles: tuple[int, Floats, NDArray[np.float32], NDArray[np.float32]] | None = None

    @property
    def rays(self) -> int:
        """Rays of a frame."""
        return self.pattern.rows * self.pattern.columns

    @property
    def nothing_saved(self) -> Mapping[str, NDArray[Any]]:
        """The arrays of a saved state in which no frame is begun."""
        return {}

    @property
    def rolls(self) -> bool:
        """Whether each ray of a frame is sent at its own time."""
        return self.parameters.scan_mode == ScanMode.rolling

    @property
    def spans(self) -> int:
        """Stretches between the knots of a rolling frame."""
        return min(max(self.pattern.columns, FEWEST_KNOTS), MOST_KNOTS)

    def new_cloud(self, *, normals: bool = True, wide: bool = False) -> CloudBuffer:
        """Room for a frame, with room for normals and with float64 positions where wanted."""
        return CloudBuffer(self.rays, self.parameters.returns, normals=normals, wide=wide)

    def capture(
        self,
        scene: RayScene,
        body: ArrayLike,
        frame: int = 0,
        time: float = 0.0,
        *,
        duration: float = 0.0,
        out: CloudBuffer | None = None,
    ) -> CloudBuffer:
        """Take a frame from one pose of the body: position, quaternion w, x, y, z.

        ``duration`` spreads the time stamps of the points, not the poses.
        """
        cloud = self.new_cloud() if out is None else out
        cloud.clear()
        poses = poses_of(self.mount, np.asarray(body, float).reshape(1, -1))
        self.scan(scene, poses, frame, (time, duration), (0, self.pattern.columns), cloud)
        return cloud

    def scan(
        self,
        scene: RayScene,
        poses: Floats,
        frame: int,
        times: tuple[float, float],
        columns: tuple[int, int],
        cloud: CloudBuffer,
        bodies: MovingBodies | None = None,
    ) -> None:
        """Make some columns of a frame.

        Args:
            scene: what to see.
            poses: of the sensor, (knots, 12), evenly over the frame; one for a sensor at rest.
            frame: number of the frame, which the draws of noise go by.
            times: start and duration of the frame in s.
            columns: the first, and the one after the last.
            cloud: where the points go.
            bodies: where the movable bodies are meanwhile; None for where they are.
        """
        self.begin(scene, poses, frame, times, columns, cloud, bodies).end()

    def begin(
        self,
        scene: RayScene,
        poses: Floats,
        frame: int,
        times: tuple[float, float],
        columns: tuple[int, int],
        cloud: CloudBuffer,
        bodies: MovingBodies | None = None,
    ) -> Work:
        """As ``scan``, but other threads make the columns until somebody waits for them.

        Until then, the cloud must not be changed, nor the poses at the times of the columns.
        """
        if columns[0] >= columns[1]:
            return Work.done()
        scan = self._scan(scene, poses, frame, columns, bodies)
        output = self._output(cloud, scan, times)
        path, detector = self._path(scene.scene, frame), self._detector(frame)
        work = scene.begin(
            kernel.make_columns,
            path,
            scan,
            detector,
            output,
            bodies=bodies,
            threads=len(output.nearest),
        )
        rays = slice(columns[0] * scan.rows, columns[1] * scan.rows)
        work.afterwards = partial(_count, cloud, output, rays)
        return work

    def _scan(
        self,
        scene: RayScene,
        poses: Floats,
        frame: int,
        columns: tuple[int, int],
        bodies: MovingBodies | None,
    ) -> layout.Scan:
        directions, azimuth, elevation = self._angles_of(frame)
        inside = np.full((len(poses), len(scene.scene.volumes)), -1, np.int32)
        if inside.size:
            part = self._knots_of(columns, len(poses))
            times = np.linspace(0.0, 1.0, len(poses))[part]
            inside[part] = scene.volumes_at(poses[part, 9:], bodies=bodies, times=times)
        return layout.Scan(
            rows=self.pattern.rows,
            first=int(columns[0]),
            last=int(columns[1]),
            directions=directions,
            azimuth=azimuth,
            elevation=elevation,
            offset=self.pattern.offset,
            ring=self.pattern.ring,
            spread=self._spread,
            poses=poses,
            inside=inside,
            sigma_azimuth=self.noise.azimuth_sigma,
            sigma_elevation=self.noise.elevation_sigma,
        )

    def _knots_of(self, columns: tuple[int, int], knots: int) -> slice:
        """The knots at or before the times of the rays of some columns."""
        rays = slice(columns[0] * self.pattern.rows, columns[1] * self.pattern.rows)
        offsets = self.pattern.offset[rays]
        return slice(int(offsets.min() * (knots - 1)), int(offsets.max() * (knots - 1)) + 1)

    def _angles_of(self, frame: int) -> tuple[Floats, NDArray[np.float32], NDArray[np.float32]]:
        number = 0 if self.pattern.repeats else frame
        if self._angles is None or self._angles[0] != number:
            azimuth, elevation = self.pattern.angles(number)
            self._angles = (
                number,
                np.ascontiguousarray(self.pattern.directions(number)),
                azimuth.astype(np.float32),
                elevation.astype(np.float32),
            )
        return self._angles[1:]

    def expect(self, scene: Scene) -> Met:
        """What rays of this lidar meet in a scene.

        ``ParameterError`` if a material or a medium of it knows nothing of the wavelength.
        """
        if self._materials is None or self._materials[0] is not scene:
            met, own = self._tables_of(scene), self.parameters
            strength = greatest_strength(met.surfaces, met.media, met.tables, self._cone)
            self._materials = scene, met, least_of(own, self._beam, strength)
        return self._materials[1]

    def _path(self, scene: Scene, frame: int) -> Path:
        own, met = self.parameters, self.expect(scene)
        assert self._materials is not None
        least = self._materials[2]
        return Path(
            *met,
            cone=self._cone,
            most_depth=own.max_depth,
            most_events=own.max_events,
            least_weight=least.weight,
            most_range=own.max_range,
            flags=0,
            frame=int(frame),
            key=self._keys[ECHO_TERM],
            detected_from=least.detected_from,
            detected_by=least.detected_by,
        )

    def medium_around(self, scene: Scene) -> Medium:
        """The medium that fills the world of a scene, with what parameters say of it."""
        own = {name: v for name, v in vars(self.ambient).items() if v != OF_SCENE}
        return replace(scene.media[0], **own)

    def _tables_of(self, scene: Scene) -> Met:
        own, around = self.parameters, self.medium_around(scene)
        surfaces = pack_materials(scene.materials, own.wavelength)
        numbers = [material.at(own.wavelength) for material in scene.materials]
        tables = lidar_tables(numbers, surfaces)
        own_medium = {name: v for name, v in vars(self.ambient).items() if v != OF_SCENE}
        for medium in scene.media if "absorption" not in own_medium else scene.media[1:]:
            medium.expect(own.wavelength)
        media = pack_media([around, *scene.media[1:]], own.pulse_length)
        inside = np.zeros((len(surfaces), media.shape[1]))
        inside[:, medium_kernel.RETURN_SHAPE] = inside[:, medium_kernel.RETURN_SCALE] = 1.0
        inside[:, medium_kernel.MEDIUM_IOR] = surfaces[:, surface_kernel.IOR]
        for row, material in zip(inside, scene.materials, strict=True):
            if material.kind == SurfaceKind.dielectric:
                row[medium_kernel.ABSORPTION] = absorption_by_extinction(
                    material.at(own.wavelength).extinction, own.wavelength
                )
        volumes = np.array([volume.medium for volume in scene.volumes], np.int32)
        return Met(surfaces, np.concatenate([media, inside]), volumes, tables)

    def _detector(self, frame: int) -> layout.Detector:
        own, noise = self.parameters, self.noise
        return layout.Detector(
            frame=int(frame),
            keys=self._keys,
            beam=self._beam,
            subrays=own.subrays,
            round_trip=own.path_convention == PathConvention.round_trip,
            least_range=own.min_range,
            most_range=own.max_range,
            least_intensity=own.min_intensity,
            merge=own.merge_window,
            mode=int(own.return_mode),
            returns=own.returns,
            detection=own.detection_probability,
            sigma_base=noise.distance_sigma_base,
            sigma_slope=noise.distance_sigma_slope,
            range_step=own.range_step,
            calibrated=own.intensity_kind == IntensityKind.reflectivity,
            counts=float(own.largest_count),
            full_scale=own.full_scale,
            walk=self._walk,
            walk_power=self.walk.per_intensity,
            walk_width=self.walk.per_spot,
            beam_shape=self._shape,
        )

    def _output(
        self, cloud: CloudBuffer, scan: layout.Scan, times: tuple[float, float]
    ) -> layout.Output:
        own = self.parameters
        corrected = own.motion_correction and own.output_frame == OutputFrame.sensor
        if own.output_frame == OutputFrame.world and not cloud.is_wide:
            # Adding 0 makes -0 a 0.
            cloud.shift = SHIFT_STEP * np.round(scan.poses[0, 9:] / SHIFT_STEP) + 0.0
        chunks = -(-layout.packets_of(scan) // layout.CHUNK)
        return layout.Output(
            frame_of=layout.START if corrected else int(own.output_frame),
            shift=cloud.shift,
            start=float(times[0]),
            duration=float(times[1]),
            returns=cloud.room,
            wide=cloud.is_wide,
            normals=cloud.has_normals,
            words=cloud.words,
            floats=cloud.words.view(np.float32),
            counts=cloud.counts,
            nearest=np.full((chunks, 2), np.inf),
            lost=np.zeros((chunks, LIMITS), np.int64),
        )


def _count(cloud: CloudBuffer, output: layout.Output, rays: slice) -> None:
    """Count what is in some columns that were made."""
    cloud.number += int(cloud.counts[rays].sum(dtype=np.int64))
    cloud.lost += output.lost.sum(axis=0)
    for distance, place in output.nearest[np.isfinite(output.nearest[:, 0])].tolist():
        cloud.nearest = min(cloud.nearest, (distance, int(place)))


def beam_spread(subrays: int, half_angle: float) -> Floats:
    """Where the rays of a divided beam go, (subrays, 2): angles to the left and up, in rad.

    The beam is Gaussian, with 1/e^2 of its intensity left at the half-angle, and is cut off
    there. Each ray stands for the same power: the share of power within a radius r is
    (1 - e^(-2 r^2 / a^2)) / (1 - e^-2). They lie on a spiral of golden angles, which spreads any
    number of them evenly (Vogel 1979). A single ray is the axis.
    """
    if subrays == 1:
        return np.zeros((1, 2))
    share = (np.arange(subrays) + 0.5) / subrays
    radius = half_angle * np.sqrt(-0.5 * np.log1p(share * np.expm1(-2.0)))
    turn = np.arange(subrays) * np.pi * (3.0 - np.sqrt(5.0))
    return np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
