"""Rays of the depth camera: the grid of GYM, the pinhole and its distortion."""

import math

import numpy as np
import pytest

from sensor_models.camera import DepthCameraParameters, Projection
from sensor_models.camera.depth.rays import pixel_rays, project
from sensor_models.core.quantities import ParameterError

#: The grid that the acceptance rows speak of.
GRID = DepthCameraParameters(projection=Projection.spherical, width=512, height=128)


def rays_of(parameters):
    return pixel_rays(parameters)[:, :, 0]


@pytest.mark.acceptance("GRID-1")
def test_grid_1_the_first_ray_goes_back_and_up():
    expected = (-0.70710678, 0.0, 0.70710678)
    np.testing.assert_allclose(rays_of(GRID)[0, 0], expected, rtol=0, atol=1e-7)  # the row's


@pytest.mark.acceptance("GRID-2")
def test_grid_2_a_ray_in_the_middle():
    x, y, z = rays_of(GRID)[63, 255]
    np.testing.assert_allclose((x, y, z), (0.99996198, 0.00614777, 0.00618420), rtol=0, atol=1e-7)
    assert math.degrees(math.atan2(y, x)) == pytest.approx(0.352250, abs=1e-6)  # its digits
    assert math.degrees(math.asin(z)) == pytest.approx(0.354331, abs=1e-6)


@pytest.mark.acceptance("GRID-3")
def test_grid_3_steps_and_the_column_where_the_turn_closes():
    rays = rays_of(GRID)
    azimuth = np.degrees(np.arctan2(rays[0, 1:, 1], rays[0, 1:, 0]))
    elevation = np.degrees(np.arcsin(rays[:, 0, 2]))
    np.testing.assert_allclose(-np.diff(azimuth[:-1]), 0.704501, rtol=0, atol=1e-6)  # digits
    np.testing.assert_allclose(-np.diff(elevation), 0.708661, rtol=0, atol=1e-6)
    assert np.abs(rays[5, 0] - rays[5, 511]).max() <= 1e-15  # the row's


@pytest.mark.acceptance("GRID-4")
@pytest.mark.parametrize(
    ("hfov", "height", "width", "vfov"),
    [(87.0, 270, 480, 56.1859), (90.0, 480, 640, 73.7398), (60.0, 128, 128, 60.0)],
)
def test_grid_4_square_pixels_tie_the_fields_of_view(hfov, height, width, vfov):
    camera = DepthCameraParameters(horizontal_fov=math.radians(hfov), height=height, width=width)
    assert math.degrees(camera.vertical_fov) == pytest.approx(vfov, abs=1e-4)  # the row's


def test_without_endpoint_the_columns_of_a_turn_are_spaced_evenly():
    grid = DepthCameraParameters(projection=Projection.spherical, width=8, height=1, endpoint=False)
    rays = rays_of(grid)[0]
    azimuth = np.arctan2(rays[:, 1], rays[:, 0])
    np.testing.assert_allclose(
        np.diff(np.unwrap(np.append(azimuth, azimuth[0]))), -math.tau / 8, atol=1e-14
    )


def test_one_row_and_one_column_look_to_the_middle():
    grid = DepthCameraParameters(
        projection=Projection.spherical, width=1, height=1, azimuth=(0.2, 0.6), elevation=(0.1, 0.3)
    )
    expected = (math.cos(0.4) * math.cos(0.2), math.sin(0.4) * math.cos(0.2), math.sin(0.2))
    np.testing.assert_allclose(rays_of(grid)[0, 0], expected, atol=1e-15)


def test_columns_of_a_pinhole_grow_to_the_right_and_rows_downward():
    rays = rays_of(DepthCameraParameters(width=4, height=3))
    assert (np.diff(rays[:, :, 1] / rays[:, :, 0], axis=1) < 0.0).all()  # y is left
    assert (np.diff(rays[:, :, 2] / rays[:, :, 0], axis=0) < 0.0).all()  # z is up
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1.0, atol=1e-15)


