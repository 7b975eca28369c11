"""Parameters of triaxial sensors: what they are called, and what is refused."""

import dataclasses
import math
from typing import ClassVar

import numpy as np
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.quantities import NO_LIMIT, ParameterError, quantities_of
from sensor_models.inertial.corruption import BoundMode, DriftType
from sensor_models.inertial.triaxial import (
    TriaxialParameters,
    has_limits,
    pack,
    stream_keys,
)
from sensor_models.kernels.inertial.sensing_element import RING_ROWS
from tests.chain import Triaxial

THREE = (1.0, 1.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Thermometers(TriaxialParameters):
    UNIT: ClassVar[str] = "K"


def test_choices_count_from_zero_in_the_order_of_the_interface():
    assert [t.name for t in DriftType] == ["none", "random_walk", "gauss_markov", "flicker"]
    assert [m.name for m in BoundMode] == ["truncated", "reflect", "pull", "clamp"]
    assert [m.name for m in RoundingMode] == ["toward_zero", "floor", "ceil", "round"]
    for choices in (DriftType, BoundMode, RoundingMode):
        assert [int(item) for item in choices] == list(range(4))


def test_names_are_those_of_the_interface():
    names = {
        name
        for quantity in quantities_of(TriaxialParameters).values()
        for name, _ in quantity.parts(quantity.default)
    }
    vectors = ["range.lower", "range.upper", "bias", "noise.rms", "noise.density", "drift.walk"]
    vectors += ["drift.bound", "scale", "discretization.lsb", "saturation.min", "saturation.max"]
    expected = {f"{vector}.{axis}" for vector in vectors for axis in "xyz"}
    expected |= {f"cross_axis.{row}{column}" for row in "xyz" for column in "xyz"}
    expected |= {"axes", "noise.bandwidth", "drift.type", "drift.time_constant"}
    expected |= {"drift.bound_mode", "discretization.on", "discretization.mode"}
    expected |= {"discretization.bits", "saturation.on", "saturation.average"}
    assert expected <= names


def test_a_kind_of_sensor_has_its_unit_in_all_places():
    units = {name: quantity.unit for name, quantity in quantities_of(Thermometers).items()}
    assert units["bias"] == "K"
    assert units["noise_density"] == "K/sqrt(Hz)"
    assert units["drift_walk"] == "K/sqrt(s)"
    assert units["bias_temperature"] == "K/K"
    assert units["scale_error"] == "1"
    with pytest.raises(
        ParameterError, match=r"range.lower.z = 2.0 K is above range.upper.z = 1.0 K"
    ):
        Thermometers(range_lower=(0.0, 0.0, 2.0), range_upper=THREE)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"axes": ""}, "axes = '' is not a choice of axes, allowed are x, y and z"),
        ({"axes": "xx"}, "axes = 'xx'"),
        ({"axes": "xw"}, "axes = 'xw'"),
        ({"bias": (0.0, math.nan, 0.0)}, "bias.y = nan is not a finite number"),
        ({"bias": (0.0, 0.0)}, "bias has 2 components, needs 3"),
        (
            {"noise_rms": (0.0, 0.0, -0.1)},
            "noise.rms.z = -0.1 is out of range, allowed is at least 0",
        ),
        ({"cross_axis": (1.0,) * 8}, "cross_axis has 8 components, needs 9"),
        (
            {"misalignment": (0.0, 0.0, 0.0, 0.0, 0.0, 0.6)},
            "misalignment.zy = 0.6 rad is out of range",
        ),
        ({"drift_time_constant": 0.0}, "drift.time_constant = 0.0 s is out of range"),
        ({"filter_order": 3}, "filter.order = 3 is out of range, allowed is 1 to 2"),
        (
            {"discretization_bits": 33},
            "discretization.bits = 33 is out of range, allowed is 0 to 32",
        ),
        ({"drift_type": 7}, r"drift.type = 7 is none of 0 \(none\), 1 \(random_walk\)"),
        (
            {"range_lower": (0.0, 2.0, 0.0), "range_upper": THREE},
            "range.lower.y = 2.0 is above range.upper.y = 1.0, allowed is at most that",
        ),
        (
            {"saturation_min": (2.0, 0.0, 0.0), "saturation_max": THREE},
            "saturation.min.x = 2.0 is above saturation.max.x = 1.0",
        ),
        (
            {"drift_type": DriftType.flicker},
            r"instability = \(0.0, 0.0, 0.0\) while drift.type is",
        ),
        (
            {"drift_type": DriftType.random_walk, "drift_stationary": True},
            "drift.stationary_start = True while drift.type is random_walk",
        ),
        (
            {"discretization_lsb": THREE, "discretization_bits": 8},
            "discretization.lsb = .* and discretization.bits = 8 exclude each other",
        ),
        (
            {"discretization_on": True, "discretization_bits": 8},
            "discretization.bits = 8 needs saturation.min.x and saturation.max.x",
        ),
        (
            {
                "discretization_on": True,
                "discretization_lsb": THREE,
                "saturation_on": True,
                "saturation_min": (0.0, 0.2, 0.0),
                "saturation_max": (1.0, 0.8, 1.0),
            },
            "saturation.min.y = 0.2 and saturation.max.y = 0.8 have no code between them",
        ),
    ],
)
def test_parameters_that_make_no_sensor_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        TriaxialParameters(**settings)


