"""The sensors' FMUs in the C master: phases, and the proof that a call has changed nothing."""

import enum
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.masters.c_instance import Instance, State
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import Reply, Status

#: The FMUs under test: two sensors, and the one that only passes its inputs on.
MODELS = ("Encoder", "Odometer", "Null")

TYPES = ("Real", "Integer", "Boolean", "String")

STEP = 0.125


class Phase(enum.Enum):
    """Where an instance is in its life, for co-simulation and without asynchronous steps."""

    INSTANTIATED = "after instantiation"
    INITIALIZING = "in initialization mode"
    STEPPING = "between steps"
    TERMINATED = "after termination"


@dataclass(frozen=True)
class Followed:
    """An input, and the output that is ``factor`` times its value with the start parameters."""

    input: str
    output: str
    factor: float


FOLLOWED = {
    "Encoder": Followed("joint.position", "position", 1.0),
    "Odometer": Followed("joint.position", "distance", 0.3),
    "Null": Followed("body.position.x", "value.copy_1", 1.0),
}


def bring_to(instance: Instance, phase: Phase) -> None:
    """Takes a new instance into a phase; in the last two it has made a step."""
    if phase is Phase.INSTANTIATED:
        return
    instance.setup().expect()
    instance.enter().expect()
    if phase is Phase.INITIALIZING:
        return
    instance.exit().expect()
    check_it_measures(instance, 0.0, 2.5)
    if phase is Phase.TERMINATED:
        instance.terminate().expect()


def check_it_measures(instance: Instance, time: float, value: float) -> None:
    """Makes a step, which must measure what the input says."""
    followed = FOLLOWED[instance.files.model_identifier]
    instance.set(followed.input, value).expect()
    instance.step(time, STEP).expect()
    assert instance.get(followed.output) == followed.factor * value


@dataclass(frozen=True)
class Snapshot:
    """All that can be seen of an instance; equal ones go on in the same way."""

    values: dict[str, tuple[str, ...]]
    """By type, as the master's protocol has them, which is exact."""
    state: bytes


def snapshot(instance: Instance) -> Snapshot:
    """What an instance is like now."""
    values = {}  # before the state: in initialization mode looking at outputs computes them
    for kind in TYPES:
        names = [v.name for v in instance.files.variables.values() if v.type == kind]
        values[kind] = instance.call(f"fmi2Get{kind}", instance.references(names)).expect().words
    state = instance.get_state(State("snapshot"))
    content = instance.serialize(state)
    instance.free_state(state).expect()
    return Snapshot(values, content)


@contextmanager
def unchanged(instance: Instance) -> Iterator[None]:
    """Whatever is done within must leave the instance as it was."""
    before = snapshot(instance)
    yield
    assert snapshot(instance) == before


def error_of(reply: Reply) -> str:
    """The text of the one error message of a call that must have failed."""
    assert reply.status is Status.ERROR, reply
    errors = [m for m in reply.messages if m.status is Status.ERROR]
    assert [m.category for m in errors] == ["logStatusError"], reply
    return errors[0].text or ""


def names_all(text: str, *fragments: str) -> bool:
    """Whether a message has everything in it that it should tell."""
    return all(fragment in text for fragment in fragments)


def copied_to(files: FmuFiles, directory: Path) -> FmuFiles:
    """The same FMU unpacked at another place."""
    shutil.copytree(files.directory, directory)
    return replace(files, directory=directory)
