"""The lidars among the presets, against the numbers of their datasheets."""

import dataclasses
import math

import numpy as np
import pytest

from sensor_models.core.quantities import quantities_of
from sensor_models.lidar.patterns import PatternParameters, ScanPattern, make_pattern
from sensor_models.presets import list_presets, load_preset

#: Rays per second, beams, lowest and highest elevation in deg; how far those may be off, in deg.
#: Ouster's sheets state the rays of the fastest modes, twice those of the default one, 1024 x 10.
#: Calibrated beams end up to 1.3 deg from the nominal limits, ideal ones at them.
SHEETS = {
    "OS0-128": (1_310_720, 128, -45.0, 45.0, 1.3),
    "OS1-64": (655_360, 64, -16.6, 16.6, 0.15),
    "OS1-128": (1_310_720, 128, -22.5, 22.5, 1.6),
    "VLP-16": (16 / 55.296e-6, 16, -15.0, 15.0, 1e-9),
    "HDL-64E": (1.333e6, 64, -24.8, 2.0, 0.1),
    "LMS-291": (181 * 75, 1, 0.0, 0.0, 1e-9),
    "Mid-360": (200_000, 4, -7.0, 52.0, 0.15),
    "Avia": (240_000, 6, -77.2 / 2, 77.2 / 2, 0.1),
}
FULL_TURN = ["OS0-128", "OS1-64", "OS1-128", "VLP-16", "HDL-64E", "Mid-360"]
ROSETTES = ["Mid-360", "Avia"]

#: What other parameters a preset may set; they are not those of a pattern.
OTHERS = {
    "sample_rate",
    "scan_mode",
    "min_range",
    "max_range",
    "min_intensity",
    "range_step",
    "return_mode",
    "wavelength",
    "beam.on",
    "beam.divergence_half_angle",
    "beam.emitter_radius",
    "noise.distance_sigma_base",
    "noise.azimuth_sigma",
    "noise.elevation_sigma",
    "intensity.kind",
    "intensity.bits",
}


def pattern_parameters(name):
    """The pattern's parameters of a preset, by field; what belongs to no pattern is left."""
    left = load_preset("Lidar", name)
    given = {}
    for field, quantity in quantities_of(PatternParameters).items():
        default = next(f.default for f in dataclasses.fields(PatternParameters) if f.name == field)
        parts = [left.pop(part, value) for part, value in quantity.parts(default)]
        if quantity.choices is not None and isinstance(parts[0], str):
            parts = [quantity.choices[parts[0]]]
        given[field] = tuple(parts) if quantity.components else parts[0]
    return given, left


def pattern_of(name) -> tuple[ScanPattern, float]:
    given, left = pattern_parameters(name)
    rate = left["sample_rate"]
    return make_pattern(PatternParameters(**given), 1.0 / rate), rate


def degrees_of(pattern, frames=1):
    angles = np.concatenate([pattern.angles(frame) for frame in range(frames)], axis=1)
    return np.degrees(angles)


def test_the_lidars_are_there():
    assert set(SHEETS) <= set(list_presets("Lidar"))


@pytest.mark.parametrize("name", SHEETS)
def test_a_preset_sets_nothing_that_a_lidar_does_not_have(name):
    _, left = pattern_parameters(name)
    assert set(left) <= OTHERS
    assert 0.0 <= left.get("min_range", 0.0) < left["max_range"]
    assert left["scan_mode"] == "rolling"


@pytest.mark.parametrize("name", SHEETS)
def test_rays_per_second_and_beams_are_those_of_the_sheet(name):
    pattern, rate = pattern_of(name)
    rays, beams, *_ = SHEETS[name]
    assert pattern.rows == beams
    column = pattern.rows * rate  # rays a second that one column more would make
    assert abs(pattern.rows * pattern.columns * rate - rays) < column


@pytest.mark.parametrize("name", SHEETS)
def test_the_field_of_view_is_that_of_the_sheet(name):
    pattern, _ = pattern_of(name)
    _, _, low, high, off = SHEETS[name]
    elevation = degrees_of(pattern, 40 if name in ROSETTES else 1)[1]
    assert elevation.min() == pytest.approx(low, abs=off)
    assert elevation.max() == pytest.approx(high, abs=off)