def test_intrinsics_give_the_rays_of_the_field_of_view_they_belong_to():
    by_angle = DepthCameraParameters(width=64, height=48, horizontal_fov=math.pi / 2)
    by_length = DepthCameraParameters(
        width=64, height=48, horizontal_fov=1.0, intrinsics=(32.0, 32.0, 32.0, 24.0)
    )
    np.testing.assert_allclose(rays_of(by_angle), rays_of(by_length), atol=1e-15)
    without = DepthCameraParameters(width=64, height=48, intrinsics=(32.0, 0.0, 0.0, 0.0))
    np.testing.assert_array_equal(rays_of(without), rays_of(by_length))


@pytest.mark.parametrize(
    "distortion", [(0.0,) * 5, (-0.05, 0.01, 1e-3, -2e-3, 0.0), (0.1, 0.02, -1e-3, 1e-3, 0.005)]
)
def test_a_ray_meets_the_image_in_the_pixel_it_was_made_of(distortion):
    camera = DepthCameraParameters(
        width=60, height=40, intrinsics=(50.0, 55.0, 28.0, 22.5), distortion=distortion
    )
    places = project(camera, 3.7 * rays_of(camera))
    column, row = np.meshgrid(np.arange(60) + 0.5, np.arange(40) + 0.5)
    # Roundings of coordinates of some 50 pixels, times the steps of the solution.
    np.testing.assert_allclose(places, np.stack([column, row], axis=-1), rtol=0, atol=1e-9)


def test_a_barrel_lens_sees_more_than_a_straight_one():
    straight = rays_of(DepthCameraParameters(width=60, height=40))
    barrel = rays_of(DepthCameraParameters(width=60, height=40, distortion=(-0.1, 0, 0, 0, 0)))
    assert barrel[0, 0, 0] < straight[0, 0, 0]  # the corner is further off the axis


def test_what_lies_behind_has_no_place_in_the_image():
    assert np.isnan(project(DepthCameraParameters(), [-1.0, 0.0, 0.0])).all()


def test_rays_within_a_pixel_surround_its_middle():
    for projection in Projection:
        camera = DepthCameraParameters(
            projection=projection,
            width=5,
            height=4,
            horizontal_fov=0.2,
            azimuth=(-0.1, 0.1),
            elevation=(-0.1, 0.1),
        )
        split = pixel_rays(camera, 3)
        assert split.shape == (4, 5, 9, 3)
        np.testing.assert_allclose(split[:, :, 4], rays_of(camera), atol=1e-15)
        assert (split[:, :, 2, 1] < split[:, :, 0, 1]).all()  # rays go along rows first
        # pixels of 0.04 rad see 0.1 rad off the axis: their rays are symmetric to that squared
        np.testing.assert_allclose(split.mean(axis=2), rays_of(camera), atol=2e-3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"horizontal_fov": math.pi}, "impossible for a pinhole"),
        ({"horizontal_fov": 0.0}, "impossible for a pinhole"),
        ({"horizontal_fov": 4.0}, "horizontal_fov = 4.0 rad is out of range"),
        ({"width": 0}, "width = 0 is out of range"),
        ({"height": 0}, "height = 0 is out of range"),
        ({"width": 16384, "height": 16384}, "at most 67108864 rays"),
        ({"min_range": 5.0, "max_range": 5.0}, "min_range = 5.0 m must be less than max_range"),
        ({"min_range": -1.0}, "min_range = -1.0 m is out of range"),
        ({"projection": Projection.spherical, "azimuth": (1.0, 1.0)}, "pattern.azimuth.min = 1.0"),
        ({"projection": Projection.spherical, "azimuth": (-4.0, 4.0)}, "at most a turn"),
        (
            {"projection": Projection.spherical, "elevation": (0.5, 0.1)},
            "pattern.elevation.min = 0.5",
        ),
        (
            {"projection": Projection.spherical, "elevation": (0.0, 2.0)},
            "pattern.elevation.max = 2.0 rad is out of range",
        ),
        ({"distortion": (math.nan, 0, 0, 0, 0)}, "distortion.k1 = nan is not a finite number"),
    ],
)
def test_impossible_optics_are_refused_with_the_reason(values, message):
    with pytest.raises(ParameterError, match=message):
        DepthCameraParameters(**values)


def test_a_lens_that_folds_the_image_is_refused():
    with pytest.raises(ParameterError, match="folds the image"):
        pixel_rays(DepthCameraParameters(width=64, height=64, distortion=(-1.0, 0, 0, 0, 0)))
