"""terminalsAndIcons.xml of an FMU class for FMI 3.0: variables that are connected together.

There is a terminal for the state of the body, one for that of the joint, one for the scene and one
for messages of OSI. Members go by the rest of their names, so tools match those of a vehicle and of
a sensor. Sensors have inputs there and vehicles outputs, of the same kind.

Source: FMI 3.0, "Terminals" (matching rule ``bus``).
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from fmus.fmi.arrays import ArrayVariable, Interface, Kind, Layout

if TYPE_CHECKING:
    from fmus.fmi.base import FmuBase

PLACE = "terminalsAndIcons/terminalsAndIcons.xml"
KIND = "sensor-fmus"


def _begins(prefix: str) -> Callable[[ArrayVariable], bool]:
    return lambda variable: variable.name.startswith(prefix)


#: The terminals: text, and which variables are in it. Parameters never are.
TERMINALS: Mapping[str, tuple[str, Callable[[ArrayVariable], bool]]] = {
    "body": ("State of the body", _begins("body.")),
    "joint": ("State of the joint", _begins("joint.")),
    "scene": ("Scene that sensors share", lambda variable: variable.name == "scene_handle"),
    "osi": ("Messages of OSI", lambda variable: variable.kind == Kind.message),
}


def terminals(fmu: "type[FmuBase]", interface: Interface) -> Element | None:
    """The whole file; None if there is no terminal."""
    layout = fmu.layout(interface)
    root = Element("fmiTerminalsAndIcons", {"fmiVersion": "3.0"})
    added = SubElement(root, "Terminals")
    for name in TERMINALS:
        _add_terminal(added, name, layout)
    return root if len(added) else None


def _add_terminal(parent: Element, name: str, layout: Layout) -> None:
    text, belongs = TERMINALS[name]
    shown = [v for v in layout.variables if v.causality in ("input", "output") and belongs(v)]
    if not shown:
        return
    about = {
        "name": name,
        "matchingRule": "bus",
        "terminalKind": f"{KIND}.{name}",
        "description": text,
    }
    terminal = SubElement(parent, "Terminal", about)
    for variable in shown:
        member = variable.name.removeprefix(f"{name}.")
        SubElement(
            terminal,
            "TerminalMemberVariable",
            {
                "variableName": variable.name,
                "memberName": member,
                "variableKind": "signal",
            },
        )
