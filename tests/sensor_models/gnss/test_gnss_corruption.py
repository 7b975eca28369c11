"""Constant errors, codes and limits of a receiver's report, each alone and by its closed form."""

import math
from typing import Any

import numpy as np
import pymap3d
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.frames import MountParameters
from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError
from sensor_models.gnss.corruption import ReportErrors
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import ErrorMode, GnssParameters
from sensor_models.kernels.gnss import layout as at
from tests.trajectories import body_state

PLACE = Georeference(math.radians(-33.9), math.radians(151.2), 20.0)
STATE = body_state((120.0, -40.0, 3.125), velocity=(3.37, -0.37, 0.91))
IDEAL = GnssParameters(error_mode=ErrorMode.off)


def report(**errors: Any) -> list[float]:
    reading = Gnss(IDEAL, None, PLACE, errors=ReportErrors(**errors)).sample(0, 0.0, STATE)
    return [reading.latitude, reading.longitude, reading.height, *reading.velocity]


TRUTH = report()


def test_a_bias_is_in_metres_to_east_north_and_up() -> None:
    bias, drift = (12.0, -7.5, 3.25), (0.5, -0.25, 0.125)
    found = report(bias_position=bias, bias_velocity=drift)
    assert pymap3d.geodetic2enu(*found[:3], *TRUTH[:3], deg=False) == pytest.approx(bias, abs=1e-6)
    assert found[3:] == [true + error for true, error in zip(TRUTH[3:], drift, strict=True)]
    assert report(bias_velocity=drift)[3:] == found[3:]


def test_codes_are_multiples_of_the_step_and_of_each_signal_alone() -> None:
    found = report(discretization_on=True, discretization_lsb_velocity=(0.1, 0.0, 0.4))
    assert found == pytest.approx([*TRUTH[:3], 3.3, TRUTH[4], 0.8], rel=1e-15)
    floor = {"discretization_on": True, "discretization_mode": RoundingMode.floor}
    found = report(**floor, discretization_lsb_velocity=(0.1, 0.1, 0.1))
    assert found[3:] == pytest.approx([3.3, -0.4, 0.9])
    found = report(**floor, discretization_lsb_angle=(1e-3, 2e-3), discretization_lsb_height=0.5)
    steps = np.array([1e-3, 2e-3, 0.5])
    assert found[:3] == pytest.approx(steps * np.floor(TRUTH[:3] / steps))


def test_limits_are_those_of_each_signal() -> None:
    found = report(
        saturation_on=True,
        saturation_min_angle=(-0.5, 2.8),
        saturation_max_angle=(0.5, 3.0),
        saturation_max_height=5.0,
        saturation_min_velocity=(3.5, -1.0, -1.0),
        saturation_max_velocity=(4.0, -0.5, 1.0),
    )
    assert found == [-0.5, 2.8, 5.0, 3.5, -0.5, TRUTH[5]]


def test_the_model_alone_reports_the_same() -> None:
    errors = ReportErrors(
        bias_position=(3.0, -2.0, 1.0),
        discretization_on=True,
        discretization_lsb_height=0.5,
        saturation_on=True,
        saturation_max_velocity=(2.0, 2.0, 2.0),
    )
    own, mount = GnssParameters(), MountParameters()
    one, other = (Gnss(own, mount, PLACE, seed=3, errors=errors) for _ in range(2))
    batch = other.sample_batch(0, [0.0, 0.5, 1.0], np.tile(STATE[:13], (3, 1)))
    for number in range(3):
        reading = one.sample(number, 0.5 * number, STATE)
        row = batch[number].tolist()
        assert (reading.latitude, reading.longitude) == (row[at.LATITUDE], row[at.LONGITUDE])
        assert (reading.height, reading.velocity) == (row[at.HEIGHT], tuple(row[4:7]))
        assert reading.height % 0.5 == 0.0
        assert reading.velocity[0] == 2.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"saturation_min_height": 5.0, "saturation_max_height": 1.0},
            r"saturation\.min\.height = 5\.0 m is above saturation\.max\.height = 1\.0 m",
        ),
        (
            {"discretization_bits": 8, "discretization_lsb_height": 0.1},
            "exclude each other",
        ),
        (
            {"discretization_on": True, "discretization_bits": 8},
            r"needs saturation\.min\.height and saturation\.max\.height",
        ),
        (
            {
                "saturation_on": True,
                "saturation_min_velocity": (0.1,) * 3,
                "saturation_max_velocity": (0.2,) * 3,
                "discretization_on": True,
                "discretization_lsb_velocity": (0.5,) * 3,
            },
            r"saturation\.min\.velocity\.east = 0\.1 and saturation\.max\.velocity\.east = 0\.2"
            " have no code between them",
        ),
    ],
)
def test_errors_that_cannot_be_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ReportErrors(**given)
