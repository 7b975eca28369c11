"""The products that an FMU has presets for, with their datasheets and what those leave open."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import sensor_models
from fmus.building.reference.markup import link, node, prose
from fmus.building.reference.tables import tidy
from fmus.fmi.model_description import start_text
from fmus.fmi.variables import Variable, VariableTable, convert_preset
from sensor_models.presets import Preset, read_preset

PRESETS = Path(str(sensor_models.__file__)).parent / "presets"


def presets_of(model_name: str) -> list[Preset]:
    """All presets of an FMU, by name."""
    presets = [read_preset(path) for path in PRESETS.glob("*.toml")]
    return sorted((p for p in presets if model_name in p.sensors), key=lambda preset: preset.name)


def anchor_of(preset: Preset) -> str:
    """The anchor of a preset; no variable has a hyphen in its name."""
    return f"preset-{preset.name}"


def preset_section(
    preset: Preset, model_name: str, table: VariableTable, anchors: Mapping[str, str]
) -> list[Element]:
    """One preset."""
    sheet = preset.datasheet
    given = convert_preset(table, preset.parameters_of(model_name), preset.name)
    rows = [setting(table.by_name[name], value) for name, value in given.items()]
    head = node("tr", node("th", "parameter", scope="col"), node("th", "value", scope="col"))
    settings = node("table", node("thead", head), node("tbody", *rows))
    unknown = [node("li", *prose(sentence, anchors)) for sentence in preset.unknown]
    left_open = [node("p", "Left open by the datasheet, or not modelled:"), node("ul", *unknown)]
    return [
        node("h3", preset.name, id=anchor_of(preset)),
        node("p", f"{sheet['publisher']} {preset.name}. {preset.description}."),
        node("p", f"Datasheet: {sheet['title']}, revision {sheet['revision']}."),
        *(left_open if unknown else ()),
        node("details", node("summary", f"What it sets ({len(given)})"), settings),
    ]


def setting(variable: Variable, value: Any) -> Element:
    """One parameter as a preset sets it."""
    unit = "" if variable.quantity.unit == "1" else f" {variable.quantity.unit}"
    choices = variable.quantity.choices
    item = "" if choices is None else f" {value.name}"
    return node(
        "tr",
        node("td", link(variable.name, node("code", variable.name))),
        node("td", node("code", tidy(start_text(value))), f"{unit}{item}"),
    )
