"""Surface materials of scenes: those of the library, and those that a manifest defines.

The library is ``materials.toml``: everyday materials in two bands around 905 and 1550 nm, each
with its source or marked as an estimate. A manifest may use them unchanged, take one as ``base``
for a material with another look, or define its own with the same keys.

Sets of numbers for wavelengths beyond ``LONGEST_LIGHT`` are for radars. They hold other numbers and
follow other rules, the same for all kinds: at 4 mm concrete reflects like a mirror, and glass
absorbs.

Numbers that a kind of surface does not have, and numbers that exclude each other, are refused: a
Lambert surface has no refractive index, a metal no base under it, glass no diffuse reflectance.
"""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sensor_models._places import data_files
from sensor_models.core.toml_files import TomlError, read_toml
from sensor_models.scene.errors import SceneError
from sensor_models.scene.model import (
    LONGEST_LIGHT,
    Brdf,
    Material,
    RadarParameters,
    SurfaceKind,
    SurfaceParameters,
)
from sensor_models.scene.schema import MaterialLibrary, MaterialTable, Surface
from sensor_models.scene.tables import validated

#: Above it the base of a two-layer surface would send back more light at grazing incidence than it
#: gets: the hemispherical albedo of the Oren-Nayar law with Fujii's correction passes 1 at 0.9735.
HIGHEST_BASE_REFLECTANCE = 0.97

#: Extinction from which on an interface is opaque: light is gone within 8 um at 905 nm.
METAL_EXTINCTION = 0.01

#: The numbers that describe each kind of surface.
NUMBERS: dict[str, tuple[str, ...]] = {
    "lambert": ("diffuse_reflectance", "retro_reflectance"),
    "two_layer": (
        "diffuse_reflectance",
        "ior",
        "extinction",
        "roughness_beckmann",
        "roughness_oren_nayar",
        "retro_reflectance",
    ),
    "dielectric": ("ior", "extinction", "roughness_beckmann"),
    "tabulated": ("retro_reflectance",),
}
#: The numbers that must be given for a kind of surface, because no default fits all.
NEEDED = {
    "lambert": ("diffuse_reflectance",),
    "two_layer": ("ior",),
    "dielectric": ("ior",),
    "tabulated": (),
}

#: The numbers of a set for radars, whatever the kind of the surface.
RADAR_NUMBERS = ("diffuse_reflectance", "ior", "extinction", "roughness_rms")

#: The band of a set without wavelength and band, and the wavelength that stands for it.
ALL_LIGHT = (1e-7, LONGEST_LIGHT)
_USUAL = 905e-9

_ALL_NUMBERS = tuple(name for name in Surface.model_fields if name not in ("wavelength", "band"))


#: Reads the tables of a file that is named under a key, by wavelength.
ReadBrdfs = Callable[[str, str], Mapping[float, Brdf]]


def _no_files(name: str, key: str) -> Mapping[float, Brdf]:
    raise SceneError(name, key, "is not read by a library of materials")


@cache
def material_library() -> Mapping[str, Material]:
    """The materials of the library by their names."""
    found = data_files("scene", "materials.toml")
    if not found:
        raise SceneError("materials.toml", "", "is missing: the package is damaged")
    (file,) = found
    try:
        content = read_toml(file)
    except TomlError as error:
        raise SceneError(file, error.place, error.reason) from error
    tables = validated(MaterialLibrary, content, file).materials
    return {name: defined_material(name, table, file, {}) for name, table in tables.items()}


