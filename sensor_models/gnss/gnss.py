"""GNSS receiver: position, velocity and time of an antenna on a body.

Model and deviations: ``kernels.gnss.receiver`` and what it names. A receiver has satellites, a
place on the Earth for the origin of the world, and perhaps a scene, which hides satellites.

A fix of the instant t is measured by ``sample`` and can be seen from t + latency on: ``shown``
gives the newest one that can.
"""

import dataclasses
import datetime
import math
import sys
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.frames import MountParameters
from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError
from sensor_models.core.random import stream_key
from sensor_models.gnss.constellation import Constellation, read_yuma, walker_constellation
from sensor_models.gnss.mirrors import find_mirrors, opaque_materials
from sensor_models.gnss.nmea import NmeaFix, sentences
from sensor_models.gnss.parameters import (
    ConstellationChoice,
    GnssParameters,
    GnssReading,
    Multipath,
)
from sensor_models.gnss.rinex import Observation
from sensor_models.kernels.gnss import dilution, multipath, receiver
from sensor_models.kernels.gnss import layout as at
from sensor_models.kernels.gnss import sky as above
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

#: Fixes that may be under way from their instant to the outputs.
MOST_UNDER_WAY = 4096


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


def _rows_under_way(latency: float, rate: float) -> int:
    """How many fixes are kept until they can be seen."""
    if latency == 0.0:
        return 1
    if not rate > 0.0:
        raise ParameterError(
            f"latency = {latency} s needs a sampling rate, which is {rate} Hz; allowed is 0 s, or "
            "a sample_rate above 0 Hz"
        )
    rows = math.ceil(latency * rate) + 2
    if rows > MOST_UNDER_WAY:
        raise ParameterError(
            f"latency = {latency} s at {rate} Hz has {rows} fixes under way, allowed are "
            f"{MOST_UNDER_WAY}"
        )
    return rows


