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
