"""A package for Modelica tools: a wrapper of each FMU, with vectors, records and a body to connect.

A tool that imports an FMU makes a block of its own with the FMU's scalars. Their names have the
dots of FMI 2.0, which Modelica reserves, so tools change them: OpenModelica puts an underscore for
each (``makeStringFMISafe`` in its ``FMIImpl.c``), other tools can, and so do we. For each FMU
there are:

``Imported.Imu``   a partial block with these scalars, which stands for the import
``Records.Imu``    its parameters, as arrays, and one such record for each of its presets
``Imu``            the wrapper: connectors of vectors, a record, and the import, to be redeclared

Arrays are those of FMI 3.0 (``fmus.fmi.arrays``). Choices are Integers, as FMI passes them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import indent
from typing import Any

from fmus.building.importers import modelica_parts as parts
from fmus.building.reference.presets import presets_of
from fmus.fmi import osmp
from fmus.fmi.arrays import ArrayVariable, Interface, Kind
from fmus.fmi.base import FmuBase
from fmus.fmi.model_description import start_text
from fmus.fmi.variables import Variable, convert_preset
from sensor_models.output.files import safe_file_name

TYPES = {
    Kind.real: "Real",
    Kind.integer: "Integer",
    Kind.choice: "Integer",
    Kind.boolean: "Boolean",
    Kind.string: "String",
}
#: The connectors of the standard library for them; it has none for texts.
CONNECTORS = {
    "Real": "Modelica.Blocks.Interfaces.Real",
    "Integer": "Modelica.Blocks.Interfaces.Integer",
    "Boolean": "Modelica.Blocks.Interfaces.Boolean",
}
Shown = list[ArrayVariable]

#: The words of the language that are no names: Modelica specification 3.6, section 2.3.3.
RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        algorithm and annotation assert block break class connect connector constant
        constrainedby der discrete each else elseif elsewhen encapsulated end enumeration
        equation expandable extends external false final flow for function if import impure in
        initial inner input loop model not operator or outer output package parameter partial
        protected public pure record redeclare replaceable return stream then true type when
        while within
        """,
    )
)


def package_files(models: Mapping[str, type[FmuBase]]) -> dict[str, str]:
    """The files of the package by their places."""
    shown = {name: shown_of(model) for name, model in models.items()}
    classes = {
        "Interfaces": parts.INTERFACES,
        "Icons": parts.ICONS,
        "Records": sub_package(
            "Records",
            "Parameters of the FMUs, and those of products",
            (text for name, model in models.items() for text in records(model, shown[name])),
        ),
        "Imported": sub_package(
            "Imported",
            "What an import of each FMU has; redeclare the wrappers with your imports",
            (imported(model) for model in models.values()),
        ),
        "Adapters": parts.ADAPTERS,
        **{name: wrapper(model, shown[name]) for name, model in models.items()},
    }
    if "Imu" in models:
        classes["Examples"] = parts.EXAMPLES
    package = "SensorFmus"
    files = {f"{package}/{name}.mo": f"within {package};\n{c}" for name, c in classes.items()}
    files[f"{package}/package.order"] = "\n".join(classes) + "\n"
    files[f"{package}/package.mo"] = parts.PACKAGE
    return files


def sub_package(name: str, text: str, classes: Iterable[str]) -> str:
    """A package of classes."""
    body = indent("\n".join(classes), "  ")
    return f"package {name} {quoted(text)}\n{parts.PACKAGE_ICON}\n{body}end {name};\n"


def shown_of(model: type[FmuBase]) -> Shown:
    """The arrays of an FMU that have values, without messages, which are no Modelica."""
    variables = model.layout(Interface.arrays).variables
    return [v for v in variables if v.kind in TYPES]


# ---- names and values ----------------------------------------------------------------------------


def identifier(name: str) -> str:
    """A variable's name, as imports have it; in quotes if Modelica reserves it."""
    changed = name.replace(".", "_")
    return f"'{changed}'" if changed in RESERVED else changed


