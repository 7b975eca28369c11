"""Ambient media: presets by one familiar measure of the weather.

air, fog  by meteorological visibility, rain by its rate, snow by that of the water in it:
          ``scene.weather`` has the laws and their sources
dust      alpha = 500 m2/kg * concentration at all wavelengths, about what is found for coarse
          mineral dust (Ansmann et al. 2012, Atmos. Chem. Phys. 12, 9399)

The lidar ratio, extinction over backscatter, is 18.8 sr for water droplets; for clear air and
dust it is 50 sr, where measurements lie between 40 and 60.

Which pulses come back from the medium, and from where, depends more on the lidar than on the
medium, and no publication gives it for lidars in general. The gamma law of the presets is an
estimate: its shape is 2 and its scale min(1/(2 alpha), 10 m), so that most returns come from where
the way there and back is still short against the mean free path. The share of the pulses with such
a return is the share of the light that is lost within the first 10 m, 1 - exp(-10 m * alpha). Not
validated.

The numbers of a medium hold for a band, and sensors at other wavelengths are refused. The band of
presets is that in which their laws were measured, from the visible to the near infrared; the band
of a medium with its own numbers is all light. The manifest may give another band. Radars are
outside of all these.
"""

import math
from pathlib import Path

from sensor_models.scene.errors import SceneError
from sensor_models.scene.model import LONGEST_LIGHT, Medium
from sensor_models.scene.schema import MediumTable
from sensor_models.scene.weather import (
    absorption_by_rain,
    absorption_by_snow,
    absorption_by_visibility,
)

DEFAULT_WAVELENGTH = 905e-9  # m

DROPLET_LIDAR_RATIO = 18.8  # sr
AEROSOL_LIDAR_RATIO = 50.0  # sr

DUST_EXTINCTION = 500.0  # m2/kg
_NEAR = 10.0  # m

#: The measure of each preset.
MEASURES = {
    "air": "visibility",
    "fog": "visibility",
    "rain": "rate_mm_h",
    "snow": "rate_mm_h",
    "dust": "concentration",
}
#: The band in which the laws of the presets hold (``scene.weather``), and that of light, m.
PRESET_BAND, LIGHT = (350e-9, 2e-6), (1e-7, LONGEST_LIGHT)
#: The visibility of air if none is given: a clear day, as in models of the atmosphere.
_STANDARD_VISIBILITY = 23_000.0  # m

_NUMBERS = (
    "absorption",
    "return_shape",
    "return_scale",
    "return_probability",
    "ior",
    "backscatter",
    "lidar_ratio",
)


def defined_medium(name: str, table: MediumTable, file: Path) -> Medium:
    """The medium that a table defines: numbers of a preset, unless others are given."""
    key = f"media.{name}"
    given = {n: getattr(table, n) for n in _NUMBERS if getattr(table, n) is not None}
    for measure in sorted(set(MEASURES.values())):
        if getattr(table, measure) is not None and MEASURES.get(table.preset or "") != measure:
            reason = f"goes with no preset {table.preset!r}" if table.preset else "needs a preset"
            raise SceneError(file, f"{key}.{measure}", reason)
    band = _band_of(table, file, key)
    if table.preset is None:
        if not given:
            raise SceneError(file, key, "needs a preset, or numbers of its own")
        if table.wavelength is not None:
            raise SceneError(file, f"{key}.wavelength", "is for presets only")
        return Medium(name=name, band=band, **given)
    absorption = given.setdefault("absorption", _extinction_of(table, file, key))
    watery = table.preset in ("fog", "rain", "snow")
    estimates = {
        "lidar_ratio": DROPLET_LIDAR_RATIO if watery else AEROSOL_LIDAR_RATIO,
        "return_shape": 2.0,
        "return_scale": min(0.5 / absorption, _NEAR) if absorption > 0.0 else _NEAR,
        "return_probability": -math.expm1(-_NEAR * absorption),
    }
    return Medium(name=name, band=band, **{**estimates, **given})


def _band_of(table: MediumTable, file: Path, key: str) -> tuple[float, float]:
    """The band for which the numbers of a medium hold."""
    if table.band is None:
        return LIGHT if table.preset is None else PRESET_BAND
    if table.band[0] >= table.band[1]:
        raise SceneError(file, f"{key}.band", "its first wavelength is not below its second")
    return table.band


def _extinction_of(table: MediumTable, file: Path, key: str) -> float:
    preset = str(table.preset)
    measure = getattr(table, MEASURES[preset])
    wavelength = table.wavelength or DEFAULT_WAVELENGTH
    if measure is None and preset == "air":
        measure = _STANDARD_VISIBILITY
    if measure is None:
        raise SceneError(file, f"{key}.{MEASURES[preset]}", f"is missing, {preset} needs it")
    if preset in ("air", "fog"):
        return absorption_by_visibility(measure, wavelength)
    if preset == "rain":
        return absorption_by_rain(measure)
    if preset == "snow":
        return absorption_by_snow(measure, wavelength)
    return DUST_EXTINCTION * float(measure)
