r"""Reflectance of materials in the visible, from the colours that they have in pictures.

A material with sets of numbers inside of 380 to 780 nm uses those: linear between their
wavelengths, constant outside. For any other its sRGB colour becomes a smooth spectrum:

    c     = ((C + 0.055) / 1.055)^2.4, C / 12.92 below 0.04045, clipped to [0.001, 0.999]
    S(λ)  = 1/2 + x / (2 sqrt(1 + x²)),   x = c0 l² + c1 l + c2,   l = (λ - 380 nm) / 400 nm

(Jakob and Hanika 2019). The coefficients solve ∫ S w_k dλ = c_k, w = M (x̄, ȳ, z̄), each of the
three scaled to integral 1 on 380 to 780 nm in steps of 5, M from XYZ to linear sRGB; the fits of
x̄, ȳ, z̄ are those of Wyman, Sloan and Shirley 2013. So white is (1, 1, 1) and no table of an
illuminant is needed.

Beyond the visible the numbers for lidars take over:

    R = S (1 - b) + R_ir b,   b the smoothstep from 680 to 780 nm,

R_ir linear between the wavelengths that the material has numbers for, constant outside. Leaves get
their red edge this way.

Deviation: none of it is measured where a material has no numbers in the visible. Seen under D65
the spectra are off from their colours by 0.5 ΔE in the median of the library (PHYSICS-2, 32.4).
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.kernels.light.fresnel import reflectance_at_normal
from sensor_models.scene.model import Material, SurfaceKind, SurfaceParameters

Floats = NDArray[np.float64]

#: Limits of the visible, m, and where numbers for lidars begin to count.
SHORTEST, LONGEST, EDGE = 380e-9, 780e-9, 680e-9
#: Of the integrals that make a spectrum of a colour.
GRID = np.arange(380, 781, 5) * 1e-9
#: Colours are kept this far from black and white, which no sigmoid reaches.
LEAST_COLOR = 0.001
#: Of what has no colour and is no metal, sRGB.
UNKNOWN_COLOR = (0.5, 0.5, 0.5)
#: Most that the base of a two-layer surface may send back (PHYSICS 6).
BRIGHTEST_BASE = 0.97

XYZ_TO_RGB = np.array(
    [
        [3.2404542, -1.5371385, -0.4985314],
        [-0.9692660, 1.8760108, 0.0415560],
        [0.0556434, -0.2040259, 1.0572252],
    ]
)

#: Of the fits: height, middle in nm, one over the widths below and above it.
_X = (
    (0.362, 442.0, 0.0624, 0.0374),
    (1.056, 599.8, 0.0264, 0.0323),
    (-0.065, 501.1, 0.049, 0.0382),
)
_Y = ((0.821, 568.8, 0.0213, 0.0247), (0.286, 530.9, 0.0613, 0.0322))
_Z = ((1.217, 437.0, 0.0845, 0.0278), (0.681, 459.0, 0.0385, 0.0725))


def color_matching(wavelengths: ArrayLike) -> Floats:
    """The CIE 1931 functions x̄, ȳ, z̄ at some wavelengths in m, (3, n)."""
    nanometres = np.asarray(wavelengths, float) * 1e9
    rows = []
    for lobes in (_X, _Y, _Z):
        total = np.zeros_like(nanometres)
        for height, middle, below, above in lobes:
            slope = np.where(nanometres < middle, below, above)
            total += height * np.exp(-0.5 * ((nanometres - middle) * slope) ** 2)
        rows.append(total)
    return np.stack(rows)


def linear_color(color: Sequence[float]) -> Floats:
    """An sRGB colour from 0 to 1 as linear light."""
    given = np.asarray(color, float)
    return np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)


def sigmoid(coefficients: ArrayLike, wavelengths: ArrayLike) -> Floats:
    """The spectrum S of three coefficients."""
    place = (np.asarray(wavelengths, float) - SHORTEST) / (LONGEST - SHORTEST)
    c0, c1, c2 = np.asarray(coefficients, float)
    x = (c0 * place + c1) * place + c2
    return np.asarray(0.5 + 0.5 * x / np.sqrt(1.0 + x * x))


def observers() -> Floats:
    """The weights w on ``GRID`` whose sums are linear red, green and blue, (3, n)."""
    weights = XYZ_TO_RGB @ color_matching(GRID)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@lru_cache(maxsize=1024)
def coefficients_of(red: float, green: float, blue: float) -> tuple[float, float, float]:
    """The coefficients of the spectrum of a linear colour, by damped Gauss-Newton steps."""
    wanted = np.clip([red, green, blue], LEAST_COLOR, 1.0 - LEAST_COLOR)
    weights, place = observers(), (GRID - SHORTEST) / (LONGEST - SHORTEST)
    powers = np.stack([place**2, place, np.ones_like(place)])
    mean = float(wanted.mean())
    found = np.array([0.0, 0.0, (mean - 0.5) / math.sqrt(mean * (1.0 - mean))])

    def residual(coefficients: Floats) -> Floats:
        return np.asarray(weights @ sigmoid(coefficients, GRID) - wanted)

    wrong = residual(found)
    for _ in range(200):
        if np.abs(wrong).max() < 1e-14:
            break
        slope = 0.5 * (1.0 + (found @ powers) ** 2) ** -1.5
        step = np.linalg.lstsq((weights * slope) @ powers.T, wrong, rcond=None)[0]
        share = 1.0
        while share > 1e-6:
            trial = residual(found - share * step)
            if np.abs(trial).max() < np.abs(wrong).max():
                break
            share *= 0.5
        else:
            break
        found, wrong = found - share * step, trial
    c0, c1, c2 = found.tolist()
    return c0, c1, c2


def color_spectrum(color: Sequence[float], wavelengths: ArrayLike) -> Floats:
    """The spectrum S of an sRGB colour at some wavelengths in m."""
    red, green, blue = linear_color(color).tolist()
    return sigmoid(coefficients_of(red, green, blue), wavelengths)


def reflectance(material: Material, wavelengths: ArrayLike) -> Floats:
    """The share R of light that a material sends back diffusely, were it matt."""
    places = np.asarray(wavelengths, float)
    measured = material.between(SHORTEST, LONGEST)
    beyond = {w: s for w, s in material.at_wavelength.items() if w > LONGEST} or None
    if measured and material.kind is not SurfaceKind.dielectric and not is_metal(material):
        known = {**measured, **(beyond or {})}
        at = sorted(known)
        return np.asarray(np.interp(places, at, [known[w].diffuse_reflectance for w in at]))
    visible = color_spectrum(shown_color(material), places)
    if beyond is None or material.kind is SurfaceKind.dielectric or is_metal(material):
        return visible
    share, infrared = infrared_part(material, places)
    return np.asarray(visible * (1.0 - share) + infrared)


def infrared_part(material: Material, wavelengths: ArrayLike) -> tuple[Floats, Floats]:
    """The share b of the infrared at some wavelengths, and what it adds: R_ir b.

    Both are 0 for a material without numbers beyond the visible.
    """
    places = np.asarray(wavelengths, float)
    beyond = {w: s for w, s in material.at_wavelength.items() if w > LONGEST}
    if not beyond:
        return np.zeros(len(places)), np.zeros(len(places))
    at = sorted(beyond)
    infrared = np.interp(places, at, [beyond[w].diffuse_reflectance for w in at])
    share = np.clip((places - EDGE) / (LONGEST - EDGE), 0.0, 1.0)
    share = share * share * (3.0 - 2.0 * share)
    return share, infrared * share


def shown_color(material: Material) -> tuple[float, float, float]:
    """The sRGB colour of a material; without one a metal is as bright as its n and k say."""
    if material.color is not None:
        return material.color
    if not is_metal(material):
        return UNKNOWN_COLOR
    grey = srgb_of(reflectance_of_metal(material))
    return grey, grey, grey


def reflectance_of_metal(material: Material) -> float:
    """R0 of n and k: the share that a metal reflects at right angles."""
    numbers = nearest_numbers(material)
    return float(reflectance_at_normal(1.0, numbers.ior, numbers.extinction))


def srgb_of(light: float) -> float:
    """Linear light as a value of sRGB; the inverse of ``linear_color``."""
    return 12.92 * light if light <= 0.0031308 else float(1.055 * light ** (1.0 / 2.4) - 0.055)


def is_metal(material: Material) -> bool:
    """Whether no light comes through what a material is made of."""
    return material.kind is SurfaceKind.two_layer and nearest_numbers(material).extinction > 0.01


def nearest_numbers(material: Material, wavelength: float = 550e-9) -> SurfaceParameters:
    """The set of numbers for light that is made for the wavelength nearest to one."""
    nearest = min(material.at_wavelength, key=lambda known: abs(known - wavelength))
    return material.at_wavelength[nearest]