@pytest.mark.parametrize("name", FULL_TURN)
def test_spinning_lidars_see_all_around_clockwise(name):
    pattern, _ = pattern_of(name)
    azimuth = degrees_of(pattern)[0].reshape(pattern.columns, pattern.rows)
    assert np.diff(np.sort(azimuth[:, 0]), append=azimuth[:, 0].min() + 360.0).max() < 2.0
    turned = np.diff(np.unwrap(azimuth[:, 0], period=360.0))
    assert (turned < 0.0).all()


def test_os1_beams_stand_in_four_staggered_columns():
    # the maker's azimuths count clockwise: the top beam of four leads by 4.2 deg
    pattern, _ = pattern_of("OS1-128")
    middle = degrees_of(pattern)[0].reshape(pattern.columns, pattern.rows)[512]
    np.testing.assert_allclose(middle[:4], (-4.21, -1.41, 1.40, 4.22), rtol=0, atol=1e-9)


def test_vlp_16_fires_its_lasers_in_the_order_of_the_manual():
    pattern, rate = pattern_of("VLP-16")
    duration = 1.0 / rate
    ring = pattern.ring[:16]
    assert list(ring) == [15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0]
    np.testing.assert_allclose(pattern.offset[:16] * duration, ring * 2.304e-6, rtol=1e-12)
    # a cycle of 55.296 us does not fit a turn exactly: within one of 1808
    cycles = np.diff(pattern.offset[::16]) * duration
    np.testing.assert_allclose(cycles, 55.296e-6, rtol=1.0 / 1808)


def test_hdl_64e_beams_are_those_of_its_calibration_in_pairs_of_both_blocks():
    pattern, rate = pattern_of("HDL-64E")
    ring, offset = pattern.ring[:64], pattern.offset[:64]
    when = dict(zip(ring.tolist(), offset / rate, strict=True))
    assert all(when[laser] == when[laser + 32] for laser in range(32))
    assert max(when.values()) == pytest.approx(23.3e-6 * 31 / 32, rel=1e-5)  # digits of the table
    elevation = pattern.angles(0)[1]
    steps = -np.diff(np.degrees(elevation[:64]))
    # a third of a degree in the upper block, half of one in the lower one
    assert np.median(steps[:31]) == pytest.approx(0.34, abs=0.01)
    assert np.median(steps[32:]) == pytest.approx(0.51, abs=0.01)


def test_lms_291_looks_from_right_to_left_in_half_of_a_turn():
    pattern, rate = pattern_of("LMS-291")
    azimuth = degrees_of(pattern)[0]
    np.testing.assert_allclose(azimuth, np.arange(-90.0, 91.0), rtol=0, atol=1e-12)
    # the mirror turns by 1 deg from ray to ray
    np.testing.assert_allclose(np.diff(pattern.offset) * 360.0, 1.0, rtol=1e-12)
    assert rate == 75.0


def test_avia_s_field_of_view_is_as_wide_as_in_its_manual():
    azimuth = degrees_of(pattern_of("Avia")[0], 40)[0]
    assert np.ptp(azimuth) == pytest.approx(70.4, abs=0.1)


@pytest.mark.parametrize("name", ROSETTES)
def test_rosettes_fill_their_field_of_view_frame_by_frame(name):
    pattern, _ = pattern_of(name)
    assert not pattern.repeats
    seen, counts = set(), []
    for frame in range(6):
        cells = np.floor(np.degrees(np.transpose(pattern.angles(frame))) / 0.5).astype(int)
        seen.update(map(tuple, cells))
        counts.append(len(seen))
    assert counts == sorted(set(counts))
    assert counts[5] > 1.5 * counts[0]


#: Number in the pattern that the maker publishes (5 us each), azimuth and zenith angle in deg, of
#: the first and the last beam of a group.
PUBLISHED = [
    (1, 268.99, 37.838, 269.0, 46.152),
    (201, 209.33, 40.541, 203.28, 43.986),
    (601, 78.732, 46.858, 82.42, 39.054),
    (901, 343.13, 42.879, 348.03, 45.711),
    (5385, 325.59, 70.329, 328.67, 74.282),
    (6085, 95.05, 78.18, 97.166, 74.138),
    (9865, 271.98, 91.1505, 272.13, 97.1589),
    (10541, 42.0, 96.0248, 45.154, 91.3323),
    (49873, 95.549, 97.1609, 95.149, 91.1586),
    (50001, 50.762, 96.5411, 54.696, 91.7848),
]


