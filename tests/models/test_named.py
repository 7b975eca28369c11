"""Sensors by the names of their presets and parameters."""

import numpy as np
import pytest

from sensor_models.camera.named import named_camera
from sensor_models.core.quantities import ParameterError
from sensor_models.inertial.named import named_imu
from sensor_models.presets import load_preset


def test_a_camera_has_the_numbers_of_its_preset_and_of_its_settings():
    preset = load_preset("DepthCamera", "D455")
    camera, rate = named_camera("D455", {"width": 64, "mount.position.z": 1.5})
    assert camera.parameters.width == 64
    assert camera.parameters.height == preset["height"]
    assert camera.mount.position == (0.0, 0.0, 1.5)
    assert rate == preset["sample_rate"]
    with pytest.raises(ParameterError, match="did you mean width"):
        named_camera("", {"widht": 3})


def test_noise_of_a_named_imu_goes_by_its_seed_and_name():
    settings = {"seed": 5, "sample_rate": 100.0}
    imu, rate = named_imu("VN-100", settings, identity="imu")
    assert rate == 100.0
    times, bodies = np.arange(50) / rate, np.tile([0, 0, 0, 1.0] + [0.0] * 9, (50, 1))
    one = imu.sample_batch(0, times, bodies)
    again, _ = named_imu("VN-100", settings, identity="imu")
    other, _ = named_imu("VN-100", settings, identity="other")
    np.testing.assert_array_equal(again.sample_batch(0, times, bodies), one)
    assert not np.array_equal(other.sample_batch(0, times, bodies), one)
