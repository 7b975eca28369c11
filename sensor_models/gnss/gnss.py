"""GNSS receiver: position, velocity and time of an antenna on a body.

Model and deviations: ``kernels.gnss.receiver`` and what it names. A receiver has satellites, a
place on the Earth for the origin of the world, and perhaps a scene, which hides satellites.

What is measured is that of the instant of the sample; when it can be seen is a matter of the sensor
(``sensor``, ``core.latency``).
"""

import dataclasses
import datetime
import math
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.frames import MountParameters
from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError
from sensor_models.core.random import stream_key
from sensor_models.gnss import rinex
from sensor_models.gnss.constellation import Constellation, read_yuma, walker_constellation
from sensor_models.gnss.mirrors import find_mirrors, opaque_materials
from sensor_models.gnss.nmea import NmeaFix, sentences
from sensor_models.gnss.parameters import (
    ConstellationChoice,
    GnssParameters,
    GnssReading,
    Multipath,
)
from sensor_models.kernels.gnss import dilution, multipath, receiver
from sensor_models.kernels.gnss import layout as at
from sensor_models.kernels.gnss import sky as above
from sensor_models.scene.tracing import MovingBodies, RayScene

Floats = NDArray[np.float64]


def parse_utc(text: str) -> datetime.datetime:
    """An instant in ISO 8601; without a zone it is UTC."""
    try:
        # "Z" is understood by Python from 3.11 on.
        instant = datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise ParameterError(
            f"utc_start = {text!r} is no date and time, allowed is ISO 8601 such as "
            "2026-01-01T00:00:00Z"
        ) from None
    if instant.tzinfo is None:
        return instant.replace(tzinfo=datetime.timezone.utc)
    return instant.astimezone(datetime.timezone.utc)


def constellation_of(parameters: GnssParameters) -> Constellation:
    """The satellites that parameters name."""
    if parameters.constellation == ConstellationChoice.file:
        return read_yuma(Path(parameters.almanac_file))
    return walker_constellation(parameters.constellation)


def pack(
    parameters: GnssParameters,
    mount: MountParameters,
    origin: Georeference,
    *,
    start: float = 0.0,
    has_scene: bool = False,
) -> Floats:
    """The parameters as the kernels take them."""
    packed = np.zeros(at.PARAMETERS_SIZE)
    place = (origin.latitude, origin.longitude, origin.height)
    packed[at.ORIGIN : at.ORIGIN + 3] = origin.ecef
    packed[at.WORLD_AXES : at.WORLD_AXES + 9] = origin.axes.ravel()
    packed[at.ORIGIN_GEODETIC : at.ORIGIN_GEODETIC + 3] = place
    packed[at.LEVER : at.LEVER + 3] = mount.position
    packed[at.MODE] = parameters.error_mode
    packed[at.CORRELATED : at.CORRELATED + 2] = parameters.error_correlated
    packed[at.WHITE : at.WHITE + 2] = parameters.error_white
    packed[at.TIME_CONSTANT] = parameters.error_time_constant
    packed[at.VELOCITY_WHITE] = parameters.velocity_white
    packed[at.VELOCITY_CORRELATED] = parameters.velocity_correlated
    packed[at.RANGE_CORRELATED] = parameters.range_correlated
    packed[at.RANGE_WHITE] = parameters.range_white
    packed[at.TIME_OF_WEEK] = parameters.time_of_week - start
    packed[at.LEAST_SINE] = math.sin(parameters.elevation_mask)
    packed[at.HAS_SCENE] = has_scene
    packed[at.MULTIPATH] = parameters.multipath
    packed[at.NLOS_PROBABILITY] = parameters.nlos_probability
    packed[at.NLOS_MEAN] = parameters.nlos_mean
    packed[at.SOLUTION] = parameters.solution
    packed[at.CONVERGENCE_TIME] = parameters.rtk_convergence_time
    packed[at.LEAST_SATELLITES] = parameters.rtk_minimum_satellites
    return packed


