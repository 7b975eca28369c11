"""Noise of the distances of a depth camera: the factor that each of them is changed by.

For a true distance d, the depth of a camera that takes depth and else the range along the ray:

    stereo     D = f b / d + sigma_D n,  D <- q round(D / q),   d' = f b / D
    relative   d' = d max(0, 1 + e + g m n),   m that of ``far`` beyond the distance where it begins
    absolute   d' = d + a + g s n
    dropout    d' = 0 with probability p

D disparity in pixels, f focal length in pixels, b baseline, n normal draws of their own; e and a
are a relative and an absolute bias. The growth g is that of the target's material: a sensor of
light counts fewer photons from a dark one, so that g is the root of a reflectance over the
material's (``camera.depth.camera``); 1 where it is not asked for. To first order the stereo noise
of depth is d^2 sigma_D / (f b). Draws are functions of (term, frame, pixel), where cameras of one
batch count on through the pixels.

Source: GYM for multiplication and dropout. Stereo: the triangulation equation d = f b / D. The
others are our own: data sheets and measurements of time-of-flight sensors give an absolute error
near by, a relative one beyond, a larger one far away, and a bias that is linear in the range.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.layout import Task
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import normal, uniform
from sensor_models.kernels.tracing.packets import ACCESS

#: Streams of random numbers, rows of the table of keys.
STEREO, MULTIPLIER, DROPOUT, EDGE, ABSOLUTE = range(5)


@njit(**ACCESS)
def is_noisy(task: Task) -> bool:
    """Whether noise moves distances, so that what lies beyond the limit may come within it."""
    relative = task.multiplier > 0.0 or task.far_multiplier > 0.0 or task.scale_error != 0.0
    absolute = task.rms > 0.0 or task.bias != 0.0
    return relative or absolute or task.disparity_sigma > 0.0 or task.disparity_step > 0.0


@njit(**ACCESS)
def stereo_factor(task: Task, keys: NDArray[np.uint64], lane: int, depth: float) -> float:
    """The factor by which the error of a disparity changes a depth."""
    true_disparity = task.pixel_metres / depth
    disparity = true_disparity
    if task.disparity_sigma > 0.0:
        disparity += task.disparity_sigma * normal(keys[STEREO], task.frame, lane)
    if task.disparity_step > 0.0:
        disparity = task.disparity_step * np.round(disparity / task.disparity_step)
    return true_disparity / disparity if disparity > 0.0 else math.inf


@njit(**ACCESS)
def noise_factor(
    task: Task, keys: NDArray[np.uint64], camera: int, pixel: int, depth: float, growth: float
) -> float:
    """The factor by which noise changes a distance."""
    lane = (task.first + camera) * task.rows * task.columns + pixel
    factor = 1.0
    if task.disparity_sigma > 0.0 or task.disparity_step > 0.0:
        factor = stereo_factor(task, keys, lane, depth)
    multiplier = task.far_multiplier if depth > task.far_from else task.multiplier
    if multiplier > 0.0 or task.scale_error != 0.0:
        share = 1.0 + task.scale_error
        if multiplier > 0.0:
            share += growth * multiplier * normal(keys[MULTIPLIER], task.frame, lane)
        factor = factor * share if share > 0.0 else 0.0
    if task.rms > 0.0 or task.bias != 0.0:
        error = task.bias
        if task.rms > 0.0:
            error += growth * task.rms * normal(keys[ABSOLUTE], task.frame, lane)
        factor = max(0.0, factor + error / depth)
    if task.dropout > 0.0 and uniform(keys[DROPOUT], task.frame, lane) < task.dropout:
        factor = 0.0
    return factor
