"""What simulations with MuJoCo share: the length of its steps, and what it may not do to a host."""

import math
import threading
from collections.abc import Mapping
from typing import Any

import mujoco  # type: ignore[import-untyped]  # it carries no types
import numpy as np
from numpy.typing import NDArray

#: More inner steps than this in one communication step are refused: they would take minutes.
MOST_INNER_STEPS = 1_000_000
_WHOLE = 1e-9  # of an inner step, by which rounding makes a communication step too long
STATE = mujoco.mjtState.mjSTATE_INTEGRATION
#: Larger numbers in a state are no body's.
LARGEST = 1e10
#: What the engine warns of, and then begins anew from a state of its own.
_UNSTABLE = [
    int(warning)
    for warning in (
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
        mujoco.mjtWarning.mjWARN_BADQACC,
        mujoco.mjtWarning.mjWARN_BADCTRL,
    )
]


class SimulationError(ValueError):
    """A step that cannot be simulated, or a state that does not belong to this model."""


class _Warnings:
    """What the engine says to nobody while we use it.

    It would write a file into the working directory of the host and to its console. There is one
    handler in a process; who set one before us has it back when no thread of ours is inside.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._usual: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._usual = mujoco.get_mju_user_warning()
                mujoco.set_mju_user_warning(_ignore)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                mujoco.set_mju_user_warning(self._usual)


def _ignore(warning: str) -> None:
    """Ignore a warning: what comes of it is found in the numbers."""
    del warning


unheard = _Warnings()


def refuse_instability(data: Any, *, forget: bool = False) -> None:
    """Refuse what the engine has answered with a state of its own, or forget that it did."""
    if forget:
        for kind in _UNSTABLE:
            data.warning[kind].number = 0
    if any(data.warning[kind].number for kind in _UNSTABLE):
        raise SimulationError(
            "the simulation diverges: a position, a speed or an acceleration has become larger"
            f" than {LARGEST:g}, or is no number"
        )


def inner_steps(start: float, end: float, duration: float, step: float) -> int:
    """The number of inner steps to an instant."""
    if not duration / step <= MOST_INNER_STEPS:
        raise SimulationError(
            f"a communication step of {duration:g} s takes more than {MOST_INNER_STEPS} inner "
            f"steps of time_step = {step:g} s, allowed is at most {MOST_INNER_STEPS * step:g} s"
        )
    spacing = float(np.spacing(max(abs(end), abs(start))))
    if spacing > step:
        raise SimulationError(
            f"time = {end:g} s is too far from 0: numbers of this size are {spacing:g} s apart,"
            f" allowed is at most time_step = {step:g} s"
        )
    return max(1, math.ceil(duration / step - _WHOLE))


def state_of(data: Any) -> NDArray[np.float64]:
    """The state of the engine, as it goes into saved states."""
    state = np.empty(mujoco.mj_stateSize(data.model, STATE))
    mujoco.mj_getState(data.model, data, state, STATE)
    return state


def check_state(arrays: Mapping[str, NDArray[Any]], own: Mapping[str, NDArray[Any]]) -> None:
    """Refuse a saved state that is not formed as the present one, or has absurd numbers."""
    fits = arrays.keys() == own.keys() and all(
        arrays[name].shape == array.shape
        and arrays[name].dtype == array.dtype
        and np.isfinite(arrays[name]).all()
        for name, array in own.items()
    )
    if not fits:
        raise SimulationError("the state's arrays are not those of this model")
    if not np.abs(arrays["engine"]).max() <= LARGEST:
        raise SimulationError(f"the state has numbers beyond {LARGEST:g}, which are no body's")


def go_on_from(engine: Any, data: Any, state: NDArray[np.float64]) -> None:
    """Put the engine into a state."""
    refuse_instability(data, forget=True)
    mujoco.mj_setState(engine, data, state, STATE)
    mujoco.mj_forward(engine, data)
    # this has changed where the solver starts, which belongs to the state
    mujoco.mj_setState(engine, data, state, STATE)
