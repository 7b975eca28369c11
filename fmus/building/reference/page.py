"""The reference page of an FMU, and the index of all pages."""

from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element

import sensor_models
from fmus.building.reference import chapters, presets, tables, usage
from fmus.building.reference.markup import blocks, document, link, node, paragraphs, prose
from fmus.fmi.base import FmuBase
from fmus.fmi.model_description import guid_of

#: Anchors and titles of the sections; no variable has a hyphen in its name.
SECTIONS = {
    "how-to-use": "How to use it",
    "all-inputs": "Inputs",
    "all-parameters": "Parameters",
    "all-outputs": "Outputs",
    "all-enumerations": "Enumerations",
    "all-presets": "Presets",
    "the-model": "The model",
    "the-conventions": "Conventions and sources",
}

READING = (
    "Values are in SI units; in brackets, the unit that masters may show. A start or limit of"
    " ±1e+300 stands for no limit."
)


def reference_page(fmu: type[FmuBase]) -> bytes:
    """An HTML page with everything that declarations and models say about an FMU."""
    table = fmu.table()
    anchors = {name: name for name in table.by_name}
    contents = {
        "how-to-use": [usage.notes(table, anchors)],
        "all-inputs": tables.variable_table(table, "input", anchors),
        "all-parameters": [
            node("p", READING),
            *tables.variable_table(table, "parameter", anchors),
        ],
        "all-outputs": tables.variable_table(table, "output", anchors),
        "all-enumerations": tables.enumerations(table),
        "all-presets": preset_sections(fmu, anchors),
        "the-model": model_chapters(fmu, anchors),
        "the-conventions": paragraphs(sensor_models.__doc__ or "", {}),
    }
    filled = {anchor: content for anchor, content in contents.items() if content}
    sections = [
        node("section", node("h2", SECTIONS[anchor], id=anchor), *content)
        for anchor, content in filled.items()
    ]
    navigation = node("ul", *(node("li", link(anchor, SECTIONS[anchor])) for anchor in filled))
    return document(
        f"{fmu.model_name} - sensor-fmus {sensor_models.__version__}",
        node("header", node("h1", fmu.model_name), *introduction(fmu, anchors), facts(fmu)),
        node("nav", navigation),
        node("main", *sections),
    )


def introduction(fmu: type[FmuBase], anchors: Mapping[str, str]) -> list[Element]:
    """What an FMU is: its description, and the docstring of its module without the headline."""
    return [
        node("p", f"{fmu.description_text}."),
        *paragraphs("\n\n".join(blocks(fmu.about())[1:]), anchors),
    ]


def facts(fmu: type[FmuBase]) -> Element:
    """Version, licence and identity of an FMU."""
    table = fmu.table()
    counts = ", ".join(
        f"{len(table.of_causality(causality))} {causality}s"
        for causality in ("input", "parameter", "output")
    )
    lines = {
        "kind": "FMI 2.0, co-simulation",
        "version": sensor_models.__version__,
        "licence": "MIT; the texts are in documentation/licenses",
        "GUID": guid_of(fmu.model_name, table),
        "variables": counts,
        "step suggested": f"{fmu.default_step} s; others work as well, fixed or variable",
    }
    rows = [
        node("tr", node("th", name, scope="row"), node("td", text)) for name, text in lines.items()
    ]
    return node("table", node("tbody", *rows), class_="facts")


def preset_sections(fmu: type[FmuBase], anchors: Mapping[str, str]) -> list[Element]:
    """The presets of an FMU, after a list of their names; nothing if there are none."""
    known = presets.presets_of(fmu.model_name)
    names = node("ul", *(node("li", link(presets.anchor_of(p), p.name)) for p in known))
    details = [
        element
        for preset in known
        for element in presets.preset_section(preset, fmu.model_name, fmu.table(), anchors)
    ]
    return [names, *details] if known else []


def model_chapters(fmu: type[FmuBase], anchors: Mapping[str, str]) -> list[Element]:
    """The docstrings of the models behind an FMU; nothing if there are none."""
    modules = chapters.modules_of(fmu)
    named = {name: f"module-{module}" for name, module in chapters.names_of(modules)}
    everything = {**anchors, **named}
    entries = [
        node("li", link(f"module-{module}", *prose(chapters.headline(module), {})))
        for module in modules
    ]
    found: list[Element] = [node("ul", *entries)] if modules else []
    for module in modules:
        text = "\n\n".join(blocks(chapters.docstring(module))[1:])
        found += [
            node("h3", *prose(chapters.headline(module), {}), id=f"module-{module}"),
            node("p", node("code", module)),
            *paragraphs(text, everything),
        ]
    return found


def index_page(fmus: Iterable[type[FmuBase]]) -> bytes:
    """A list of the pages of FMUs, which are files beside it with the names of the FMUs."""
    rows = []
    for fmu in fmus:
        name = node("a", fmu.model_name, href=f"{fmu.model_name}.html")
        products = ", ".join(preset.name for preset in presets.presets_of(fmu.model_name))
        cells = (node("td", fmu.description_text), node("td", products))
        rows.append(node("tr", node("th", name, scope="row"), *cells))
    titles = (node("th", title, scope="col") for title in ("FMU", "what it is", "presets"))
    table = node("table", node("thead", node("tr", *titles)), node("tbody", *rows))
    title = f"sensor-fmus {sensor_models.__version__}"
    return document(title, node("header", node("h1", title)), node("main", table))
