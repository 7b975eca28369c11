"""The full-waveform lidars among the presets, and what they make of a plate."""

import math

import numpy as np
import pytest

from sensor_models import catalog
from sensor_models.core.named import named_parameters
from sensor_models.presets import list_presets, load_preset
from sensor_models.scene.model import Material, SurfaceKind, SurfaceParameters
from sensor_models.scene.tracing import RayScene
from sensor_models.waveform.named import waveform_lidar_of
from tests import lidar_scenes as rig

#: Pulses of a frame, frames per second, full divergence in rad, length of the pulse in s, and a
#: range at which a plate of 20 % is to be seen.
FIGURES = {
    "LMS-Q560": (1600, 100.0, 0.5e-3, 4e-9, 600.0),
    "VZ-400": (201 * 720, 0.84, 0.3e-3, 5e-9, 200.0),
    "VLP-16 APD": (16 * 1808, 10.0, 3e-3, 4e-9, 50.0),
}


def lidar_of(name, pattern=None):
    """The lidar of a preset, with another pattern."""
    spec = catalog.spec_of("WaveformLidar")
    values = named_parameters(spec, load_preset(spec.name, name))
    return waveform_lidar_of(values, "test", pattern=pattern)


def test_these_are_all_full_waveform_lidars():
    assert list_presets("WaveformLidar") == sorted(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_preset_has_the_figures_of_its_sheet(name):
    pulses, rate, divergence, duration, _ = FIGURES[name]
    lidar = lidar_of(name)
    own = lidar.parameters_of_pulse
    assert lidar.rays == pulses
    assert load_preset("WaveformLidar", name)["sample_rate"] == rate
    assert own.divergence_full_angle == pytest.approx(divergence)
    assert own.pulse_duration == pytest.approx(duration)
    assert own.reach <= 0.5 * 299_792_458.0 * own.t_stop
    # The middle of the frame is where the pattern looks.
    assert np.ptp(lidar.pattern.angles(0)[0]) > math.radians(40.0)


@pytest.mark.parametrize("name", FIGURES)
def test_a_preset_sees_a_dark_plate_at_its_working_range(name):
    reach = FIGURES[name][4]
    lidar = lidar_of(name, rig.ahead(50))
    number = SurfaceParameters(diffuse_reflectance=0.2)
    dark = Material("dark", SurfaceKind.lambert, {lidar.parameters_of_pulse.wavelength: number})
    with RayScene(rig.scene(rig.across(reach), materials=(dark,)), 1) as rays:
        points = lidar.capture(rays, rig.AT_ORIGIN).points()
    assert len(points) == 50
    assert points["range"].mean() == pytest.approx(reach, abs=0.05)
    assert points["snr"].mean() > 8.0


def wall_of(distance, *, diffuse=0.5, retro=0.0):
    """A wall across the x axis."""
    number = SurfaceParameters(diffuse_reflectance=diffuse, retro_reflectance=retro)
    bands = dict.fromkeys((903e-9, 1550e-9), number)
    wall = Material("wall", SurfaceKind.lambert, bands)
    return rig.scene(rig.across(distance, half=0.6 * distance), materials=(wall,))


@pytest.mark.parametrize(
    ("name", "distance"),
    [("VLP-16 APD", d) for d in (1.0, 3.0, 10.0, 30.0, 90.0)]
    + [("LMS-Q560", d) for d in (31.0, 100.0, 600.0)],
)
@pytest.mark.parametrize("wall", [{"diffuse": 0.1}, {"diffuse": 0.9}, {"retro": 300.0}])
def test_a_wall_is_one_echo_where_it_is_however_bright(name, distance, wall):
    """Saturated or not; the wall has more than 300 times the light that the converter holds."""
    if wall == {"diffuse": 0.1} and distance > 80.0:
        wall = {"diffuse": 0.5}  # a darker one is beyond the device's reach
    lidar = lidar_of(name, rig.ahead(40))
    with RayScene(wall_of(distance, **wall), 1) as rays:
        points = lidar.capture(rays, rig.AT_ORIGIN).points()
    assert len(points) == 40
    assert points["range"].mean() == pytest.approx(distance, abs=0.02)
    assert points["range"].std() < 0.03
    assert (points["entity_id"] == 100).all()
    assert (points["material_id"] == 0).all()
