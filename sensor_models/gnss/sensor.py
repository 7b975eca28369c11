"""The GNSS receiver as a sensor: its samples are fixes.

Model: ``kernels.gnss.receiver``. A scene hides satellites and may say where on the Earth the
world is; the parameters ``origin.*`` win over that, if one of them is not zero. Without a scene
the sky is open. Movable bodies hide satellites where they were at the instant of the sample.

Faults act on what the receiver reports, and so on its NMEA sentences, but neither on the receiver
itself nor on its pseudoranges. A sample comes out after the latency (``core.latency``).
"""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import START
from sensor_models.core.faults import Fault, FaultPort, check_fault
from sensor_models.core.frames import IDENTITY, BodyState, MountParameters, interpolate_body
from sensor_models.core.georeference import Georeference
from sensor_models.core.latency import DelayedSensor
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.sensor import Arrays, Held, Inputs, Result, SampledSensor, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, Groups, SensorSpec
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import (
    EAST_NORTH_UP,
    ErrorMode,
    GnssParameters,
    GnssReading,
    Multipath,
)
from sensor_models.kernels.math import faults
from sensor_models.output.records import RecordParameters
from sensor_models.output.text_logs import TextFile
from sensor_models.scene.history import MovingBodies, Sight
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.registry import SceneHandle
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.scene import OptionalScene, SceneNumber
from sensor_models.sight.smallest import moved_bodies, smallest_scene

Vector = NDArray[np.float64]

#: The signals that can be at fault, in the order of their slots.
SIGNALS = ("latitude", "longitude", "height", *(f"velocity.{axis}" for axis in EAST_NORTH_UP))
#: Before the names of the arrays of the receiver in a saved state.
RECEIVER = "receiver."


class FaultySignals:
    """Faults on the signals of readings; what they hold is in ``slots``."""

    def __init__(self) -> None:
        self.slots = np.zeros((len(SIGNALS), faults.SLOT_SIZE))
        self._ports = [FaultPort(signal, has_limits=False) for signal in SIGNALS]

    def apply(self, reading: GnssReading, time: float, held: Groups) -> GnssReading:
        """A reading with the faults that are held."""
        values = [reading.latitude, reading.longitude, reading.height, *reading.velocity]
        for row, (signal, port) in enumerate(zip(SIGNALS, self._ports, strict=True)):
            fault = port.packed(held.of(Fault, f"fault.{signal}"))
            values[row] = faults.apply(fault, self.slots[row], values[row], time, 0.0, 0.0)
        latitude, longitude, height, east, north, up = map(float, values)
        return dataclasses.replace(
            reading,
            latitude=latitude,
            longitude=longitude,
            height=height,
            velocity=(east, north, up),
        )


class FaultyGnss:
    """A receiver whose readings may be at fault, as what samples (``core.sensor``)."""

    def __init__(self, gnss: Gnss) -> None:
        self.gnss = gnss
        self.signals = FaultySignals()

    @property
    def state(self) -> Vector:
        """All that changes."""
        return np.concatenate([self.gnss.state, self.signals.slots.ravel()])

    @state.setter
    def state(self, state: Vector) -> None:
        own, slots = np.split(state, [len(state) - self.signals.slots.size])
        self.gnss.state = own
        self.signals.slots[:] = slots.reshape(self.signals.slots.shape)

    def reset(self) -> None:
        """Back to before the first sample."""
        self.gnss.reset()
        self.signals.slots[:] = 0.0


class GnssSensor:
    """A receiver that samples while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        parameters = setup.parameters.of(GnssParameters)
        seed, identity = setup.sampling.seed, setup.identity
        mount = setup.parameters.of(MountParameters)
        mount = placed(mount, setup.parameters.of(PlacementParameters), seed, identity)
        if parameters.sky_visibility:
            _load_kernels()
        self._origin = setup.parameters.of(Georeference)
        self._gnss = Gnss(
            parameters, mount, self._origin, seed=seed, sensor=identity, start=setup.start
        )
        self._faulty = FaultyGnss(self._gnss)
        sampled = SampledSensor(setup, self._faulty, self._measure, interpolate_body, _check)
        self._delayed = DelayedSensor(setup, sampled, parameters.latency)
        self._start = setup.start
        self._scene: SceneHandle | None = None
        self._sight = Sight()
        self._followed: SceneHandle | None = None

    def begin(self, inputs: Inputs) -> Iterator[Result]:
        """Sample 0, if it comes out at once."""
        return self.advance(inputs, self._start, self._start)

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The fixes that come out until the end of the step."""
        scene = inputs.held.scene
        if scene is not None:
            self._sight.follow(scene, t0)
        self._followed = scene
        return self._delayed.advance(inputs, t0, t1)

    def _measure(self, index: int, time: float, body: Vector, held: Held) -> GnssReading:
        self._enter(held.scene)
        self._gnss.measure(index, time, body, self._bodies(held.scene, time))
        reading = self._faulty.signals.apply(self._gnss.reading, time, held.groups)
        return self._gnss.with_texts(reading)

    def _enter(self, scene: SceneHandle | None) -> None:
        """Be in a scene from now on, or under an open sky."""
        if scene is self._scene:
            return
        if scene is None:
            self._gnss.enter(self._origin, None)
        else:
            sees = self._gnss.parameters.sky_visibility
            rays = scene.rays(placed=False) if sees else None
            self._gnss.enter(self._origin.or_else(scene.scene.origin), rays)
        self._scene = scene

    def _bodies(self, scene: SceneHandle | None, time: float) -> MovingBodies | None:
        """Where the movable bodies of a scene are at an instant."""
        if scene is None or not self._gnss.parameters.sky_visibility:
            return None
        sight = self._sight
        if scene is not self._followed:  # of a sample before the one that another scene came with
            sight = Sight()
            sight.follow(scene, time)
        return sight.over(time, 0.0, 0)[0]

    def state(self) -> Arrays:
        """What the receiver remembers, and what it knows of bodies."""
        receiver = {f"{RECEIVER}{name}": a for name, a in self._delayed.state().items()}
        return {**receiver, "bodies": self._sight.state}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor."""
        sight = Sight.of(arrays)
        self._delayed.restore(
            {
                name.removeprefix(RECEIVER): array
                for name, array in arrays.items()
                if name.startswith(RECEIVER)
            }
        )
        self._sight = sight
        # An instance that is made from a state was not there at the start.
        self._gnss.start = float(arrays[f"{RECEIVER}timeline.clock"][START])

    def close(self) -> None:
        """Leave the scene."""
        self._enter(None)
        self._delayed.close()


def _check(held: Groups) -> None:
    """Refuse faults that cannot be applied."""
    for signal in SIGNALS:
        check_fault(held.of(Fault, f"fault.{signal}"), signal, has_limits=False)


@cache
def _load_kernels() -> None:
    """Compile or load what a sample in a scene may need, once, and not in a step."""
    parameters = GnssParameters(error_mode=ErrorMode.pseudorange, multipath=Multipath.image)
    scene = smallest_scene()
    body = np.array([0.0, 0.0, 0.0, *IDENTITY, *[0.0] * (BODY_SIZE - 7)])
    with RayScene(scene, threads=1) as rays:
        Gnss(parameters, rays=rays).measure(0, 0.0, body, moved_bodies(scene))


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
    held=(Group(SceneNumber), *(Group(Fault, f"fault.{signal}") for signal in SIGNALS)),
    parameters=(
        Group(GnssParameters),
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
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
