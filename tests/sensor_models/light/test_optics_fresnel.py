"""Fresnel and Snell for arrays: shapes, and the same numbers as one by one."""

import math

import numpy as np
import pytest

from sensor_models.kernels.light import fresnel as kernel
from sensor_models.light import fresnel


def test_reflectance_keeps_the_shape_of_its_angles():
    cosines = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    result = fresnel.reflectance(cosines, 1.2, 7.26, outside=1.33)
    assert result.shape == (2, 3)
    assert result[1, 2] == kernel.reflectance_at_normal(1.33, 1.2, 7.26)
    assert result[0, 1] == kernel.reflectance(1.33, 1.2, 7.26, cosines[0, 1])


def test_reflectance_of_one_angle_is_a_number():
    assert float(fresnel.reflectance(1.0, 1.5)) == pytest.approx(0.04, abs=1e-15)  # a rounding


def test_rays_are_split_one_by_one():
    angles = np.radians([0.0, 30.0, 40.0, 42.0, 80.0])
    rays = np.stack([np.sin(angles), 0.0 * angles, -np.cos(angles)], axis=1)
    split = fresnel.split(rays, [0.0, 0.0, 1.0], ior=1.0, outside=1.5)
    assert np.array_equal(split.reflected, rays * [1.0, 1.0, -1.0])
    assert split.reflectance[3:].tolist() == [1.0, 1.0]
    assert np.all(np.isnan(split.refracted[3:]))
    # Snell's law: what lies in the plane is multiplied by the ratio of the indices
    assert split.refracted[:3, 0] == pytest.approx(1.5 * np.sin(angles[:3]), abs=1e-15)
    assert np.linalg.norm(split.refracted[:3], axis=1) == pytest.approx(1.0, abs=1e-14)
    assert split.reflectance[2] == pytest.approx(0.245291, abs=1e-6)  # row FR-5


def test_one_ray_may_meet_many_interfaces():
    normals = np.array([[0.0, 0.0, 1.0], [math.sqrt(0.5), 0.0, math.sqrt(0.5)]])
    split = fresnel.split([0.0, 0.0, -1.0], normals, ior=1.5)
    # products of roots
    assert split.reflected == pytest.approx(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), abs=1e-15)
