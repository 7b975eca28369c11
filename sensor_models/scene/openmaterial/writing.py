"""Materials of ours in the form of OpenMATERIAL 3D 1.1, each with its source.

Every material has our own numbers (``customProperties``), by which it is read back to the last bit,
and what the standard has room for:

matt and coated    a table of bidirectional reflectance at each wavelength: one plane for matt ones,
                   13 azimuths for coated ones. Of coats smoother than ``SMOOTHEST`` the table holds
                   the base alone, as their glint is narrower than its steps
metals, clear ones an index by wavelength, and roughness
radars             permittivity by wavelength, the square of the index; roughness as height

Only the ratio of roughness and its length counts for light. Where no height is known, the length is
taken as ``LENGTH``.
"""

import json
import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.materials import METAL_EXTINCTION
from sensor_models.scene.model import Brdf, Material, SurfaceKind, SurfaceParameters
from sensor_models.scene.openmaterial.materials import OWN, table_of

Floats = NDArray[np.float64]
#: The reflectance of a surface by kind, numbers, ``two_way`` and directions of light and viewer.
Bidirectional = Callable[[SurfaceKind, SurfaceParameters, bool, Floats, Floats], Floats]

VERSION = "1.1.0"
#: The coat that a table still shows, and the length of roughness without a known height, m.
SMOOTHEST, LENGTH = 0.05, 1e-5
#: Angles of tables, degrees: of matt surfaces, of coated ones, and azimuths of these. Beyond 82 the
#: half-vector law of coated ones gains energy (``kernels.light.surfaces``).
MATT = tuple(range(0, 90, 10))
COATED = (*range(0, 60, 3), *range(60, 83, 2))
AZIMUTHS = (0, 30, 60, 90, 110, 130, 145, 155, 162, 168, 173, 177, 180)
MAPPING = "sensor_fmus_materials.xomm"
_NAMES = uuid.UUID("7f3c1f2e-5d0a-4c0e-9b5e-2f4f6f0f9d11")


def metadata(name: str, source: str | None, version: str = "materialVersion") -> dict[str, Any]:
    """The metadata of a file; equal names give equal identifiers."""
    found: dict[str, Any] = {
        "name": name,
        "uuid": str(uuid.uuid5(_NAMES, name)),
        version: "1.0.0",
        "openMaterial3dVersion": VERSION,
        "copyrights": ["the authors of sensor-fmus"],
        "license": "MIT",
        "authors": ["sensor-fmus"],
    }
    return found if source is None else {**found, "sources": source or "not said"}


