"""Materials of OpenMATERIAL (``.xomp``): their numbers, and the table of a manifest of these.

What a material is made of decides its kind:

a table of bidirectional reflectance   tabulated, with its retro-reflection
an index of light                      dielectric if light comes through, else a bare metal
neither                                a guess by its look; what is known of radars stays

The slope of a surface is its height times sqrt(2) over the length at which its heights are alike
to 1/e, as of a Gaussian autocorrelation. What this project has written itself also says its own
numbers (``customProperties``), and is taken by these.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensor_models.scene.brdf import asymmetry
from sensor_models.scene.materials import METAL_EXTINCTION, NUMBERS, RADAR_NUMBERS
from sensor_models.scene.model import (
    LONGEST_LIGHT,
    Brdf,
    Material,
    RadarParameters,
    SurfaceKind,
    SurfaceParameters,
)
from sensor_models.scene.openmaterial.documents import MAX_BYTES, Document, parsed
from sensor_models.scene.openmaterial.tables import (
    Indices,
    Verdict,
    brdfs_of,
    electromagnetic_indices,
    fitted_indices,
    optical_indices,
)
from sensor_models.scene.worlds.files import Files, Place

#: The key of our own numbers among those of other tools.
OWN = "sensor-fmus"
#: The least slope that a surface of a manifest may have.
LEAST_SLOPE = 1e-4
#: A table is said not to be reciprocal if light and viewer differ by more, as a share.
MOST_ASYMMETRY = 0.01
_NOT_USED = ("emissivityData", "elasticityData", "densityData")


@dataclass
class Properties:
    """What a file says of a material."""

    file: Path
    name: str
    light: Indices = field(default_factory=dict)
    radar: Indices = field(default_factory=dict)
    brdfs: dict[float, Brdf] = field(default_factory=dict)
    height: float | None = None  # root mean square, m
    slope: float | None = None
    retro: float = 0.0  # cd/lx/m2
    own: Mapping[str, Any] | None = None  # our own numbers, as a manifest has them
    sources: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        """Where the numbers come from, for a manifest."""
        said = "; ".join(dict.fromkeys(filter(None, self.sources)))
        oddest = max((asymmetry(each) for each in self.brdfs.values()), default=0.0)
        odd = f"; not reciprocal by {100.0 * oddest:.0f} %" if oddest > MOST_ASYMMETRY else ""
        head = f"OpenMATERIAL {self.name[:60]}"
        return f"{head}: {said}"[: 199 - len(odd)] + odd if said else f"{head}{odd}"


def read_properties(file: Path, data: bytes, files: Files, verdict: Verdict) -> Properties:
    """The numbers in a material's file and its tables."""
    document = parsed(data, file)
    metadata, properties = document.part("metadata"), document.part("materialProperties")
    if properties is None:
        document.refuse("materialProperties", "is missing")
    name = (metadata.text("name") if metadata else None) or file.stem
    found = Properties(file, name)
    custom = properties.part("customProperties")
    own = None if custom is None else custom.part(OWN)
    if own is not None:
        found.own = own.content
        return found
    _read_roughness(found, properties, verdict)
    _read_retro(found, properties)
    _read_tables(found, properties, files, verdict)
    for key in _NOT_USED:
        if key in properties.content:
            verdict.notes.append(f"{file.name}: {key}: not used")
    return found


def _read_roughness(found: Properties, properties: Document, verdict: Verdict) -> None:
    part = properties.part("surfaceRoughness")
    if part is None:
        return
    height, length = part.number("surfaceHeightRms"), part.number("surfaceCorrelationLength")
    if height is None or height < 0.0 or (length is not None and length < 0.0):
        part.refuse("surfaceHeightRms", "is missing, or below 0")
    slope = math.sqrt(2.0) * height / length if length else 0.0
    if slope > 1.0 or height > 1.0:
        reason = f"a height of {height:g} m over {length or 0.0:g} m, a slope of {slope:.3g}"
        if not verdict.takes(properties, "surfaceRoughness", reason):
            return
    found.height = min(height, 1.0)
    found.slope = min(max(slope, LEAST_SLOPE), 1.0) if length else None
    found.sources.append(part.text("sources") or "")


def _read_retro(found: Properties, properties: Document) -> None:
    part = properties.part("retroreflectivityData")
    if part is None:
        return
    retro = part.number("coefficientOfRetroreflection")
    if retro is None or not 0.0 <= retro <= 5000.0:
        part.refuse("coefficientOfRetroreflection", "is missing, or not from 0 to 5000 cd/lx/m2")
    found.retro = retro
    found.sources.append(part.text("sources") or "")


