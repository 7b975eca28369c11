"""Magnetic fields: dipoles, sums, and the Earth against published values."""

import datetime
import math

import numpy as np
import pygeomag
import pytest

from sensor_models.catalog import spec_of
from sensor_models.core.earth_magnetism import decimal_year
from sensor_models.core.quantities import ParameterError
from sensor_models.core.sensor import Held, Inputs, Setup
from sensor_models.core.spec import Groups, scalars_of
from sensor_models.inertial.magnetic_field import (
    EarthParameters,
    MagneticField,
    dipole,
    earth_field,
    function_of_place,
    uniform,
)

#: Test values that NOAA/NCEI publishes with WMM2025: year, height in km, latitude and longitude
#: in degrees, then the components north, east and down in nT, to whole nT.
PUBLISHED = [
    (2025.0, 28, 89, -121, -255, -1482, 56194),
    (2025.0, 65, 43, 93, 24300, 211, 50038),
    (2025.0, 51, -33, 109, 21738, -2090, -52710),
    (2025.0, 18, 0, 21, 29275, 660, -14317),
    (2025.5, 6, -36, -137, 23782, 8787, -32578),
    (2026.0, 83, 86, -46, 2582, -1528, 54279),
    (2026.5, 14, 0, 80, 39431, -2133, -12189),
    (2026.5, 12, -79, 115, -9614, -8786, -58104),
    (2027.0, 54, 54, 178, 20616, 225, 45150),
    (2027.5, 0, -13, -59, 21366, -6733, -6112),
    (2028.0, 75, 79, 125, 2448, -823, 57309),
    (2028.5, 11, 34, 0, 29078, 798, 30946),
    (2029.0, 49, -50, -179, 15315, 9610, -53523),
    (2029.5, 31, 13, -132, 27796, 4421, 17188),
]


