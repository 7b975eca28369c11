"""Units of datasheets, and what they are in SI units (rad, m, s, Hz, T, m/s2, K, W).

Spellings of datasheets are understood: ``µ`` and ``u``, ``°`` and ``deg``, ``√Hz`` and
``sqrt(Hz)``, ``dps`` and ``deg/s`` are the same, and so are differences in ``°C`` and ``K``.
"""

import math
from collections.abc import Callable

STANDARD_GRAVITY = 9.80665  # m/s2

_DEGREE = math.pi / 180.0

#: Each unit in SI units.
FACTORS: dict[str, float] = {
    # angles and what is counted by them
    "rad": 1.0,
    "mrad": 1e-3,
    "urad": 1e-6,
    "deg": _DEGREE,
    "mdeg": _DEGREE * 1e-3,
    "arcmin": _DEGREE / 60.0,
    "arcsec": _DEGREE / 3600.0,
    "turn": math.tau,
    # rates
    "rad/s": 1.0,
    "mrad/s": 1e-3,
    "deg/s": _DEGREE,
    "mdeg/s": _DEGREE * 1e-3,
    "deg/min": _DEGREE / 60.0,
    "deg/h": _DEGREE / 3600.0,
    "rpm": math.tau / 60.0,
    "rad/s2": 1.0,
    "deg/s2": _DEGREE,
    "deg/s/K": _DEGREE,
    "mdeg/s/K": _DEGREE * 1e-3,
    "deg/h/K": _DEGREE / 3600.0,
    "rad/s/sqrt(Hz)": 1.0,
    "deg/s/sqrt(Hz)": _DEGREE,
    "mdeg/s/sqrt(Hz)": _DEGREE * 1e-3,
    "deg/h/sqrt(Hz)": _DEGREE / 3600.0,
    "deg/sqrt(h)": _DEGREE / 60.0,
    "deg/s/g": _DEGREE / STANDARD_GRAVITY,
    "mdeg/s/g": _DEGREE * 1e-3 / STANDARD_GRAVITY,
    "deg/h/g": _DEGREE / 3600.0 / STANDARD_GRAVITY,
    "deg/s/LSB": _DEGREE,
    "mdeg/s/LSB": _DEGREE * 1e-3,
    # accelerations
    "m/s2": 1.0,
    "g": STANDARD_GRAVITY,
    "mg": STANDARD_GRAVITY * 1e-3,
    "ug": STANDARD_GRAVITY * 1e-6,
    "m/s2/K": 1.0,
    "mg/K": STANDARD_GRAVITY * 1e-3,
    "ug/K": STANDARD_GRAVITY * 1e-6,
    "m/s2/sqrt(Hz)": 1.0,
    "mg/sqrt(Hz)": STANDARD_GRAVITY * 1e-3,
    "ug/sqrt(Hz)": STANDARD_GRAVITY * 1e-6,
    "m/s/sqrt(h)": 1.0 / 60.0,
    "mg/LSB": STANDARD_GRAVITY * 1e-3,
    "ug/LSB": STANDARD_GRAVITY * 1e-6,
    # magnetic fields
    "T": 1.0,
    "mT": 1e-3,
    "uT": 1e-6,
    "nT": 1e-9,
    "uT/K": 1e-6,
    "nT/K": 1e-9,
    "uT/sqrt(Hz)": 1e-6,
    "nT/sqrt(Hz)": 1e-9,
    "pT/sqrt(Hz)": 1e-12,
    "uT/LSB": 1e-6,
    "nT/LSB": 1e-9,
    "gauss": 1e-4,
    "mgauss": 1e-7,
    "mgauss/K": 1e-7,
    "mgauss/sqrt(Hz)": 1e-7,
    "ugauss/sqrt(Hz)": 1e-10,
    "mgauss/LSB": 1e-7,
    # lengths and speeds
    "m": 1.0,
    "km": 1e3,
    "cm": 1e-2,
    "mm": 1e-3,
    "um": 1e-6,
    "nm": 1e-9,
    "in": 0.0254,
    "ft": 0.3048,
    "1/m": 1.0,
    "1/km": 1e-3,
    "m/s": 1.0,
    "cm/s": 1e-2,
    "mm/s": 1e-3,
    "km/h": 1.0 / 3.6,
    # times and frequencies
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "ps": 1e-12,
    "min": 60.0,
    "h": 3600.0,
    "Hz": 1.0,
    "kHz": 1e3,
    "MHz": 1e6,
    "GHz": 1e9,
    # the rest
    "K": 1.0,
    "W": 1.0,
    "mW": 1e-3,
    "A": 1.0,
    "nA": 1e-9,
    "pA": 1e-12,
    "A/sqrt(Hz)": 1.0,
    "pA/sqrt(Hz)": 1e-12,
    "V": 1.0,
    "mV": 1e-3,
    "V/A": 1.0,
    "kV/A": 1e3,
    "uW": 1e-6,
    "nW": 1e-9,
    "1": 1.0,
    "%": 1e-2,
    "ppm": 1e-6,
    "1/K": 1.0,
    "%/K": 1e-2,
    "ppm/K": 1e-6,
}

#: Units that count the steps of a range, so the size of a step is their inverse.
DIVISIONS: dict[str, Callable[[float], float]] = {
    "cpr": lambda counts: math.tau / counts,
    "bits per turn": lambda bits: math.tau / 2.0**bits,
    "LSB/(deg/s)": lambda counts: FACTORS["deg/s"] / counts,
    "LSB/g": lambda counts: FACTORS["g"] / counts,
    "LSB/mg": lambda counts: FACTORS["mg"] / counts,
    "LSB/uT": lambda counts: FACTORS["uT"] / counts,
    "LSB/mT": lambda counts: FACTORS["mT"] / counts,
    "LSB/gauss": lambda counts: FACTORS["gauss"] / counts,
}

#: Other ways to write parts of units, in the order in which they are replaced.
SPELLINGS = (
    ("µ", "u"),  # the micro sign
    ("\N{GREEK SMALL LETTER MU}", "u"),
    ("°C", "K"),
    ("degC", "K"),
    ("°", "deg"),
    ("LSB/dps", "LSB/(deg/s)"),
    ("mdps", "mdeg/s"),
    ("dps", "deg/s"),
    ("√Hz", "sqrt(Hz)"),
    ("√h", "sqrt(h)"),
    ("rtHz", "sqrt(Hz)"),
    ("²", "2"),
    ("^2", "2"),
    ("Gauss", "gauss"),
)


def converted(value: float, unit: str) -> float:
    """A value in SI units; raises KeyError for an unknown unit, ValueError for a bad value."""
    for spelling, meant in SPELLINGS:
        unit = unit.replace(spelling, meant)
    if unit in FACTORS:
        return value * FACTORS[unit]
    divided = DIVISIONS[unit]
    if value <= 0:
        raise ValueError(f"{value} {unit} must be above 0")
    return divided(value)