def _read_tables(found: Properties, properties: Document, files: Files, verdict: Verdict) -> None:
    """Read all property tables that a material names."""

    def table(key: str, name: str) -> Document:
        place = Place(properties.file, f"{properties.place}{key}")
        path, data = files.find(name, place, (properties.file.parent,), MAX_BYTES)
        document = parsed(data, path)
        metadata = document.part("metadata")
        found.sources.append((metadata.text("sources") if metadata else None) or "")
        return document

    for name in filter(None, (properties.text("electromagneticPropertiesUri"),)):
        indices = electromagnetic_indices(table("electromagneticPropertiesUri", name), verdict)
        for wavelength, index in indices.items():
            (found.radar if wavelength > LONGEST_LIGHT else found.light)[wavelength] = index
    for name in filter(None, (properties.text("opticalPropertiesUri"),)):
        indices = optical_indices(table("opticalPropertiesUri", name), verdict)
        light = {w: index for w, index in indices.items() if w <= LONGEST_LIGHT}
        found.light = light or found.light
        found.radar |= {w: index for w, index in indices.items() if w > LONGEST_LIGHT}
    for name in properties.texts("brdfUris"):
        found.brdfs |= brdfs_of(table("brdfUris", name), verdict)
    for name in properties.texts("reflectionCoefficientUris"):
        fitted = fitted_indices(table("reflectionCoefficientUris", name), verdict)
        found.radar = {**fitted, **found.radar}


# ---- as a table of a manifest --------------------------------------------------------------------


def material_table(given: Properties, guess: Material, why: str) -> dict[str, Any]:
    """The table of a manifest; ``guess`` is what it is taken for where it says nothing of light.

    Its tables of bidirectional reflectance are to be added under ``brdf``.
    """
    if given.own is not None:
        return dict(given.own)
    radar = _radar_sets(given)
    if given.brdfs:
        sets = [{"wavelength": w, "retro_reflectance": given.retro} for w in sorted(given.brdfs)]
        kind, light = "tabulated", sets if given.retro else []
        return {"kind": kind, "source": given.source, "surface": light + radar}
    if given.light:
        return {**_by_index(given, radar), "source": given.source}
    table = table_of(guess)
    light = [one for one in table["surface"] if one["wavelength"] <= LONGEST_LIGHT]
    if given.retro and guess.kind is not SurfaceKind.dielectric:
        light = [{**one, "retro_reflectance": given.retro} for one in light]
    known = given.source if radar or given.retro else f"{given.source} says nothing of light"
    surface = [*light, *(radar or table["surface"][len(light) :])]
    return {**table, "surface": surface, "source": f"{why}; {known}"[:200]}


def _by_index(given: Properties, radar: list[dict[str, float]]) -> dict[str, Any]:
    """Kind and sets of a material that is known by its index."""
    opaque = any(-index.imag > METAL_EXTINCTION for index in given.light.values())
    rough = {} if given.slope is None else {"roughness_beckmann": given.slope}
    more = {"diffuse_reflectance": 0.0} if opaque else {}
    if opaque and given.retro:
        more["retro_reflectance"] = given.retro
    light = [
        {"wavelength": w, "ior": index.real, "extinction": -index.imag, **rough, **more}
        for w, index in sorted(given.light.items())
        if not opaque or -index.imag > METAL_EXTINCTION
    ]
    return {"kind": "two_layer" if opaque else "dielectric", "surface": light + radar}


def _radar_sets(given: Properties) -> list[dict[str, float]]:
    rough = {} if given.height is None else {"roughness_rms": given.height}
    return [
        {"wavelength": w, "ior": index.real, "extinction": abs(index.imag), **rough}
        for w, index in sorted(given.radar.items())
    ]


def table_of(material: Material) -> dict[str, Any]:
    """A material as a table of a manifest, with exactly its numbers; without tables."""
    names = NUMBERS[material.kind.name]
    sets: list[tuple[float, SurfaceParameters | RadarParameters, tuple[str, ...]]]
    sets = [(w, one, names) for w, one in sorted(material.at_wavelength.items())]
    sets += [(w, one, RADAR_NUMBERS) for w, one in sorted(material.at_radar.items())]
    surface = []
    for wavelength, one, known in sets:
        numbers = {name: getattr(one, name) for name in known}
        band = {} if one.band is None else {"band": list(one.band)}
        given = {name: value for name, value in numbers.items() if value is not None}
        surface.append({"wavelength": wavelength, **band, **given})
    table: dict[str, Any] = {"kind": material.kind.name, "source": material.source}
    if material.two_way:
        table["two_way"] = True
    if material.color is not None:
        table["color"] = list(material.color)
    if material.emission:
        table["emission"] = [list(pair) for pair in material.emission]
    return {**table, "surface": surface}
