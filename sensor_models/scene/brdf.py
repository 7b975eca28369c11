r"""Bidirectional reflectances as tables: from rows of measurements to a table without gaps.

Rows are (angle of the light, angle of the viewer, azimuth, f), angles in rad. The azimuth is folded
to 0 to π, as a surface looks the same from its left and right. What rows leave open is filled:

    θ = 0         has no azimuth: what is known of one azimuth is so of all
    reciprocity   f(a, b, φ) = f(b, a, φ), where only one of the two is given
    azimuth       between given ones by (1 - cos φ) / 2
    angles        linear between, and beyond the last one like there

Values that are given stay as they are. Of one plane alone, as most goniometers measure, a table
says f at azimuths 0 and π. At others f is that of the plane at the same half angle θ_h (of h,
between light and viewer, to the normal) and difference angle θ_d (of light to h), which is all that
it depends on for most surfaces that look the same turned about their normal:

    f(θ_l, θ_v, φ) = f(θ_d + θ_h, θ_d - θ_h, π) if θ_d > θ_h, else f(θ_h + θ_d, θ_h - θ_d, 0)

(Rusinkiewicz 1998; Romeiro, Vasilyev and Zickler 2008). A matt surface stays matt, and a peak is as
wide across the plane as along it. Between the nodes of both angles a table is linear in
triangles whose long sides run along equal angles, where mirrors and reflectors have their peaks
(``kernels.light.tabulated``); along equal angles themselves, where lidars look, by cubic pieces
that do not swing (Fritsch and Carlson 1980).

    albedo(θ_l) = ∫ f cos θ_v dω_v

says how much of the light comes back, which must not be more than all of it.

An extension. Not modelled: surfaces that look different when they are turned.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.model import Brdf

Floats = NDArray[np.float64]

#: Angles are the same that differ by less, rad: files have six digits.
SAME = 2e-6
#: Nodes of each angle, and values, of a table.
MAX_THETAS, MAX_VALUES = 361, 2**22
#: Nodes of the grid that albedos are sums over, along both angles and the azimuth.
_GRID = (181, 37)
#: How far above 1 an albedo may come out by the rounding of such sums and of files.
ROUNDING = 0.005


class TableError(MeshFileError):
    """Rows that make no table; the message is the reason."""


def table_of(rows: Floats) -> Brdf:
    """The table of rows (angle of the light, angle of the viewer, azimuth, f)."""
    if len(rows) == 0:
        raise TableError("has no row without null")
    light, viewer, azimuth, f = rows.T
    azimuth = np.where(azimuth > math.pi, 2.0 * math.pi - azimuth, azimuth)
    theta = _nodes(np.concatenate([light, viewer]))
    phi = _nodes(np.abs(azimuth))
    size = len(theta) ** 2 * len(phi)
    if len(theta) > MAX_THETAS or size > MAX_VALUES:
        raise TableError(
            f"has {len(theta)} angles and {len(phi)} azimuths, a grid of {size} values; at most"
            f" {MAX_THETAS} angles and {MAX_VALUES} values are read"
        )
    places = tuple(_nearest(theta, light)), tuple(_nearest(theta, viewer)), _nearest(phi, azimuth)
    shape = (len(theta), len(theta), len(phi))
    place = np.ravel_multi_index(tuple(map(np.asarray, places)), shape)
    count = np.bincount(place, minlength=size)
    total = np.bincount(place, f, minlength=size)
    with np.errstate(invalid="ignore"):
        values = (total / np.where(count > 0, count, np.nan)).reshape(shape)
    return Brdf(theta, phi, _filled(theta, phi, values))


def _nodes(given: Floats) -> Floats:
    """The angles that are given, once each."""
    rising = np.sort(given)
    return np.asarray(rising[np.concatenate([[True], np.diff(rising) > SAME])])


def _nearest(nodes: Floats, given: Floats) -> NDArray[np.int64]:
    """The numbers of the nodes that angles stand for."""
    above = np.searchsorted(nodes, given, side="right") - 1
    return np.clip(above, 0, len(nodes) - 1).astype(np.int64)


def _filled(theta: Floats, phi: Floats, values: Floats) -> Floats:
    """The values with those that are not given."""
    if theta[0] < SAME:
        for edge in (values[0], values[:, 0]):
            edge[:] = np.where(np.isnan(edge), _mean(edge)[:, np.newaxis], edge)
    values = np.where(np.isnan(values), values.transpose(1, 0, 2), values)
    _fill_lines(0.5 * (1.0 - np.cos(phi)), values.reshape(-1, len(phi)))
    for _ in range(2):
        for number in range(len(phi)):
            _fill_lines(theta, values[:, :, number])
            values[:, :, number] = _transposed(theta, values[:, :, number])
    return np.ascontiguousarray(values)


def _transposed(theta: Floats, layer: Floats) -> Floats:
    """A layer whose columns are filled, too."""
    turned = np.ascontiguousarray(layer.T)
    _fill_lines(theta, turned)
    return turned.T


def _mean(edge: Floats) -> Floats:
    """The mean of what is known of each row, nan where nothing is."""
    known = ~np.isnan(edge)
    total = np.where(known, edge, 0.0).sum(axis=1)
    count = known.sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _fill_lines(at: Floats, lines: Floats) -> None:
    """Fill what is missing on each line that has anything, linearly."""
    missing = np.isnan(lines)
    for number in np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1)):
        gaps = missing[number]
        lines[number, gaps] = np.interp(at[gaps], at[~gaps], lines[number, ~gaps])


# ---- what a table says ---------------------------------------------------------------------------


def monotone(x: Floats, y: Floats, at: Floats) -> Floats:
    """Cubic pieces through points that rise and fall with them (Fritsch and Carlson 1980)."""
    if len(x) < 3:
        return np.asarray(np.interp(at, x, y))
    width, slope = np.diff(x), np.diff(y) / np.diff(x)
    one, two = 2.0 * width[1:] + width[:-1], width[1:] + 2.0 * width[:-1]
    level = slope[1:] * slope[:-1] <= 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(level, 0.0, (one + two) / (one / slope[:-1] + two / slope[1:]))
    ends = [0.0 if slope[k] * inner[k] <= 0.0 else slope[k] for k in (0, -1)]
    tangent = np.concatenate([[ends[0]], inner, [ends[1]]])
    place = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    t = np.clip((at - x[place]) / width[place], 0.0, 1.0)
    h = width[place]
    found = (
        (1.0 + 2.0 * t) * (1.0 - t) ** 2 * y[place]
        + t * (1.0 - t) ** 2 * h * tangent[place]
        + t * t * (3.0 - 2.0 * t) * y[place + 1]
        + t * t * (t - 1.0) * h * tangent[place + 1]
    )
    return np.asarray(found)


def along_equal_angles(brdf: Brdf, azimuth: float, at: Floats) -> Floats:
    """f(θ, θ, azimuth) at some angles, for an azimuth of 0 or π."""
    layer = -1 if azimuth > 0.5 * math.pi else 0
    diagonal = np.einsum("iik->ik", brdf.values)[:, layer]
    return monotone(brdf.theta, diagonal, np.clip(at, brdf.theta[0], brdf.theta[-1]))


def resampled(brdf: Brdf, thetas: int, phis: int) -> Floats:
    """The table at even steps from 0 to π/2, and 0 to π, as (thetas, thetas, phis)."""
    theta, phi = np.linspace(0.0, 0.5 * math.pi, thetas), np.linspace(0.0, math.pi, phis)
    light, viewer = np.meshgrid(theta, theta, indexing="ij")
    if is_of_one_plane(brdf):
        return _off_the_plane(brdf, light[..., np.newaxis], viewer[..., np.newaxis], phi)
    return _mixed(brdf.theta, _at_azimuths(brdf, phi), light, viewer)


def is_of_one_plane(brdf: Brdf) -> bool:
    """Whether a table has the azimuths 0 and π alone."""
    known = len(brdf.phi) == 2
    return known and bool(brdf.phi[0] < SAME and brdf.phi[1] > math.pi - SAME)


def _off_the_plane(brdf: Brdf, light: Floats, viewer: Floats, phi: Floats) -> Floats:
    """A table of one plane at all azimuths, by half and difference angle."""
    between = np.cos(light) * np.cos(viewer) + np.sin(light) * np.sin(viewer) * np.cos(phi)
    apart = 0.5 * np.arccos(np.clip(between, -1.0, 1.0))
    middle = (np.cos(light) + np.cos(viewer)) / (2.0 * np.maximum(np.cos(apart), 1e-12))
    half = np.arccos(np.clip(middle, 0.0, 1.0))
    large, small = half + apart, np.abs(half - apart)
    turned = viewer > light  # the larger angle stays that of the light, or of the viewer
    a, b = np.where(turned, small, large), np.where(turned, large, small)
    mirrored = apart > half
    back, ahead = (_mixed(brdf.theta, brdf.values[..., k], a, b) for k in (0, 1))
    return np.asarray(np.where(mirrored, ahead, back))


def _mixed(theta: Floats, layers: Floats, light: Floats, viewer: Floats) -> Floats:
    """Layers (light, viewer, ...) between their nodes, in triangles along equal angles."""
    i, s = _between(theta, light)
    j, t = _between(theta, viewer)
    k, m = np.minimum(i + 1, len(theta) - 1), np.minimum(j + 1, len(theta) - 1)
    more = (slice(None),) * s.ndim + (np.newaxis,) * (layers.ndim - 2)
    s, t = s[more], t[more]
    low, high, side = layers[i, j], layers[k, m], np.where(s > t, layers[k, j], layers[i, m])
    most, least = np.maximum(s, t), np.minimum(s, t)
    return np.asarray(low * (1.0 - most) + side * (most - least) + high * least)


def _between(nodes: Floats, at: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Between which nodes angles lie, and how far; beyond the ends, at these."""
    inside = np.clip(at, nodes[0], nodes[-1])
    node = np.clip(np.searchsorted(nodes, inside, side="right") - 1, 0, max(len(nodes) - 2, 0))
    if len(nodes) == 1:
        return node, np.zeros(np.shape(at))
    return node, (inside - nodes[node]) / (nodes[node + 1] - nodes[node])


