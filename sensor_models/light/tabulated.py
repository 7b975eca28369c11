"""Tabulated surfaces as the kernels take them; equations: ``kernels.light.tabulated``."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.kernels.light import surfaces as surface_kernel
from sensor_models.kernels.light import tabulated as kernel
from sensor_models.scene.brdf import along_equal_angles, even_reflectance, resampled
from sensor_models.scene.model import Brdf, SurfaceParameters

Floats = NDArray[np.float64]


def curves_of(brdf: Brdf) -> Floats:
    """What a lidar needs of a table: the ways back, and in the mirror direction."""
    theta = np.linspace(0.0, 0.5 * math.pi, kernel.CURVE)
    return np.concatenate([along_equal_angles(brdf, turn, theta) for turn in (0.0, math.pi)])


def block_of(brdf: Brdf) -> Floats:
    """What a camera needs of a table.

    It looks for all light by rays to all sides, so none of it goes on in the mirror direction.
    """
    shape = resampled(brdf, kernel.THETAS, kernel.PHIS)
    whole = even_reflectance(brdf)
    shape = shape / whole if whole > 0.0 else np.full_like(shape, 1.0 / math.pi)
    return np.concatenate([np.zeros(kernel.SHAPE), shape.ravel()])


def lidar_tables(numbers: Sequence[SurfaceParameters], surfaces: Floats) -> Floats:
    """The tables of surfaces for a lidar; where each begins is written into its row."""
    blocks = [None if one.brdf is None else curves_of(one.brdf) for one in numbers]
    for row, block in zip(surfaces, blocks, strict=True):
        if block is not None:
            row[surface_kernel.SLOPE_SQUARED] = _least_slope(block[kernel.CURVE :])
    return _laid_out(blocks, surfaces)


def camera_tables(numbers: Sequence[SurfaceParameters], surfaces: Floats) -> Floats:
    """The tables of surfaces for a camera; where each begins is written into its row."""
    blocks = [None if one.brdf is None else block_of(one.brdf) for one in numbers]
    return _laid_out(blocks, surfaces)


def _laid_out(blocks: Sequence[Floats | None], surfaces: Floats) -> Floats:
    start, there = 0, []
    for row, block in zip(surfaces, blocks, strict=True):
        if block is not None:
            row[surface_kernel.BASE] = start
            start += len(block)
            there.append(block)
    return np.concatenate(there) if there else np.zeros(0)


def _least_slope(mirror: Floats) -> float:
    """A roughness with which a coat mirrors no less than the table does at any angle."""
    cosine = np.cos(np.linspace(0.0, 0.5 * math.pi, kernel.CURVE))
    most = float((4.0 * math.pi * mirror * cosine * cosine).max())
    return 1.0 / most if most > 0.0 else 1e12


def shape(brdf: Brdf, lights: ArrayLike, viewers: ArrayLike) -> Floats:
    """The shape of a table in 1/sr, (n,), for directions of unit length, (n, 3), from z = 0."""
    row = np.zeros((1, surface_kernel.SURFACE_SIZE))
    row[0, surface_kernel.KIND] = surface_kernel.TABULATED
    tables = _laid_out([block_of(brdf)], row)
    light, viewer = (np.ascontiguousarray(each, np.float64) for each in (lights, viewers))
    result = np.empty(len(light))
    kernel.shape_of_each(tables, row, light, viewer, result)
    return result
