"""``python -m sensor_models.presets``: check preset files, list presets and units.

::

    python -m sensor_models.presets check my_lidar.toml     # 0 if a sensor takes it
    python -m sensor_models.presets list [SENSOR]
    python -m sensor_models.presets units

Which parameters there are is declared by the FMUs: without the package ``fmus`` beside this one
only what a file says by itself is checked.
"""

import argparse
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sensor_models.core.quantities import ParameterError
from sensor_models.presets import Preset, list_presets, read_preset
from sensor_models.presets.units import DIVISIONS, FACTORS


def sensors() -> dict[str, Any]:
    """The classes of the FMUs that have presets, by model name; none if they are not at hand."""
    if importlib.util.find_spec("fmus") is None:
        return {}
    package = importlib.import_module("fmus")
    base: Any = importlib.import_module("fmus.base").FmuBase
    names = [info.name for info in pkgutil.iter_modules(package.__path__, "fmus.")]
    found: list[Any] = [
        value
        for name in names
        if name.endswith("_fmu")
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, type) and value.__module__ == name and issubclass(value, base)
    ]
    models = [model for model in found if getattr(model, "model_name", "")]
    return {model.model_name: model for model in models if "preset" in model.table().by_name}


def problems(preset: Preset, known: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a preset whose file could be read."""
    for sensor in preset.sensors:
        if sensor not in known:
            yield f"preset.sensor: {sensor!r} is none of {', '.join(known)}"
            continue
        try:
            apply(preset, sensor, known[sensor])
        except ParameterError as error:
            yield f"{sensor}: {error}"
    for name, value in preset.parameters.items():
        if isinstance(value, str) and value and name.endswith("file") and not Path(value).is_file():
            yield f"parameters.{name}: there is no file {value}"


def apply(preset: Preset, sensor: str, model: Any) -> None:
    """Give a sensor a preset and nothing else; refuses what it does not take."""
    table = model.table()
    variables = importlib.import_module("fmus.variables")
    given = variables.convert_preset(table, preset.parameters_of(sensor), "parameters")

    def value_of(name: str) -> Any:
        return given.get(name, table.by_name[name].start)

    for group in (*model.PARAMETERS, *model.SHARED):
        group.build(value_of)


def check(paths: Sequence[Path]) -> int:
    """Say of each file whether it is good; 1 if one is not."""
    known = sensors()
    bad = 0
    for path in paths:
        try:
            preset = read_preset(path)
            found = list(problems(preset, known)) if known else []
        except ParameterError as error:
            print(error)
            bad += 1
            continue
        for problem in found:
            print(f"preset file {path}: {problem}")
        if found:
            bad += 1
        else:
            of_what = ", ".join(preset.sensors)
            print(f"{path}: {preset.name} for {of_what}, {len(preset.parameters)} parameters")
    if not known:
        print("the package fmus is not at hand: names and ranges of parameters were not checked")
    return 1 if bad else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m sensor_models.presets")
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check", help="whether sensors take these files")
    checking.add_argument("files", nargs="+", type=Path, metavar="FILE")
    listing = commands.add_parser("list", help="the presets that are found, by sensor")
    listing.add_argument("sensor", nargs="?", help="of this one alone")
    commands.add_parser("units", help="the units that values may have")
    options = parser.parse_args(arguments)
    if options.command == "check":
        return check(options.files)
    if options.command == "units":
        print("\n".join([*FACTORS, *DIVISIONS]))
        return 0
    for sensor in [options.sensor] if options.sensor else sensors():
        if names := list_presets(sensor):
            print(f"{sensor}: {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
