"""Ambient media: presets by the one measure that people know of the weather.

``alpha`` is the extinction in 1/m at the wavelength ``lambda``, ``V`` the meteorological
visibility, at which 5 % of the light is left.

air, fog  alpha = -ln(0.05) / V * (lambda / 550 nm)**-q, and q by visibility after Kim et al. (2001,
          Proc. SPIE 4214, 26): 1.6 above 50 km, 1.3 above 6 km, 0.16 V/km + 0.34 above 1 km,
          V/km - 0.5 above 500 m, and 0 below, where the droplets of fog are larger than the
          wavelength. Kim's own constant is 3.91, for 2 % of the light; 5 % is what meteorology
          calls visibility (WMO).
rain      1.076 R**0.67 dB/km with the rate R in mm/h (ITU-R P.1814, after Carbonneau), at all
          wavelengths: drops are much larger than any of them.
snow      a S**1.38 dB/km with a = 5.42e-5 lambda/nm + 5.4958776 and the water equivalent S in mm/h
          (ITU-R P.1814, dry snow).
dust      alpha = 500 m2/kg * concentration at all wavelengths, about what is found for coarse
          mineral dust (Ansmann et al. 2012, Atmos. Chem. Phys. 12, 9399).

The lidar ratio, extinction over backscatter, is 18.8 sr for water droplets; for clear air and
dust it is 50 sr, where measurements lie between 40 and 60.

Which pulses come back from the medium, and from where, depends more on the lidar than on the
medium, and no publication gives it for a lidar at large. The gamma law of the presets is an
estimate: of shape 2 and scale min(1/(2 alpha), 10 m), so that returns gather where the way there
and back is still short against the mean free path; and the share of the pulses that have one is
the share of the light that is lost within the first 10 m, 1 - exp(-10 m * alpha). Not validated.
"""

import math
from pathlib import Path

from sensor_models.scene.errors import SceneError
from sensor_models.scene.model import Medium
from sensor_models.scene.schema import MediumTable

DEFAULT_WAVELENGTH = 905e-9  # m
_GREEN = 550e-9  # m, where visibility is measured

DROPLET_LIDAR_RATIO = 18.8  # sr
AEROSOL_LIDAR_RATIO = 50.0  # sr

DUST_EXTINCTION = 500.0  # m2/kg
_NEAR = 10.0  # m

#: The measure that each preset takes.
MEASURES = {
    "air": "visibility",
    "fog": "visibility",
    "rain": "rate_mm_h",
    "snow": "rate_mm_h",
    "dust": "concentration",
}
#: Of air without a measure: a clear day, as models of the atmosphere take it.
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


def extinction_of_visibility(visibility: float, wavelength: float = DEFAULT_WAVELENGTH) -> float:
    """Extinction of haze or fog in 1/m."""
    kilometres = visibility * 1e-3
    if kilometres > 50.0:
        exponent = 1.6
    elif kilometres > 6.0:
        exponent = 1.3
    elif kilometres > 1.0:
        exponent = 0.16 * kilometres + 0.34
    else:
        exponent = max(kilometres - 0.5, 0.0)
    return float(-math.log(0.05) / visibility * (wavelength / _GREEN) ** -exponent)


def extinction_of_rain(rate_mm_h: float) -> float:
    """Extinction of rain in 1/m."""
    return _from_decibel_per_km(1.076 * rate_mm_h**0.67)


def extinction_of_snow(rate_mm_h: float, wavelength: float = DEFAULT_WAVELENGTH) -> float:
    """Extinction of dry snowfall in 1/m."""
    return _from_decibel_per_km((5.42e-5 * wavelength * 1e9 + 5.4958776) * rate_mm_h**1.38)


def defined_medium(name: str, table: MediumTable, file: Path) -> Medium:
    """The medium that a table defines: numbers of a preset, over which given ones stand."""
    key = f"media.{name}"
    given = {n: getattr(table, n) for n in _NUMBERS if getattr(table, n) is not None}
    for measure in sorted(set(MEASURES.values())):
        if getattr(table, measure) is not None and MEASURES.get(table.preset or "") != measure:
            reason = f"goes with no preset {table.preset!r}" if table.preset else "needs a preset"
            raise SceneError(file, f"{key}.{measure}", reason)
    if table.preset is None:
        if not given:
            raise SceneError(file, key, "needs a preset, or numbers of its own")
        if table.wavelength is not None:
            raise SceneError(file, f"{key}.wavelength", "is for presets only")
        return Medium(name=name, **given)
    absorption = given.setdefault("absorption", _extinction_of(table, file, key))
    watery = table.preset in ("fog", "rain", "snow")
    estimates = {
        "lidar_ratio": DROPLET_LIDAR_RATIO if watery else AEROSOL_LIDAR_RATIO,
        "return_shape": 2.0,
        "return_scale": min(0.5 / absorption, _NEAR) if absorption > 0.0 else _NEAR,
        "return_probability": -math.expm1(-_NEAR * absorption),
    }
    return Medium(name=name, **{**estimates, **given})


def _extinction_of(table: MediumTable, file: Path, key: str) -> float:
    preset = str(table.preset)
    measure = getattr(table, MEASURES[preset])
    wavelength = table.wavelength or DEFAULT_WAVELENGTH
    if measure is None and preset == "air":
        measure = _STANDARD_VISIBILITY
    if measure is None:
        raise SceneError(file, f"{key}.{MEASURES[preset]}", f"is missing, {preset} needs it")
    if preset in ("air", "fog"):
        return extinction_of_visibility(measure, wavelength)
    if preset == "rain":
        return extinction_of_rain(measure)
    if preset == "snow":
        return extinction_of_snow(measure, wavelength)
    return DUST_EXTINCTION * float(measure)


def _from_decibel_per_km(decibel: float) -> float:
    return decibel * math.log(10.0) / 10.0 * 1e-3
