"""What the compiled step of a scalar sensor is made of, and where its variables are.

A model gives a ``Plan``; a ``Storage`` has the values of the variables that the plan names. A
``step.Step`` is made of both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import quantities_of
from sensor_models.kernels.math import stepping as at
from sensor_models.kernels.math.motion import ORIENTATION

Floats = NDArray[np.float64]
Values = NDArray[Any]

#: Outputs of every sensor, behind those of its reading.
SAMPLE_COUNT, SAMPLE_TIME = "sample.count", "sample.time"

#: Parts of a fault in the order of the kernels, and their types.
FAULT_PARTS = (
    ("mode", at.INTEGER),
    ("value", at.REAL),
    ("wave", at.INTEGER),
    ("amplitude", at.REAL),
    ("period", at.REAL),
    ("offset", at.REAL),
)
_TYPE_OF_KIND = {
    "real": at.REAL,
    "integer": at.INTEGER,
    "choice": at.INTEGER,
    "boolean": at.BOOLEAN,
}


@dataclass(frozen=True)
class FaultInputs:
    """The inputs of the fault on one signal: their prefix, its name for people, its limits."""

    prefix: str
    signal: str
    has_limits: bool


@dataclass(frozen=True)
class Plan:
    """What the compiled step of a sensor is made of.

    Attributes:
        function: the step, as Numba's ``cfunc`` makes it.
        reading: the dataclass of its outputs.
        truth: names of the inputs that are interpolated, all Reals.
        parameters, keys, state: arrays of the model.
        rate: ticks of the clock per second; 0 for one tick at each known instant.
        faults: held inputs, by signal.
        inputs: names of the other held inputs, all Reals.
        extra: held values that only Python can provide (``Step.give``, or its ``resolve``).
        nowhere: names of numbers of a sample that are not outputs, after those of the reading.
        is_body: whether ``truth`` is the state of a body, beginning like ``BodyState``.
        own: further words of the table, numbers or arrays, by their place.
    """

    function: Any
    reading: type
    truth: tuple[str, ...]
    parameters: Floats
    keys: NDArray[np.uint64]
    state: Floats
    rate: float
    faults: tuple[FaultInputs, ...] = ()
    inputs: tuple[str, ...] = ()
    extra: Floats = field(default_factory=lambda: np.empty(0))
    nowhere: int = 0
    is_body: bool = False
    own: Mapping[int, int | Values] = field(default_factory=dict)

    def held(self) -> list[tuple[str, int]]:
        """Names and types of the held inputs, in the order of the kernels."""
        parts = [(f"{f.prefix}.{part}", kind) for f in self.faults for part, kind in FAULT_PARTS]
        return [*parts, *((name, at.REAL) for name in self.inputs)]

    def outputs(self) -> list[tuple[str, int]]:
        """Names and types of all outputs except Strings, in the order of the kernels."""
        reading = [
            (name, _TYPE_OF_KIND[quantity.kind])
            for quantity in quantities_of(self.reading).values()
            if quantity.kind != "string"
            for name, _ in quantity.parts(quantity.default)
        ]
        reading += [("", at.NOWHERE)] * self.nowhere
        return [*reading, (SAMPLE_COUNT, at.INTEGER), (SAMPLE_TIME, at.REAL)]


@dataclass(frozen=True)
class Storage:
    """The values of named variables: arrays by type (Real, Integer, Boolean), places in them."""

    arrays: tuple[Values, Values, Values]
    places: Mapping[str, int]

    @staticmethod
    def of(plan: Plan) -> "Storage":
        """New arrays, with the start values of a body or joint at rest."""
        names = [*((name, at.REAL) for name in plan.truth), *plan.held(), *plan.outputs()]
        places: dict[str, int] = {}
        counts = [0, 0, 0]
        for name, kind in names:
            if kind == at.NOWHERE:
                continue
            places[name] = counts[kind]
            counts[kind] += 1
        reals = np.zeros(counts[0])
        storage = Storage(
            (reals, np.zeros(counts[1], np.int32), np.zeros(counts[2], np.int32)), places
        )
        for fault in plan.faults:
            reals[places[f"{fault.prefix}.period"]] = 1.0
        if plan.is_body:
            reals[places[plan.truth[ORIENTATION]]] = 1.0
        return storage
