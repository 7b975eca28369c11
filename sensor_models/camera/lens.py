r"""Distortion of lenses, with the models and numbers that calibration by OpenCV gives.

With x, y the direction of a point over its distance along the axis, r² = x² + y²:

    pinhole    x_d = x (1 + k1 r² + k2 r⁴ + k3 r⁶) / (1 + k4 r² + k5 r⁴ + k6 r⁶)
                     + 2 p1 x y + p2 (r² + 2 x²)
               y_d = y (...) + p1 (r² + 2 y²) + 2 p2 x y
    fisheye    t = atan r,  t_d = t (1 + k1 t² + k2 t⁴ + k3 t⁶ + k4 t⁸),  (x_d, y_d) = t_d/r (x, y)

x_d, y_d times the focal lengths in pixels, plus the principal point, are pixels. What a pixel sees
is found by Newton's method. A lens that folds the image is refused. Far outside of the image most
polynomials fold: what is seen farther off the axis than there is projected to that circle.

Sources: OpenCV 4, modules calib3d and fisheye; Brown, "Decentering distortion of lenses", 1966.
"""

import math
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.camera.ways import Lens

Floats = NDArray[np.float64]

NEWTON_STEPS = 40
#: Of a normalised coordinate: some roundings of it.
SOLVED = 1e-12

#: Where a fold is looked for: distances over depth up to this one, at so many places.
FARTHEST, PLACES = 1e3, 4096

#: Names of the coefficients, as OpenCV has them.
TERMS = ("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6")


class Distortion(IntEnum):
    """Models of distortion."""

    pinhole = 0
    fisheye = 1


def distort(x: Floats, y: Floats, terms: tuple[float, ...]) -> tuple[Floats, ...]:
    """The pinhole model: distorted coordinates, and dx/dx, dx/dy = dy/dx, dy/dy.

    ``terms`` are in the order of ``TERMS``; those that are left out are 0.
    """
    k1, k2, p1, p2, k3, k4, k5, k6 = (*terms, *(0.0,) * (8 - len(terms)))
    r2 = x * x + y * y
    above = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    below = 1.0 + r2 * (k4 + r2 * (k5 + r2 * k6))
    radial = above / below
    slope = 2.0 * (k1 + r2 * (2.0 * k2 + 3.0 * r2 * k3)) / below  # of radial, over r
    slope -= 2.0 * (k4 + r2 * (2.0 * k5 + 3.0 * r2 * k6)) * radial / below
    return (
        x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
        y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        radial + x * x * slope + 2.0 * p1 * y + 6.0 * p2 * x,
        x * y * slope + 2.0 * p1 * x + 2.0 * p2 * y,
        radial + y * y * slope + 6.0 * p1 * y + 2.0 * p2 * x,
    )


def undistort(across: Floats, down: Floats, terms: tuple[float, ...]) -> tuple[Floats, Floats]:
    """The coordinates that the pinhole model takes to these."""
    x, y = across.copy(), down.copy()
    with np.errstate(all="ignore"):  # what does not converge is found below
        for _ in range(NEWTON_STEPS):
            u, v, a, b, c = distort(x, y, terms)
            area = a * c - b * b
            x, y = (
                x - (c * (u - across) - b * (v - down)) / area,
                y - (a * (v - down) - b * (u - across)) / area,
            )
        u, v, a, b, c = distort(x, y, terms)
        wrong = np.maximum(np.abs(u - across), np.abs(v - down))
        solved = (wrong <= SOLVED * (1.0 + np.abs(across) + np.abs(down))) & (a * c > b * b)
        solved &= (a + c > 0.0) & (x * across + y * down >= 0.0)
    _refuse_folds(solved, terms)
    return x, y


def fisheye_angle(angle: Floats, terms: tuple[float, ...]) -> Floats:
    """The fisheye model: t_d of t."""
    k1, k2, k3, k4 = terms
    square = angle * angle
    return angle * (1.0 + square * (k1 + square * (k2 + square * (k3 + square * k4))))


def fisheye_source(distorted: Floats, terms: tuple[float, ...]) -> Floats:
    """The angle t off the axis that the fisheye model takes to these t_d."""
    k1, k2, k3, k4 = terms
    angle = np.minimum(distorted, math.pi)
    with np.errstate(all="ignore"):
        for _ in range(NEWTON_STEPS):
            s = angle * angle
            slope = 1.0 + s * (3.0 * k1 + s * (5.0 * k2 + s * (7.0 * k3 + s * 9.0 * k4)))
            angle = angle - (fisheye_angle(angle, terms) - distorted) / slope
        s = angle * angle
        slope = 1.0 + s * (3.0 * k1 + s * (5.0 * k2 + s * (7.0 * k3 + s * 9.0 * k4)))
        solved = np.abs(fisheye_angle(angle, terms) - distorted) <= SOLVED * (1.0 + distorted)
        solved &= (slope > 0.0) & (angle >= 0.0) & (angle <= math.pi)
    _refuse_folds(solved, terms)
    return np.asarray(angle)


