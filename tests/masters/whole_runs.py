"""A run of any FMU in the C master that measures, remembers and writes: for comparing FMUs.

Parameters, and the motion of what the inputs describe, are those from which states are taken
(``tests/fmus/histories.py``). Records and frames at each sample are written, all of it to a log.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path

from mcap.reader import make_reader

import build_fmus
from sensor_models.output.sinks import WriteFiles
from tests.fmus.histories import parameters_of
from tests.masters.c_instance import Instance
from tests.masters.c_master import Library
from tests.masters.protocol import Value

STEP, STEPS = 0.01, 100
TYPES = ("Real", "Integer", "Boolean", "String")

#: The inputs that move; faults, handles and what is held stay as they start.
MOVING = re.compile(r"(joint|body|vehicle_\d)\.|drive\.|arm\.")
#: What tells where an instance writes, which differs from run to run.
PLACES = re.compile(r"(^|\.)file$|^scene_handle$")


def settings(name: str) -> dict[str, Value]:
    """The parameters of such a run."""
    model = build_fmus.fmu_sources()[name].model
    files = {"record": True, "write_files": WriteFiles.on}
    known = model.table().by_name
    return {key: value for key, value in {**parameters_of(name), **files}.items() if key in known}


def readings(instance: Instance) -> tuple[tuple[str, ...], ...]:
    """All outputs, in the words of the master, which are exact."""
    names = {kind: instance.files.names("output", kind) for kind in TYPES}
    return tuple(
        instance.call(
            f"fmi2Get{kind}",
            instance.references([name for name in group if not PLACES.search(name)]),
        )
        .expect()
        .words
        for kind, group in names.items()
    )


def motion(instance: Instance, time: float) -> dict[str, float]:
    """The inputs at an instant: each swings in its own way, joints that have limits but little."""
    moving = [n for n in instance.files.names("input", "Real") if MOVING.match(n)]
    most = [0.3 if name.startswith("arm.") else n % 7 + 1 for n, name in enumerate(moving)]
    return {name: most[n] * math.sin(9.0 * time + n) for n, name in enumerate(moving)}


def run(library: Library, output: str) -> Iterator[tuple[tuple[str, ...], ...]]:
    """What a run of a second gives at the end of each step; files are written to ``output``."""
    instance = library.instantiate("sensor")
    for variable, value in settings(library.files.model_identifier).items():
        instance.set(variable, value).expect()
    for variable, place in (("output_directory", output), ("log", f"{output}/run.mcap")):
        if variable in library.files.variables:
            instance.set(variable, place).expect()
    instance.set_real(motion(instance, 0.0)).expect()
    instance.initialize()
    for k in range(STEPS):
        instance.set_real(motion(instance, k * STEP)).expect()
        instance.step(k * STEP, STEP).expect()
        yield readings(instance)
    instance.terminate().expect()
    instance.free()


def files_in(directory: Path) -> dict[str, bytes]:
    """What was written, by its place, without the index, which has the time of writing.

    Of logs, the messages: where they are divided depends on how long the run takes.
    """
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {
        path.relative_to(directory).as_posix(): messages_in(path)
        if path.suffix == ".mcap"
        else path.read_bytes()
        for path in files
        if path.suffix != ".jsonl"
    }


def messages_in(log: Path) -> bytes:
    """All messages of a log with their topics and times."""
    with log.open("rb") as stream:
        messages = make_reader(stream, validate_crcs=True).iter_messages()
        found = [
            (channel.topic, message.log_time, message.data) for _, channel, message in messages
        ]
    return repr(found).encode()
