"""A Python object as the binding wants it, with nothing else: has a compiled step, computes outputs
in initialization mode, and does on demand what goes wrong.

It has the variables of the reference FMU: 13 Real inputs, 20 Real outputs, a parameter of each
other type. It lives in the resources of an FMU (``build_plain_fmu`` in ``plain_files``).
"""

import ctypes
import sys
import time as clock
from typing import Any

import numpy as np
from numba import carray, cfunc

INPUTS, OUTPUTS = 13, 20
REALS = INPUTS + OUTPUTS

#: What the outputs after the copies of the inputs hold.
COMPILED, INTERPRETED, COMPUTED, END, WHILE_LOCKED = range(2 * INPUTS, 2 * INPUTS + 5)
#: Inputs that ask for something: the compiled step hands over, Python's step keeps the lock, once,
#: until another instance has stepped or so many seconds have passed, outputs cannot be computed,
#: there is no compiled step, asking for one fails, the compiled step waits until the lock is kept.
HAND_OVER, KEEP_LOCK, FAIL, NO_STEP, NO_ANSWER, WAIT = range(1, 7)
#: Behind the values: whether another instance keeps Python's lock just now.
LOCKED = REALS

instances: list["PlainFmu"] = []

#: A call that the compiler does not see through, so that what it waits for is read again.
give_way = ctypes.CDLL(None).sched_yield
give_way.argtypes = []


@cfunc("int32(voidptr, float64, float64)")
def compiled_step(context, time, step):
    values = carray(context, (REALS + 1,), np.float64)
    if values[HAND_OVER] > 0.0:
        return 1
    while values[WAIT] > 0.0 and values[LOCKED] == 0.0:
        give_way()
    for i in range(INPUTS):
        values[INPUTS + i] = values[i]
    values[COMPILED] += 1.0
    values[END] = time + step
    values[WHILE_LOCKED] += values[LOCKED]
    return 0


class PlainFmu:
    """The object."""

    guid = "@GUID@"

    def __init__(self, **_: Any) -> None:
        self.log_queue: list[Any] = []
        self.memory = np.zeros(REALS + 1)
        self.limits = np.full(REALS, -np.inf), np.full(REALS, np.inf)
        self.numbers = np.zeros(2, np.int32)  # an Integer and a Boolean
        self.text = ""
        largest = np.iinfo(np.int32).max
        self.integer_limits = np.array([-largest, largest], np.int32)
        # inputs can be set at any time, outputs never, parameters before the start
        self.access = np.array([2] * INPUTS + [0] * OUTPUTS + [1] * 3, np.uint8)
        self.time = 0.0
        instances.append(self)

    def storage(self) -> tuple[int, ...]:
        low, high = (limit.ctypes.data for limit in self.limits)
        least, most = self.integer_limits.ctypes.data, self.integer_limits.ctypes.data + 4
        access = self.access.ctypes.data
        return (
            *(0, REALS, self.memory.ctypes.data, low, high, access),
            *(REALS, 1, self.numbers.ctypes.data, least, most, access + REALS),
            *(REALS + 1, 1, self.numbers.ctypes.data + 4, 0, 0, access + REALS + 1),
            *(REALS + 2, 1, 0, 0, 0, access + REALS + 2),
        )

    def compiled_step(self) -> tuple[int, int]:
        if self.memory[NO_ANSWER] > 0.0:
            raise RuntimeError("no answer")
        if self.memory[NO_STEP] > 0.0:
            return 0, 0
        return compiled_step.address, self.memory.ctypes.data

    def compute_initial(self) -> None:
        if self.memory[FAIL] > 0.0:
            raise ValueError("the outputs cannot be computed yet")
        self.memory[INPUTS : 2 * INPUTS] = self.memory[:INPUTS]
        self.memory[COMPUTED] += 1.0

    def do_step(self, time: float, step: float) -> bool:
        if not step > 0.0:
            raise ValueError("no step")
        self.memory[INTERPRETED] += 1.0
        self.memory[END] = time + step
        if self.memory[KEEP_LOCK] > 0.0:
            self._keep_lock(float(self.memory[KEEP_LOCK]))
            self.memory[KEEP_LOCK] = 0.0
        return True

    def _keep_lock(self, duration: float) -> None:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000.0)
        for other in instances:
            other.memory[LOCKED] = 1.0
        end = clock.perf_counter() + duration
        while clock.perf_counter() < end and not any(o.memory[WHILE_LOCKED] for o in instances):
            pass
        for other in instances:
            other.memory[LOCKED] = 0.0
        sys.setswitchinterval(interval)

    def setup_experiment(self, start: float) -> None:
        self.time = start

    def enter_initialization_mode(self) -> None:
        pass

    def exit_initialization_mode(self) -> None:
        pass

    def terminate(self) -> None:
        pass

    def close(self) -> None:
        if self in instances:
            instances.remove(self)

    def set_string(self, _: list[int], values: list[str]) -> None:
        self.text = values[-1]

    def get_string(self, references: list[int]) -> list[str]:
        return [self.text] * len(references)

    def _get_fmu_state(self, phase: int) -> tuple[int, Any]:
        return phase, self.memory.copy()

    def _set_fmu_state(self, state: tuple[Any, Any]) -> Any:
        self.memory[:] = state[1]
        return state[0]

    def _fmu_state_to_bytes(self, state: tuple[int, Any]) -> bytes:
        return bytes([state[0]]) + state[1].tobytes()

    def _fmu_state_from_bytes(self, data: bytes) -> tuple[Any, Any]:
        # 99 stands for what is no integer, others come as they are, whether they are a phase or not
        phase = f"phase {data[0]}" if data[0] == 99 else data[0]
        return phase, np.frombuffer(data[1:], np.float64)
