"""Expressions in descriptions: they compute, and do nothing else."""

import inspect
import json
from types import SimpleNamespace

import numpy as np
import pytest

from fmus.building.sources import fmu_sources
from fmus.tools.campaigns.description import read_campaign
from fmus.tools.campaigns.expressions import FUNCTIONS
from fmus.tools.campaigns.master import Series
from fmus.tools.campaigns.metrics import MetricError, evaluate
from fmus.tools.systems import DescriptionError
from tests.campaigns import CAMPAIGN, write_campaign

ALLOWED = [
    "abs(imu.gyroscope.z[-1])",
    "np.sum(imu.gyroscope.z - imu.accelerometer.x) * (t[1] - t[0])",
    "max(np.max(imu.gyroscope.z), 1.0) if len(t) > 1 and not t[0] < 0 else np.nan",
    "imu.gyroscope.z.mean() ** 2 + np.pi",
    "imu.gyroscope.z[2:-1:2].std(ddof=1)",
    "np.percentile(imu.gyroscope.z, [5, 95], method='nearest')[1]",
    "np.linalg.norm([imu.gyroscope.z[0], 2.0])",
    "np.mean((imu.gyroscope.z > 0.0) & (t <= 0.1))",
    "float(np.interp(0.05, t, imu.gyroscope.z))",
    "-sum(imu.gyroscope.z) // 3 % 2",
    " t[-1]",
]
FORBIDDEN = [
    "__import__('os').system('true')",
    "().__class__.__base__.__subclasses__()[0]",
    "imu.gyroscope.z.__class__",
    "imu.gyroscope.z.tofile('evil')",
    "imu.gyroscope.z.dump('evil')",
    "imu.__class__",
    "np.load('evil')",
    "np.save('evil', t)",
    "np.loadtxt('evil')",
    "np.fromfile('evil')",
    "np.memmap('evil', mode='w+', shape=9)",
    "np.os.getcwd()",
    "np.testing.suppress_warnings.__init__",
    "np.ctypeslib.ctypes",
    "np.sum.__globals__",
    "np",
    "abs",
    "abs.__self__",
    "t.base",
    "np.sum(t, out=t)",
    "max(*t)",
    "np.sum(**t)",
    "[x for x in t]",
    "(lambda: 1)()",
    "(y := 1)",
    "f'{t}'",
    "'a' * 9",
    "[1] * 9",
    "1 << 9",
    "open('evil', 'w')",
    "eval('1')",
    "getattr(t, 'tofile')('evil')",
    "np.vectorize(abs)(t)",
    "np.apply_along_axis(abs, 0, t)",
    "t @ t",
    "1j",
    "(t, t)",
    "{1: 2}",
    "t is t",
    "np.frompyfunc(abs, 1, 1)",
]


def described(tmp_path, expression, *, trust=False):
    """A description whose one metric is an expression."""
    (metrics,) = [part for part in CAMPAIGN.split("[") if part.startswith("metrics]")]
    text = CAMPAIGN.replace(metrics, f"metrics]\nm = {json.dumps(expression)}\n")
    path = write_campaign(tmp_path, tmp_path, text=text)
    models = {name: source.model for name, source in fmu_sources().items()}
    return read_campaign(path, models, trust=trust)


@pytest.mark.parametrize("expression", ALLOWED)
def test_expressions_that_compute_are_those_of_python(tmp_path, expression):
    """The oracle is Python itself, with the same names."""
    (metric,) = described(tmp_path, expression).metrics
    times = np.arange(1, 21) * 0.01
    columns = {"imu.gyroscope.z": np.sin(90.0 * times), "imu.accelerometer.x": np.cos(times)}
    named = SimpleNamespace(
        gyroscope=SimpleNamespace(z=columns["imu.gyroscope.z"]),
        accelerometer=SimpleNamespace(x=columns["imu.accelerometer.x"]),
    )
    expected = eval(expression.strip(), {"np": np, "t": times, "imu": named})
    np.testing.assert_array_equal(evaluate(metric, Series(times, columns)), expected)


@pytest.mark.parametrize("expression", FORBIDDEN)
def test_expressions_that_may_do_more_are_refused(tmp_path, expression):
    with pytest.raises(
        DescriptionError, match=r"not allowed|no expression|is no output"
    ) as refusal:
        described(tmp_path, expression)
    assert "metrics.m" in str(refusal.value)


def test_who_is_trusted_may_run_code(tmp_path):
    (metric,) = described(
        tmp_path, "sum(x for x in t) + np.load.__name__.count('a')", trust=True
    ).metrics
    assert evaluate(metric, Series(np.ones(2))) == 3.0


def test_powers_of_whole_numbers_come_to_an_end(tmp_path):
    (metric,) = described(tmp_path, "9 ** 9 ** 9").metrics
    with pytest.raises(MetricError, match="OverflowError"):
        evaluate(metric, Series(np.zeros(1)))
    (metric,) = described(tmp_path, "2 ** 10 + 2 ** -1").metrics
    assert evaluate(metric, Series(np.zeros(1))) == 1024.5


def test_every_function_that_is_allowed_makes_no_file_and_no_code(tmp_path):
    """Names that reach the system or other modules are not in the list by mistake."""
    for name in FUNCTIONS:
        *folders, last = name.split(".")
        place = np
        for folder in folders:
            place = getattr(place, folder)
        function = getattr(place, last, None)  # some are of other versions of NumPy
        assert function is None or callable(function)
        assert not isinstance(function, type), name
        assert not {"file", "fname", "func", "func1d", "pyfunc"} & set(names_of(function)), name


def names_of(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()


def test_a_function_runs_only_if_it_is_trusted(tmp_path):
    text = CAMPAIGN.replace(
        'rate = "np.mean(imu.gyroscope.z)"',
        'last = { function = "tests.campaigns:last_rate", outputs = ["imu.gyroscope.z"] }',
    )
    models = {name: source.model for name, source in fmu_sources().items()}
    path = write_campaign(tmp_path, tmp_path, text=text)
    with pytest.raises(DescriptionError, match=r"'tests.campaigns:last_rate' is code of a module"):
        read_campaign(path, models)
    metric = read_campaign(path, models, trust=True).metrics[0]
    assert evaluate(metric, Series(np.ones(2), {"imu.gyroscope.z": np.array([1.0, 3.0])})) == 3.0