def quoted(text: str) -> str:
    """A text as a string of Modelica."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def literal(value: Any) -> str:
    """A value of a scalar."""
    return quoted(value) if isinstance(value, str) else start_text(value)


def array_literal(values: list[str], dimensions: tuple[int, ...]) -> str:
    """Values as nested arrays, row by row."""
    if not dimensions:
        return values[0]
    size = len(values) // dimensions[0]
    rows = [values[k : k + size] for k in range(0, len(values), size)]
    return "{" + ", ".join(array_literal(row, dimensions[1:]) for row in rows) + "}"


def sides(variable: ArrayVariable) -> str:
    """The dimensions behind a name."""
    return f"[{', '.join(map(str, variable.dimensions))}]" if variable.dimensions else ""


def attributes(quantity: Any, each: str = "") -> str:
    """Unit and range of a variable, in brackets."""
    known = []
    if quantity.kind == "real" and quantity.unit != "1":
        known.append(f"{each}unit={quoted(quantity.unit)}")
    if quantity.kind in ("real", "integer"):
        limits = (("min", quantity.minimum), ("max", quantity.maximum))
        whole = quantity.kind == "integer"
        known += [
            f"{each}{name}={int(limit) if whole else start_text(float(limit))}"
            for name, limit in limits
            if abs(limit) < float("inf")
        ]
    return f"({', '.join(known)})" if known else ""


def text_of(variable: Variable | ArrayVariable, quantity: Any) -> str:
    """A variable's description, with its choices."""
    text = variable.description if isinstance(variable, ArrayVariable) else quantity.description
    items = ", ".join(f"{item.value} {item.name}" for item in quantity.choices or ())
    return quoted(f"{text} ({items})" if items else text)


# ---- classes -------------------------------------------------------------------------------------


def imported(model: type[FmuBase]) -> str:
    """The block that stands for a tool's import."""
    name = model.model_name
    lines = [f"partial block {name} {quoted(f'What an import of {name}.fmu has')}"]
    messages = model.messages
    variables = [v for v in model.table().variables if osmp.role_of(messages, v) is None]
    names = [identifier(v.name) for v in variables]
    if len(set(names)) < len(names):
        raise ValueError(f"two variables of {name} have the same name in Modelica")
    for variable in variables:
        quantity, kind = variable.quantity, TYPES[Kind[variable.quantity.kind]]
        about = f"{identifier(variable.name)}{attributes(quantity)}"
        text = text_of(variable, quantity)
        if variable.causality == "parameter":
            lines.append(f"  parameter {kind} {about} = {literal(variable.start)} {text};")
        else:
            lines.append(f"  {variable.causality} {kind} {about} {text};")
    return "\n".join([*lines, f"end {name};", ""])


def records(model: type[FmuBase], shown: Shown) -> Iterator[str]:
    """The record of an FMU's parameters, and one for each of its presets."""
    name = model.model_name
    lines = [f"record {name} {quoted(f'Parameters of {name}')}", "  extends Modelica.Icons.Record;"]
    for variable in of(shown, "parameter"):
        quantity = variable.parts[0].quantity
        each = "each " if variable.dimensions else ""
        about = f"{identifier(variable.name)}{sides(variable)}{attributes(quantity, each)}"
        start = array_literal([literal(p.start) for p in variable.parts], variable.dimensions)
        kind = TYPES[variable.kind]
        lines.append(f"  parameter {kind} {about} = {start} {text_of(variable, quantity)};")
    yield "\n".join([*lines, f"end {name};", ""])
    for preset in presets_of(name):
        given = convert_preset(model.table(), preset.parameters_of(name), preset.name)
        values = [
            f"{identifier(v.name)}={with_values(v, given)}"
            for v in of(shown, "parameter")
            if any(part.name in given for part in v.parts)
        ]
        own = f"{name}_{safe_file_name(preset.name).replace('-', '_').replace('.', '_')}"
        body = indent(",\n".join(values), "    ")
        yield f"record {own} = {name}(\n{body})\n  {quoted(f'Preset {preset.name}')};\n"


def with_values(variable: ArrayVariable, given: Mapping[str, Any]) -> str:
    """An array with given values, and start values elsewhere."""
    values = [literal(given.get(part.name, part.start)) for part in variable.parts]
    return array_literal(values, variable.dimensions)