class Gnss:
    """One receiver on a body.

    Args:
        parameters: of the receiver.
        mount: where the antenna is on the body; it has no orientation.
        origin: where on the Earth the origin of the world is.
        seed: the run's seed.
        sensor: identity of the sensor; sensors that share it share their noise.
        rate: sampling rate in Hz, 0 if samples come at any instants.
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
        rate: float = 0.0,
        rays: RayScene | None = None,
        start: float = 0.0,
    ) -> None:
        self.parameters = parameters
        self.constellation = constellation_of(parameters)
        self._rays = rays if parameters.sky_visibility else None
        self._start, self._utc = start, parse_utc(parameters.utc_start)
        self._packed = pack(
            parameters,
            mount or MountParameters(),
            origin or Georeference(),
            start=start,
            has_scene=self._rays is not None,
        )
        self._keys = np.stack([stream_key(seed, sensor, term) for term in at.TERMS])
        self._work = np.zeros((dilution.WORK_ROWS, *[dilution.MOST_COLUMNS] * 2))
        self._set_up_scene()
        self._set_up_memory(_rows_under_way(parameters.latency, rate))

    def _set_up_scene(self) -> None:
        self._opaque = np.zeros(0, np.bool_)
        self._mirrors = np.zeros((0, multipath.MIRROR_SIZE))
        if self._rays is not None:
            self._opaque = opaque_materials(self._rays.scene)
            if self.parameters.multipath == Multipath.image:
                self._mirrors = find_mirrors(self._rays.scene)

    def _set_up_memory(self, under_way: int) -> None:
        """One array for all that changes, and its parts."""
        satellites = len(self.constellation.orbits)
        sizes = (at.STATE_SIZE, satellites * at.SATELLITE_SIZE, under_way * at.READING_SIZE)
        self._memory = np.zeros(sum(sizes))
        state, each, shown = np.split(self._memory, np.cumsum(sizes)[:2])
        self._state, self._satellites = state, each.reshape(satellites, at.SATELLITE_SIZE)
        self._under_way = shown.reshape(under_way, at.READING_SIZE)
        self._place = state[at.PLACE : at.PLACE + above.PLACE_SIZE]
        self._sky = self._satellites[:, : above.SKY_SIZE]
        self.reset()

    def sample(
        self, index: int, time: float, body: Floats, bodies: Floats | None = None
    ) -> GnssReading:
        """Sample ``index`` at ``time``: what is measured then, whatever the latency.

        Args:
            index: number of the sample; number 0 begins anew.
            time: its instant, later than that of the sample before.
            body: position, orientation, velocity and angular velocity of the body, 13 values.
            bodies: poses of the bodies of the scene, None for where they were committed.

        Raises:
            ParameterError: if ``time`` or ``body`` are not finite, time goes backwards, or the
                antenna is at the centre of the Earth. Nothing has changed then.
        """
        self.measure(index, time, body, bodies)
        return self._reading(self._state)

    def measure(self, index: int, time: float, body: Floats, bodies: Floats | None = None) -> None:
        """As ``sample``, without making a reading."""
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
        self._show(index, state[: at.READING_SIZE])

    def _begin(self, index: int, time: float, body: Floats) -> int:
        """Place the antenna and survey the sky; below 0 for a sample that cannot be taken."""
        orbits = self.constellation.orbits
        begun: int = receiver.begin(
            self._packed, index, time, body, orbits, self._state, self._satellites
        )
        return begun

    def _show(self, index: int, reading: Floats) -> None:
        """Put a reading among those that are on their way to the outputs."""
        if index == 0:
            self._under_way[:, at.TIME] = -np.inf
        self._under_way[index % len(self._under_way)] = reading

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
        for k in range(max(0, done - len(self._under_way)), done):
            self._show(first_index + k, readings[k])
        if done < len(times):
            time, body, index = float(times[done]), states[done], first_index + done
            # A sample that is refused changes nothing, and so is refused again.
            self._refuse(self._begin(index, time, body), time, body)
        return readings

    def shown(self, now: float) -> GnssReading | None:
        """The newest fix that can be seen at a time, None if none can."""
        row = self._shown_row(now)
        return None if row is None else self._reading(row)

    def shown_time(self, now: float) -> float:
        """The instant of the newest fix that can be seen at a time, -inf if none can."""
        row = self._shown_row(now)
        return -math.inf if row is None else float(row[at.TIME])

    def _shown_row(self, now: float) -> Floats | None:
        times = self._under_way[:, at.TIME]
        # Two statements of one instant may differ by a few roundings.
        rounding = 4.0 * sys.float_info.epsilon * max(abs(now), self.parameters.latency)
        seen = np.where(times + self.parameters.latency <= now + rounding, times, -np.inf)
        newest = int(np.argmax(seen))
        return self._under_way[newest] if seen[newest] > -np.inf else None

    def _reading(self, row: Floats) -> GnssReading:
        v, d = row[at.VELOCITY : at.VELOCITY + 3].tolist(), at.DILUTIONS
        reading = GnssReading(
            latitude=float(row[at.LATITUDE]),
            longitude=float(row[at.LONGITUDE]),
            height=float(row[at.HEIGHT]),
            velocity=(v[0], v[1], v[2]),
            fix=int(row[at.FIX]),
            carrier_solution=int(row[at.CARRIER]),
            satellites=int(row[at.SATELLITES]),
            dop_geometric=float(row[d]),
            dop_position=float(row[d + 1]),
            dop_horizontal=float(row[d + 2]),
            dop_vertical=float(row[d + 3]),
            dop_time=float(row[d + 4]),
            accuracy=(float(row[at.ACCURACY]), float(row[at.ACCURACY + 1])),
        )
        if not self.parameters.nmea_on:
            return reading
        text = sentences(self._nmea_fix(row, reading))
        return dataclasses.replace(reading, nmea_sentences=text)

    def _nmea_fix(self, row: Floats, reading: GnssReading) -> NmeaFix:
        systems = {satellite.system for satellite in self.constellation.satellites}
        return NmeaFix(
            reading,
            self.utc_at(float(row[at.TIME])),
            [self.constellation.satellites[number] for number in self._in_use(row)],
            talker="GP" if len(systems) == 1 else "GN",
            solution=self.parameters.solution,
            geoid_undulation=self.parameters.geoid_undulation,
        )

    def utc_at(self, time: float) -> datetime.datetime:
        """UTC at a time of the simulation."""
        return self._utc + datetime.timedelta(seconds=time - self._start)

    @staticmethod
    def _in_use(row: Floats) -> list[int]:
        """The satellites that a fix was made of, by their row."""
        words = [int(word) for word in row[at.IN_USE : at.IN_USE + at.WORDS]]
        return [n for n in range(at.MOST_SATELLITES) if words[n // at.BITS] >> n % at.BITS & 1]

    @property
    def observations(self) -> list[Observation]:
        """The satellites in use at the newest sample, with their pseudoranges in m.

        The error of a range is that of ``pseudorange``; other error models have none.
        """
        time = self._packed[at.TIME_OF_WEEK] + self._state[at.TIME]
        ways = self.constellation.positions(time) - self._place[above.IN_ECEF : above.GEODETIC]
        ranges = np.linalg.norm(ways, axis=1) + self._sky[:, above.ERROR]
        satellites = self.constellation.satellites
        return [(satellites[n], float(ranges[n])) for n in self._in_use(self._state)]

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
        self._under_way[:, at.TIME] = -np.inf

    @property
    def state(self) -> Floats:
        """A copy of everything that changes; assigned, it continues bit by bit from there."""
        return self._memory.copy()

    @state.setter
    def state(self, state: Floats) -> None:
        if np.shape(state) != self._memory.shape:
            raise ValueError(f"state has shape {np.shape(state)}, needs {self._memory.shape}")
        self._memory[:] = state