def unit_rays(across: Floats, down: Floats, model: Distortion, terms: tuple[float, ...]) -> Floats:
    """Unit rays in the sensor frame (x forward, y left, z up) of distorted coordinates."""
    if model == Distortion.fisheye:
        distorted = np.hypot(across, down)
        angle = fisheye_source(distorted, fisheye_terms(terms))
        scale = np.where(distorted > 0.0, np.sin(angle) / np.maximum(distorted, 1e-300), 1.0)
        return np.stack([np.cos(angle), -across * scale, -down * scale], axis=-1)
    if any(terms):
        across, down = undistort(across, down, terms)
    rays: Floats = np.stack([np.ones_like(across), -across, -down], axis=-1)
    rays /= np.sqrt(1.0 + across**2 + down**2)[..., None]  # no second array of that size
    return rays


def fisheye_terms(terms: tuple[float, ...]) -> tuple[float, float, float, float]:
    """k1 to k4 of coefficients in the order of ``TERMS``."""
    k1, k2, _, _, k3, k4, _, _ = terms
    return k1, k2, k3, k4


def _refuse_folds(solved: NDArray[np.bool_], terms: tuple[float, ...]) -> None:
    if not solved.all():
        raise ParameterError(
            f"distortion = {terms} folds the image: {np.count_nonzero(~solved)} of {solved.size} "
            "pixels have no ray, allowed are coefficients that keep the order of pixels"
        )


def image_of(lens: Lens, points: ArrayLike) -> Floats:
    """Where points of the sensor frame (x forward, y left, z up) are in the image: u, v in pixels.

    NaN for points that are not in front of a pinhole.
    """
    x, y, z = np.moveaxis(np.asarray(points, float), -1, 0)
    if lens.fisheye:
        flat = np.hypot(y, z)
        angle = np.minimum(np.arctan2(flat, x), fold_of(True, lens.terms))
        scale = fisheye_angle(angle, fisheye_terms(lens.terms)) / np.maximum(flat, 1e-300)
        return np.stack([lens.cx - lens.fx * scale * y, lens.cy - lens.fy * scale * z], axis=-1)
    ahead = np.where(x > 0.0, x, np.nan)
    across, down = -y / ahead, -z / ahead
    if lens.bends:
        most = fold_of(False, lens.terms)
        nearer = np.minimum(1.0, most / np.maximum(np.hypot(across, down), 1e-300))
        across, down, *_ = distort(nearer * across, nearer * down, lens.terms)
    return np.stack([lens.fx * across + lens.cx, lens.fy * down + lens.cy], axis=-1)


@lru_cache(maxsize=64)
def fold_of(fisheye: bool, terms: tuple[float, ...]) -> float:
    """How far off the axis the image goes outward: an angle, or a distance over depth."""
    if fisheye:
        places = np.linspace(0.0, math.pi, PLACES)
        out = fisheye_angle(places, fisheye_terms(terms))
    else:
        k1, k2, _, _, *others = terms
        places = np.geomspace(1e-3, FARTHEST, PLACES)
        with np.errstate(all="ignore"):  # where numbers have no end, they have folded before
            out, *_ = distort(places, np.zeros(PLACES), (k1, k2, 0.0, 0.0, *others))
    onward = np.diff(out) > 0.0
    return float(places[-1] if onward.all() else places[np.argmin(onward)])


def kernel_lens(
    focal_lengths: tuple[float, float],
    principal_point: tuple[float, float],
    model: Distortion,
    terms: tuple[float, ...],
) -> Lens:
    """A lens as kernels take it."""
    k1, k2, p1, p2, k3, k4, k5, k6 = (*map(float, terms), *(0.0,) * (8 - len(terms)))
    (fx, fy), (cx, cy) = focal_lengths, principal_point
    return Lens(
        fx=float(fx),
        fy=float(fy),
        cx=float(cx),
        cy=float(cy),
        fisheye=model == Distortion.fisheye,
        bends=any(terms),
        terms=(k1, k2, p1, p2, k3, k4, k5, k6),
    )
