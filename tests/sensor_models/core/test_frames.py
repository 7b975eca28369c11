"""The state of a body as given from outside."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.core.frames import (
    BodyState,
    MountParameters,
    normalised_orientation,
    unit_orientation,
)
from sensor_models.core.quantities import ParameterError, check, quantities_of
from sensor_models.kernels.math import motion

NUMBERS = st.floats(-1e100, 1e100)


def scalars(state):
    """Names and values of all scalar parts, in the order of their declaration."""
    return [
        part
        for field, quantity in quantities_of(state).items()
        for part in quantity.parts(getattr(state, field))
    ]


def test_names_and_start_values_are_those_of_the_body_port():
    expected = [
        *((f"body.position.{axis}", 0.0) for axis in "xyz"),
        *zip((f"body.orientation.{axis}" for axis in "wxyz"), (1.0, 0.0, 0.0, 0.0), strict=True),
        *((f"body.velocity.{axis}", 0.0) for axis in "xyz"),
        *((f"body.angular_velocity.{axis}", 0.0) for axis in "xyz"),
    ]
    assert scalars(BodyState()) == expected


def test_scalars_lie_where_the_kernels_expect_them():
    names = [name for name, _ in scalars(BodyState())]
    assert names.index("body.position.x") == motion.POSITION
    assert names.index("body.orientation.w") == motion.ORIENTATION
    assert names.index("body.velocity.x") == motion.VELOCITY
    assert names.index("body.angular_velocity.x") == motion.ANGULAR_VELOCITY


def test_each_quantity_has_its_unit_and_says_its_frame():
    declared = quantities_of(BodyState).values()
    assert [quantity.unit for quantity in declared] == ["m", "1", "m/s", "rad/s"]
    assert all("world frame" in quantity.description for quantity in declared)


def test_a_state_that_is_not_finite_is_found_by_its_name():
    state = dataclasses.replace(BodyState(), velocity=(0.0, math.inf, 0.0))
    with pytest.raises(ParameterError, match=r"body\.velocity\.y = inf"):
        check(state)


def test_four_zeros_are_the_identity_and_not_connected():
    assert normalised_orientation(0.0, -0.0, 0.0, 0.0) == ((1.0, 0.0, 0.0, 0.0), False)


@pytest.mark.parametrize("scale", [1e-6 / 5, 1.0, 1e150])
def test_an_orientation_is_brought_to_unit_length(scale):
    orientation, connected = normalised_orientation(3 * scale, 0.0, -4 * scale, 0.0)
    assert connected
    # one rounding each of product and quotient
    assert orientation == pytest.approx((0.6, 0.0, -0.8, 0.0), abs=1e-15)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_an_orientation_is_of_unit_length_or_refused(w, x, y, z):
    if math.hypot(w, x, y, z) >= 1e-6 or w == x == y == z == 0.0:
        orientation, _ = normalised_orientation(w, x, y, z)
        # one rounding of each component
        assert math.hypot(*orientation) == pytest.approx(1.0, abs=1e-15)
    else:
        with pytest.raises(ParameterError):
            normalised_orientation(w, x, y, z)


@pytest.mark.parametrize(
    "values",
    [
        (math.nan, 0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0, math.inf),
        (math.inf, math.nan, 0.0, 0.0),
        (9.9e-7, 0.0, 0.0, 0.0),
        (0.0, 0.0, 5e-324, 0.0),
    ],
)
def test_an_orientation_without_direction_is_refused_by_name_and_value(values):
    with pytest.raises(ParameterError) as refusal:
        normalised_orientation(*values, name="mount.orientation")
    message = str(refusal.value)
    assert message.startswith(f"mount.orientation = {values}")
    assert "at least 1e-06" in message


def test_the_mount_has_the_names_of_the_interface_and_is_at_the_origin_by_default():
    expected = [
        *((f"mount.position.{axis}", 0.0) for axis in "xyz"),
        *zip((f"mount.orientation.{axis}" for axis in "wxyz"), (1.0, 0.0, 0.0, 0.0), strict=True),
    ]
    assert scalars(MountParameters()) == expected
    assert [quantity.unit for quantity in quantities_of(MountParameters).values()] == ["m", "1"]


def test_the_orientation_of_the_mount_is_brought_to_unit_length():
    mount = MountParameters(orientation=(0.0, 3.0, 0.0, -4.0))
    assert mount.orientation == (0.0, 0.6, 0.0, -0.8)
    assert dataclasses.replace(mount, position=(1.0, 2.0, 3.0)).orientation == mount.orientation


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"orientation": (0.0, 0.0, 0.0, 0.0)}, r"mount\.orientation = \(0\.0, 0\.0, 0\.0, 0\.0\)"),
        ({"orientation": (1e-7, 0.0, 0.0, 0.0)}, "has no direction, .* length of at least 1e-06$"),
        ({"orientation": (1.0, math.nan, 0.0, 0.0)}, r"mount\.orientation\.x = nan is not a"),
        ({"position": (0.0, 0.0, math.inf)}, r"mount\.position\.z = inf is not a finite number"),
        ({"position": (0.0, 0.0)}, r"mount\.position has 2 components, needs 3"),
    ],
)
def test_a_mount_without_place_or_direction_is_refused_by_name(wrong, message):
    with pytest.raises(ParameterError, match=message):
        MountParameters(**wrong)


def test_an_orientation_that_must_be_there_may_not_be_four_zeros():
    with pytest.raises(
        ParameterError, match=r"^there = \(0\.0, 0\.0, 0\.0, 0\.0\) has no direction"
    ):
        unit_orientation(0.0, 0.0, 0.0, 0.0, "there")
    assert unit_orientation(2.0, 0.0, 0.0, 0.0, "there") == (1.0, 0.0, 0.0, 0.0)
