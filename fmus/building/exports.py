"""Writing the tables of the kernels that FMUs carry (``sensor_models.core.exports`` reads them).

Builds compile what the tables declare, and no more. ``tests/fmus/building/test_exports.py`` runs
every FMU in many ways and compares what it calls; ``make exports`` writes the tables anew from such
runs.
"""

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sensor_models.core.exports import FAMILIES, Export
from sensor_models.kernels.machine_code import as_tuples
from sensor_models.kernels.values import Kind

HEADER = """\
# The kernels of this family that Python calls in FMUs, with the types of their arguments.
# `make exports` writes this file; sensor_models/core/exports.py says how to read it.
"""


# ---- types as text -------------------------------------------------------------------------------


def text_of(kind: Kind, family: str) -> str:
    """A kind of argument as the table of a family writes it."""
    if kind[0] == "array":
        return _array_text(kind)
    if kind[0] != "tuple":
        return str(kind[0])
    if kind[1]:
        return _struct_name(kind[1]).removeprefix(f"{family}.")
    return f"({', '.join(text_of(part, family) for part in kind[2:])})"


def _array_text(kind: Kind) -> str:
    _, item, dimensions, order, writable = kind
    axes = [":"] * dimensions
    if order != "A":
        axes[-1 if order == "C" else 0] = "::1"
    const = "" if writable else "const "
    return f"{const}{np.dtype(item).name}[{', '.join(axes)}]"


def _struct_name(place: str) -> str:
    """``tracing.scene_view.SceneView`` for the place of a class (``values.place_of``)."""
    return place.removeprefix(FAMILIES).replace(":", ".")


# ---- writing tables ------------------------------------------------------------------------------


def exports_in(calls: Mapping[str, Iterable[Any]]) -> list[Export]:
    """The exports that FMUs call, by the answers of ``exercise.py``; line numbers are dropped."""
    users: dict[tuple[str, str, tuple[Kind, ...]], set[str]] = {}
    for fmu, called in calls.items():
        for (module, name, _), all_kinds in called:
            for kinds in all_kinds:
                users.setdefault((module, name, as_tuples(kinds)), set()).add(fmu)
    return [Export(*key, tuple(sorted(users[key]))) for key in sorted(users, key=str)]


def tables_of(exports: Iterable[Export]) -> dict[str, str]:
    """The text of each family's table."""
    by_family: dict[str, list[Export]] = {}
    structs: dict[str, dict[str, Kind]] = {}
    for export in exports:
        by_family.setdefault(export.family, []).append(export)
        for kind in export.arguments:
            _collect(kind, structs)
    return {
        family: _table(family, by_family.get(family, []), structs.get(family, {}))
        for family in sorted({*by_family, *structs})
    }


def _collect(kind: Kind, structs: dict[str, dict[str, Kind]]) -> None:
    """Add the named tuples in a kind, by the family that declares them."""
    if kind[0] != "tuple":
        return
    if kind[1]:
        name = _struct_name(kind[1])
        structs.setdefault(name.partition(".")[0], {})[name] = kind
    for part in kind[2:]:
        _collect(part, structs)


def _table(family: str, exports: Iterable[Export], structs: Mapping[str, Kind]) -> str:
    lines = [HEADER]
    for name, kind in sorted(structs.items()):
        lines.append(f'[structs."{name.removeprefix(f"{family}.")}"]')
        fields = _fields_of(name)
        lines += [f'{f} = "{text_of(k, family)}"' for f, k in zip(fields, kind[2:], strict=True)]
        lines.append("")
    for export in exports:
        module = export.module.removeprefix(f"kernels.{family}.")
        lines.append(f'[exports."{module}.{export.name}"]')
        lines.append(_list("arguments", (text_of(kind, family) for kind in export.arguments)))
        lines.append(_list("carried_by", export.carried_by))
        lines.append("")
    return "\n".join(lines)


def _fields_of(struct: str) -> tuple[str, ...]:
    module, _, name = struct.rpartition(".")
    fields: tuple[str, ...] = getattr(importlib.import_module(FAMILIES + module), name)._fields
    return fields


def _list(key: str, texts: Iterable[str]) -> str:
    items = [f'"{text}"' for text in texts]
    line = f"{key} = [{', '.join(items)}]"
    return line if len(line) <= 100 else "\n".join([f"{key} = [", *(f"  {i}," for i in items), "]"])
