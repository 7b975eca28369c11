"""Sensors by the names of their presets and parameters."""

import dataclasses
import math

import numpy as np
import pytest

from sensor_models.camera.named import named_camera
from sensor_models.core.named import converted
from sensor_models.core.quantities import ParameterError, Quantity
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


REAL = Quantity("real", "level", "A level", 0.0)
WHOLE = Quantity("integer", "count", "A count", 0)
SWITCH = Quantity("boolean", "on", "Whether", False)
TEXT = Quantity("string", "file", "A path", "")


@pytest.mark.parametrize(
    ("quantity", "given", "expected"),
    [
        (REAL, 3, 3.0),
        (REAL, np.int32(3), 3.0),
        (REAL, 0.1, 0.1),
        (WHOLE, 3.0, 3),
        (WHOLE, -4, -4),
        (WHOLE, np.float64(2**31 - 1), 2**31 - 1),
        (SWITCH, True, True),
        (SWITCH, np.False_, False),
        (TEXT, "3", "3"),
    ],
)
def test_a_value_takes_the_type_of_its_parameter(quantity, given, expected):
    (value,) = converted({"x": quantity}, {"x": given}, "here").values()
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("quantity", "given", "message"),
    [
        (REAL, True, "x = True must be a number"),
        (REAL, "3", "x = '3' must be a number"),
        pytest.param(REAL, 10**400, "must be a number", id="400 digits"),
        pytest.param(REAL, 16**20_000, "a number of 80001 bits must be", id="80001 bits"),
        (WHOLE, 3.5, "x = 3.5 must be a whole number"),
        (WHOLE, math.inf, "x = inf must be a whole number"),
        (WHOLE, math.nan, "x = nan must be a whole number"),
        (WHOLE, False, "x = False must be a whole number"),
        (WHOLE, 2**31, "x = 2147483648 is out of range"),
        (SWITCH, 1, "x = 1 must be true or false"),
        (SWITCH, "true", "x = 'true' must be true or false"),
        (TEXT, 1.5, "x = 1.5 must be a text"),
        (TEXT, True, "x = True must be a text"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_where_it_is_from(quantity, given, message):
    bounded = dataclasses.replace(quantity, maximum=2**31 - 1)
    with pytest.raises(ParameterError) as told:
        converted({"x": bounded}, {"x": given}, "preset file one.toml")
    assert str(told.value).startswith("preset file one.toml: x = ")
    assert message in str(told.value)


def test_settings_take_the_type_of_their_parameter_too():
    camera, rate = named_camera("", {"min_range": 1, "width": 64.0, "sample_rate": 5})
    found = camera.parameters.min_range, camera.parameters.width, rate
    assert found == (1.0, 64, 5.0)
    assert [type(value) for value in found] == [float, int, float]
    with pytest.raises(ParameterError, match=r"width = 64\.5 must be a whole number"):
        named_camera("", {"width": 64.5})