def defined_material(
    name: str,
    table: MaterialTable,
    file: Path,
    bases: Mapping[str, Material],
    brdfs: ReadBrdfs = _no_files,
) -> Material:
    """The material that a table defines, checked; ``brdfs`` reads the files with its tables."""
    key = f"materials.{name}"
    if table.base is not None:
        return _derived(name, table, file, bases)
    is_tabulated = table.kind == "tabulated"
    for needed in ("kind", "source", "brdf" if is_tabulated else "surface"):
        if not getattr(table, needed):
            raise SceneError(file, f"{key}.{needed}", "is missing; only a base can stand for it")
    kind = SurfaceKind[str(table.kind)]
    if table.two_way and kind is not SurfaceKind.two_layer:
        raise SceneError(file, f"{key}.two_way", f"is for two_layer, the kind is {kind.name}")
    if table.brdf and not is_tabulated:
        raise SceneError(file, f"{key}.brdf", f"is for tabulated, the kind is {kind.name}")
    light, radar = _sets(kind.name, table.surface, file, f"{key}.surface")
    if is_tabulated:
        light = _of_tables(table.brdf, light, file, key, brdfs)
    return Material(
        name=name,
        kind=kind,
        at_wavelength=light,
        two_way=table.two_way,
        color=table.color,
        source=str(table.source),
        at_radar=radar,
        emission=table.emission,
        temperature=table.temperature,
        emissivity=table.emissivity,
    )


def _sets(
    kind: str, surfaces: Iterable[Surface], file: Path, key: str
) -> tuple[dict[float, SurfaceParameters], dict[float, RadarParameters]]:
    """The sets of numbers for light and for radars, by their wavelengths."""
    light: dict[float, SurfaceParameters] = {}
    radar: dict[float, RadarParameters] = {}
    for number, surface in enumerate(surfaces):
        no_band = None if surface.band is None else contradiction_in_band(surface, surface.band)
        if no_band is not None:
            raise SceneError(file, f"{key}[{number}].band", no_band)
        wavelength, band = _wavelength_of(surface)
        if wavelength in light or wavelength in radar:
            reason = f"wavelength {wavelength:g} is given twice"
            raise SceneError(file, f"{key}[{number}]", reason)
        is_radar = wavelength > LONGEST_LIGHT
        wrong = contradiction_for_radar(surface) if is_radar else contradiction_in(kind, surface)
        if wrong is not None:
            raise SceneError(file, f"{key}[{number}].{wrong[0]}", wrong[1])
        if is_radar:
            radar[wavelength] = RadarParameters(**_given(surface, RADAR_NUMBERS), band=band)
        else:
            absent = {"diffuse_reflectance": 0.0} if kind == "dielectric" else {}
            known: dict[str, Any] = {**absent, **_given(surface, NUMBERS[kind])}
            light[wavelength] = SurfaceParameters(**known, band=band)
    return light, radar


def _of_tables(
    names: Iterable[str],
    given: Mapping[float, SurfaceParameters],
    file: Path,
    key: str,
    brdfs: ReadBrdfs,
) -> dict[float, SurfaceParameters]:
    """The sets of a tabulated surface, each with its table."""
    from sensor_models.scene.brdf import even_reflectance

    found: dict[float, SurfaceParameters] = {}
    for number, name in enumerate(names):
        for wavelength, brdf in brdfs(name, f"{key}.brdf[{number}]").items():
            numbers = given.get(wavelength, SurfaceParameters())
            reflectance = min(even_reflectance(brdf), 1.0)
            found[wavelength] = replace(numbers, diffuse_reflectance=reflectance, brdf=brdf)
    for wavelength in given:
        if wavelength not in found:
            raise SceneError(file, f"{key}.surface", f"has {wavelength:g} m, its tables do not")
    if not found:
        raise SceneError(file, f"{key}.brdf", "has no table for light")
    return found


def _wavelength_of(surface: Surface) -> tuple[float, tuple[float, float] | None]:
    """The wavelength of a set of numbers, and its band if it is not the usual one."""
    if surface.wavelength is not None:
        return surface.wavelength, surface.band
    if surface.band is not None:
        return math.sqrt(surface.band[0] * surface.band[1]), surface.band
    return _USUAL, ALL_LIGHT


