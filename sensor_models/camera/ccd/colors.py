r"""Colours as people see them, of what the bands of a chip count.

    balanced   b_k = g_k r_k,   r_k = ∫ response_k E S dλ / ∫ response_k E dλ
    matrix     linear sRGB = M b

With ``daylight`` the gains make a grey in the light E of the scene equal in all bands. E is what
falls on a horizontal surface: E = E_sun sin(elevation) + π L_sky. The least of the gains is 1, so
whatever saturates all bands stays white.

``fit`` takes the M of the least squares of linear sRGB over the 24 patches of a colour chart in
that light, with rows that sum up to 1, so grey stays grey. The residual is a ΔE of CIEDE2000
(Sharma, Wu and Dalal 2005) for each patch.

Sources: PHYSICS-2, 36; the sRGB coordinates of the ColorChecker as X-Rite has published them, whose
reflectances are those of 32.4. Deviation: rows sum up to 1; those of the least squares alone do so
to 1 %.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.light.spectra import XYZ_TO_RGB, color_spectrum, linear_color

Floats = NDArray[np.float64]

#: Patches of the ColorChecker, row by row: sRGB as X-Rite has published it.
CHART = (
    (115, 82, 68), (194, 150, 130), (98, 122, 157), (87, 108, 67), (133, 128, 177), (103, 189, 170),
    (214, 126, 44), (80, 91, 166), (193, 90, 99), (94, 60, 108), (157, 188, 64), (224, 163, 46),
    (56, 61, 150), (70, 148, 73), (175, 54, 60), (231, 199, 31), (187, 86, 149), (8, 133, 161),
    (243, 243, 242), (200, 200, 200), (160, 160, 160), (122, 122, 121), (85, 85, 85), (52, 52, 52),
)  # fmt: skip
_PATCHES = [[number / 255.0 for number in patch] for patch in CHART]
#: Of CIE Lab: where its root becomes a line, and the slope of that.
_LAB_EDGE, _LAB_SLOPE = 216.0 / 24389.0, 24389.0 / 27.0
_25_TO_7 = 25.0**7
#: Hues that are opposite but for rounding have the mean that lies between them as numbers.
_HALF_TURN = 180.0 + 1e-9


class Residual(NamedTuple):
    """How far a matrix is off from the colours of the chart, by CIEDE2000."""

    median: float
    worst: float


class Colors(NamedTuple):
    """How three bands become colours."""

    gains: Floats  # (3,): of the white balance
    matrix: Floats  # (3, 3): to linear sRGB
    residual: Residual | None = None  # of a matrix that was fitted

    @property
    def transform(self) -> Floats:
        """From what the bands have to colours, (3, 3)."""
        return self.matrix * self.gains

    def facts(self) -> dict[str, object]:
        """What the index of frames tells."""
        told: dict[str, object] = {
            "white_balance": self.gains.tolist(),
            "color_matrix": self.matrix.tolist(),
        }
        if self.residual is not None:
            told["color_residual"] = {f"{k}_delta_e": v for k, v in self.residual._asdict().items()}
        return told


def balance(levels: ArrayLike) -> Floats:
    """The gains that make levels equal, the least of them 1; a band without light keeps its own."""
    known = np.asarray(levels, float)
    lit = known > 0.0
    most = float(known[lit].max()) if lit.any() else 1.0
    return np.asarray(np.where(lit, most / np.where(lit, known, 1.0), 1.0))


def fitted_matrix(response: Floats, day: Floats, wavelengths: Floats) -> tuple[Floats, Residual]:
    """The matrix of bands with some responses in the light of a day, and what it leaves."""
    white = response @ day
    seen = (_chart_spectra(wavelengths.tobytes()) * day) @ response.T
    seen = np.divide(seen, white, out=np.zeros_like(seen), where=white > 0.0)
    wanted = np.array([linear_color(patch) for patch in _PATCHES])
    free = np.linalg.lstsq(seen[:, :2] - seen[:, 2:], wanted - seen[:, 2:], rcond=None)[0].T
    matrix = np.column_stack([free, 1.0 - free.sum(axis=1)])
    off = color_difference(lab(np.clip(seen @ matrix.T, 0.0, 1.0)), lab(wanted))
    return matrix, Residual(float(np.median(off)), float(off.max()))


@lru_cache(maxsize=8)
def _chart_spectra(wavelengths: bytes) -> Floats:
    """Reflectances of the patches, (24, wavelengths)."""
    places = np.frombuffer(wavelengths)
    return np.array([color_spectrum(patch, places) for patch in _PATCHES])


def lab(linear: ArrayLike) -> Floats:
    """CIE Lab of linear sRGB, whose white it is relative to, (n, 3)."""
    to_xyz = np.linalg.inv(XYZ_TO_RGB)
    shares = np.asarray(linear, float) @ to_xyz.T / to_xyz.sum(axis=1)
    bent = np.where(
        shares > _LAB_EDGE, np.cbrt(shares), (_LAB_SLOPE * shares + 16.0) / 116.0
    )  # fmt: skip
    x, y, z = bent.T
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=1)


def color_difference(first: ArrayLike, second: ArrayLike) -> Floats:
    """ΔE of CIEDE2000 between pairs of Lab colours, (n, 3) each."""
    (light_1, a_1, b_1), (light_2, a_2, b_2) = np.asarray(first, float).T, np.asarray(second).T
    stretch = 1.5 - 0.5 * _saturation(0.5 * (np.hypot(a_1, b_1) + np.hypot(a_2, b_2)))
    chroma_1, chroma_2 = np.hypot(stretch * a_1, b_1), np.hypot(stretch * a_2, b_2)
    hue_1 = np.degrees(np.arctan2(b_1, stretch * a_1)) % 360.0
    hue_2 = np.degrees(np.arctan2(b_2, stretch * a_2)) % 360.0
    turn = np.where(chroma_1 * chroma_2 > 0.0, hue_2 - hue_1, 0.0)
    turn = turn - 360.0 * (turn > _HALF_TURN) + 360.0 * (turn < -_HALF_TURN)
    apart = 2.0 * np.sqrt(chroma_1 * chroma_2) * np.sin(np.radians(0.5 * turn))
    # The mean of hues lies between them; of one without a chroma it is the other's.
    hue = np.where(chroma_1 > 0.0, hue_1 + 0.5 * turn, hue_2)
    hue = np.where((chroma_2 == 0.0) | (chroma_1 > 0.0), hue, hue_2)
    light, chroma = 0.5 * (light_1 + light_2), 0.5 * (chroma_1 + chroma_2)
    above = (light - 50.0) ** 2
    by_light = (light_2 - light_1) / (1.0 + 0.015 * above / np.sqrt(20.0 + above))
    by_chroma = (chroma_2 - chroma_1) / (1.0 + 0.045 * chroma)
    by_hue = apart / (1.0 + 0.015 * chroma * _by_hue(hue))
    tilt = 60.0 * np.exp(-(((hue % 360.0 - 275.0) / 25.0) ** 2))
    turned = -2.0 * _saturation(chroma) * np.sin(np.radians(tilt))
    whole = by_light**2 + by_chroma**2 + by_hue**2 + turned * by_chroma * by_hue
    return np.asarray(np.sqrt(whole))


def _saturation(chroma: Floats) -> Floats:
    """sqrt(C⁷ / (C⁷ + 25⁷))."""
    return np.asarray(np.sqrt(chroma**7 / (chroma**7 + _25_TO_7)))


def _by_hue(hue: Floats) -> Floats:
    """The factor T of a mean hue in degrees."""
    terms = ((0.17, 1.0, -30.0), (-0.24, 2.0, 0.0), (-0.32, 3.0, 6.0), (0.2, 4.0, -63.0))
    waves = [height * np.cos(np.radians(times * hue + shift)) for height, times, shift in terms]
    return np.asarray(1.0 - sum(waves))