def test_equal_limits_and_any_order_of_axes_are_allowed():
    TriaxialParameters(axes="zyx", range_lower=THREE, range_upper=THREE)
    TriaxialParameters(saturation_on=True, saturation_min=THREE, saturation_max=THREE)
    TriaxialParameters(drift_type=DriftType.flicker, instability=(0.0, 0.0, 1e-9))


def test_bits_need_limits_on_the_axes_that_are_there():
    parameters = TriaxialParameters(
        axes="x",
        discretization_on=True,
        discretization_mode=RoundingMode.round,
        discretization_bits=2,
        saturation_on=True,
        saturation_min=(-1.0, -NO_LIMIT, 0.0),
        saturation_max=(1.0, NO_LIMIT, NO_LIMIT),
    )
    sensor = Triaxial(parameters)
    shown = [sensor.sample(k, float(k), (x, 0.3, 0.0))[0] for k, x in enumerate((-9, -0.4, 0.9, 7))]
    # a level is one product and one sum, each rounded
    assert shown == pytest.approx([-1.0, -1.0 / 3.0, 1.0, 1.0], abs=2e-16)
    assert sensor.stages.discrete[1] == 0.3


def test_an_axis_has_limits_if_both_are_given_and_on():
    limits = {"saturation_min": (-1.0, -1.0, -NO_LIMIT), "saturation_max": (1.0, NO_LIMIT, 1.0)}
    on, off = (TriaxialParameters(saturation_on=switch, **limits) for switch in (True, False))
    assert [has_limits(on, axis) for axis in range(3)] == [True, False, False]
    assert [has_limits(off, axis) for axis in range(3)] == [False, False, False]


@pytest.mark.parametrize("slow", [{"delay": 0.0631}, {"delay": 0.05, "jitter": 0.002}])
def test_a_delay_beyond_memory_is_refused(slow):
    parameters = TriaxialParameters(**slow)
    assert RING_ROWS == 64
    pack(parameters, 100.0)
    with pytest.raises(ParameterError, match=r"delay = .* reach .* s back .* at most 0.063 s"):
        pack(parameters, 1000.0)


@pytest.mark.parametrize("slow", [{"delay": 1e-3}, {"jitter": 1e-6}])
def test_a_delay_needs_a_declared_rate(slow):
    with pytest.raises(ParameterError, match="allowed is 0 s for both, or a sample_rate above 0"):
        pack(TriaxialParameters(**slow), 0.0)


def test_each_term_of_each_part_of_a_unit_has_a_key_of_its_own():
    keys = [
        tuple(key)
        for seed, sensor, prefix in [(1, "imu", ""), (2, "imu", ""), (1, "b", ""), (1, "imu", "g.")]
        for key in stream_keys(seed, sensor, prefix).tolist()
    ]
    assert len(set(keys)) == 4 * 5


def test_the_same_parameters_as_lists_leave_the_signal_as_it_is():
    cross_axis = list(np.eye(3).ravel())
    parameters = TriaxialParameters(cross_axis=cross_axis, range_lower=[-NO_LIMIT] * 3)
    assert math.copysign(1.0, Triaxial(parameters).sample(0, 0.0, (-0.0, 0.0, 0.0))[0]) == -1.0