def find_material(name: str, file: Path, key: str, materials: Mapping[str, Material]) -> Material:
    """A material by its name, or a message that says which there are."""
    if name not in materials:
        close = difflib.get_close_matches(name, materials, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise SceneError(file, key, f"{name!r} is no material, known: {', '.join(materials)}{hint}")
    return materials[name]


def contradiction_in(kind: str, surface: Surface) -> tuple[str, str] | None:
    """The first number of a surface that contradicts its kind or other numbers, and why."""
    if surface.roughness_rms is not None:
        return "roughness_rms", f"is for radars, at wavelengths beyond {LONGEST_LIGHT:g} m"
    for number in _ALL_NUMBERS:
        if number not in NUMBERS[kind] and getattr(surface, number) is not None:
            return number, f"is nothing that a {kind} surface has: {', '.join(NUMBERS[kind])}"
    for number in NEEDED[kind]:
        if getattr(surface, number) is None:
            return number, f"is missing, a {kind} surface needs it"
    metal = (surface.extinction or 0.0) > METAL_EXTINCTION
    if kind == "dielectric" and metal:
        return "extinction", (
            f"{surface.extinction} lets no light through (at most {METAL_EXTINCTION}); "
            "a metal is a two_layer surface"
        )
    diffuse = surface.diffuse_reflectance
    if kind == "two_layer" and metal and diffuse != 0.0:
        return "diffuse_reflectance", "must be given as 0 under a metal, which absorbs what enters"
    if kind == "two_layer" and (diffuse or 0.0) > HIGHEST_BASE_REFLECTANCE:
        return "diffuse_reflectance", (
            f"{diffuse} is above {HIGHEST_BASE_REFLECTANCE}, from where on a two_layer surface "
            "would send back more light than it gets"
        )
    return None


def contradiction_in_band(surface: Surface, band: tuple[float, float]) -> str | None:
    """What is wrong with a band, if anything."""
    low, high = band
    if not low < high:
        return "needs two wavelengths that rise"
    if low <= LONGEST_LIGHT < high:
        return f"has light and radar waves, apart at {LONGEST_LIGHT:g} m"
    if surface.wavelength is not None and not low <= surface.wavelength <= high:
        return f"does not hold the wavelength, {surface.wavelength:g}"
    return None


def contradiction_for_radar(surface: Surface) -> tuple[str, str] | None:
    """The first number of a set for radars that does not belong there or is missing, and why."""
    for number in _ALL_NUMBERS:
        if number not in RADAR_NUMBERS and getattr(surface, number) is not None:
            return number, f"is nothing that a radar takes: {', '.join(RADAR_NUMBERS)}"
    if surface.ior is None and surface.diffuse_reflectance is None:
        return "ior", "is missing, a radar needs it or diffuse_reflectance"
    if surface.ior is None and surface.extinction is not None:
        return "ior", "is missing beside extinction"
    return None


def _given(surface: Surface, names: Iterable[str]) -> dict[str, float]:
    """The numbers of a surface that are given."""
    found = {name: getattr(surface, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _derived(
    name: str, table: MaterialTable, file: Path, bases: Mapping[str, Material]
) -> Material:
    """A material of the library with another look."""
    key = f"materials.{name}"
    for taken in ("kind", "surface", "two_way", "brdf"):
        if taken in table.model_fields_set:
            raise SceneError(
                file, f"{key}.{taken}", "is what the base gives, allowed is one of them"
            )
    base = find_material(str(table.base), file, f"{key}.base", bases)
    return Material(
        name=name,
        kind=base.kind,
        at_wavelength=base.at_wavelength,
        two_way=base.two_way,
        color=table.color or base.color,
        source=table.source or base.source,
        at_radar=base.at_radar,
        emission=table.emission or base.emission,
        temperature=base.temperature if table.temperature is None else table.temperature,
        emissivity=base.emissivity if table.emissivity is None else table.emissivity,
    )
