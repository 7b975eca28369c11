r"""Property tables of OpenMATERIAL (``.xompt``), with what cannot be.

opticalProperties          wavelength, temperature, n, κ                 n - jκ
electromagneticProperties  wavelength, temperature, humidity, μ', μ'', ε', ε''
                           the index that a wave is reflected by is n - jk = sqrt(ε / μ)
brdf.lookupTable           wavelength, angle of light, of viewer, azimuth, f
reflectionCoefficient      wavelength, both angles, azimuth, plane of polarisation, |r|, phase
                           what is reflected by equal angles gives the index that fits best

Of several temperatures and humidities those nearest to 293 K and 50 % count.

Unphysical is what no body has: a gain (κ, ε'' or μ'' below 0), ε' below 1 of a wave beyond
0.1 mm (but for conductors, of ε'' above 1000), an index of 0 or below, or below 1 of what is
clear, μ' below 1, an albedo or |r| above 1, slopes of more than 45 degrees.

Not used: the phase of reflection coefficients, which Fresnel's law gives for the index; what they
say of other directions than the mirror's.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.brdf import ROUNDING, TableError, largest_albedo, scaled, table_of
from sensor_models.scene.materials import METAL_EXTINCTION
from sensor_models.scene.model import LONGEST_LIGHT, Brdf, wavelength_text
from sensor_models.scene.openmaterial.documents import Document
from sensor_models.scene.worlds.formats import GUESS, REFUSE

Floats = NDArray[np.float64]
Indices = dict[float, complex]

TEMPERATURE, HUMIDITY = 293.0, 50.0
#: Imaginary permittivity from which on a body conducts, so that its real part may be anything.
CONDUCTOR = 1000.0
#: Wavelengths that can be used, m, and the largest angles of the standard, which has six digits.
SHORTEST, LONGEST = 1e-7, 2e-2
QUARTER, TURN = 1.570797, 6.283186
#: Reflection coefficients fit an index if they differ by less in the root mean square.
MOST_MISFIT = 0.1


#: What a note begins with that is about such numbers.
UNPHYSICAL_NOTE = "unphysical"
#: Angles between which light and viewer together should be known, for lidars, rad.
STEEP, FLAT = math.radians(10.0), math.radians(60.0)


@dataclass
class Verdict:
    """What is done with numbers that no body has: refused, left out, or used; and notes of it."""

    choice: str
    notes: list[str] = field(default_factory=list)

    def takes(self, document: Document, key: str, reason: str) -> bool:
        """Whether unphysical numbers are used; noted if they are not refused."""
        if self.choice == REFUSE:
            document.refuse(key, f"is unphysical: {reason} (--unphysical says what to do then)")
        what = "left out" if self.choice == GUESS else "used"
        where = f"{document.file.name}: {document.place}{key}"
        self.notes.append(f"{UNPHYSICAL_NOTE} {where}: {what}: {reason}")
        return self.choice != GUESS


def optical_indices(document: Document, verdict: Verdict) -> Indices:
    """N - jκ by wavelength."""
    key = "opticalProperties"
    rows = _usual(document.rows(key, 4), 2)
    found: Indices = {}
    for wavelength, _, n, kappa in rows.tolist():
        wrong = _wrong_index(wavelength, n, kappa)
        if wrong is None or verdict.takes(document, key, wrong):
            found[wavelength] = complex(n, -kappa)
    return found


def _wrong_index(wavelength: float, n: float, kappa: float) -> str | None:
    at = wavelength_text(wavelength)
    if n <= 0.0:
        return f"n = {n:g} at {at}"
    if kappa < 0.0:
        return f"kappa = {kappa:g} at {at} amplifies"
    if n < 1.0 and kappa <= METAL_EXTINCTION:
        return f"n = {n:g} at {at} of what is clear"
    return None


def electromagnetic_indices(document: Document, verdict: Verdict) -> Indices:
    """sqrt(ε / μ) by wavelength."""
    key = "electromagneticProperties"
    rows = _usual(document.rows(key, 7), 3)
    found: Indices = {}
    for wavelength, _, _, mu, mu_loss, epsilon, loss in rows.tolist():
        wrong = _wrong_field(wavelength, complex(mu, -mu_loss), complex(epsilon, -loss))
        if wrong is None or verdict.takes(document, key, wrong):
            found[wavelength] = np.sqrt(complex(epsilon, -loss) / complex(mu, -mu_loss)).item()
    return found


def _wrong_field(wavelength: float, mu: complex, epsilon: complex) -> str | None:
    at = wavelength_text(wavelength)
    if mu.real < 1.0 or mu.imag > 0.0:
        return f"mu = {mu.real:g} - {-mu.imag:g}j at {at}"
    if epsilon.imag > 0.0:
        return f"epsilon'' = {-epsilon.imag:g} at {at} amplifies"
    if epsilon == 0.0:
        return f"epsilon = 0 at {at}"
    conducts = -epsilon.imag > CONDUCTOR
    if wavelength > LONGEST_LIGHT and epsilon.real < 1.0 and not conducts:
        return f"epsilon' = {epsilon.real:g} at {at} of what does not conduct"
    return None


def _usual(rows: Floats, conditions: int) -> Floats:
    """Rows of the usual conditions, one for each wavelength; those with gaps are left out."""
    numbers = rows[:, [0, *range(conditions, rows.shape[1])]]
    used = ~np.isnan(numbers).any(axis=1) & (rows[:, 0] >= SHORTEST) & (rows[:, 0] <= LONGEST)
    rows = rows[used]
    apart = np.abs(np.nan_to_num(rows[:, 1], nan=TEMPERATURE) - TEMPERATURE)
    wet = np.zeros(len(rows))
    if conditions == 3:
        wet = np.abs(np.nan_to_num(rows[:, 2], nan=HUMIDITY) - HUMIDITY)
    order = np.lexsort((wet, apart, rows[:, 0]))
    rows = rows[order]
    first = np.concatenate([[True], np.diff(rows[:, 0]) > 0.0]) if len(rows) else np.zeros(0, bool)
    return np.asarray(rows[first])


# ---- bidirectional reflectance -------------------------------------------------------------------


def brdfs_of(document: Document, verdict: Verdict) -> dict[float, Brdf]:
    """The tables of bidirectional reflectance, by wavelength."""
    part = document.part("brdf")
    if part is None:
        document.refuse("brdf", "is missing")
    rows = part.rows("lookupTable", 5)
    rows = rows[~np.isnan(rows).any(axis=1)]
    _check_angles(part, rows[:, 1:4], rows[:, 4])
    found: dict[float, Brdf] = {}
    for wavelength in np.unique(rows[:, 0]).tolist():
        own = rows[rows[:, 0] == wavelength, 1:]
        if not SHORTEST <= wavelength <= LONGEST_LIGHT:
            at = f"{document.file.name}: brdf.lookupTable at {wavelength_text(wavelength)}"
            verdict.notes.append(f"{at}: left out, only tables for light are used")
            continue
        _note_gaps(part, wavelength, own, verdict)
        brdf = _checked(part, wavelength, own, verdict)
        if brdf is not None:
            found[wavelength] = brdf
    return found


def _note_gaps(part: Document, wavelength: float, rows: Floats, verdict: Verdict) -> None:
    """Note if a table does not say what comes back to where light comes from."""
    back = (np.abs(rows[:, 0] - rows[:, 1]) < 1e-3) & ((rows[:, 2] < 1e-3) | (rows[:, 0] < 1e-3))
    angles = rows[back, 0]
    if len(angles) and angles.min() <= STEEP and angles.max() >= FLAT:
        return
    known = "at no angle"
    if len(angles):
        low, high = np.degrees([angles.min(), angles.max()])
        known = f"from {low:.0f} to {high:.0f} degrees only"
    place = f"{part.file.name}: {part.place}lookupTable at {wavelength_text(wavelength)}"
    verdict.notes.append(
        f"{place}: what goes back to the light is given {known}, else it comes from the neighbours"
    )


def _check_angles(part: Document, angles: Floats, values: Floats) -> None:
    """Refuse angles outside of the hemisphere, and values below 0."""
    limits = np.array([QUARTER, QUARTER, TURN])
    wrong = np.flatnonzero(((angles < 0.0) | (angles > limits)).any(axis=1) | (values < 0.0))
    if len(wrong):
        row = ", ".join(f"{each:g}" for each in (*angles[wrong[0]], values[wrong[0]]))
        reason = "allowed are angles of 0 to pi/2, an azimuth of 0 to 2 pi, and f from 0 on"
        part.refuse("lookupTable", f"has {row}; {reason}")


def _checked(part: Document, wavelength: float, rows: Floats, verdict: Verdict) -> Brdf | None:
    try:
        checked = largest_albedo(table_of(rows))
    except TableError as error:
        part.refuse("lookupTable", f"at {wavelength_text(wavelength)} {error}")
    if not math.isfinite(checked.albedo):
        part.refuse("lookupTable", f"at {wavelength_text(wavelength)} is far too large")
    if checked.albedo <= 1.0 + ROUNDING:
        return checked.brdf
    reason = (
        f"at {wavelength_text(wavelength)} the albedo is {checked.albedo:.4g} for light from "
        f"{math.degrees(checked.theta):.0f} degrees"
    )
    if not verdict.takes(part, "lookupTable", f"{reason}; used would be scaled to 1"):
        return None
    return scaled(checked.brdf, 1.0 / checked.albedo)


# ---- reflection coefficients ---------------------------------------------------------------------


def fitted_indices(document: Document, verdict: Verdict) -> Indices:
    """The indices that reflection coefficients of equal angles fit best, by wavelength."""
    part = document.part("reflectionCoefficient")
    if part is None:
        document.refuse("reflectionCoefficient", "is missing")
    rows = part.rows("lookupTable", 7)[:, :6]
    rows = rows[~np.isnan(rows).any(axis=1)]
    _check_angles(part, rows[:, 1:4], rows[:, 5])
    large = rows[rows[:, 5] > 1.0]
    if len(large) and not verdict.takes(part, "lookupTable", f"|r| = {large[0, 5]:g}"):
        return {}
    mirrored = (np.abs(rows[:, 1] - rows[:, 2]) < 1e-3) & (
        (np.abs(rows[:, 3] - math.pi) < 1e-3) | (rows[:, 1] < 1e-3)
    )
    found: Indices = {}
    for wavelength in np.unique(rows[mirrored, 0]).tolist():
        own = rows[mirrored & (rows[:, 0] == wavelength)]
        if LONGEST_LIGHT < wavelength <= LONGEST:
            _fit(part, wavelength, own, verdict, found)
    return found


def _fit(part: Document, wavelength: float, rows: Floats, verdict: Verdict, found: Indices) -> None:
    """Enter the index that fits best, if it fits."""
    n, k, misfit = best_index(rows[:, 1], rows[:, 4], np.minimum(rows[:, 5], 1.0))
    text = f"{len(rows)} coefficients at {wavelength_text(wavelength)}"
    if misfit > MOST_MISFIT:
        reason = f"{text} fit no index: {n:.3g} - {k:.3g}j is off by {misfit:.2f}"
        if not verdict.takes(part, "lookupTable", reason):
            return
    found[wavelength] = complex(n, -k)


def best_index(theta: Floats, plane: Floats, size: Floats) -> tuple[float, float, float]:
    """The n and k of Fresnel's law for given |r|, and the misfit in the root mean square.

    ``plane`` is the angle between the plane of incidence and the electric field. The best of a
    coarse grid is made better by damped steps of Gauss and Newton.
    """

    def apart(place: Floats) -> Floats:
        index = np.exp(place[..., 0]) - 1j * np.exp(place[..., 1])
        return _sizes(index[..., np.newaxis], theta, plane) - size

    logs = [np.linspace(math.log(low), math.log(100.0), 60) for low in (1.0, 1e-4)]
    grid = np.stack(np.meshgrid(*logs, indexing="ij"), axis=-1)
    misfit = np.mean(apart(grid) ** 2, axis=-1)
    best = grid[np.unravel_index(int(np.argmin(misfit)), misfit.shape)]
    least, damping = float(misfit.min()), 1e-3
    for _ in range(100):
        steps = 1e-6 * np.eye(2)
        slope = ((apart(best + steps) - apart(best - steps)) / 2e-6).T
        square = slope.T @ slope + damping * np.diag([1e-6, 1e-6])
        trial = best - np.linalg.solve(square, slope.T @ apart(best))
        trial = np.clip(trial, [math.log(1e-2), math.log(1e-6)], math.log(1e4))
        found = float(np.mean(apart(trial) ** 2))
        if found < least:
            best, least, damping = trial, found, 0.1 * damping
        else:
            damping = min(10.0 * damping, 1e12)
    n, k = np.exp(best).tolist()
    return n, k, math.sqrt(least)


def _sizes(index: NDArray[np.complex128], theta: Floats, plane: Floats) -> Floats:
    """|r| of Fresnel's law for linear polarisation in a plane."""
    cosine, sine = np.cos(theta), np.sin(theta)
    inner = np.sqrt(index**2 - sine**2)
    across = (cosine - inner) / (cosine + inner)
    along = (index**2 * cosine - inner) / (index**2 * cosine + inner)
    both = (np.abs(along) * np.cos(plane)) ** 2 + (np.abs(across) * np.sin(plane)) ** 2
    return np.asarray(np.sqrt(both))
