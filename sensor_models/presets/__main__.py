"""``python -m sensor_models.presets``: check preset files, list presets and units.

::

    python -m sensor_models.presets check my_lidar.toml     # 0 if a sensor takes it
    python -m sensor_models.presets list [SENSOR]
    python -m sensor_models.presets units

``sensor-fmus presets`` does the same, and takes ``--module FILE`` for sensors of one's own.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from sensor_models import catalog
from sensor_models.core.named import converted
from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import SensorSpec, scalars_of
from sensor_models.presets import Preset, list_presets, read_preset
from sensor_models.presets.units import DIVISIONS, FACTORS

PROGRAM = "python -m sensor_models.presets"


def problems(preset: Preset, own: Mapping[str, SensorSpec] = MappingProxyType({})) -> Iterator[str]:
    """What is wrong with a preset whose file could be read; ``own`` are sensors of the user."""
    for sensor in preset.sensors:
        if sensor not in (*own, *catalog.names()):
            known = ", ".join((*own, *catalog.names()))
            yield f"preset.sensor: {sensor!r} is none of {known}"
            continue
        try:
            apply(preset, own[sensor] if sensor in own else catalog.spec_of(sensor))
        except ParameterError as error:
            yield f"{sensor}: {error}"
    for name, value in preset.parameters.items():
        if isinstance(value, str) and value and name.endswith("file") and not Path(value).is_file():
            yield f"parameters.{name}: there is no file {value}"


def apply(preset: Preset, spec: SensorSpec) -> None:
    """Make a sensor with nothing but a preset; refuses what the sensor does not accept."""
    known = {name: quantity for name, quantity, _ in scalars_of(spec.all_parameters)}
    spec.build(converted(known, preset.parameters_of(spec.name), "parameters"))


def check(paths: Sequence[Path], own: Mapping[str, SensorSpec]) -> int:
    """Print for each file whether it is valid; returns 1 if one is not."""
    bad = 0
    for path in paths:
        try:
            preset = read_preset(path)
            found = list(problems(preset, own))
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
    return 1 if bad else 0


def main(
    arguments: Sequence[str] | None = None,
    own_spec: Callable[[Path], SensorSpec] | None = None,
) -> int:
    """Run the command line; ``own_spec`` opens files with sensors of the user."""
    parser = argparse.ArgumentParser(prog="sensor-fmus presets" if own_spec else PROGRAM)
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check", help="whether sensors take these files")
    checking.add_argument("files", nargs="+", type=Path, metavar="FILE")
    checking.set_defaults(module=[])
    if own_spec is not None:
        checking.add_argument(
            "--module", action="append", type=Path, help="file with a sensor of your own"
        )
    listing = commands.add_parser("list", help="the presets that are found, by sensor")
    listing.add_argument("sensor", nargs="?", help="of this one alone")
    commands.add_parser("units", help="the units that values may have")
    options = parser.parse_args(arguments)
    if options.command == "check":
        specs = map(own_spec, options.module) if own_spec else ()
        return check(options.files, {spec.name: spec for spec in specs})
    if options.command == "units":
        print("\n".join([*FACTORS, *DIVISIONS]))
        return 0
    for sensor in [options.sensor] if options.sensor else catalog.names():
        if names := list_presets(sensor):
            print(f"{sensor}: {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
