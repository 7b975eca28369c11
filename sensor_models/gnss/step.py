"""The step of a receiver: the Python side of its compiled step (``kernels.gnss.steps``).

Samples are measured without Python where nothing hides satellites. In a scene, each sample stops
once for the rays. Texts are made of what comes out of a step.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import LATEST, START, SamplingParameters
from sensor_models.core.faults import Fault
from sensor_models.core.frames import BodyState
from sensor_models.core.plan import FaultInputs, Plan
from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import Group
from sensor_models.core.step import Step, StepError
from sensor_models.gnss.parameters import EAST_NORTH_UP, GnssReading
from sensor_models.kernels.gnss import latency, steps
from sensor_models.kernels.gnss import layout as of
from sensor_models.kernels.math import faults
from sensor_models.kernels.math import stepping as at
from sensor_models.kernels.math.motion import POSITION
from sensor_models.scene.history import Sight

Floats = NDArray[np.float64]

#: The signals that can be at fault, in the order of their slots.
SIGNALS = ("latitude", "longitude", "height", *(f"velocity.{axis}" for axis in EAST_NORTH_UP))
FAULTS = tuple(Group(Fault, f"fault.{signal}") for signal in SIGNALS)

#: Results that may be on their way.
MOST_UNDER_WAY = 4096


def rows_under_way(latency: float, rate: float) -> int:
    """How many results may be on their way at once; a latency that needs too many is refused."""
    if latency == 0.0:
        return 0
    if not rate > 0.0:
        raise ParameterError(
            f"latency = {latency} s needs a sampling rate, which is {rate} Hz; allowed is 0 s, or "
            "a sample_rate above 0 Hz"
        )
    under_way = math.ceil(latency * rate) + 1
    if under_way > MOST_UNDER_WAY:
        raise ParameterError(
            f"latency = {latency} s at {rate} Hz has {under_way} samples under way, allowed are "
            f"{MOST_UNDER_WAY}"
        )
    # instants are rounded, and a sample is put on its way before the newest of a step come out
    return under_way + 3


def receiver_plan(
    parameters: Floats,
    keys: NDArray[np.uint64],
    orbits: Floats,
    work: Floats,
    world: Floats,
    *,
    rate: float,
    latency_is: float,
    ranges: bool,
    texts: bool,
    limited: Sequence[bool],
) -> Plan:
    """The compiled step of a receiver with satellites; ``world`` is the one without a scene.

    ``limited`` says which signals have limits that they may be stuck at.
    """
    nowhere = 3 + len(orbits) if ranges else 0
    row_size = steps.VALUES + nowhere + 2
    under_way = rows_under_way(latency_is, rate)
    on_their_way = latency.ROWS + under_way * row_size if under_way else 0
    fixed = of.STATE_SIZE + len(SIGNALS) * faults.SLOT_SIZE
    return Plan(
        function=steps.receiver_step,
        reading=GnssReading,
        truth=tuple(name for name, _, _ in Group(BodyState).scalars()),
        parameters=np.append(parameters, latency_is),
        keys=keys,
        state=np.zeros(fixed + len(orbits) * of.SATELLITE_SIZE + on_their_way),
        rate=rate,
        faults=tuple(
            FaultInputs(f"fault.{signal}", signal, has_limits)
            for signal, has_limits in zip(SIGNALS, limited, strict=True)
        ),
        extra=np.append(0.0, world),
        nowhere=nowhere,
        is_body=True,
        own={
            steps.ORBITS: orbits,
            steps.SATELLITES: len(orbits),
            steps.WORK: work,
            steps.KEPT: np.zeros(steps.KEPT_SIZE + row_size),
            steps.RANGES: int(ranges),
            steps.TEXTS: int(texts),
            steps.LOOKING: -1,
        },
    )


class Surroundings(Protocol):
    """What a compiled step of a receiver leaves to Python: scenes, and texts of results."""

    def start_step(self, end: float) -> None:
        """A step begins that ends then; what cannot be is refused."""

    def end_step(self) -> None:
        """A step is done."""

    def look(self, scene: int, time: float, since: float) -> None:
        """Mark what hides satellites at an instant of a step that knows the bodies since then."""

    def tell(self, row: Floats) -> None:
        """Take the newest result, with its number + 1 and its instant."""

    def bodies(self, since: float) -> Floats:
        """What is known of movable bodies, as a part of a saved state."""

    def going_on(self, scene: int) -> AbstractContextManager[None]:
        """Take over a state: the scene that is looked for meanwhile has this number in it."""

    def restored(self, sight: Sight, start: float) -> None:
        """Take over what was known of bodies, in a run that started then."""


class ReceiverStep(Step):
    """A receiver in steps."""

    def __init__(
        self,
        around: Surroundings,
        plan: Plan,
        sampling_parameters: SamplingParameters,
        **given: Any,
    ) -> None:
        """As ``Step``, with what is asked where a sample or a result needs Python."""
        self._around = around
        kept, satellites = plan.own[steps.KEPT], plan.own[steps.SATELLITES]
        assert isinstance(kept, np.ndarray)
        assert isinstance(satellites, int)
        self._kept: Floats = kept
        slots = len(SIGNALS) * faults.SLOT_SIZE
        start = of.STATE_SIZE + satellites * of.SATELLITE_SIZE + slots
        self._under_way = plan.state[start:]
        super().__init__(plan, sampling_parameters, **given)

    # ---- arrays ------------------------------------------------------------------------------

    @property
    def _most_under_way(self) -> int:
        return self._under_way.size // self._row.size

    def _make_arrays(self, start: float, watched: tuple[str, ...]) -> None:
        """Make the arrays of the step, which may give more results than samples are due in it."""
        super()._make_arrays(start, watched)
        if len(self._ring):
            self._ring = np.zeros((len(self._ring) + self._most_under_way, self._row.size))

    def _sizes(self) -> dict[int, Any]:
        sizes = super()._sizes()
        if len(self._ring):
            sizes[at.RING_ROWS] = len(self._ring) - self._most_under_way
        return sizes

    # ---- steps -------------------------------------------------------------------------------

    @property
    def start(self) -> float:
        """The instant of sample 0."""
        return float(self._clock[START])

    @property
    def scene_before(self) -> int:
        """The number of the scene of the newest state that was taken."""
        return int(self._held[at.HELD_BEFORE, steps.SCENE])

    @property
    def _since(self) -> float:
        """The newest instant whose state is known."""
        latest = float(self._clock[LATEST])
        return latest if math.isfinite(latest) else self.start

    def _do(self, time: float, duration: float) -> None:
        self._around.start_step(time + duration)
        self._row[-2] = 0.0  # the number of the newest result, if there is one
        self._table[steps.ENTERED] = 1
        try:
            super()._do(time, duration)
        finally:
            self._table[steps.ENTERED] = 0
        if self._row[-2] != 0.0:
            self._around.tell(self._row)
        self._around.end_step()

    def _call(self, time: float, duration: float) -> int:
        try:
            while (code := super()._call(time, duration)) == steps.LOOK:
                held = self._held[self._table[steps.HELD_ROW]]
                stamp = float(self._kept[steps.KEPT_STAMP])
                self._around.look(int(held[steps.SCENE]), stamp, self._since)
            return code
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        """Take back what was done of a step that stopped for Python."""
        if self._table[steps.LOOKING] < 0:
            return
        self._plan.state[:] = self._copy
        self._table[at.RING_FILL] = int(self._kept[steps.KEPT_FILL])
        self._table[at.IS_NEW], self._table[steps.LOOKING] = 0, -1

    def _refuse_inputs(self, code: int) -> None:
        if code == steps.BAD_PLACE:
            body = self._known[self._table[at.REFUSED]]
            raise ParameterError(
                f"body.position = {tuple(body[POSITION : POSITION + 3].tolist())} is no place on "
                "the Earth, allowed are places at least 1 km from its centre, and finite velocities"
            )
        super()._refuse_inputs(code)

    # ---- states ------------------------------------------------------------------------------

    def state(self) -> dict[str, Floats]:
        """The state of the step, and the known motion of bodies."""
        return {**super().state(), "bodies": self._around.bodies(self._since)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from ``state()``, as ``Step``."""
        own = {name: array for name, array in saved.items() if name != "bodies"}
        if "bodies" not in saved:
            raise StepError("the state's arrays are not those of this sensor")
        if self._under_way.size and saved["model"].shape == self._plan.state.shape:
            first, count = saved["model"][-self._under_way.size :][: latency.ROWS]
            if not (0 <= first < self._most_under_way and 0 <= count <= self._most_under_way):
                raise StepError("the results on their way do not fit this sensor")
        sight = Sight.of(saved)
        with self._around.going_on(_scene_of(saved.get("held"))):
            self._look_closer()  # a scene that cannot be had is told now, before anything changes
            super().restore(own)
        self._around.restored(sight, self.start)


def _scene_of(held: Any) -> int:
    """The number of the scene among held inputs of a saved state, 0 for what has none."""
    found = np.zeros(1) if held is None else np.ravel(held)[steps.SCENE : steps.SCENE + 1]
    return int(found[0]) if found.size and found[0] in (1.0, 2.0) else 0
