"""Variables and enumerations of an FMU as tables.

Variables that differ only in a component (``bias.x``, ``bias.y``, ``bias.z``) share a row, and so
do equal variables of numbered groups (``zone_1.range`` to ``zone_64.range``). Each has an anchor
with its own name. Start, limits and units are those of modelDescription.xml, as text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from inspect import getdoc
from xml.etree.ElementTree import Element

from fmus.building.reference.markup import Child, link, node, prose
from fmus.fmi.model_description import DISPLAY_UNITS, type_name_of, typed_attributes
from fmus.fmi.variables import Variable, VariableTable

Row = list[Variable]

#: The most names of a row that are all shown; of more, only the first and the last.
MOST_SHOWN = 9

#: Parts of a name that stand for an axis of a sensor, as in ``fault.x.mode``.
AXES = frozenset("xyz")

COLUMNS = ("name", "type, unit", "start, range", "meaning")


def pattern(variable: Variable, numbers: bool) -> str:
    """A name without its axis, and without the number of its group if ``numbers`` do not matter."""
    *parts, last = variable.name.split(".")
    parts = [parts[0], *("*" if part in AXES else part for part in parts[1:])] if parts else []
    parts.append("*" if last in variable.quantity.components else last)
    return unnumbered(".".join(parts)) if numbers else ".".join(parts)


def unnumbered(name: str) -> str:
    """A name without the number of its group: ``zone_#.range`` of ``zone_7.range``."""
    return re.sub(r"_\d+(?=\.|$)", "_#", name)


def family(name: str) -> str:
    """The common beginning of the names of groups that are numbered together."""
    return unnumbered(name).partition("#")[0]


def uneven_families(variables: Iterable[Variable]) -> set[str]:
    """Numbered groups whose members start differently, as bodies in different places do."""
    starts: dict[str, object] = {}
    uneven = set()
    for variable in variables:
        if starts.setdefault(unnumbered(variable.name), variable.start) != variable.start:
            uneven.add(family(variable.name))
    return uneven


def rows_of(variables: Sequence[Variable]) -> list[Row]:
    """The variables in rows of equal ones, in the order of the first variable of each row."""
    uneven = uneven_families(variables)
    rows: dict[object, Row] = {}
    for variable in variables:
        name = pattern(variable, numbers=family(variable.name) not in uneven)
        rows.setdefault((name, variable.quantity), []).append(variable)
    return list(rows.values())


