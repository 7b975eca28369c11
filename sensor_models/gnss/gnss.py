"""GNSS receiver: position, velocity and time of an antenna on a body.

Model and deviations: ``kernels.gnss.receiver`` and what it names. A receiver has satellites, a
place on the Earth for the origin of the world, and perhaps a scene, which hides satellites.

What is measured is that of the instant of the sample; when it can be seen is a matter of the sensor
(``sensor``, ``step``).
"""

import dataclasses
import datetime
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.frames import MountParameters
from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError
from sensor_models.core.random import stream_key
from sensor_models.gnss import rinex
from sensor_models.gnss.constellation import Constellation, read_yuma, walker_constellation
from sensor_models.gnss.corruption import ReportErrors
from sensor_models.gnss.mirrors import find_mirrors, opaque_materials
from sensor_models.gnss.parameters import (
    ConstellationChoice,
    GnssParameters,
    GnssReading,
    Multipath,
)
from sensor_models.gnss.texts import Texts, week_time
from sensor_models.kernels.gnss import corruption, dilution, multipath, receiver
from sensor_models.kernels.gnss import layout as at
from sensor_models.kernels.gnss import sky as above
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.scene.tracing import MovingBodies, RayScene

Floats = NDArray[np.float64]


def constellation_of(parameters: GnssParameters) -> Constellation:
    """The satellites that parameters name."""
    if parameters.constellation == ConstellationChoice.file:
        return read_yuma(Path(parameters.almanac_file))
    return walker_constellation(parameters.constellation)


def pack(
    parameters: GnssParameters,
    mount: MountParameters,
    errors: ReportErrors | None = None,
    *,
    start: float = 0.0,
) -> Floats:
    """The parameters as the kernels take them."""
    packed = np.zeros(at.PARAMETERS_SIZE)
    packed[at.LEVER : at.LEVER + 3] = mount.position
    packed[at.MODE] = parameters.error_mode
    packed[at.CORRELATED : at.CORRELATED + 2] = parameters.error_correlated
    packed[at.WHITE : at.WHITE + 2] = parameters.error_white
    packed[at.TIME_CONSTANT] = parameters.error_time_constant
    packed[at.VELOCITY_WHITE] = parameters.velocity_white
    packed[at.VELOCITY_CORRELATED] = parameters.velocity_correlated
    packed[at.RANGE_CORRELATED] = parameters.range_correlated
    packed[at.RANGE_WHITE] = parameters.range_white
    packed[at.TIME_OF_WEEK] = week_time(parameters) - start
    packed[at.LEAST_SINE] = math.sin(parameters.elevation_mask)
    packed[at.MULTIPATH] = parameters.multipath
    packed[at.NLOS_PROBABILITY] = parameters.nlos_probability
    packed[at.NLOS_MEAN] = parameters.nlos_mean
    packed[at.SOLUTION] = parameters.solution
    packed[at.CONVERGENCE_TIME] = parameters.rtk_convergence_time
    packed[at.LEAST_SATELLITES] = parameters.rtk_minimum_satellites
    packed[at.DROPOUT_INTERVAL] = parameters.dropout_interval
    packed[at.DROPOUT_DURATION] = parameters.dropout_duration
    packed[at.CORRUPTION :] = (errors or ReportErrors()).pack()
    return packed


def pack_world(origin: Georeference, *, has_scene: bool) -> Floats:
    """A world as the kernels take it."""
    packed = np.zeros(at.WORLD_SIZE)
    place = (origin.latitude, origin.longitude, origin.height)
    packed[at.ORIGIN : at.ORIGIN + 3] = origin.ecef
    packed[at.WORLD_AXES : at.WORLD_AXES + 9] = origin.axes.ravel()
    packed[at.ORIGIN_GEODETIC : at.ORIGIN_GEODETIC + 3] = place
    packed[at.HAS_SCENE] = has_scene
    return packed


def new_keys(seed: int, sensor: str) -> NDArray[np.uint64]:
    """The keys of the random terms of a receiver."""
    return np.stack([stream_key(seed, sensor, term) for term in at.TERMS])


def new_work() -> Floats:
    """Memory for the kernels to work in."""
    return np.zeros((dilution.WORK_ROWS, *[dilution.MOST_COLUMNS] * 2))


def reading_of(row: Sequence[float]) -> GnssReading:
    """A reading without texts from its values, in the order of the kernels."""
    return GnssReading(
        latitude=row[0],
        longitude=row[1],
        height=row[2],
        velocity=(row[3], row[4], row[5]),
        fix=int(row[6]),
        carrier_solution=int(row[7]),
        satellites=int(row[8]),
        dop_geometric=row[9],
        dop_position=row[10],
        dop_horizontal=row[11],
        dop_vertical=row[12],
        dop_time=row[13],
        accuracy=(row[14], row[15]),
    )


