"""How strongly the bands of a camera respond to light of some wavelength.

Curves are sampled at 31 wavelengths: 400 to 700 nm, or to 1000 nm without an infrared filter, or
over the band of a thermal camera. Integrals are sums of trapezoids, or by Simpson's rule where
bodies shine by themselves, as Planck's law is smooth; outside of its samples a curve is 0.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.camera.ccd.parameters import ChipParameters, FilterParameters
from sensor_models.camera.ccd.thermal import ThermalParameters
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.planck import LIGHT_SPEED, PLANCK

Floats = NDArray[np.float64]

SAMPLES = 31
#: Middles and width of the filters that three bands have if nobody says otherwise, m.
USUAL_MIDDLES, USUAL_WIDTH = (600e-9, 540e-9, 460e-9), 40e-9


def wavelengths_of(infrared_filter: bool, thermal: ThermalParameters) -> Floats:
    """The wavelengths that spectra are sampled at, m."""
    if thermal.on:
        return np.linspace(*thermal.wavelength, SAMPLES)
    return np.linspace(400e-9, 700e-9 if infrared_filter else 1000e-9, SAMPLES)


def trapezoid(places: ArrayLike) -> Floats:
    """Weights whose sum with a curve's samples is its integral."""
    steps = np.diff(np.asarray(places, float))
    return np.asarray(0.5 * (np.concatenate([[0.0], steps]) + np.concatenate([steps, [0.0]])))


def curve_of(text: str, name: str) -> Floats:
    """Wavelengths in m and values of a curve that is written as pairs nm:value, (n, 2)."""
    try:
        pairs = [tuple(map(float, pair.split(":"))) for pair in text.replace(",", " ").split()]
        curve = np.array([(1e-9 * wavelength, value) for wavelength, value in pairs])
    except ValueError:
        curve = np.zeros((0, 2))
    fits = len(curve) > 1 and bool(np.isfinite(curve).all())
    fits = fits and bool((np.diff(curve[:, 0]) > 0.0).all())
    if not fits or curve[:, 1].min() < 0.0 or curve[:, 1].max() > 1.0:
        raise ParameterError(
            f"{name} = {text!r} is no curve: allowed are at least two pairs nm:value such as "
            "'400:0.2 700:0.5', with wavelengths that rise and values from 0 to 1"
        )
    return curve


def responses(
    count: int, filters: Sequence[FilterParameters], places: Floats, thermal: bool = False
) -> Floats:
    """The share of light that the filter of each band lets through, (count, wavelengths).

    The usual filters of three bands are for the visible.
    """
    given = [*filters, *[FilterParameters()] * (count - len(filters))]
    usual = count == 3 and not thermal
    return np.array([_passed(number, usual, given[number], places) for number in range(count)])


def _passed(number: int, usual: bool, own: FilterParameters, places: Floats) -> Floats:
    if own.curve:
        known, values = curve_of(own.curve, f"sensor.filter_{number + 1}.curve").T
        return np.asarray(np.interp(places, known, values, left=0.0, right=0.0))
    middle, width = own.center, own.width
    if width == 0.0:
        if not usual:
            return np.ones(len(places))
        middle, width = USUAL_MIDDLES[number], USUAL_WIDTH
    return np.asarray(np.exp(-0.5 * ((places - middle) / width) ** 2))


def electrons_per_joule(chip: ChipParameters, places: Floats) -> Floats:
    """Electrons for each joule of light of some wavelengths."""
    efficiency = np.full(len(places), chip.qe)
    if chip.qe_curve:
        known, values = curve_of(chip.qe_curve, "sensor.qe_curve").T
        efficiency = np.interp(places, known, values, left=0.0, right=0.0)
    return np.asarray(efficiency * places / (PLANCK * LIGHT_SPEED))
