"""Leaves the inputs for faults out of a model description (``build_fmus.py --no-faults``).

The FMU keeps them: their values stay at their starts, which make no fault, and its GUID and its
saved states are those of the FMU with faults.
"""

from collections.abc import Mapping
from xml.etree.ElementTree import Element

#: The group of all of them.
GROUP = "fault"


def is_fault(name: str) -> bool:
    """Whether a variable is an input for faults."""
    return GROUP in name.split(".")


def leave_out_faults(root: Element) -> None:
    """Take faults out of a description of FMI 2.0 or 3.0."""
    variables = root.find("ModelVariables")
    structure = root.find("ModelStructure")
    assert variables is not None
    assert structure is not None
    # FMI 2.0 refers to variables by their numbers in the list, FMI 3.0 by their references.
    key = "index" if root.get("fmiVersion") == "2.0" else "valueReference"
    places: dict[str, str] = {}
    left = 0
    for number, variable in enumerate(list(variables), 1):
        old = str(number) if key == "index" else variable.get("valueReference", "")
        if is_fault(variable.get("name", "")):
            variables.remove(variable)
        else:
            left += 1
            places[old] = str(left) if key == "index" else old
    for unknown in structure.iter():
        if key in unknown.attrib:
            _refer(unknown, key, places)


def _refer(unknown: Element, key: str, places: Mapping[str, str]) -> None:
    """Let an element of the structure refer to the variables that are left."""
    unknown.set(key, places[unknown.attrib[key]])
    known = unknown.get("dependencies", "").split()
    kinds = unknown.get("dependenciesKind", "").split()
    kept = [(places[k], kind) for k, kind in zip(known, kinds, strict=True) if k in places]
    if "dependencies" in unknown.attrib:
        unknown.set("dependencies", " ".join(place for place, _ in kept))
        unknown.set("dependenciesKind", " ".join(kind for _, kind in kept))
