r"""From pixels to rays and back. Sensor frame: x forward, y left, z up.

Pinhole, u counting columns and v rows from the image's upper left corner, f and c in pixels:

    x_d = (u - c_x) / f_x,   y_d = (v - c_y) / f_y,   ray ~ (1, -x_n, -y_n)

A pixel's middle is at u + 1/2, v + 1/2 of its indices; software that puts it at whole numbers has
a principal point that is less by 1/2. The field of view gives f = W / (2 tan(hfov / 2)), and as
pixels are square, vfov = 2 atan(tan(hfov / 2) H / W) (GYM).

Distortion is the pinhole model of ``camera.lens`` with k1, k2, p1, p2 and k3.

Spherical grid (GYM), i = 0..H-1, j = 0..W-1, from the maximum to the minimum:

    phi_j = phi_max - (phi_max - phi_min) j / (W - 1),  theta_i likewise with H
    ray   = (cos phi cos theta, sin phi cos theta, sin theta)

One row or one column is in the middle. Without endpoint, W stands for W - 1. The column's cosine
and sine at -pi are those at pi, so the two columns where a full turn meets are the same rays.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.camera.depth.parameters import DepthCameraParameters, Projection
from sensor_models.camera.lens import Distortion, image_of, kernel_lens, unit_rays
from sensor_models.kernels.camera.ways import Lens

Floats = NDArray[np.float64]


def pixel_rays(parameters: DepthCameraParameters, rays_per_side: int = 1) -> Floats:
    """Unit rays, (height, width, rays, 3): row by row within each pixel."""
    offsets = (np.arange(rays_per_side) + 0.5) / rays_per_side
    columns = (np.arange(parameters.width)[:, None] + offsets).ravel()
    rows = (np.arange(parameters.height)[:, None] + offsets).ravel()
    rays = rays_of(parameters, columns, rows)
    side, n = rays_per_side, rays_per_side**2
    grouped = rays.reshape(parameters.height, side, parameters.width, side, 3)
    ordered = grouped.transpose(0, 2, 1, 3, 4).reshape(parameters.height, parameters.width, n, 3)
    return np.ascontiguousarray(ordered)


def rays_of(parameters: DepthCameraParameters, columns: Floats, rows: Floats) -> Floats:
    """Unit rays through each of the rows at each of the columns, in pixels: (rows, columns, 3)."""
    make = _spherical if parameters.projection == Projection.spherical else _pinhole
    return make(parameters, columns, rows)


def project(parameters: DepthCameraParameters, points: ArrayLike) -> Floats:
    """Where points of the sensor frame are in the image of a pinhole: u, v in pixels.

    NaN for points that are not in front of the camera.
    """
    return image_of(lens_of(parameters), points)


def lens_of(parameters: DepthCameraParameters) -> Lens:
    """The lens of a pinhole."""
    own = parameters
    return kernel_lens(own.focal_lengths, own.principal_point, Distortion.pinhole, own.distortion)


def _pinhole(parameters: DepthCameraParameters, columns: Floats, rows: Floats) -> Floats:
    fx, fy = parameters.focal_lengths
    cx, cy = parameters.principal_point
    across, down = np.meshgrid((columns - cx) / fx, (rows - cy) / fy)
    return unit_rays(across, down, Distortion.pinhole, parameters.distortion)


def _spherical(parameters: DepthCameraParameters, columns: Floats, rows: Floats) -> Floats:
    last = parameters.width - 1 if parameters.endpoint else parameters.width
    azimuth = _spread(parameters.azimuth, columns - 0.5, parameters.width, last)
    elevation = _spread(parameters.elevation, rows - 0.5, parameters.height, parameters.height - 1)
    azimuth = np.where(azimuth <= -math.pi, azimuth + math.tau, azimuth)
    level = np.cos(elevation)[:, None]
    return np.stack(
        [
            level * np.cos(azimuth),
            level * np.sin(azimuth),
            np.broadcast_to(np.sin(elevation)[:, None], (len(rows), len(columns))),
        ],
        axis=-1,
    )


def _spread(limits: tuple[float, float], places: Floats, count: int, last: int) -> Floats:
    low, high = limits
    if count == 1:
        return np.asarray((low + high) / 2.0 - (high - low) * places)
    return np.asarray(high - (high - low) * places / last)
