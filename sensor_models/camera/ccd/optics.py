"""What the lens of a CCD camera does to light: vignetting, and how far it is displaced."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.camera.ccd.parameters import OpticsParameters
from sensor_models.kernels.camera.ccd import aberrations

Floats = NDArray[np.float64]


def vignetting(optics: OpticsParameters) -> Floats:
    """The share V of light that each pixel gets, (rows, columns)."""
    (cx, cy), (width, height) = optics.principal_point, optics.ccd_size
    x = (np.arange(optics.width) + 0.5 - cx) * width / optics.width
    y = (np.arange(optics.height) + 0.5 - cy) * height / optics.height
    return vignetting_at(optics.focal_length, optics.vignetting, x, y[:, None])


def vignetting_at(focal_length: float, loss: float, x: ArrayLike, y: ArrayLike) -> Floats:
    """V at some places of the image plane, m from the axis."""
    square = np.square(x) + np.square(y)
    cosine_squared = focal_length**2 / (focal_length**2 + square)
    return np.asarray(np.maximum(1.0 - loss * np.sqrt(square), 0.0) * cosine_squared**2)


def focus_of(optics: OpticsParameters) -> float:
    """One over the object distance that is in focus, 1/m; negative beyond infinity."""
    return 1.0 / optics.focal_length - 1.0 / optics.image_distance


def pupil_points(radius: float, count: int) -> Floats:
    """Points of equal shares of the pupil's area, (count, 2), on a spiral of golden angles.

    One is the middle.
    """
    if count == 1:
        return np.zeros((1, 2))
    share = (np.arange(count) + 0.5) / count
    turn = np.arange(count) * np.pi * (3.0 - np.sqrt(5.0))
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.asarray(radius * np.sqrt(share)[:, None] * around)


def lens_of(optics: OpticsParameters, distance: NDArray[np.float32]) -> aberrations.Lens:
    """The lens that displaces the light of a frame, and how far it does so at most."""
    factor = optics.sample_factor
    pupil = pupil_points(optics.pupil_radius, optics.pupil_samples)
    width = optics.ccd_size[0] / (optics.width * factor)
    height = optics.ccd_size[1] / (optics.height * factor)
    cx, cy = optics.principal_point
    b, c, d, e, f = (abs(term) for term in optics.seidel)
    focus = focus_of(optics)
    seen = distance[distance > 0.0]
    nearest = float(seen.min(initial=np.inf))
    a = 0.5 * max(abs(focus), abs(focus - 1.0 / nearest))
    p, r = optics.pupil_radius, math.hypot(*optics.ccd_size)
    most = 2.0 * a * p + 4.0 * b * p**3 + 2.0 * c * r**2 * p + 2.0 * d * r**2 * p
    most += e * r**3 + 3.0 * f * p**2 * r
    return aberrations.Lens(
        rows=optics.height * factor,
        columns=optics.width * factor,
        cell_width=width,
        cell_height=height,
        middle_x=cx * factor,
        middle_y=cy * factor,
        distance=optics.image_distance,
        in_focus=focus,
        seidel=optics.seidel,
        pupil=pupil,
        margin=min(int(optics.image_distance * most / height) + 2, optics.height * factor),
    )
