"""Runs of a row: its FMU, with its parameters in its scene, by a small master.

An FMU records its samples or writes its frames itself, so a step of the master may hold many
thousand samples: three hours of an IMU are some hundred steps.
"""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fmus.building import project
from fmus.fmi.sensors import fmu_of
from fmus.tools.campaigns.master import Instance, RunError
from fmus.tools.systems.description import Part, own_part
from fmus.tools.validation.methods import METHODS, Run
from fmus.tools.validation.rows import RowError, RunOf, Simulation
from sensor_models import catalog
from sensor_models.core.quantities import ParameterError

#: What stands before the tables of a scene in a row.
HEAD = 'format = 1\nname = "{name}"\n'


def runs_of(name: str, simulation: Simulation, fmus: Path, folder: Path) -> Iterator[Run]:
    """Make all runs of a row; their files go into folders of this one.

    Raises:
        RowError: for parameters that the FMU does not take.
        RunError: if the FMU refuses to run; the message is the FMU's.
    """
    for index, run in enumerate(simulation.runs):
        place = folder / f"run-{index}"
        try:
            part = _part(name, simulation, run, place)
        except ParameterError as error:
            raise RowError(f"fmu.parameters: {error}") from error
        yield _make(part, simulation, run, fmus / f"{simulation.fmu}.fmu", place)


def _part(name: str, simulation: Simulation, run: RunOf, place: Path) -> Part:
    """The FMU with all that is set before it runs."""
    if simulation.fmu not in catalog.names():
        raise RowError(
            f"fmu.name = {simulation.fmu!r} is no sensor, there are {', '.join(catalog.names())}"
        )
    model = fmu_of(simulation.fmu)
    known = model.table().by_name
    given: dict[str, Any] = {"output_directory": str(place), "inputs_at_step_end": True}
    if METHODS[simulation.method].frames:
        given |= {"write_files": "on", "output_format": "npy"}
    else:
        given["record"] = True
    if run.scene:
        given["scene"] = _scene(simulation, run.scene, place.parent)
    given |= {**simulation.parameters, **run.parameters}
    for key in simulation.ramp:
        if key not in known or known[key].causality != "input":
            raise RowError(f"fmu.ramp: {key} is no input of {simulation.fmu}")
    typed = {key: _typed(known, key, value) for key, value in given.items()}
    return own_part(name, model, simulation.preset, typed, place)


def _typed(known: Mapping[str, Any], name: str, value: Any) -> Any:
    """A whole number that is meant as one: units make all numbers real."""
    if name in known and known[name].quantity.kind == "integer" and isinstance(value, float):
        return int(value) if value.is_integer() else value
    return value


def _scene(simulation: Simulation, name: str, folder: Path) -> str:
    """The path of a scene's manifest, which is written if the row has it; else a built-in one."""
    if name not in simulation.scenes:
        return name
    manifest = folder / "scenes" / name / "scene.toml"
    if not manifest.is_file():
        manifest.parent.mkdir(parents=True)
        head = HEAD.format(name=name)
        manifest.write_text(head + simulation.scenes[name], encoding="utf-8")
        for target, source in simulation.files.items():
            shutil.copyfile(project.SCENES / source, manifest.parent / target)
    return str(manifest)


def _make(part: Part, simulation: Simulation, run: RunOf, fmu: Path, place: Path) -> Run:
    place.mkdir(parents=True)
    instance = Instance(part, fmu)
    try:
        for key, value in part.parameters.items():
            instance.set(key, value)
        slave = instance.slave
        slave.setupExperiment(startTime=0.0, stopTime=simulation.duration)
        slave.enterInitializationMode()
        slave.exitInitializationMode()
        time = 0.0
        while time < simulation.duration * (1.0 - 1e-12):
            step = min(simulation.step, simulation.duration - time)
            for key, rate in simulation.ramp.items():
                instance.set(key, part.parameters.get(key, 0.0) + rate * (time + step))
            slave.doStep(time, step)
            time += step
        outputs = _outputs(instance, part)
        slave.terminate()
    except Exception as error:
        raise RunError("; ".join(instance.said) or str(error)) from error
    finally:
        instance.close()
    return Run(run.at, place, outputs, simulation.duration)


def _outputs(instance: Instance, part: Part) -> dict[str, float]:
    """The numbers on the outputs at the end."""
    found: dict[str, float] = {}
    for kind in ("Real", "Integer"):
        names = [v.name for v in part.table.of_causality("output") if v.type_name == kind]
        read = getattr(instance.slave, f"get{kind}")
        values = read([instance.references[name] for name in names])
        found |= dict(zip(names, map(float, values), strict=True))
    return found
