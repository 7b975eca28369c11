"""The variables of each FMU as text: what masters rely on, and what a change of it would break.

``tests/fmus/interfaces/NAME.txt`` has a line for each variable, in the order of the model
description: causality, name, type, unit, and the range or the items if there are any.

    parameter sample_rate: Real Hz, 0.0 to 1000000.0

A test compares each built FMU with its file. ``python -m tests.interfaces`` (``make interfaces``)
writes the files anew; with names of FMUs, only theirs. Their difference is then what a change means
for masters: a line that goes or changes breaks some of them.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import build_fmus
from fmus.building.versions import description as description_of

PLACE = Path(__file__).parent / "fmus" / "interfaces"
NULL_FMU = Path(__file__).parent / "fmus" / "null_fmu.py"


def interface(description: bytes) -> str:
    """The variables of a modelDescription.xml, a line each."""
    root = fromstring(description)
    types = {kind.attrib["name"]: kind for kind in root.iterfind("TypeDefinitions/SimpleType")}
    variables = root.iterfind("ModelVariables/ScalarVariable")
    return "".join(f"{line_of(variable, types)}\n" for variable in variables)


def line_of(variable: Element, types: dict[str, Element]) -> str:
    """A variable: its causality, name, type and unit, and what values it may have."""
    (kind,) = (child for child in variable if child.tag != "Annotations")
    declared = types.get(kind.get("declaredType", ""))
    known = {**(declared[0].attrib if declared is not None else {}), **kind.attrib}
    head = f"{variable.get('causality')} {variable.get('name')}: {kind.tag}"
    return "".join((head, *unit_and_values(known, declared)))


def unit_and_values(known: dict[str, str], declared: Element | None) -> Iterator[str]:
    """What follows the type."""
    if "unit" in known:
        yield f" {known['unit']}"
    least, most = known.get("min"), known.get("max")
    if least and most:
        yield f", {least} to {most}"
    elif least or most:
        yield f", at least {least}" if least else f", at most {most}"
    items = [] if declared is None else [item.attrib["name"] for item in declared.iter("Item")]
    if items:
        yield f", {' '.join(items)}"


def file_of(name: str) -> Path:
    """Where the interface of an FMU is written down."""
    return PLACE / f"{name}.txt"


def main(names: Sequence[str]) -> None:
    """Write the files of these FMUs, or of all."""
    sources = build_fmus.fmu_sources() | {"Null": build_fmus.own_source(NULL_FMU)}
    PLACE.mkdir(exist_ok=True)
    for name in names or sources:
        text = interface(description_of(sources[name].model))
        file_of(name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
