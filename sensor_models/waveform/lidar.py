"""Full-waveform lidar: a ``Lidar`` whose rays are pulses with many rays each.

Scan, motion, scene, media and points are those of a lidar; ``kernels.waveform`` says what becomes
of a pulse. ``capture`` and ``scan`` are called as of ``Lidar``; ``waveform`` gives the histogram's
power for one direction, for who wants to look at it.

Pulses are made and stored some at a time, so memory does not grow with their number (``clouds``).
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.lidar.layout import CHUNK, Detector, Scan
from sensor_models.kernels.light.media import RETURN_PROBABILITY
from sensor_models.kernels.light.paths import LIMITS, Path
from sensor_models.kernels.waveform import layout, ranges
from sensor_models.kernels.waveform import pulses as kernel
from sensor_models.kernels.waveform.histogram import pack_samples
from sensor_models.kernels.waveform.layout import Extraction, Pulse, Receiver, Records
from sensor_models.kernels.waveform.receiver import sigma_of
from sensor_models.lidar.lidar import Lidar, Met
from sensor_models.lidar.patterns import PatternParameters, ScanPattern
from sensor_models.light.beam import BeamParameters
from sensor_models.output.points import ECHO_FIELDS, CloudBuffer
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import Work
from sensor_models.waveform.clouds import LINE, RAYS_AT_A_TIME, WAVE, EchoCloud, Waves
from sensor_models.waveform.optics import haze_of, pack_pulse, widest_gap
from sensor_models.waveform.parameters import (
    AdcParameters,
    AirLight,
    ReceiverParameters,
    WaveformParameters,
)
from sensor_models.waveform.receiver import pack_extraction, pack_receiver

Floats = NDArray[np.float64]

#: Samples that are held at a time where waveforms are kept.
SAMPLES_AT_A_TIME = 1 << 23
#: Of an axis, the level part below which it counts as upright.
UPRIGHT = 1e-9
#: What ``WaveformLidar.echoes_of`` gives of each echo.
ECHO = np.dtype(
    [
        ("pulse", "<i8"),
        ("range", "<f8"),
        ("intensity", "<f8"),
        *[(n, "<f8") for n, _ in ECHO_FIELDS],
    ]
)
#: Of the noise, and of a white wall where there is none: haze below it is cut off.
HIDDEN, FAINT = 0.1, 1e-4
#: Least field of view that haze is seen in, rad.
LEAST_VIEW = 1e-5
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
        *,
        keeps: bool = False,
        **shared: Any,
    ) -> None:
        """``keeps``: clouds are to hold the waveforms, too; all else is as of ``Lidar``."""
        own = parameters or WaveformParameters()
        half = min(0.5 * own.divergence_full_angle, WIDEST)
        shared = {"identity": "WaveformLidar", **shared}
        super().__init__(
            own.as_lidar(), pattern, BeamParameters(divergence_half_angle=half), **shared
        )
        self.parameters_of_pulse = own
        self.receiver = receiver or ReceiverParameters()
        self.adc = adc or AdcParameters()
        self.keeps = keeps
        self._stream: tuple[int, str] = shared.get("seed", 0), shared["identity"]
        self._pulse = pack_pulse(own)
        self._gap = widest_gap(self._pulse.offset)
        self._ask = pack_extraction(own, self.receiver)
        self._hazy: tuple[Scene, Pulse] | None = None
        self._received: tuple[Scene, Receiver] | None = None

    @property
    def nothing_saved(self) -> Mapping[str, NDArray[Any]]:
        """What the saved state of a frame has besides, before anything of it is made."""
        nothing = np.zeros(0, np.uint8)
        return {"nearest_point": nothing, "waves": nothing, "samples": np.zeros(0, np.float32)}

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

    def pulse_in(self, scene: Scene) -> Pulse:
        """The pulse as kernels take it, with the haze of a scene.

        Haze is cut off where it is far below the noise; of an ideal receiver where it is far below
        what comes of a white wall as far away.
        """
        if self._hazy is None or self._hazy[0] is not scene:
            self._hazy = scene, self._pulse._replace(haze=self._haze_in(scene))
        return self._hazy[1]

    def _haze_in(self, scene: Scene) -> Floats:
        own, medium = self.parameters_of_pulse, self.medium_around(scene)
        noise = HIDDEN * sigma_of(self.receiver_in(scene), 0.0, own.t_res)
        if not self._scatters(scene) or not (medium.absorption or medium.backscatter):
            return np.zeros(0)
        wall = 0.0 if noise > 0.0 else FAINT * self._tau / math.pi
        view = self.receiver.field_of_view or own.divergence_full_angle
        return haze_of(own, medium, max(view, LEAST_VIEW), noise, wall)

    def _scatters(self, scene: Scene) -> bool:
        """Whether the lidar equation says what the medium around sends back.

        In scenes with volumes of other media, all of them answer by the stochastic law.
        """
        single = self.parameters_of_pulse.air_light == AirLight.single_scattering
        return single and not scene.volumes

    def _tables_of(self, scene: Scene) -> Met:
        met = super()._tables_of(scene)
        if self._scatters(scene):
            met.media[0, RETURN_PROBABILITY] = 0.0
        return met

    def new_cloud(self, *, normals: bool = True, wide: bool = False) -> EchoCloud:
        """Room for a frame."""
        room, step = self.parameters.returns, self.parameters_of_pulse.t_res
        rays = min(self.rays, self._columns_at_a_time * self.pattern.rows)
        return EchoCloud(rays, room, normals=normals, wide=wide, keeps=self.keeps, step=step)

    @property
    def _columns_at_a_time(self) -> int:
        """Columns whose points, and samples if they are kept, are held until they are stored."""
        rays = RAYS_AT_A_TIME
        if self.keeps:
            rays = min(rays, SAMPLES_AT_A_TIME // self._pulse.samples)
        return max(rays // self.pattern.rows, 1)

    def rays_of(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Where the rays of some pulses start and go in the sensor frame, (pulses, subrays, 3)."""
        own, axis = self._pulse, self.pattern.directions(0)[first:last]
        level = np.hypot(axis[:, 0], axis[:, 1])
        upright = level <= UPRIGHT
        over = np.where(upright, 1.0, level)
        left = np.stack([-axis[:, 1] / over, axis[:, 0] / over, np.zeros_like(level)], axis=1)
        left[upright] = 0.0, 1.0, 0.0
        up = np.cross(axis, left)

        def beside(places: Floats) -> Floats:
            across: Floats = places[:, :1] * left[:, None] + places[:, 1:] * up[:, None]
            return across

        along = own.toward[:, None] * (axis[:, None] + beside(own.slope))
        return beside(own.offset), along

    def echoes_of(
        self, scene: Scene, rays: Floats, *, first: int = 0, frame: int = 0
    ) -> NDArray[np.void]:
        """The echoes of pulses whose rays met what is given, as records of ``ECHO``.

        Args:
            scene: whose sky gives background light.
            rays: (pulses, subrays, 4): range in m, inf for nothing; f(l, l) (n·l), what is sent
                straight back, in 1/sr; cosines of the surface to the ray and to the sun.
            first: number of the first of these pulses, for what is drawn.
            frame: number of the frame, likewise.
        """
        known = np.ascontiguousarray(rays, float)
        counts = np.zeros(len(known), np.int64)
        echoes = np.zeros((len(known), layout.MOST_ECHOES + 1, ranges.NUMBERS_OF_ECHO))
        made = self._pulse, self.receiver_in(scene), self._ask
        ranges.hear_pulses(self._detector(frame), *made, self._tau, first, known, counts, echoes)
        kept = np.minimum(counts, self.parameters.returns)
        pulses = np.repeat(np.arange(len(known)), kept)
        places = np.arange(len(pulses)) - np.repeat(np.cumsum(kept) - kept, kept)
        found = np.zeros(len(pulses), ECHO)
        found["pulse"] = first + pulses
        for column, name in enumerate(ECHO.names[1:] if ECHO.names else ()):
            found[name] = echoes[pulses, places, column]
        return found

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
        """Make some columns of a frame at once: parts come in order, nothing is left to wait for.

        A frame is made from its first column to its last, as points and waveforms are stored.
        """
        if not isinstance(cloud, EchoCloud):
            raise TypeError("a full-waveform lidar makes clouds of its own: new_cloud()")
        if columns[0] >= columns[1]:
            return Work.done()
        scan = self._scan(scene, poses, frame, columns, bodies)
        own = self._path(scene.scene, frame), self._detector(frame)
        at_a_time = self._columns_at_a_time
        for first in range(columns[0], columns[1], at_a_time):
            part = scan._replace(first=first, last=min(first + at_a_time, columns[1]))
            kept = (part.last - first) * scan.rows if cloud.waves is not None else 0
            with cloud.part(kept * self._pulse.samples) as samples:
                self._scan_part(scene, own, part, times, cloud, bodies, samples)
        return Work.done()

    def _scan_part(
        self,
        scene: RayScene,
        own: tuple[Path, Detector],
        scan: Scan,
        times: tuple[float, float],
        cloud: EchoCloud,
        bodies: MovingBodies | None,
        samples: NDArray[np.float32],
    ) -> None:
        """Make some columns, and store what comes of them; ``samples`` is memory for waveforms."""
        first, last = scan.first * scan.rows, scan.last * scan.rows
        chunks = -(-(last - first) // CHUNK)
        output = self._output(cloud, scan, times)._replace(
            nearest=np.full((chunks, 2), np.inf), lost=np.zeros((chunks, LIMITS), np.int64)
        )
        kept = last if cloud.waves is not None else first
        records = self._records(cloud, (first, kept), chunks, samples)
        made = self.pulse_in(scene.scene), self.receiver_in(scene.scene), self._ask
        given = own[0], scan, own[1], *made, output, records
        scene.run(kernel.make_pulses, *given, bodies=bodies, threads=chunks)
        cloud.number += int(cloud.counts[: last - first].sum(dtype=np.int64))
        cloud.lost += output.lost.sum(axis=0)
        cloud.coarse += int(records.coarse.sum())
        if cloud.waves is not None:
            count = int(records.spans[:, 1].sum(dtype=np.int64))
            room = cloud.waves.room(count)
            pack_samples(records.samples, records.spans, records.places, room)
            cloud.waves.filled(self._waves_of(records, scan, times, cloud.counts), count)
        found = output.nearest[np.isfinite(output.nearest[:, 0])].tolist()
        least, place = min(found, default=(np.inf, -1))
        cloud.store_part((least, int(place)), first)

    @property
    def _tau(self) -> float:
        """Power of an echo of 1/sr from a metre away, W."""
        own = self._pulse
        # Of a square pulse of the same energy and peak.
        duration = math.sqrt(2.0 * math.pi) * self.parameters_of_pulse.pulse_sigma
        if own.sharing != layout.THREE_SAMPLES:
            duration = own.step / own.shape.max()
        return float(own.energy / duration * own.area)

    def _records(
        self,
        cloud: CloudBuffer,
        rays: tuple[int, int],
        chunks: int,
        samples: NDArray[np.float32],
    ) -> Records:
        more = sum(np.dtype(kind).itemsize for _, kind in ECHO_FIELDS) // 4
        first, last = rays
        return Records(
            first=first,
            samples=samples,
            spans=np.zeros((last - first, 2), np.int32),
            places=np.zeros(last - first, np.int64),
            filled=np.zeros(chunks, np.int64),
            lines=np.zeros((last - first, len(LINE))),
            word=cloud.record.itemsize // 4 - more,
            tau=self._tau,
            gap=self._gap,
            coarse=np.zeros(chunks, np.int64),
        )

    def _waves_of(
        self, records: Records, scan: Scan, times: tuple[float, float], counts: NDArray[np.uint8]
    ) -> Waves:
        """Rows of the waveforms that were kept."""
        (kept,) = np.nonzero(records.spans[:, 1])
        spans, own = records.spans[kept].astype(np.int64), self._pulse
        rows = np.zeros(len(kept), WAVE)
        ray = kept + records.first
        rows["pulse"] = ray
        rows["azimuth"], rows["elevation"] = scan.azimuth[ray], scan.elevation[ray]
        rows["time"] = times[0] + self.pattern.offset[ray] * times[1]
        rows["first"] = own.start + (spans[:, 0] + 0.5) * own.step
        rows["count"], rows["offset"] = spans[:, 1], np.cumsum(spans[:, 1]) - spans[:, 1]
        rows["returns"] = counts[kept]
        for name, numbers in zip(LINE, records.lines[kept].T, strict=True):
            rows[name] = numbers
        return rows
