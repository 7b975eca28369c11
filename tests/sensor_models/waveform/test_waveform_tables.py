"""Surfaces that are tables, before the full-waveform lidar."""

import pytest

from tests import brdf_tables
from tests import lidar_scenes as rig
from tests.sensor_models.waveform.test_waveform_lidar import SQUARE, Shot


@pytest.mark.parametrize("angle", [0.0, 0.9])
def test_a_matt_table_gives_the_energy_of_the_closed_form(angle: float) -> None:
    plate = rig.turned(rig.across(20.0), [0, 0, 1], angle, (20.0, 0.0, 0.0))
    table = brdf_tables.material(brdf_tables.lambert_table(0.3))
    found, expected = (
        Shot(rig.scene(plate, materials=(material,)), **SQUARE).energy
        for material in (table, rig.lambert(0.3))
    )
    assert expected > 0.0
    assert found == pytest.approx(expected, rel=1e-3)
