"""What helps tools that import FMUs: a package for Modelica, buses for Simulink.

Both are written from the declarations of the FMUs, and need none to be built.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from fmus.building.importers.modelica import package_files
from fmus.building.importers.simulink import bus_script
from fmus.fmi.base import FmuBase

MODELICA, SIMULINK = Path("build/modelica"), Path("build/simulink")


def add_importers(parser: argparse.ArgumentParser) -> None:
    """Which tools something is written for."""
    parser.add_argument(
        "--modelica",
        type=Path,
        nargs="?",
        const=MODELICA,
        metavar="DIR",
        help=f"also write a Modelica package of wrappers of the FMUs; default: {MODELICA}",
    )
    parser.add_argument(
        "--simulink",
        type=Path,
        nargs="?",
        const=SIMULINK,
        metavar="DIR",
        help=f"also write a script for each FMU that makes its buses; default: {SIMULINK}",
    )


def write_for_importers(
    options: argparse.Namespace, models: Mapping[str, type[FmuBase]]
) -> list[Path]:
    """Write what a command line asks for; returns where it is."""
    contents: dict[Path, str] = {}
    if options.modelica:
        files = package_files(models)
        contents |= {options.modelica / place: text for place, text in files.items()}
    if options.simulink:
        for model in models.values():
            contents[options.simulink / f"{model.model_name}_buses.m"] = bus_script(model)
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [directory for directory in (options.modelica, options.simulink) if directory]
