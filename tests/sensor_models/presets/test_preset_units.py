"""Units of datasheets: what they are in SI units."""

import math

import pytest

from sensor_models.presets import units
from tests.sensor_models.presets.preset_files import parameters


# Exact where the factor is; else two roundings of 1.1e-16 each, one here and one there.
@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (180, "deg", math.pi),
        (1, "turn", math.tau),
        (360, "deg/s", math.tau),
        (360 * 3600, "deg/h", math.tau),
        (60, "rpm", math.tau),
        (180, "deg/s/K", math.pi),
        (180, "deg/s/sqrt(Hz)", math.pi),
        (180 * 60, "deg/sqrt(h)", math.pi),  # x deg/sqrt(3600 s)
        (180 * 9.80665, "deg/s/g", math.pi),
        (2, "g", 19.6133),
        (1000, "mg", 9.80665),
        (1e6, "ug", 9.80665),
        (1000, "mg/K", 9.80665),
        (1000, "mg/sqrt(Hz)", 9.80665),
        (1e6, "ug/sqrt(Hz)", 9.80665),
        (60, "m/s/sqrt(h)", 1.0),  # x m/s / sqrt(3600 s)
        (1e3, "mT", 1.0),
        (1e6, "uT", 1.0),
        (1e9, "nT", 1.0),
        (1e9, "nT/sqrt(Hz)", 1.0),
        (1e4, "gauss", 1.0),
        (1e7, "mgauss", 1.0),
        (1e10, "ugauss/sqrt(Hz)", 1.0),
        (100, "cm", 1.0),
        (1000, "mm", 1.0),
        (1e6, "um", 1.0),
        (1e9, "nm", 1.0),
        (1000, "ms", 1.0),
        (1e6, "us", 1.0),
        (1e9, "ns", 1.0),
        (0.001, "kHz", 1.0),
        (1e-6, "MHz", 1.0),
        (100, "%", 1.0),
        (100, "%/K", 1.0),
        (1e6, "ppm/K", 1.0),
        (2, "rad", 2.0),
        (2e3, "mrad", 2.0),
        (2e6, "urad", 2.0),
        (180e3, "mdeg", math.pi),
        (180 * 60, "arcmin", math.pi),
        (180 * 3600, "arcsec", math.pi),
        (2, "rad/s", 2.0),
        (2e3, "mrad/s", 2.0),
        (180e3, "mdeg/s", math.pi),
        (180 * 60, "deg/min", math.pi),
        (2, "rad/s2", 2.0),
        (180, "deg/s2", math.pi),
        (180e3, "mdeg/s/K", math.pi),
        (180 * 3600, "deg/h/K", math.pi),
        (2, "rad/s/sqrt(Hz)", 2.0),
        (180e3, "mdeg/s/sqrt(Hz)", math.pi),
        (180 * 3600, "deg/h/sqrt(Hz)", math.pi),
        (180e3 * 9.80665, "mdeg/s/g", math.pi),
        (180 * 3600 * 9.80665, "deg/h/g", math.pi),
        (180, "deg/s/LSB", math.pi),
        (180e3, "mdeg/s/LSB", math.pi),
        (2, "m/s2", 2.0),
        (2, "m/s2/K", 2.0),
        (1e6, "ug/K", 9.80665),
        (2, "m/s2/sqrt(Hz)", 2.0),
        (1e3, "mg/LSB", 9.80665),
        (1e6, "ug/LSB", 9.80665),
        (2, "T", 2.0),
        (1e6, "uT/K", 1.0),
        (1e9, "nT/K", 1.0),
        (1e6, "uT/sqrt(Hz)", 1.0),
        (1e12, "pT/sqrt(Hz)", 1.0),
        (1e6, "uT/LSB", 1.0),
        (1e9, "nT/LSB", 1.0),
        (1e7, "mgauss/K", 1.0),
        (1e7, "mgauss/sqrt(Hz)", 1.0),
        (1e7, "mgauss/LSB", 1.0),
        (2, "m", 2.0),
        (0.002, "km", 2.0),
        (100, "in", 2.54),
        (100, "ft", 30.48),
        (2, "1/m", 2.0),
        (2e3, "1/km", 2.0),
        (2, "m/s", 2.0),
        (200, "cm/s", 2.0),
        (2e3, "mm/s", 2.0),
        (36, "km/h", 10.0),
        (2, "s", 2.0),
        (1e12, "ps", 1.0),
        (2, "min", 120.0),
        (2, "h", 7200.0),
        (2, "Hz", 2.0),
        (1e-9, "GHz", 1.0),
        (2, "K", 2.0),
        (2, "W", 2.0),
        (1e3, "mW", 1.0),
        (1e6, "uW", 1.0),
        (1e9, "nW", 1.0),
        (2, "A", 2.0),
        (1e9, "nA", 1.0),
        (1e12, "pA", 1.0),
        (2, "A/sqrt(Hz)", 2.0),
        (1e12, "pA/sqrt(Hz)", 1.0),
        (2, "V", 2.0),
        (1e3, "mV", 1.0),
        (2, "V/A", 2.0),
        (0.002, "kV/A", 2.0),
        (2, "1", 2.0),
        (1e6, "ppm", 1.0),
        (2, "1/K", 2.0),
        (2, "LSB/mg", 4.903325e-3),
        (1e-3, "LSB/mT", 1.0),
        (4, "cpr", math.pi / 2),
        (3, "bits per turn", math.pi / 4),
        (0.5, "LSB/(deg/s)", math.pi / 90),
        (2, "LSB/g", 4.903325),
        (1e-6, "LSB/uT", 1.0),
        (2, "LSB/gauss", 0.00005),
    ],
)
def test_units_are_converted_to_si(tmp_path, value, unit, expected):
    result = parameters(tmp_path, f'a = {{ value = {value}, unit = "{unit}" }}')["a"]
    assert isinstance(result, float)
    assert result == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("written_so", "unit"),
    [
        ("µg/√Hz", "ug/sqrt(Hz)"),
        ("\N{GREEK SMALL LETTER MU}T", "uT"),
        ("°/s/√Hz", "deg/s/sqrt(Hz)"),
        ("dps", "deg/s"),
        ("mdps/rtHz", "mdeg/s/sqrt(Hz)"),
        ("°/√h", "deg/sqrt(h)"),
        ("m/s²", "m/s2"),
        ("m/s^2/√Hz", "m/s2/sqrt(Hz)"),
        ("mg/°C", "mg/K"),
        ("ppm/degC", "ppm/K"),
        ("°", "deg"),
        ("LSB/Gauss", "LSB/gauss"),
        ("LSB/dps", "LSB/(deg/s)"),
    ],
)
def test_units_are_written_as_on_datasheets(written_so, unit):
    assert units.converted(3.0, written_so) == units.converted(3.0, unit)


def test_every_unit_is_one_that_is_tested():
    tested = {
        mark.args[1][row][1]
        for mark in test_units_are_converted_to_si.pytestmark
        for row in range(len(mark.args[1]))
    }
    assert tested == {*units.FACTORS, *units.DIVISIONS}
