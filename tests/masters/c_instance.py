"""Instances of FMUs in the C master, addressed by the names of their variables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import Reply, Status, Value, array

#: Variables as calls take them: by name, or by value reference (an unknown one, say).
Keys = Sequence[str | int] | Mapping[str, object]


class Commands(Protocol):
    """What an instance needs of its master."""

    def command(self, name: str, *words: str | int | float) -> Reply:
        """Has a command carried out."""

    def new_name(self, kind: str) -> str:
        """A name not used before."""


@dataclass(frozen=True)
class Growth:
    """The outcome of a long loop: how far it came, and the memory it took."""

    reply: Reply
    done: int
    early_memory: int
    """Resident memory in bytes after the first tenth, when what is made once has been made."""
    late_memory: int

    @classmethod
    def of(cls, reply: Reply) -> "Growth":
        """Reads the outcome from the reply to a loop, none of whose calls may fail."""
        return cls(reply, *reply.expect(Status.OK, Status.WARNING).integers())

    @property
    def growth(self) -> int:
        """Bytes of resident memory gained after the first tenth."""
        return self.late_memory - self.early_memory


@dataclass(frozen=True)
class Cost:
    """Microseconds for one round of setting inputs, stepping and getting outputs."""

    best: float
    median: float


class State:
    """An ``fmi2FMUstate`` that the master holds; NULL, WILD and FOREIGN are names of bad ones."""

    def __init__(self, name: str) -> None:
        self.name = name


class Instance:
    """An instance, or a pointer that is none. Calls give a reply, whatever their status is."""

    def __init__(self, master: Commands, name: str, files: FmuFiles) -> None:
        self.name = name
        self.files = files
        self._master = master

    def call(self, function: str, *words: str | int | float) -> Reply:
        """Calls any FMI function, arguments in the words of the line protocol."""
        return self._master.command(function, self.name, *words)

    # Life

    def setup(
        self, start: float = 0.0, stop: float | None = None, tolerance: float | None = None
    ) -> Reply:
        tolerance_words = (int(tolerance is not None), tolerance or 0.0)
        stop_words = (int(stop is not None), stop or 0.0)
        return self.call("fmi2SetupExperiment", *tolerance_words, start, *stop_words)

    def enter(self) -> Reply:
        return self.call("fmi2EnterInitializationMode")

    def exit(self) -> Reply:
        return self.call("fmi2ExitInitializationMode")

    def initialize(self, start: float = 0.0) -> None:
        """Sets up, enters and leaves initialisation, all of which must succeed."""
        self.setup(start).expect()
        self.enter().expect()
        self.exit().expect()

    def step(self, time: float, step: float) -> Reply:
        return self.call("fmi2DoStep", float(time), float(step))

    def terminate(self) -> Reply:
        return self.call("fmi2Terminate")

    def reset(self) -> Reply:
        return self.call("fmi2Reset")

    def free(self) -> Reply:
        """Frees the instance; calls on it afterwards go to the freed pointer."""
        return self.call("fmi2FreeInstance")

    def set_debug_logging(self, on: bool, categories: Sequence[str] = ()) -> Reply:
        return self.call("fmi2SetDebugLogging", int(on), array(categories))

    # Values

    def references(self, keys: Keys) -> str:
        """The word for an array of value references."""
        variables = self.files.variables
        return array(variables[key].reference if isinstance(key, str) else key for key in keys)

    def set_real(self, values: Mapping[str, float]) -> Reply:
        numbers = [float(value) for value in values.values()]
        return self.call("fmi2SetReal", self.references(values), array(numbers))

    def set_integer(self, values: Mapping[str, int]) -> Reply:
        return self.call("fmi2SetInteger", self.references(values), array(values.values()))

    def set_boolean(self, values: Mapping[str, bool]) -> Reply:
        return self.call("fmi2SetBoolean", self.references(values), array(values.values()))

    def set_string(self, values: Mapping[str, str | bytes | None]) -> Reply:
        return self.call("fmi2SetString", self.references(values), array(values.values()))

    def set(self, name: str, value: Value) -> Reply:
        """Sets one variable by its declared type."""
        number = float(value) if self.files.variables[name].type == "Real" else value
        function = f"fmi2Set{self.files.variables[name].type}"
        return self.call(function, self.references([name]), array([number]))

    def get_real(self, keys: Keys) -> Reply:
        return self.call("fmi2GetReal", self.references(keys))

    def get_integer(self, keys: Keys) -> Reply:
        return self.call("fmi2GetInteger", self.references(keys))

    def get_boolean(self, keys: Keys) -> Reply:
        return self.call("fmi2GetBoolean", self.references(keys))

    def get_string(self, keys: Keys) -> Reply:
        return self.call("fmi2GetString", self.references(keys))

    def get(self, name: str) -> Value | None:
        """The value of one variable; its getter must succeed."""
        kind = self.files.variables[name].type
        reply = self.call(f"fmi2Get{kind}", self.references([name])).expect()
        decoders: dict[str, Callable[[], Sequence[Value | None]]] = {
            "Real": reply.reals,
            "Integer": reply.integers,
            "Boolean": reply.booleans,
            "String": reply.strings,
        }
        return decoders[kind]()[0]

    # States

    def get_state(self, state: State | None = None) -> State:
        """Takes the state into a new handle, or into one that is there; it must succeed."""
        taken = state or State(self._master.new_name("state"))
        self.call("fmi2GetFMUstate", taken.name).expect()
        return taken

    def set_state(self, state: State) -> Reply:
        return self.call("fmi2SetFMUstate", state.name)

    def free_state(self, state: State) -> Reply:
        return self.call("fmi2FreeFMUstate", state.name)

    def second_handle(self, state: State) -> State:
        """A copy of the handle, which keeps its pointer when the first one is freed."""
        other = State(self._master.new_name("state"))
        self._master.command("copy_state", state.name, other.name)
        return other

    def serialize(self, state: State) -> bytes:
        """The state as bytes; both calls must succeed."""
        size = self.call("fmi2SerializedFMUstateSize", state.name).expect().integers()[0]
        reply = self.call("fmi2SerializeFMUstate", state.name, size).expect()
        return bytes.fromhex(reply.words[0])

    def deserialize(self, content: bytes) -> State:
        """The state behind bytes."""
        state, reply = self.try_deserialize(content)
        reply.expect()
        return state

    def try_deserialize(self, content: bytes) -> tuple[State, Reply]:
        """Passes bytes that may be no state."""
        state = State(self._master.new_name("state"))
        return state, self.call("fmi2DeSerializeFMUstate", state.name, content.hex())

    # Loops

    def step_alternately(self, start: float, step: float, count: int) -> Reply:
        """Steps from two threads that take turns; integers: steps made."""
        return self._master.command("alternate", start, step, count, self.name)

    def step_in_new_threads(self, start: float, step: float, count: int) -> Growth:
        """Makes each step in a thread created for it."""
        return Growth.of(self._master.command("newthreads", start, step, count, self.name))

    def bench(
        self,
        inputs: Mapping[str, tuple[float, float]],
        outputs: Sequence[str],
        step: float,
        count: int,
        *,
        start: float = 0.0,
        blocks: int = 20,
    ) -> Cost:
        """What a round of setting all inputs, stepping and getting all outputs costs.

        Args:
            inputs: Start value and rate of change of each input.
            outputs: The outputs to get.
            step: The communication step.
            count: How many steps to make.
            start: Time of the first step.
            blocks: In how many blocks to time them, for a best and a median.
        """
        values = array(float(value) for value, _ in inputs.values())
        rates = array(float(rate) for _, rate in inputs.values())
        words = (self.references(inputs), values, rates, self.references(outputs))
        reply = self._master.command("bench", start, step, count, self.name, *words, blocks)
        return Cost(*reply.expect(Status.OK, Status.WARNING).reals())
