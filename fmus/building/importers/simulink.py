"""A script for MATLAB that makes the buses of an FMU's inputs and outputs.

Simulink's block of an FMU shows variables with dotted names as buses, whose types it wants from the
base workspace: a bus for each name before a dot, with what comes behind it as elements. Texts and
messages are left out, as buses hold numbers.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Union

from fmus.fmi import osmp
from fmus.fmi.base import FmuBase
from fmus.fmi.variables import Variable

TYPES = {"Real": "double", "Integer": "int32", "Boolean": "boolean"}
#: MATLAB cuts names that are longer.
LONGEST_NAME = 63

#: The parts of a name and what they stand for: variables, or further parts.
Tree = dict[str, Union["Tree", Variable]]

FUNCTIONS = """
function make(name, text, rows)
    elements = repmat(Simulink.BusElement, size(rows, 1), 1);
    for k = 1:size(rows, 1)
        element = Simulink.BusElement;
        element.Name = rows{k, 1};
        element.DataType = rows{k, 2};
        element.Unit = rows{k, 3};
        element.Description = rows{k, 4};
        elements(k) = element;
    end
    bus = Simulink.Bus;
    bus.Description = text;
    bus.Elements = elements;
    assignin('base', name, bus);
end
"""


def bus_script(model: type[FmuBase]) -> str:
    """The script of an FMU."""
    name = model.model_name
    calls = [
        call
        for causality in ("input", "output")
        for call in buses(f"{name}_{causality}s", tree_of(model, causality))
    ]
    head = [
        f"function {name}_buses()",
        f"% {name.upper()}_BUSES  Make the buses of {name}.fmu in the base workspace.",
        f"%   {name}_inputs and {name}_outputs hold the buses of the names before the dots.",
    ]
    return "\n".join([*head, *calls, "end", FUNCTIONS])


def tree_of(model: type[FmuBase], causality: str) -> Tree:
    """The variables of a causality, by the parts of their names."""
    root: Tree = {}
    for variable in model.table().of_causality(causality):
        if variable.type_name not in TYPES or osmp.role_of(model.messages, variable) is not None:
            continue
        *groups, last = variable.name.split(".")
        place = root
        for group in groups:
            below = place.setdefault(group, {})
            if isinstance(below, Variable):
                raise ValueError(f"{below.name} is a variable, and {variable.name} is below it")
            place = below
        place[last] = variable
    return root


def buses(name: str, tree: Tree) -> Iterator[str]:
    """The calls that make a bus, after those that make the buses in it."""
    if not tree:
        return
    if len(name) > LONGEST_NAME:
        raise ValueError(f"{name} is longer than a name in MATLAB may be")
    for part, below in tree.items():
        if not isinstance(below, Variable):
            yield from buses(f"{name}_{part}", below)
    rows = ";\n        ".join(", ".join(map(quoted, row)) for row in rows_of(name, tree))
    yield f"    make('{name}', {quoted(text_of(name))}, {{\n        {rows}\n        }});"


def rows_of(name: str, tree: Mapping[str, Tree | Variable]) -> Iterator[tuple[str, ...]]:
    """Name, type, unit and description of each element of a bus."""
    for part, below in tree.items():
        if isinstance(below, Variable):
            quantity = below.quantity
            unit = unit_of(quantity.unit) if quantity.kind == "real" else "inherit"
            yield part, TYPES[below.type_name], unit, quantity.description
        else:
            yield part, f"Bus: {name}_{part}", "inherit", ""


def text_of(name: str) -> str:
    """What a bus holds."""
    model, causality, *parts = name.split("_", 2)
    return " ".join([causality, *parts, "of", model])


def unit_of(unit: str) -> str:
    """A unit as Simulink writes it: ``m/s^2``, and times for a dot."""
    return re.sub(r"([A-Za-z])(\d)", r"\1^\2", unit).replace(".", "*")


def quoted(text: str) -> str:
    """A text of MATLAB."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
