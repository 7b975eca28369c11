"""The GNSS receiver as a sensor: its samples are fixes.

Model: ``kernels.gnss.receiver``. A scene hides satellites and may say where on the Earth the
world is; the parameters ``origin.*`` win over that, if one of them is not zero. Without a scene
the sky is open. Movable bodies hide satellites where they were at the instant of the sample.

Constant errors, codes, limits and faults act on what the receiver reports, and so on its NMEA
sentences, but neither on the receiver itself nor on its pseudoranges. A sample comes out after the
latency (``kernels.gnss.latency``); its number and its instant stay those of its measurement, and
those that are on their way when a run ends never come out.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.exports import warm
from sensor_models.core.frames import BodyState, MountParameters
from sensor_models.core.georeference import Georeference
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.sensor import Result, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, SensorSpec
from sensor_models.core.stepped import SteppedSensor
from sensor_models.gnss.corruption import ReportErrors
from sensor_models.gnss.gnss import (
    HidingScene,
    constellation_of,
    new_keys,
    new_work,
    pack,
    pack_world,
    reading_of,
)
from sensor_models.gnss.parameters import GnssParameters, GnssReading, Multipath
from sensor_models.gnss.step import FAULTS, ReceiverStep, receiver_plan
from sensor_models.gnss.texts import Texts, warnings_of, week_time
from sensor_models.kernels.gnss import layout as of
from sensor_models.kernels.gnss import sky as above
from sensor_models.kernels.gnss.steps import VALUES
from sensor_models.output.records import Column, RecordParameters
from sensor_models.output.text_logs import TextFile
from sensor_models.scene.history import MovingBodies, Sight
from sensor_models.scene.registry import SceneHandle
from sensor_models.sight.scene import OptionalScene, SceneNumber

Floats = NDArray[np.float64]

#: What a result has between its readings and its ranges: the place of the antenna.
_PLACE = slice(VALUES, VALUES + 3)


class KnownScene:
    """A scene that a receiver is in, and what is known of its bodies."""

    def __init__(self, handle: SceneHandle, multipath: Multipath) -> None:
        self.handle = handle
        self._hiding = HidingScene(handle.rays(placed=False), multipath)
        self._bodies: MovingBodies | None = None
        self._view = self._hiding.view_of(None)

    def look(self, place: Floats, sky: Floats, sight: Sight, time: float) -> None:
        """Mark in a sky what cannot be seen at an instant."""
        bodies: MovingBodies | None = sight.over(time, 0.0, 0)[0]
        if bodies is not self._bodies:
            self._bodies, self._view = bodies, self._hiding.view_of(bodies)
        self._hiding.look(place, sky, self._view)


class GnssSensor(SteppedSensor):
    """A receiver that samples while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        own = self._parameters = setup.parameters.of(GnssParameters)
        for warning in warnings_of(own):
            setup.warn(warning)
        self._origin = setup.parameters.of(Georeference)
        self._constellation = constellation_of(own)
        self._texts = Texts(own, self._constellation)
        self._recorded = own.record_pseudoranges and setup.parameters.of(RecordParameters).record
        self._start = setup.start
        #: The scenes that samples of a step may be in, by numbers of our own, as handles are others
        #: in another process; and which of them is now, 0 for none.
        self._scenes: dict[int, KnownScene] = {}
        self._now = 0
        self._goes_on: int | None = None  # the number of a scene in a state that is taken over
        self._sight, self._follows = Sight(), False
        self._made: tuple[Any, tuple[str, str]] = ((), ("", ""))
        if own.sky_visibility:
            warm(setup.spec.name)
        plan = self._new_plan(setup)
        self._place = plan.state[of.PLACE : of.PLACE + above.PLACE_SIZE]
        count = len(self._constellation.orbits)
        each = plan.state[of.STATE_SIZE : of.STATE_SIZE + count * of.SATELLITE_SIZE]
        self._sky = each.reshape(count, of.SATELLITE_SIZE)[:, : above.SKY_SIZE]
        super().__init__(setup, plan, self._world_of)

    def _new_plan(self, setup: Setup) -> Any:
        """The plan of the step."""
        own, seed, identity = self._parameters, setup.sampling.seed, setup.identity
        mount = setup.parameters.of(MountParameters)
        errors = setup.parameters.of(ReportErrors)
        mount = placed(mount, setup.parameters.of(PlacementParameters), seed, identity)
        return receiver_plan(
            pack(own, mount, errors, start=setup.start),
            new_keys(seed, identity),
            self._constellation.orbits,
            new_work(),
            pack_world(self._origin, has_scene=False),
            rate=setup.sampling.sample_rate,
            latency_is=own.latency,
            ranges=self._texts.wanted or self._recorded,
            texts=self._texts.wanted,
            limited=errors.limited,
        )

    def step(self, **given: Any) -> ReceiverStep:
        """The step of this receiver, on values that lie somewhere; they share its state."""
        setup = self._setup
        here = {"start": setup.start, "warn": setup.warn, "body": self.body}
        self._step_of_run = ReceiverStep(self, self._plan, setup.sampling, **{**here, **given})
        return self._step_of_run

    # ---- scenes ------------------------------------------------------------------------------

    def _world_of(self, scene: SceneHandle | None) -> Floats:
        """The number of a scene, and the world that it is in."""
        self._now = 0
        if scene is None:
            return np.append(0.0, pack_world(self._origin, has_scene=False))
        sees = self._parameters.sky_visibility
        if sees:
            self._now = self._number_of(scene)
            known = self._scenes.get(self._now)
            if known is None or known.handle is not scene:
                self._scenes[self._now] = KnownScene(scene, self._parameters.multipath)
        origin = self._origin.or_else(scene.scene.origin)
        return np.append(self._now, pack_world(origin, has_scene=sees))

    def _number_of(self, scene: SceneHandle) -> int:
        """1 or 2: that of the newest state if this is its scene, else the other."""
        if self._goes_on:
            return self._goes_on
        before = self._step_of_run.scene_before
        known = self._scenes.get(before)
        if known is not None and known.handle is scene:
            return before
        return 2 if before == 1 else 1

    def start_step(self, end: float) -> None:
        """A step begins: bodies may have moved. Its end must have a date, for texts."""
        self._follows = False
        if self._texts.wanted and math.isfinite(end):
            self._texts.utc_at(end - self._start)

    def end_step(self) -> None:
        """Leave the scenes that no later sample is in."""
        for number in [number for number in self._scenes if number != self._now]:
            del self._scenes[number]

    def look(self, scene: int, time: float, since: float) -> None:
        """Mark the satellites that a scene hides at an instant.

        The scene of now is followed from the state that was known before the step. Another one is
        that of a sample before this one came; after a saved state it may have another handle.
        """
        known = self._scenes.get(scene) or self._scenes.get(self._now)
        if known is None:
            return
        if known is self._scenes.get(self._now):
            self._follow(since)
            sight = self._sight
        else:
            sight = Sight()
            sight.follow(known.handle, time)
        known.look(self._place, self._sky, sight, time)

    def _follow(self, since: float) -> None:
        known = self._scenes.get(self._now)
        if known is not None and not self._follows:
            self._sight.follow(known.handle, since)
            self._follows = True

    def bodies(self, since: float) -> Floats:
        """The known motion of the bodies of the present scene."""
        self._follows = False
        self._follow(since)
        return self._sight.state

    @contextmanager
    def going_on(self, scene: int) -> Iterator[None]:
        """Take over a state: the scene that is looked for meanwhile has this number in it."""
        scenes, now = self._scenes.copy(), self._now
        self._goes_on = scene
        try:
            yield
        except BaseException:
            self._scenes, self._now = scenes, now
            raise
        finally:
            self._goes_on = None

    def restored(self, sight: Sight, start: float) -> None:
        """Take over what was known of bodies, in a run that started then."""
        self._sight, self._start = sight, start
        # An instance that is made from a state was not there at the start.
        self._plan.parameters[of.TIME_OF_WEEK] = week_time(self._parameters) - start

    # ---- results -----------------------------------------------------------------------------

    @property
    def more_columns(self) -> Sequence[Column]:
        """Columns of pseudoranges, if a record is to have them."""
        if not self._recorded:
            return ()
        text = "Pseudorange of the satellite, NaN where it is not in use"
        names = [satellite.name for satellite in self._constellation.satellites]
        return [Column(f"pseudorange.{name}", "real", "m", text) for name in names]

    def result(self, index: int, time: float, values: Sequence[Any]) -> Result:
        """A sample with its texts, and with its ranges if they are recorded."""
        ranges = values[VALUES + 3 :] if self._recorded else ()
        known = tuple(r or math.nan for r in ranges)
        return Result(index, time, (*values[:VALUES], *self._words(index, time, values), *known))

    def tell(self, row: Floats) -> None:
        """Show the texts of the newest result."""
        if self._texts.wanted:
            *values, count, time = row.tolist()
            nmea, rinex = self._words(int(count) - 1, time, values)
            self.show_texts({"nmea.sentences": nmea, "rinex.epoch": rinex})

    def _words(self, index: int, time: float, values: Sequence[Any]) -> tuple[str, str]:
        """The texts of a result; the newest is asked for twice, to be shown and to be recorded."""
        if not self._texts.wanted:
            return "", ""
        key = (index, time, *values)
        if self._made[0] != key:
            since, ranges = time - self._start, values[VALUES + 3 :]
            nmea = self._texts.nmea(reading_of(values), since, ranges)
            first = index == 0
            self._made = (
                key,
                (
                    nmea,
                    self._texts.rinex(since, ranges, values[_PLACE], is_first=first),
                ),
            )
        return self._made[1]

    def close(self) -> None:
        """Leave the scene."""
        self._scenes.clear()


def _depends(output: str, given: str) -> bool:
    """A fault touches its own signal and the sentences, and nothing touches ranges but motion."""
    if not given.startswith("fault."):
        return True
    return output == "nmea.sentences" or given.startswith(f"fault.{output}.")


GNSS = SensorSpec(
    name="Gnss",
    text="GNSS receiver: position, velocity and time on a georeferenced world",
    create=GnssSensor,
    state=(Group(BodyState),),
    held=(Group(SceneNumber), *FAULTS),
    parameters=(
        Group(GnssParameters),
        Group(ReportErrors),
        Group(Georeference),
        Group(MountParameters),
        Group(PlacementParameters),
        Group(OptionalScene),
    ),
    readings=(Group(GnssReading),),
    sinks=(Group(RecordParameters),),
    texts=(
        TextFile("nmea.sentences", "nmea.on", "nmea"),
        TextFile("rinex.epoch", "rinex.on", "rnx"),
    ),
    depends=_depends,
    compiled=True,
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
