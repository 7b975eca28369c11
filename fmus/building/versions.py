"""What differs in an FMU by the version of FMI: its description, its binaries, where it is built.

An FMU of FMI 3.0 has arrays, or with ``--scalars`` the names of FMI 2.0 (``fmus.fmi.arrays``).
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, indent, tostring

from fmus.binding import compile as binding
from fmus.building.faults import leave_out_faults
from fmus.building.sources import BuildError
from fmus.fmi.arrays import Interface
from fmus.fmi.base import FmuBase
from fmus.fmi.model_description import model_description
from fmus.fmi.model_description3 import model_description3
from fmus.fmi.terminals import PLACE as TERMINALS
from fmus.fmi.terminals import terminals


def description(
    model: type[FmuBase], interface: Interface = Interface.fmi2, *, faults: bool = True
) -> bytes:
    """modelDescription.xml, with or without the inputs for faults."""
    is_fmi2 = interface == Interface.fmi2
    root = model_description(model) if is_fmi2 else model_description3(model, interface)
    if not faults:
        leave_out_faults(root)
    return xml_bytes(root)


def terminal_files(model: type[FmuBase], interface: Interface) -> dict[str, bytes]:
    """What says which variables are connected together, where the version of FMI has that."""
    root = None if interface == Interface.fmi2 else terminals(model, interface)
    return {} if root is None else {TERMINALS: xml_bytes(root)}


def binaries_of(
    model: type[FmuBase], interface: Interface, libraries: Mapping[str, Path]
) -> dict[str, bytes]:
    """The binding, in the folder of each platform."""
    return {
        f"binaries/{folder}/{model.model_name}{library.suffix}": library.read_bytes()
        for name, library in libraries.items()
        for folder in ((name,) if interface == Interface.fmi2 else binding.FOLDERS_OF_FMI3[name])
    }


def platforms_of(interface: Interface, wanted: Sequence[str]) -> list[str]:
    """Those of some platforms that a version of FMI has a folder for."""
    known = binding.OF_FMI2 if interface == Interface.fmi2 else tuple(binding.TARGETS)
    if not (found := [platform for platform in wanted if platform in known]):
        raise BuildError(f"FMI 2.0 has no folder for {', '.join(wanted)}: choose --fmi 3")
    return found


def xml_bytes(root: Element) -> bytes:
    """A file with this element."""
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}\n'.encode()


def add_versions(parser: argparse.ArgumentParser) -> None:
    """Which FMI the FMUs are for."""
    parser.add_argument(
        "--fmi", choices=("2", "3", "both"), default="2", help="version of FMI, default: 2"
    )
    parser.add_argument(
        "--scalars",
        action="store_true",
        help="have FMUs of FMI 3.0 show scalars with the names of FMI 2.0, and no arrays",
    )
    parser.add_argument(
        "--no-faults",
        dest="faults",
        action="store_false",
        help="leave the inputs for faults out of the descriptions, for masters that list or warn"
        " of all inputs that are not connected",
    )


def outputs_of(options: argparse.Namespace) -> dict[Interface, Path]:
    """The directory of each interface that a command line asks for."""
    own = Interface.scalars if options.scalars else Interface.arrays
    wanted = {"2": (Interface.fmi2,), "3": (own,), "both": (Interface.fmi2, own)}[options.fmi]
    if options.scalars and options.fmi == "2":
        raise BuildError("--scalars is for FMI 3.0: choose --fmi 3 or --fmi both")
    if options.reference_results and options.fmi == "3":
        raise BuildError("--reference-results are of FMI 2.0: choose --fmi 2 or --fmi both")
    directory = options.output or Path("build/fmus")
    named = directory if directory.name else directory.absolute()  # . has no name
    beside = named.with_name(f"{named.name}3")
    if options.output and options.fmi == "3":
        beside = directory
    return {i: directory if i == Interface.fmi2 else beside for i in wanted}