class HidingScene:
    """What a scene does to signals: what it hides, and what it mirrors."""

    def __init__(self, rays: RayScene, multipath_is: Multipath) -> None:
        self._rays = rays
        self._opaque = opaque_materials(rays.scene)
        self._mirrors = np.zeros((0, multipath.MIRROR_SIZE))
        if multipath_is == Multipath.image:
            self._mirrors = find_mirrors(rays.scene)

    def view_of(self, bodies: MovingBodies | None) -> SceneView:
        """The scene with its bodies where they are."""
        return self._rays.view_of(bodies)

    def look(self, place: Floats, sky: Floats, view: SceneView) -> None:
        """Mark in a sky what cannot be seen from a place."""
        args = (self._opaque, place, self._mirrors, sky)
        self._rays.run(multipath.look, *args, view=view, threads=1)


class Gnss:
    """One receiver on a body.

    Args:
        parameters: of the receiver.
        mount: where the antenna is on the body; it has no orientation.
        origin: where on the Earth the origin of the world is.
        seed: the run's seed.
        sensor: identity of the sensor; sensors that share it share their noise.
        rays: the scene that hides satellites, None for open sky.
        errors: of what is reported, on top of those of the receiver.
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
        errors: ReportErrors | None = None,
        start: float = 0.0,
    ) -> None:
        self.parameters = parameters
        self.constellation = constellation_of(parameters)
        self._start, self._texts = start, Texts(parameters, self.constellation)
        self._is_first = True  # whether the newest sample is number 0
        self._keys, self._work = new_keys(seed, sensor), new_work()
        self._packed = pack(parameters, mount or MountParameters(), errors, start=start)
        sees = rays is not None and parameters.sky_visibility
        self._world = pack_world(origin or Georeference(), has_scene=sees)
        self._scene = HidingScene(rays, parameters.multipath) if rays is not None and sees else None
        self._set_up_memory()

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
        p, world, keys, orbits = self._packed, self._world, self._keys, self.constellation.orbits
        own = self._state, self._satellites, self._work
        if self._scene is None:
            begun = receiver.sample(p, world, keys, index, time, body, orbits, *own)
            self._refuse(begun, time, body)
        else:
            self._refuse(self._begin(index, time, body), time, body)
            self._scene.look(self._place, self._sky, self._scene.view_of(bodies))
            receiver.finish(p, world, keys, index, time, True, orbits, *own)

    def _begin(self, index: int, time: float, body: Floats) -> int:
        """Place the antenna and survey the sky; below 0 for a sample that cannot be taken."""
        orbits = self.constellation.orbits
        begun: int = receiver.begin(
            self._packed, self._world, index, time, body, orbits, self._state, self._satellites
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
        if self._scene is not None:
            raise ParameterError("a batch of samples is for a receiver without a scene")
        times = np.ascontiguousarray(times, dtype=np.float64)
        states = np.ascontiguousarray(bodies, dtype=np.float64)
        if times.ndim != 1 or states.ndim != 2 or len(states) != len(times) or states.shape[1] < 13:
            raise ValueError(f"times {times.shape} and bodies {states.shape} do not fit")
        readings = np.empty((len(times), at.READING_SIZE))
        done = receiver.sample_batch(
            self._packed,
            self._world,
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
        corruption.corrupt_rows(self._packed[at.CORRUPTION :], readings[:, at.LATITUDE :])
        return readings

    @property
    def reading(self) -> GnssReading:
        """The newest sample, without its texts."""
        rows = self._state[np.newaxis, at.LATITUDE : at.IN_USE].copy()
        corruption.corrupt_rows(self._packed[at.CORRUPTION :], rows)
        return reading_of(rows[0].tolist())

    def with_texts(self, reading: GnssReading) -> GnssReading:
        """A reading of the newest sample with the texts that the parameters ask for."""
        if not self._texts.wanted:
            return reading
        time, ranges = float(self._state[at.TIME]) - self._start, self.ranges.tolist()
        place = self._place[above.IN_ECEF : above.GEODETIC].tolist()
        return dataclasses.replace(
            reading,
            nmea_sentences=self._texts.nmea(reading, time, ranges),
            rinex_epoch=self._texts.rinex(time, ranges, place, is_first=self._is_first),
        )

    def utc_at(self, time: float) -> datetime.datetime:
        """UTC at a time of the simulation."""
        return self._texts.utc_at(time - self._start)

    @property
    def ranges(self) -> Floats:
        """The pseudoranges of all satellites at the newest sample, m, 0 for those not in use.

        The error of a range is that of ``pseudorange``; other error models have none.
        """
        found = np.empty(len(self.constellation.orbits))
        orbits, state, satellites = self.constellation.orbits, self._state, self._satellites
        receiver.ranges_of(self._packed, orbits, state, satellites, found)
        return found

    @property
    def observations(self) -> list[rinex.Observation]:
        """The satellites in use at the newest sample, with their pseudoranges in m."""
        return self._texts.observations(self.ranges.tolist())

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