@pytest.mark.parametrize(("number", "az_0", "zenith_0", "az_3", "zenith_3"), PUBLISHED)
def test_mid_360_follows_the_pattern_that_its_maker_publishes(
    number, az_0, zenith_0, az_3, zenith_3
):
    pattern, _ = pattern_of("Mid-360")
    frame, column = divmod((number - 1) // 4, pattern.columns)
    rays = pattern.directions(frame).reshape(pattern.columns, 4, 3)[column, [0, 3]]
    azimuth, zenith = np.radians([az_0, az_3]), np.radians([zenith_0, zenith_3])
    published = np.stack(
        [np.sin(zenith) * np.cos(azimuth), np.sin(zenith) * np.sin(azimuth), np.cos(zenith)], -1
    )
    apart = np.degrees(np.arccos(np.sum(rays * published, axis=1)))
    # the fit is within 2.3 deg, and the mirror was then tilted to move rays by 0.5 deg
    assert apart.max() < 2.8


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OS0-128", {"wavelength": 865e-9, "range_step": 1e-3}),
        (
            "OS1-64",
            {
                "min_range": 0.8,
                "max_range": 120.0,
                "wavelength": 850e-9,
                # 0.13 deg at half of the maximum, exp(-2 r^2 / w^2) = 1/2
                "beam.divergence_half_angle": math.radians(0.13) / 2 / math.sqrt(math.log(2) / 2),
            },
        ),
        (
            "OS1-128",
            {"beam.divergence_half_angle": math.radians(0.18) / 2 / math.sqrt(math.log(2) / 2)},
        ),
        ("VLP-16", {"max_range": 100.0, "range_step": 2e-3, "noise.distance_sigma_base": 0.03}),
        ("HDL-64E", {"max_range": 120.0, "range_step": 2e-3, "noise.distance_sigma_base": 0.02}),
        (
            "LMS-291",
            {
                "beam.divergence_half_angle": 0.010 / 2,
                "beam.emitter_radius": 0.025 / 2,
                "range_step": 0.01,
            },
        ),
        (
            "Mid-360",
            {"min_range": 0.1, "max_range": 70.0, "noise.azimuth_sigma": math.radians(0.15)},
        ),
        (
            "Avia",
            {"min_range": 1.0, "max_range": 450.0, "noise.azimuth_sigma": math.radians(0.05)},
        ),
    ],
)
def test_numbers_are_those_of_the_sheet(name, expected):
    values = load_preset("Lidar", name)
    for key, value in expected.items():
        assert values[key] == pytest.approx(value, rel=1e-4), key  # five digits in the files


def returned(values, share: float, distance: float) -> float:
    """The raw intensity of a matt surface that is met at a right angle, in 1/sr."""
    half, detector = values["beam.divergence_half_angle"], 0.01
    spot = 2.0 * distance * math.tan(half) + values.get("beam.emitter_radius", 0.0)
    received = -math.expm1(-2.0 * (detector / spot) ** 2) / -math.expm1(-2.0)
    return share / math.pi * min(received, 1.0)


@pytest.mark.parametrize(
    ("name", "dark"),
    [
        ("OS0-128", 15.0),
        ("OS1-64", 40.0),
        ("OS1-128", 40.0),
        ("HDL-64E", 50.0),
        ("Mid-360", 40.0),
        ("Avia", 190.0),
    ],
)
def test_surfaces_of_a_tenth_are_seen_as_far_as_the_sheet_says(name, dark):
    """The law of the square of the range from one of the sheet's two ranges meets the other."""
    values = load_preset("Lidar", name)
    least = values["min_intensity"]
    assert values["beam.on"] == 1
    assert returned(values, 0.1, dark) >= least > returned(values, 0.1, 1.2 * dark)
    assert returned(values, 0.8, values["max_range"]) >= least