@pytest.mark.acceptance("MAG-3")
@pytest.mark.parametrize("moment", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_mag_3_a_dipole_is_twice_as_strong_on_its_axis_as_beside_it(moment):
    field = dipole((0.0, 0.0, 0.0), moment)
    beside = np.roll(moment, 1)
    # the tolerance of the acceptance row is 1e-12; a few roundings are less
    assert field.at(moment) == pytest.approx(2e-7 * np.array(moment), abs=1e-21)
    assert field.at(beside) == pytest.approx(-1e-7 * np.array(moment), abs=1e-21)


def test_a_dipole_is_the_gradient_of_its_potential():
    place, moment = np.array([0.3, -0.2, 0.5]), np.array([0.5, 1.5, -0.7])
    field = dipole(tuple(place), tuple(moment))

    def potential(point):
        way = point - place
        return 1e-7 * (moment @ way) / np.linalg.norm(way) ** 3

    step = 1e-5
    for point in np.random.default_rng(2).normal(size=(20, 3)) * 2.0:
        steps = step * np.eye(3)
        rise = [(potential(point + s) - potential(point - s)) / (2 * step) for s in steps]
        # the distances are 0.4 m and more: differences of second order are good to
        # (step / distance)^2, and rounding to 1e-16 / step
        size = 1e-7 * np.linalg.norm(moment) / np.linalg.norm(point - place) ** 3
        assert field.at(point) == pytest.approx(-np.array(rise), abs=1e-8 * size)


def test_fields_add_up():
    parts = [
        uniform((1e-5, 2e-5, 3e-5)),
        uniform((0.0, -1e-5, 0.0)),
        dipole((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        dipole((0.0, 1.0, 0.0), (2.0, 0.0, 1.0)),
        function_of_place(lambda position: 1e-6 * position),
    ]
    total = sum(parts, start=MagneticField())
    point = (0.3, 0.4, -0.5)
    expected = np.sum([part.at(point) for part in parts], axis=0)
    # rounding of 1e-5 T
    assert total.at(point) == pytest.approx(expected, abs=1e-19)


def test_fields_are_equal_by_what_they_are_made_of():
    assert uniform((1.0, 2.0, 3.0)) == MagneticField(uniform=(1.0, 2.0, 3.0))
    assert dipole((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)) != dipole((0.0, 0.0, 0.0), (2.0, 0.0, 0.0))


def test_there_is_no_field_at_a_dipole():
    with pytest.raises(ParameterError, match=r"magnetic field at \[1\.0, 0\.0, 0\.0\] m is not"):
        dipole((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)).at((1.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: uniform((1.0, math.nan, 0.0)), "uniform field = .* T is no vector"),
        (lambda: dipole((1.0, 2.0), (0.0, 0.0, 1.0)), "position of a dipole = .* m is no vector"),
        (lambda: dipole((0.0,) * 3, (math.inf, 0.0, 0.0)), "moment of a dipole = .* A m2 is no"),
        (lambda: uniform((0.0,) * 3).at((0.0, 0.0)), "position = .* m is no vector of three"),
    ],
)
def test_what_is_no_vector_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_a_function_that_gives_no_vector_is_refused():
    with pytest.raises(ValueError, match=r"a field function gave shape \(2,\)"):
        function_of_place(lambda position: position[:2]).at((0.0, 0.0, 0.0))


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row[2]}_{row[3]}_{row[0]}")
def test_the_earth_has_the_published_field(row):
    year, height, latitude, longitude, north, east, down = row
    field = earth_field(math.radians(latitude), math.radians(longitude), 1000.0 * height, year)
    found = 1e9 * field.at((0.0, 0.0, 0.0))
    # the values are printed to 1 nT
    assert found == pytest.approx([east, north, -down], abs=0.51)


def test_the_earth_has_the_field_of_the_worked_example_of_the_report():
    # WMM2025 report, table 3b: 2027.5, 100 km, 80 degrees south, 240 degrees east, printed to
    # ten decimals
    field = earth_field(math.radians(-80.0), math.radians(240.0), 100_000.0, 2027.5)
    expected = [14760.1359757868, 5983.9760496518, 49317.6706154255]
    # the package rounds an axis of the ellipsoid to 1e-4 m; the field changes by 0.02 nT/m
    assert 1e9 * field.at((0.0, 0.0, 0.0)) == pytest.approx(expected, abs=2e-6)


def test_the_earth_has_the_field_that_the_package_computes():
    found = pygeomag.GeoMag(base_year=2025).calculate(48.1, 11.6, 0.5, 2026.25)
    field = earth_field(math.radians(48.1), math.radians(11.6), 500.0, 2026.25)
    # degrees go through rad and back
    expected = [found.y, found.x, -found.z]
    assert 1e9 * field.at((5.0, 6.0, 7.0)) == pytest.approx(expected, abs=1e-7)


def test_a_magnetometer_may_be_in_the_field_of_the_earth():
    given = {
        "earth.on": True,
        "earth.latitude": math.radians(48.1),
        "earth.longitude": math.radians(11.6),
        "earth.height": 500.0,
        "earth.year": 2026.25,
    }
    for name, prefix, field in [
        ("Magnetometer", "", "flux_density"),
        ("Imu", "magnetometer.", "magnetometer"),
    ]:
        spec = spec_of(name)
        parameters = spec.build({f"{prefix}{key}": value for key, value in given.items()})
        sensor = spec.make(Setup(spec, parameters, "earth"))
        held = Held(Groups({group: group.declaring() for group in spec.held}))
        (sample,) = sensor.begin(Inputs(spec.start_state(), held, held))
        names = [part for part, _, _ in scalars_of(spec.readings)]
        found = [sample.values[names.index(f"{field}.{axis}")] for axis in "xyz"]
        earth = earth_field(math.radians(48.1), math.radians(11.6), 500.0, 2026.25)
        assert found == earth.at((0.0, 0.0, 0.0)).tolist()
    assert EarthParameters().field() is None
    with pytest.raises(ParameterError, match=r"earth\.year = 2030\.5 is out of range"):
        EarthParameters(year=2030.5)


def test_a_date_is_a_year_with_its_fraction():
    assert decimal_year(datetime.date(2026, 1, 1)) == 2026.0
    assert decimal_year(datetime.date(2028, 7, 1)) == 2028 + 182 / 366
    assert decimal_year(datetime.datetime(2025, 12, 31, 23, 59)) == 2025 + 364 / 365
    place = (0.8, 0.2, 100.0)
    assert earth_field(*place, datetime.date(2027, 1, 1)) == earth_field(*place, 2027)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((1.6, 0.0, 0.0, 2026.0), r"latitude = 1\.6 rad is out of range, allowed is -1\.5708 to"),
        ((0.0, math.nan, 0.0, 2026.0), r"longitude = nan rad is out of range"),
        ((0.0, 0.0, 1e6, 2026.0), r"height = 1000000\.0 m is out of range, allowed is -1000 to"),
        ((0.0, 0.0, 0.0, 2024.9), r"date = 2024\.9 \(year\) is out of range, allowed is 2025 to"),
        ((0.0, 0.0, 0.0, datetime.date(2031, 1, 1)), r"date = 2031\.0 \(year\) is out of range"),
    ],
)
def test_a_place_or_date_without_model_is_refused(place, message):
    with pytest.raises(ParameterError, match=message):
        earth_field(*place)