def groups_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the first part of their names; rows that would be alone are under an empty name."""
    sizes = Counter(map(group_name, rows))
    found: dict[str, list[Row]] = {"": []}
    for row in rows:
        name = group_name(row)
        found.setdefault(name if sizes[name] > 1 else "", []).append(row)
    return {name: members for name, members in found.items() if members}


def group_name(row: Row) -> str:
    """The first part of the names of a row, from the first one to the last one if they differ."""
    first, dot, _ = row[0].name.partition(".")
    last = row[-1].name.partition(".")[0]
    return "" if not dot else first if first == last else f"{first} … {last}"


def variable_table(
    table: VariableTable, causality: str, anchors: Mapping[str, str]
) -> list[Element]:
    """All variables of one causality, by groups; a sentence if there are none."""
    variables = table.of_causality(causality)
    if not variables:
        return [node("p", "None.")]
    bodies = []
    for group, rows in groups_of(rows_of(variables)).items():
        title = node("th", node("code", f"{group}."), colspan=str(len(COLUMNS)), scope="rowgroup")
        heading = [node("tr", title, class_="group")] if group else []
        bodies.append(node("tbody", *heading, *(row_of(row, anchors) for row in rows)))
    head = node("thead", node("tr", *(node("th", name, scope="col") for name in COLUMNS)))
    return [node("table", head, *bodies, class_="variables")]


def row_of(row: Row, anchors: Mapping[str, str]) -> Element:
    """One row of a table of variables."""
    attributes = typed_attributes(row[0])
    unit, limits = attributes.get("unit", ""), range_of(row[0], attributes)
    kind = node("div", *type_of(row[0]), class_="type")
    start = [node("div", *start_of(row), class_="start")] if "start" in attributes else []
    return node(
        "tr",
        node("td", *names(row), class_="names"),
        node("td", kind, *lines(unit_text(unit), "unit")),
        node("td", *start, *lines(limits, "range")),
        node("td", *prose(row[0].quantity.description, anchors), class_="meaning"),
    )


def lines(text: str, name: str) -> list[Element]:
    """Each text as a line of a cell; empty texts are left out."""
    return [node("div", text, class_=name)] if text else []


def names(row: Row) -> list[Child]:
    """The names of a row, each an anchor."""
    if len(row) <= MOST_SHOWN:
        codes = [node("code", variable.name, id=variable.name) for variable in row]
        return [child for code in codes for child in (code, " ")][:-1]
    first, *between, last = (variable.name for variable in row)
    hidden = [node("span", id=name) for name in between]
    return [node("code", first, id=first), " … ", *hidden, node("code", last, id=last)]


def type_of(variable: Variable) -> list[Child]:
    """The FMI type; for choices a link to their items."""
    choices = variable.quantity.choices
    if choices is None:
        return [variable.type_name]
    return [link(enumeration_anchor(choices), type_name_of(choices))]


def unit_text(unit: str) -> str:
    """A unit, and the unit in which masters may show it."""
    return f"{unit} ({DISPLAY_UNITS[unit]})" if unit in DISPLAY_UNITS else unit


def start_of(row: Row) -> list[Child]:
    """The start values, one if they are equal."""
    texts = [typed_attributes(variable).get("start", "") for variable in row]
    is_text = row[0].quantity.kind == "string"
    texts = [f'"{text}"' if is_text else tidy(text) for text in texts]
    different = texts if len(set(texts)) > 1 else texts[:1]
    parts: list[Child] = [node("code", different[0])]
    for text in different[1:]:
        parts += [", ", node("code", text)]
    return parts


def tidy(number: str) -> str:
    """A number without needless decimals."""
    return number.removesuffix(".0")


def range_of(variable: Variable, attributes: Mapping[str, str]) -> str:
    """The allowed values, if they are fewer than those of the type."""
    if variable.quantity.choices is not None:
        return items_of(variable.quantity.choices)
    low, high = (tidy(attributes[limit]) if limit in attributes else "" for limit in ("min", "max"))
    if low and high:
        return f"{low} … {high}"
    if low:
        return f"≥ {low}"
    return f"≤ {high}" if high else ""


def items_of(choices: type[IntEnum]) -> str:
    """The items of an enumeration with their numbers, which stay together."""
    return ", ".join(f"{item.value}\N{NO-BREAK SPACE}{item.name}" for item in choices)


def enumeration_anchor(choices: type[IntEnum]) -> str:
    """The anchor of an enumeration; no variable has a hyphen in its name."""
    return f"type-{type_name_of(choices)}"


def enumerations(table: VariableTable) -> list[Element]:
    """The enumerations in use, with their items and what uses them; nothing if there are none."""
    used: dict[type[IntEnum], Row] = {}
    for variable in table.variables:
        if variable.quantity.choices is not None:
            used.setdefault(variable.quantity.choices, []).append(variable)
    rows = [
        node(
            "tr",
            node("th", type_name_of(choices), scope="row", id=enumeration_anchor(choices)),
            node("td", items_of(choices)),
            node("td", getdoc(choices) or "", *meanings(variables)),
        )
        for choices, variables in sorted(used.items(), key=lambda entry: type_name_of(entry[0]))
    ]
    head = ("type", "items", "meaning")
    titles = node("thead", node("tr", *(node("th", name, scope="col") for name in head)))
    return [node("table", titles, node("tbody", *rows))] if rows else []


def meanings(variables: Row) -> list[Child]:
    """What the descriptions of variables say about the items of an enumeration, each once."""
    first = {variable.quantity.description: variable for variable in reversed(variables)}
    return [
        node("p", link(variable.name, node("code", variable.name)), f": {description}")
        for description, variable in reversed(first.items())
    ]
