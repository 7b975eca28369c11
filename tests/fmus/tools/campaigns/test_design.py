"""How the values of a campaign's runs are chosen."""

import pytest
from scipy import stats

from fmus.tools.campaigns import design


def test_a_grid_goes_through_all_combinations():
    sampling = design.Sampling("grid", 0, (7, 8), 0)
    runs = design.runs_of(
        sampling, [design.Variation("a", (1, 2)), design.Variation("b", ("x", "y", "z"))]
    )
    assert [run.number for run in runs] == list(range(12))
    assert [(r.values["a"], r.values["b"], r.seed) for r in runs][:4] == [
        (1, "x", 7), (1, "x", 8), (1, "y", 7), (1, "y", 8),
    ]  # fmt: skip
    with pytest.raises(design.DesignError, match="a grid needs a list"):
        design.runs_of(sampling, [design.Variation("a", low=0.0, high=1.0)])


@pytest.mark.parametrize("kind", ["latin_hypercube", "sobol", "random"])
def test_samples_follow_their_distributions(kind):
    """SciPy's distributions as the oracle; a wrong one is off by more than 0.1."""
    variations = [
        design.variation_of("uniform", {"low": 2.0, "high": 6.0}),
        design.variation_of("log", {"low": 1e-3, "high": 10.0, "scale": "logarithmic"}),
        design.variation_of("normal", {"mean": 3.0, "deviation": 0.5}),
        design.Variation("list", ("a", "b", "c", "d")),
    ]
    runs = design.runs_of(design.Sampling(kind, 1000, (1,), 3), variations)
    column = {name: [run.values[name] for run in runs] for name in runs[0].values}
    laws = {
        "uniform": stats.uniform(2.0, 4.0),
        "log": stats.loguniform(1e-3, 10.0),
        "normal": stats.norm(3.0, 0.5),
    }
    for name, law in laws.items():
        distance = stats.kstest(column[name], law.cdf).statistic
        assert distance < (0.05 if kind == "random" else 0.01)
    counts = [column["list"].count(letter) for letter in "abcd"]
    assert sum(counts) == 1000
    assert max(abs(count - 250) for count in counts) < (50 if kind == "random" else 10)
    again = design.runs_of(design.Sampling(kind, 1000, (1,), 3), variations)
    assert [run.values for run in again] == [run.values for run in runs]


def test_a_latin_hypercube_has_one_sample_in_each_interval():
    variations = [design.Variation(name, low=0.0, high=1.0) for name in "abc"]
    runs = design.runs_of(design.Sampling("latin_hypercube", 50, (1,), 0), variations)
    for name in "abc":
        places = sorted(int(50 * run.values[name]) for run in runs)
        assert places == list(range(50))