class Gnss:
    """One receiver on a body.

    Args:
        parameters: of the receiver.
        mount: where the antenna is on the body; it has no orientation.
        origin: where on the Earth the origin of the world is.
        seed: the run's seed.
        sensor: identity of the sensor; sensors that share it share their noise.
        rays: the scene that hides satellites, None for open sky.
        start: the time that ``time_of_week`` and ``utc_start`` belong to, s.
    """

    def __init__(
        self,
        parameters: GnssParameters,
        mount: MountParameters | None = None,
        origin: Georeference | None = None,
        *,
        seed: int = 0,
        sensor: str = "gnss",
        rays: RayScene | None = None,
        start: float = 0.0,
    ) -> None:
        self.parameters = parameters
        self.constellation = constellation_of(parameters)
        self._start, self._utc = start, parse_utc(parameters.utc_start)
        self._is_first = True  # whether the newest sample is number 0
        self._mount = mount or MountParameters()
        self._keys = np.stack([stream_key(seed, sensor, term) for term in at.TERMS])
        self._work = np.zeros((dilution.WORK_ROWS, *[dilution.MOST_COLUMNS] * 2))
        self.enter(origin or Georeference(), rays)
        self._set_up_memory()

    def enter(self, origin: Georeference, rays: RayScene | None) -> None:
        """Go to another place on the Earth and into another scene; what was measured stays."""
        self._rays = rays if self.parameters.sky_visibility else None
        self._origin = origin
        self._packed = pack(
            self.parameters,
            self._mount,
            origin,
            start=self._start,
            has_scene=self._rays is not None,
        )
        self._opaque = np.zeros(0, np.bool_)
        self._mirrors = np.zeros((0, multipath.MIRROR_SIZE))
        if self._rays is not None:
            self._opaque = opaque_materials(self._rays.scene)
            if self.parameters.multipath == Multipath.image:
                self._mirrors = find_mirrors(self._rays.scene)

    @property
    def start(self) -> float:
        """The time that ``time_of_week`` and ``utc_start`` belong to, s."""
        return self._start

    @start.setter
    def start(self, start: float) -> None:
        self._start = start
        self.enter(self._origin, self._rays)

    def _set_up_memory(self) -> None:
        """One array for all that changes, and its parts."""
        satellites = len(self.constellation.orbits)
        sizes = (at.STATE_SIZE, satellites * at.SATELLITE_SIZE)
        self._memory = np.zeros(sum(sizes))
        state, each = np.split(self._memory, sizes[:1])
        self._state, self._satellites = state, each.reshape(satellites, at.SATELLITE_SIZE)
        self._place = state[at.PLACE : at.PLACE + above.PLACE_SIZE]
        self._sky = self._satellites[:, : above.SKY_SIZE]
        self.reset()

    def sample(
        self, index: int, time: float, body: Floats, bodies: MovingBodies | None = None
    ) -> GnssReading:
        """Sample ``index`` at ``time``: what is measured then, whatever the latency.

        Args:
            index: number of the sample; number 0 begins anew.
            time: its instant, later than that of the sample before.
            body: position, orientation, velocity and angular velocity of the body, 13 values.
            bodies: where the bodies of the scene are then, None for where they were committed.

        Raises:
            ParameterError: if ``time`` or ``body`` are not finite, time goes backwards, or the
                antenna is at the centre of the Earth. Nothing has changed then.
        """
        self.measure(index, time, body, bodies)
        return self.with_texts(self.reading)

    def measure(
        self, index: int, time: float, body: Floats, bodies: MovingBodies | None = None
    ) -> None:
        """As ``sample``, without making a reading."""
        self._is_first = index == 0
        p, state, satellites = self._packed, self._state, self._satellites
        orbits, work, keys = self.constellation.orbits, self._work, self._keys
        if self._rays is None:
            begun = receiver.sample(p, keys, index, time, body, orbits, state, satellites, work)
            self._refuse(begun, time, body)
        else:
            self._refuse(self._begin(index, time, body), time, body)
            scene, place, sky = (self._opaque, self._mirrors), self._place, self._sky
            self._rays.run(multipath.look, scene[0], place, scene[1], sky, bodies=bodies, threads=1)
            receiver.finish(p, keys, index, time, True, orbits, state, satellites, work)

    def _begin(self, index: int, time: float, body: Floats) -> int:
        """Place the antenna and survey the sky; below 0 for a sample that cannot be taken."""
        orbits = self.constellation.orbits
        begun: int = receiver.begin(
            self._packed, index, time, body, orbits, self._state, self._satellites
        )
        return begun

    def _refuse(self, begun: int, time: float, body: Floats) -> None:
        if begun == -1:
            raise ParameterError(
                f"time = {time} s and body = {np.asarray(body).tolist()} are no instant and place "
                "on the Earth, allowed are finite numbers, at least 1 km from its centre"
            )
        if begun == -2:
            raise ParameterError(
                f"time = {time} s, allowed is later than the sample before at "
                f"{self._state[at.TIME]} s"
            )

    def sample_batch(self, first_index: int, times: ArrayLike, bodies: ArrayLike) -> Floats:
        """Samples from ``first_index`` on, a row of ``kernels.gnss.layout`` each, as one by one.

        For receivers without a scene.
        """
        if self._rays is not None:
            raise ParameterError("a batch of samples is for a receiver without a scene")
        times = np.ascontiguousarray(times, dtype=np.float64)
        states = np.ascontiguousarray(bodies, dtype=np.float64)
        if times.ndim != 1 or states.ndim != 2 or len(states) != len(times) or states.shape[1] < 13:
            raise ValueError(f"times {times.shape} and bodies {states.shape} do not fit")
        readings = np.empty((len(times), at.READING_SIZE))
        done = receiver.sample_batch(
            self._packed,
            self._keys,
            first_index,
            times,
            states,
            self.constellation.orbits,
            self._state,
            self._satellites,
            self._work,
            readings,
        )
        if done < len(times):
            time, body, index = float(times[done]), states[done], first_index + done
            # A sample that is refused changes nothing, and so is refused again.
            self._refuse(self._begin(index, time, body), time, body)
        return readings

    @property
    def reading(self) -> GnssReading:
        """The newest sample, without its texts."""
        row = self._state[: at.READING_SIZE].tolist()
        v, d, a = at.VELOCITY, at.DILUTIONS, at.ACCURACY
        return GnssReading(
            latitude=row[at.LATITUDE],
            longitude=row[at.LONGITUDE],
            height=row[at.HEIGHT],
            velocity=(row[v], row[v + 1], row[v + 2]),
            fix=int(row[at.FIX]),
            carrier_solution=int(row[at.CARRIER]),
            satellites=int(row[at.SATELLITES]),
            dop_geometric=row[d],
            dop_position=row[d + 1],
            dop_horizontal=row[d + 2],
            dop_vertical=row[d + 3],
            dop_time=row[d + 4],
            accuracy=(row[a], row[a + 1]),
        )

    def with_texts(self, reading: GnssReading) -> GnssReading:
        """A reading of the newest sample with the texts that the parameters ask for."""
        nmea = sentences(self._nmea_fix(reading)) if self.parameters.nmea_on else ""
        ranges = self._rinex_epoch() if self.parameters.rinex_on else ""
        if not (nmea or ranges):
            return reading
        return dataclasses.replace(reading, nmea_sentences=nmea, rinex_epoch=ranges)

    def _nmea_fix(self, reading: GnssReading) -> NmeaFix:
        systems = {satellite.system for satellite in self.constellation.satellites}
        return NmeaFix(
            reading,
            self.utc_at(float(self._state[at.TIME])),
            [self.constellation.satellites[number] for number in self._in_use()],
            talker="GP" if len(systems) == 1 else "GN",
            solution=self.parameters.solution,
            geoid_undulation=self.parameters.geoid_undulation,
        )

    def _rinex_epoch(self) -> str:
        """The ranges of the newest sample, as in a file: the first comes behind the header."""
        utc = self.utc_at(float(self._state[at.TIME]))
        text = rinex.epoch(utc, self.observations)
        if not self._is_first:
            return text
        place = self._place[above.IN_ECEF : above.GEODETIC].tolist()
        return rinex.header(self.constellation.satellites, utc, place) + text

    def utc_at(self, time: float) -> datetime.datetime:
        """UTC at a time of the simulation."""
        try:
            return self._utc + datetime.timedelta(seconds=time - self._start)
        except OverflowError:
            raise ParameterError(
                f"time = {time} s is no date after utc_start = {self.parameters.utc_start}, "
                "allowed are the years 1 to 9999"
            ) from None

    def _in_use(self) -> list[int]:
        """The satellites that the newest fix was made of, by their row."""
        words = [int(word) for word in self._state[at.IN_USE : at.IN_USE + at.WORDS]]
        return [n for n in range(at.MOST_SATELLITES) if words[n // at.BITS] >> n % at.BITS & 1]

    @property
    def observations(self) -> list[rinex.Observation]:
        """The satellites in use at the newest sample, with their pseudoranges in m.

        The error of a range is that of ``pseudorange``; other error models have none.
        """
        time = self._packed[at.TIME_OF_WEEK] + self._state[at.TIME]
        ways = self.constellation.positions(time) - self._place[above.IN_ECEF : above.GEODETIC]
        ranges = np.linalg.norm(ways, axis=1) + self._sky[:, above.ERROR]
        satellites = self.constellation.satellites
        return [(satellites[n], float(ranges[n])) for n in self._in_use()]

    @property
    def sky(self) -> Floats:
        """The sky of the newest sample, a row of ``kernels.gnss.sky`` a satellite, as a copy."""
        return self._sky.copy()

    @property
    def antenna(self) -> tuple[float, float, float]:
        """True latitude, longitude (rad) and height of the antenna at the newest sample."""
        place = self._place[above.GEODETIC : above.GEODETIC + 3].tolist()
        return place[0], place[1], place[2]

    def reset(self) -> None:
        """Back to before the first sample."""
        self._memory[:] = 0.0

    @property
    def state(self) -> Floats:
        """A copy of everything that changes; assigned, it continues bit by bit from there."""
        return self._memory.copy()

    @state.setter
    def state(self, state: Floats) -> None:
        if np.shape(state) != self._memory.shape:
            raise ValueError(f"state has shape {np.shape(state)}, needs {self._memory.shape}")
        self._memory[:] = state
