"""Errors of what a radar reports of its targets, in the words of the other sensors.

They act on range, azimuth, elevation and speed of each target in a list, on outputs, in files and
in messages alike, and so on the nearest one. Model: ``kernels.radar.errors``.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.codes import NO_GRID, Grid, RoundingMode, grid_of_bits, legal_limits
from sensor_models.core.faults import NO_FAULT, Fault, FaultPort
from sensor_models.core.quantities import (
    NO_LIMIT,
    ParameterError,
    boolean,
    check,
    choice,
    integer,
    real,
)
from sensor_models.core.random import stream_key
from sensor_models.core.sensor import Held
from sensor_models.core.spec import Group
from sensor_models.kernels.math.faults import HELD, SLOT_SIZE
from sensor_models.kernels.radar import errors as kernel
from sensor_models.kernels.radar.errors import corrupt

Floats = NDArray[np.float64]

#: What errors act on, and the units.
READINGS = {"range": "m", "azimuth": "rad", "elevation": "rad", "speed": "m/s"}
ANGLES = ("azimuth", "elevation")
#: The inputs for faults.
FAULTS = tuple(Group(Fault, f"fault.{name}") for name in READINGS)


class _Errors(NamedTuple):
    """What is set for one reading."""

    bias: float
    noise: float
    walk: float
    bound: float
    lsb: float
    lower: float
    upper: float


def _of_range(default: float, unit: str, text: str, name: str, minimum: float = -math.inf) -> Any:
    return real(default, unit, f"{text} of ranges", minimum=minimum, name=f"{name}.range")


def _of_angles(default: float, unit: str, text: str, name: str, minimum: float = -math.inf) -> Any:
    return real(
        (default, default), unit, f"{text} of angles", minimum=minimum, components=ANGLES, name=name
    )


def _of_speed(default: float, unit: str, text: str, name: str, minimum: float = -math.inf) -> Any:
    return real(default, unit, f"{text} of speeds", minimum=minimum, name=f"{name}.speed")


@dataclass(frozen=True)
class TargetErrors:
    """Errors of the readings of targets; none by default."""

    bias_range: float = _of_range(0.0, "m", "Zero offset", "bias")
    bias_angles: tuple[float, float] = _of_angles(0.0, "rad", "Zero offset", "bias")
    bias_speed: float = _of_speed(0.0, "m/s", "Zero offset", "bias")
    noise_range: float = _of_range(
        0.0, "m", "Standard deviation of the noise", "noise.rms", minimum=0.0
    )
    noise_angles: tuple[float, float] = _of_angles(
        0.0, "rad", "Standard deviation of the noise", "noise.rms", minimum=0.0
    )
    noise_speed: float = _of_speed(
        0.0, "m/s", "Standard deviation of the noise", "noise.rms", minimum=0.0
    )
    walk_range: float = _of_range(
        0.0, "m/sqrt(s)", "Growth of the random walk after 1 s", "drift.walk", minimum=0.0
    )
    walk_angles: tuple[float, float] = _of_angles(
        0.0, "rad/sqrt(s)", "Growth of the random walk after 1 s", "drift.walk", minimum=0.0
    )
    walk_speed: float = _of_speed(
        0.0, "m/s/sqrt(s)", "Growth of the random walk after 1 s", "drift.walk", minimum=0.0
    )
    bound_range: float = _of_range(
        0.0, "m", "Magnitude that the random walk does not exceed (0: none)", "drift.bound", 0.0
    )
    bound_angles: tuple[float, float] = _of_angles(
        0.0, "rad", "Magnitude that the random walk does not exceed (0: none)", "drift.bound", 0.0
    )
    bound_speed: float = _of_speed(
        0.0, "m/s", "Magnitude that the random walk does not exceed (0: none)", "drift.bound", 0.0
    )
    discretization_on: bool = boolean(
        False, "Whether the readings of targets are rounded to codes", name="discretization.on"
    )
    discretization_mode: RoundingMode = choice(
        RoundingMode.toward_zero,
        "Which code a value between two codes becomes; round takes halves away from 0",
        name="discretization.mode",
    )
    lsb_range: float = _of_range(
        0.0, "m", "Step between codes (0: none)", "discretization.lsb", minimum=0.0
    )
    lsb_angles: tuple[float, float] = _of_angles(
        0.0, "rad", "Step between codes (0: none)", "discretization.lsb", minimum=0.0
    )
    lsb_speed: float = _of_speed(
        0.0, "m/s", "Step between codes (0: none)", "discretization.lsb", minimum=0.0
    )
    discretization_bits: int = integer(
        0,
        "Number of bits of a code, instead of a step: 2^bits codes from saturation.min to "
        "saturation.max, of each reading that has both; 0 for none",
        minimum=0,
        maximum=32,
        name="discretization.bits",
    )
    saturation_on: bool = boolean(
        False, "Whether the readings of targets are limited", name="saturation.on"
    )
    lower_range: float = _of_range(-NO_LIMIT, "m", "Lowest reported value", "saturation.min")
    lower_angles: tuple[float, float] = _of_angles(
        -NO_LIMIT, "rad", "Lowest reported value", "saturation.min"
    )
    lower_speed: float = _of_speed(-NO_LIMIT, "m/s", "Lowest reported value", "saturation.min")
    upper_range: float = _of_range(NO_LIMIT, "m", "Highest reported value", "saturation.max")
    upper_angles: tuple[float, float] = _of_angles(
        NO_LIMIT, "rad", "Highest reported value", "saturation.max"
    )
    upper_speed: float = _of_speed(NO_LIMIT, "m/s", "Highest reported value", "saturation.max")

    def __post_init__(self) -> None:
        check(self)
        if self.discretization_bits > 0 and any(own.lsb for own in self._each()):
            raise ParameterError(
                f"discretization.bits = {self.discretization_bits} and a discretization.lsb above "
                "0 exclude each other, allowed is one of them, with the other at 0"
            )
        limited = [self.has_limits(own) for own in self._each()]
        if self.discretization_on and self.discretization_bits > 0 and not any(limited):
            raise ParameterError(
                f"discretization.bits = {self.discretization_bits} needs saturation.min and "
                "saturation.max of a reading, allowed is 0 without them"
            )
        for (name, unit), own in zip(READINGS.items(), self._each(), strict=True):
            if not own.lower <= own.upper:
                raise ParameterError(
                    f"saturation.min.{name} = {own.lower} {unit} is above saturation.max.{name} = "
                    f"{own.upper} {unit}, allowed is at most that"
                )
            self.limits(name, own)

    def _each(self) -> Iterator[_Errors]:
        """What is set for each reading, in the order of the kernel."""
        kinds = [
            (getattr(self, f"{kind}_range"), *getattr(self, f"{kind}_angles"),
             getattr(self, f"{kind}_speed"))
            for kind in _Errors._fields
        ]  # fmt: skip
        yield from map(_Errors, *kinds)

    @staticmethod
    def has_limits(own: _Errors) -> bool:
        """Whether a reading has two limits that can be reached."""
        return own.lower > -NO_LIMIT and own.upper < NO_LIMIT

    def grid(self, own: _Errors) -> Grid:
        """The codes of a reading."""
        if not self.discretization_on:
            return NO_GRID
        if self.discretization_bits == 0:
            return Grid(own.lsb)
        if not self.has_limits(own):
            return NO_GRID
        return grid_of_bits(own.lower, own.upper, self.discretization_bits)

    def limits(self, name: str, own: _Errors) -> tuple[float, float]:
        """The lowest and the highest report of a reading; codes, where there are codes."""
        lower, upper = (own.lower, own.upper) if self.saturation_on else (-NO_LIMIT, NO_LIMIT)
        names = f"saturation.min.{name}", f"saturation.max.{name}"
        return legal_limits(lower, upper, self.grid(own), names)

    @property
    def limited(self) -> list[bool]:
        """Which readings have limits, which faults of the modes on, max and min need."""
        return [self.saturation_on and self.has_limits(own) for own in self._each()]

    def pack(self) -> Floats:
        """The errors as the kernel takes them."""
        packed = np.zeros((kernel.READINGS, kernel.ERRORS_SIZE))
        for row, name, own in zip(packed, READINGS, self._each(), strict=True):
            row[kernel.BIAS], row[kernel.NOISE] = own.bias, own.noise
            row[kernel.WALK], row[kernel.BOUND] = own.walk, own.bound or math.inf
            row[kernel.CODE_STEP], row[kernel.ANCHOR] = self.grid(own)
            row[kernel.ROUNDING] = self.discretization_mode
            row[kernel.LOWEST], row[kernel.HIGHEST] = self.limits(name, own)
        return packed


Target = TypeVar("Target", bound=Any)


class ErrorChain:
    """Puts errors and faults on the targets of one frame after the other."""

    def __init__(self, errors: TargetErrors, seed: int, identity: str) -> None:
        self._packed = errors.pack()
        self._keys = np.stack(
            [stream_key(seed, identity, f"targets.{term}") for term in ("noise", "drift")]
        )
        self._memory = np.zeros(kernel.STATE_SIZE)
        self._ports = [
            FaultPort(name, has_limits=limited)
            for name, limited in zip(READINGS, errors.limited, strict=True)
        ]
        # Compiled or loaded now, not in a step.
        faults = np.stack([port.packed(NO_FAULT) for port in self._ports])
        corrupt(
            self._packed, self._memory.copy(), self._keys, faults, 0, 0.0,
            np.zeros((1, kernel.READINGS)),
        )  # fmt: skip

    def faults(self, held: Held) -> Floats:
        """The faults as the kernel takes them; one that cannot be applied is refused."""
        given = (held.groups.of(Fault, group.prefix) for group in FAULTS)
        return np.stack([port.packed(f) for port, f in zip(self._ports, given, strict=True)])

    def act(
        self, held: Held, targets: Sequence[Target], frame: int, time: float
    ) -> tuple[list[Target], int]:
        """The targets as they are reported, and which of them is the nearest, -1 for none.

        Targets are tuples that begin with an entity id and the readings.
        """
        last = 1 + len(READINGS)
        readings = np.array([target[1:last] for target in targets], float)
        readings = readings.reshape(-1, len(READINGS))
        nearest = int(
            corrupt(
                self._packed, self._memory, self._keys, self.faults(held), frame, time, readings
            )
        )
        reported = [
            target if target[1:last] == row else type(target)(target[0], *row, *target[last:])
            for target, row in zip(targets, map(tuple, readings.tolist()), strict=True)
        ]
        return reported, nearest

    @property
    def state(self) -> Floats:
        """A copy of what is remembered; assigned, it continues from there."""
        return self._memory.copy()

    @state.setter
    def state(self, saved: NDArray[Any]) -> None:
        self.check(saved)
        self._memory[:] = saved

    def check(self, saved: NDArray[Any]) -> None:
        """Refuse what is no state."""
        fits = saved.shape == self._memory.shape
        if fits:
            known = saved.copy()
            # a speed that a cone does not know yet may be held
            known[kernel.SLOTS + HELD : kernel.BEFORE : SLOT_SIZE] = 0.0
            fits = bool(np.isfinite(known).all() and not np.isinf(saved).any())
        if not fits:
            raise ValueError("the saved state of the errors of targets is damaged")