def of(shown: Shown, causality: str) -> Shown:
    """The variables with a causality."""
    return [v for v in shown if v.causality == causality]


def wrapper(model: type[FmuBase], shown: Shown) -> str:
    """The block that a user connects."""
    name = model.model_name
    has_body = any(is_of_body(v) for v in of(shown, "input"))
    lines = [
        f"block {name} {quoted(model.description_text)}",
        f"  extends Icons.{parts.icon_of(name)};",
        f"  replaceable block Fmu = Imported.{name} constrainedby Imported.{name}",
        '    "Your import of the FMU" annotation(choicesAllMatching=true);',
        f"  parameter Records.{name} parameters annotation(choicesAllMatching=true);",
    ]
    if has_body:
        lines.append(parts.BODY_CONNECTOR)
    inputs = [v for v in of(shown, "input") if not is_of_body(v)]
    lines += [declaration(v) for v in inputs]
    lines += list(output_connectors(of(shown, "output")))
    arguments = [
        f"{identifier(part.name)}=parameters.{element(v, k)}"
        for v in of(shown, "parameter")
        for k, part in enumerate(v.parts)
    ]
    lines += ["  Fmu fmu(\n" + indent(",\n".join(arguments), "    ") + ");", "equation"]
    for variable in of(shown, "input"):
        for k, part in enumerate(variable.parts):
            prefix = "body." if is_of_body(variable) else ""
            own = element(variable, k).removeprefix("body_" if prefix else "")
            lines.append(f"  fmu.{identifier(part.name)} = {prefix}{own};")
    for variable in of(shown, "output"):
        for k, part in enumerate(variable.parts):
            lines.append(f"  {element(variable, k)} = fmu.{identifier(part.name)};")
    return "\n".join([*lines, f"end {name};", ""])


def is_of_body(variable: ArrayVariable) -> bool:
    """Whether a variable is one of the vectors of the connector ``body``."""
    return variable.name in parts.BODY


def element(variable: ArrayVariable, place: int) -> str:
    """One element of an array."""
    if not variable.dimensions:
        return identifier(variable.name)
    indices = []
    for side in reversed(variable.dimensions):
        place, index = divmod(place, side)
        indices.append(index + 1)
    return f"{identifier(variable.name)}[{', '.join(map(str, reversed(indices)))}]"


def declaration(variable: ArrayVariable) -> str:
    """An input that may be given in brackets or by an equation, and else has its start value."""
    quantity = variable.parts[0].quantity
    each = "each " if variable.dimensions else ""
    about = f"{identifier(variable.name)}{sides(variable)}{attributes(quantity, each)}"
    start = array_literal([literal(p.start) for p in variable.parts], variable.dimensions)
    return f"  input {TYPES[variable.kind]} {about} = {start} {text_of(variable, quantity)};"


def output_connectors(outputs: Shown) -> Iterator[str]:
    """Outputs as connectors, on the right side of the block from above to below."""
    shown = [v for v in outputs if TYPES[v.kind] in CONNECTORS]
    for number, variable in enumerate(shown):
        quantity = variable.parts[0].quantity
        each = "each " if variable.dimensions else ""
        height = 90 - 180 * number // max(1, len(shown) - 1)
        place = f"{{{{100, {height - 10}}}, {{120, {height + 10}}}}}"
        unit = quantity.unit if quantity.kind == "real" and quantity.unit != "1" else ""
        about = f"({each}unit={quoted(unit)})" if unit else ""
        kind = CONNECTORS[TYPES[variable.kind]]
        yield (
            f"  {kind}Output {identifier(variable.name)}{sides(variable)}{about}\n"
            f"    {text_of(variable, quantity)}\n"
            f"    annotation(Placement(transformation(extent={place})));"
        )
    for variable in outputs:
        if TYPES[variable.kind] not in CONNECTORS:
            kind, text = TYPES[variable.kind], text_of(variable, variable.parts[0].quantity)
            yield f"  output {kind} {identifier(variable.name)}{sides(variable)} {text};"
