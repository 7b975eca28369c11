"""Numbers of a run: expressions and functions over its outputs."""

import importlib
import math
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from fmus.tools.campaigns.description import Metric
from fmus.tools.campaigns.expressions import BUILTINS, compute
from fmus.tools.campaigns.master import Series


class MetricError(ValueError):
    """A metric that gives no number."""


class Group:
    """Outputs whose names have a common beginning, as attributes."""


def evaluate(metric: Metric, series: Series) -> float:
    """The number of a run."""
    try:
        if metric.function:
            given = {name: series.columns[name] for name in metric.outputs}
            value = _function(metric.function)({**given, "t": series.times})
        else:
            scope = {**_groups(series), "t": series.times}
            if metric.is_trusted:
                scope |= {"__builtins__": BUILTINS, "np": np}
                value = eval(_compiled(metric.expression), scope)
            else:
                value = compute(metric.expression, scope)
        number = float(value)
    except Exception as error:
        raise MetricError(f"metrics.{metric.name}: {type(error).__name__}: {error}") from error
    return number if math.isfinite(number) else math.nan


@cache
def _compiled(expression: str) -> CodeType:
    return compile(expression.strip(), "<metric>", "eval")


@cache
def _function(name: str) -> Callable[[Mapping[str, Any]], Any]:
    module, _, function = name.partition(":")
    found: Callable[[Mapping[str, Any]], Any] = getattr(importlib.import_module(module), function)
    return found


def _groups(series: Series) -> dict[str, Any]:
    """The outputs as expressions name them."""
    root = Group()
    for name, column in series.columns.items():
        *groups, last = name.split(".")
        place = root
        for group in groups:
            if not isinstance(place.__dict__.get(group), Group):
                place.__dict__[group] = Group()
            place = place.__dict__[group]
        place.__dict__[last] = column
    return root.__dict__
