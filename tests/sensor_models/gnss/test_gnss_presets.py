"""The receivers among the presets, against their figures and the parameters they name."""

import dataclasses

import pytest

from sensor_models.core.clock import SamplingParameters
from sensor_models.core.quantities import quantities_of
from sensor_models.gnss.parameters import CEP_OVER_SIGMA, GnssParameters
from sensor_models.presets import list_presets, load_preset

#: Radius of half of all horizontal errors in m, rate in Hz.
FIGURES = {"ZED-F9P": (0.01, 20.0), "NEO-M9N": (2.0, 25.0), "NEO-M8N": (2.5, 10.0)}


def test_these_are_all_receivers():
    assert list_presets("Gnss") == sorted(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_preset_is_a_receiver_with_the_figures_of_its_sheet(name):
    given = load_preset("Gnss", name)
    radius, rate = FIGURES[name]
    assert given.pop("sample_rate") == rate
    # the file has five digits
    assert given["error.correlated.horizontal"] * CEP_OVER_SIGMA == pytest.approx(radius, rel=1e-5)
    fields = {}
    for field, quantity in quantities_of(GnssParameters).items():
        values = [given.pop(part, default) for part, default in quantity.parts(quantity.default)]
        value = tuple(values) if quantity.components else values[0]
        if quantity.choices is not None and isinstance(value, str):
            value = quantity.choices[value]
        fields[field] = value
    assert given == {}, "names that no parameter has"
    made = GnssParameters(**fields)
    assert dataclasses.asdict(made) != dataclasses.asdict(GnssParameters())
    SamplingParameters(sample_rate=rate)