def text_of(content: Mapping[str, Any]) -> str:
    """A file; each row of a table is a line."""
    return "\n".join(_lines(content, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    """A value over several lines, lists of plain values on one."""
    inner = f"{indent}  "
    if isinstance(value, Mapping) and value:
        yield "{"
        for number, (key, each) in enumerate(value.items()):
            first, *rest = _lines(each, inner)
            body = [f"{inner}{json.dumps(key)}: {first}", *rest]
            body[-1] += "," if number + 1 < len(value) else ""
            yield from body
        yield f"{indent}}}"
    elif isinstance(value, list) and value and isinstance(value[0], (list, Mapping)):
        yield "["
        for number, each in enumerate(value):
            first, *rest = _lines(each, inner)
            body = [f"{inner}{first}", *rest]
            body[-1] += "," if number + 1 < len(value) else ""
            yield from body
        yield f"{indent}]"
    else:
        yield json.dumps(value, ensure_ascii=False)


def brdf_text(brdfs: Mapping[float, Brdf], name: str, source: str) -> str:
    """A file of tables without gaps, exactly as they are."""
    rows: list[list[float]] = []
    for wavelength, brdf in sorted(brdfs.items()):
        a, b, c = np.meshgrid(brdf.theta, brdf.theta, brdf.phi, indexing="ij")
        columns = [np.full(a.size, wavelength), a.ravel(), b.ravel(), c.ravel()]
        rows += np.column_stack([*columns, brdf.values.ravel()]).tolist()
    return _brdf_document(rows, name, source)


def _brdf_document(rows: list[list[float]], name: str, source: str) -> str:
    wavelengths = sorted({row[0] for row in rows})
    brdf = {"wavelengths": wavelengths, "lookupTable": rows}
    return text_of({"metadata": metadata(name, source), "brdf": brdf})


# ---- the materials of a library ------------------------------------------------------------------


def write_materials(
    materials: Mapping[str, Material], directory: Path, bidirectional: Bidirectional
) -> int:
    """Write materials with a mapping of their names; returns how many files that were.

    ``bidirectional(kind, numbers, two_way, light, viewer)`` is the reflectance of a surface.
    """
    count = 1
    rows = [[name, f"materials/{name}.xomp", one.source] for name, one in materials.items()]
    about = metadata("sensor-fmus", None, "mappingVersion")
    _write(directory / MAPPING, {"metadata": about, "materialMapping": rows})
    for name, material in materials.items():
        for file, content in _files_of(name, material, bidirectional):
            _write(directory / "materials" / file, content)
            count += 1
    return count


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text_of(content), encoding="utf-8")


def _files_of(
    name: str, material: Material, bidirectional: Bidirectional
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files of a material with their content."""
    properties = {**_roughness(material), **_retro(material)}
    bulk = is_bulk(material)
    if bulk:
        properties["opticalPropertiesUri"] = f"{name}_optical.xompt"
        yield f"{name}_optical.xompt", _optical(name, material)
    else:
        properties["brdfUris"] = [f"{name}_brdf.xompt"]
        rows = brdf_rows(material, bidirectional)
        brdf = {"wavelengths": sorted(material.at_wavelength), "lookupTable": rows}
        about = metadata(f"{name}_brdf", material.source)
        yield f"{name}_brdf.xompt", {"metadata": about, "brdf": brdf}
    if any(one.ior is not None for one in material.at_radar.values()):
        properties["electromagneticPropertiesUri"] = f"{name}_emp.xompt"
        yield f"{name}_emp.xompt", _electromagnetic(name, material)
    properties["customProperties"] = {OWN: table_of(material)}
    about = {**metadata(name, None), "description": material.source}
    yield f"{name}.xomp", {"metadata": about, "materialProperties": properties}


def is_bulk(material: Material) -> bool:
    """Whether an index says all of a material: a metal, or what light comes through."""
    opaque = any(one.extinction > METAL_EXTINCTION for one in material.at_wavelength.values())
    metal = material.kind is SurfaceKind.two_layer and opaque
    return material.kind is SurfaceKind.dielectric or metal


def _roughness(material: Material) -> dict[str, Any]:
    """Height and length of the roughness, of light and radars together."""
    heights = {one.roughness_rms for one in material.at_radar.values()} - {0.0}
    slopes = {one.roughness_beckmann for one in material.at_wavelength.values()}
    if material.kind is SurfaceKind.lambert:
        slopes = set()
    if not heights and not slopes:
        return {}
    slope = max(slopes, default=0.0)
    height = max(heights) if heights else slope * LENGTH / math.sqrt(2.0)
    length = math.sqrt(2.0) * height / slope if slope else 0.0
    part = {"surfaceHeightRms": height, "surfaceCorrelationLength": length}
    return {"surfaceRoughness": {**part, "sources": material.source}}


def _retro(material: Material) -> dict[str, Any]:
    retro = max((one.retro_reflectance for one in material.at_wavelength.values()), default=0.0)
    if retro == 0.0:
        return {}
    part = {"coefficientOfRetroreflection": retro, "sources": material.source}
    return {"retroreflectivityData": part}


def _optical(name: str, material: Material) -> dict[str, Any]:
    rows = [
        [w, 293.0, one.ior, one.extinction] for w, one in sorted(material.at_wavelength.items())
    ]
    return {"metadata": metadata(f"{name}_optical", material.source), "opticalProperties": rows}


def _electromagnetic(name: str, material: Material) -> dict[str, Any]:
    rows = []
    for wavelength, one in sorted(material.at_radar.items()):
        if one.ior is not None:
            epsilon = complex(one.ior, -one.extinction) ** 2
            rows.append([wavelength, 293.0, 50.0, 1.0, 0.0, epsilon.real, abs(epsilon.imag)])
    about = metadata(f"{name}_emp", material.source)
    return {"metadata": about, "electromagneticProperties": rows}


def brdf_rows(material: Material, bidirectional: Bidirectional) -> list[list[float]]:
    """The rows of a material's tables: wavelength, both angles, azimuth, f."""
    coated = material.kind is SurfaceKind.two_layer
    theta = np.radians(COATED if coated else MATT)
    phi = np.radians(AZIMUTHS if coated else (0, 180))
    a, b, c = (each.ravel() for each in np.meshgrid(theta, theta, phi, indexing="ij"))
    light = np.stack([np.sin(a), np.zeros(len(a)), np.cos(a)], axis=1)
    viewer = np.stack([np.sin(b) * np.cos(c), np.sin(b) * np.sin(c), np.cos(b)], axis=1)
    rows: list[list[float]] = []
    for wavelength, numbers in sorted(material.at_wavelength.items()):
        bare = replace(numbers, retro_reflectance=0.0)  # which has a place of its own

        def f_of(one: SurfaceParameters) -> Floats:
            return bidirectional(material.kind, one, material.two_way, light, viewer)

        f = f_of(bare)
        if coated and numbers.roughness_beckmann < SMOOTHEST:
            f = f - f_of(replace(bare, diffuse_reflectance=0.0))
        columns = [np.full(len(a), wavelength), a, b, c, f]
        rows += [[float(f"{each:.7g}") for each in row] for row in np.column_stack(columns)]
    return rows