def _at_azimuths(brdf: Brdf, phi: Floats) -> Floats:
    """The table at other azimuths, by (1 - cos φ) / 2."""
    known, wanted = (0.5 * (1.0 - np.cos(angle)) for angle in (brdf.phi, phi))
    node, share = _between(known, wanted)
    more = np.minimum(node + 1, len(known) - 1)
    return np.asarray(brdf.values[..., node] * (1.0 - share) + brdf.values[..., more] * share)


def albedos(brdf: Brdf) -> tuple[Floats, Floats]:
    """How much light comes back in all, by the angle it comes from; the angles first."""
    thetas, phis = _GRID
    theta = np.linspace(0.0, 0.5 * math.pi, thetas)
    table = resampled(brdf, thetas, phis)
    mean = 0.5 * (table[..., 1:] + table[..., :-1]).mean(axis=2)
    return theta, _over_hemisphere(theta, mean)


def _over_hemisphere(theta: Floats, mean: Floats) -> Floats:
    """2 π times the integral of f cos θ sin θ, exact where f does not depend on θ."""
    share = np.sin(theta) ** 2
    middle = 0.5 * (mean[..., 1:] + mean[..., :-1])
    return np.asarray(math.pi * (middle * np.diff(share)).sum(axis=-1))


def even_reflectance(brdf: Brdf) -> float:
    """The share of light of an even sky that comes back."""
    theta, albedo = albedos(brdf)
    return float(_over_hemisphere(theta, albedo) / math.pi)


def asymmetry(brdf: Brdf) -> float:
    """By how much light and viewer are not interchangeable, as a share: 0 if it is reciprocal."""
    apart = brdf.values - brdf.values.transpose(1, 0, 2)
    size = float(np.sqrt(np.mean(brdf.values**2)))
    return float(np.sqrt(np.mean(apart**2))) / size if size > 0.0 else 0.0


class Checked(NamedTuple):
    """A table with how much it sends back."""

    brdf: Brdf
    albedo: float  # the largest
    theta: float  # rad, where that is


def largest_albedo(brdf: Brdf) -> Checked:
    """The table with its largest albedo and where that is."""
    theta, albedo = albedos(brdf)
    worst = int(np.argmax(albedo))
    return Checked(brdf, float(albedo[worst]), float(theta[worst]))


def scaled(brdf: Brdf, factor: float) -> Brdf:
    """The table with all values times a factor."""
    return Brdf(brdf.theta, brdf.phi, brdf.values * factor)
