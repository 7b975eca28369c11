"""Full-waveform lidar: a ``Lidar`` whose rays are pulses with many rays each.

Scan, motion, scene, media and points are those of a lidar; ``kernels.waveform`` says what becomes
of a pulse. ``capture`` and ``scan`` are called as of ``Lidar``; ``waveform`` gives the histogram's
power for one direction, for who wants to look at it.

Waveforms are made and stored for some pulses at a time, so memory does not grow with their number
but for the rows that tell where each one is.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import MountParameters
from sensor_models.kernels.lidar.layout import CHUNK, Output
from sensor_models.kernels.light.paths import LIMITS
from sensor_models.kernels.waveform import pulses as kernel
from sensor_models.kernels.waveform.layout import Extraction, Pulse, Receiver, Records
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import AmbientParameters, LidarNoiseParameters
from sensor_models.lidar.patterns import PatternParameters, ScanPattern
from sensor_models.light.beam import BeamParameters
from sensor_models.output.points import ECHO_FIELDS, CloudBuffer
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.waveform.clouds import WAVE, EchoCloud
from sensor_models.waveform.optics import pack_pulse
from sensor_models.waveform.parameters import (
    AdcParameters,
    ReceiverParameters,
    WaveformParameters,
)
from sensor_models.waveform.receiver import pack_extraction, pack_receiver

Floats = NDArray[np.float64]

#: Samples that are held at a time where waveforms are kept.
SAMPLES_AT_A_TIME = 1 << 22
#: Largest half-angle that a lidar's beam may state.
WIDEST = 0.1


class WaveformLidar(Lidar):
    """One kind of full-waveform lidar with its pattern, its mount and its random streams."""

    parameters_of_pulse: WaveformParameters

    def __init__(
        self,
        parameters: WaveformParameters | None = None,
        pattern: PatternParameters | ScanPattern | None = None,
        receiver: ReceiverParameters | None = None,
        adc: AdcParameters | None = None,
        noise: LidarNoiseParameters | None = None,
        ambient: AmbientParameters | None = None,
        mount: MountParameters | None = None,
        *,
        seed: int = 0,
        identity: str = "WaveformLidar",
        rate: float = 0.0,
        keeps: bool = False,
    ) -> None:
        """``keeps`` says that clouds are to hold the waveforms, too."""
        own = parameters or WaveformParameters()
        half = min(0.5 * own.divergence_full_angle, WIDEST)
        super().__init__(
            own.as_lidar(),
            pattern,
            BeamParameters(divergence_half_angle=half),
            noise,
            ambient,
            mount,
            seed=seed,
            identity=identity,
            rate=rate,
        )
        self.parameters_of_pulse = own
        self.receiver = receiver or ReceiverParameters()
        self.adc = adc or AdcParameters()
        self.keeps = keeps
        self._stream = seed, identity
        self._pulse = pack_pulse(own)
        self._ask = pack_extraction(own, self.receiver)
        self._received: tuple[Scene, Receiver] | None = None

    @property
    def nothing_saved(self) -> Mapping[str, NDArray[Any]]:
        """What the saved state of a frame has besides, before anything of it is made."""
        return {"waves": np.zeros(0, np.uint8), "samples": np.zeros(0, np.float32)}

    @property
    def pulse(self) -> Pulse:
        """The pulse as kernels take it."""
        return self._pulse

    @property
    def extraction(self) -> Extraction:
        """How echoes are found, as kernels take it."""
        return self._ask

    def receiver_in(self, scene: Scene) -> Receiver:
        """The receiver as kernels take it, with the light of a scene."""
        if self._received is None or self._received[0] is not scene:
            own = self.parameters_of_pulse
            packed = pack_receiver(self.receiver, self.adc, own, scene.sky, self._stream)
            self._received = scene, packed
        return self._received[1]

    def new_cloud(self, *, normals: bool = True, wide: bool = False) -> EchoCloud:
        """Room for a frame."""
        room = self.parameters.returns
        return EchoCloud(self.rays, room, normals=normals, wide=wide, keeps=self.keeps)

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
        """Make some columns of a frame; as ``Lidar.scan``."""
        if not self._keeps_in(cloud):
            self._scan_part(scene, poses, frame, times, columns, cloud, bodies)
            return
        rows = self.pattern.rows
        at_a_time = max(SAMPLES_AT_A_TIME // (rows * self._pulse.samples), 1)
        for first in range(columns[0], columns[1], at_a_time):
            part = first, min(first + at_a_time, columns[1])
            self._scan_part(scene, poses, frame, times, part, cloud, bodies)

    def _keeps_in(self, cloud: CloudBuffer) -> bool:
        return isinstance(cloud, EchoCloud) and cloud.waves is not None

    def _scan_part(
        self,
        scene: RayScene,
        poses: Floats,
        frame: int,
        times: tuple[float, float],
        columns: tuple[int, int],
        cloud: CloudBuffer,
        bodies: MovingBodies | None,
    ) -> None:
        if columns[0] >= columns[1]:
            return
        scan = self._scan(scene, poses, frame, columns, bodies)
        first, last = columns[0] * scan.rows, columns[1] * scan.rows
        chunks = -(-(last - first) // CHUNK)
        output = self._output(cloud, scan, times)._replace(
            nearest=np.full((chunks, 2), np.inf), lost=np.zeros((chunks, LIMITS), np.int64)
        )
        records = self._records(cloud, first, last if self._keeps_in(cloud) else first)
        receiver = self.receiver_in(scene.scene)
        path, detector = self._path(scene.scene, frame), self._detector(frame)
        own = path, scan, detector, self._pulse, receiver, self._ask, output, records
        scene.run(kernel.make_pulses, *own, bodies=bodies, threads=chunks)
        self._take(cloud, output, slice(first, last))
        if isinstance(cloud, EchoCloud) and cloud.waves is not None:
            cloud.waves.add(*self._waves_of(records, times, scan.azimuth, scan.elevation))

    def _take(self, cloud: CloudBuffer, output: Output, rays: slice) -> None:
        """Count the points of some rays."""
        cloud.number += int(cloud.counts[rays].sum(dtype=np.int64))
        cloud.lost += output.lost.sum(axis=0)
        for distance, place in output.nearest[np.isfinite(output.nearest[:, 0])].tolist():
            cloud.nearest = min(cloud.nearest, (distance, int(place)))

    def _records(self, cloud: CloudBuffer, first: int, last: int) -> Records:
        more = sum(np.dtype(kind).itemsize for _, kind in ECHO_FIELDS) // 4
        own = self._pulse
        duration = own.step / own.shape.max()  # of a square pulse of the same energy and peak
        return Records(
            first=first,
            samples=np.empty((last - first, own.samples), np.float32),
            spans=np.zeros((last - first, 2), np.int32),
            word=cloud.record.itemsize // 4 - more,
            tau=own.energy / duration * own.area,
        )

    def _waves_of(
        self,
        records: Records,
        times: tuple[float, float],
        azimuth: NDArray[np.float32],
        elevation: NDArray[np.float32],
    ) -> tuple[NDArray[np.void], NDArray[np.float32]]:
        """Rows and samples of the waveforms that were kept."""
        (kept,) = np.nonzero(records.spans[:, 1])
        spans, own = records.spans[kept].astype(np.int64), self._pulse
        rows = np.zeros(len(kept), WAVE)
        ray = kept + records.first
        rows["pulse"], rows["azimuth"], rows["elevation"] = ray, azimuth[ray], elevation[ray]
        rows["time"] = times[0] + self.pattern.offset[ray] * times[1]
        rows["first"] = own.start + (spans[:, 0] + 0.5) * own.step
        rows["count"], rows["offset"] = spans[:, 1], np.cumsum(spans[:, 1]) - spans[:, 1]
        inside = np.arange(own.samples) < records.spans[:, 1:]
        return rows, records.samples[inside]
