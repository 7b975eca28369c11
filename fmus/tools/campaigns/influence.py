"""How much each variation has to do with a metric: rank correlations and Sobol's first indices.

The noise that seeds draw is no part of it: of each sample the mean over its seeds counts. Then

rank correlation  Spearman's: 1 or -1 where the metric rises or falls with the variation, whatever
                  the curve; 0 also where it goes up and down. Lists of names have none
first index       S = var(E[metric | variation]) / var(metric): the share of the variance that
                  this variation makes by itself. What is left of the sum to 1 is made by several
                  together. In a complete grid it is the variance of the means of the levels. Of
                  samples, E is the regression on the cosines cos(pi k u) of the ranks u (Plischke,
                  "An effective algorithm for computing global sensitivity indices", Reliability
                  Engineering and System Safety 95 (2010)), with R^2 adjusted for the number of
                  cosines; of a list, on its items. It needs SAMPLES_OF_A_TERM samples for each term

``chance`` is what 95 % of all correlations are below where there is none.

Source: Saltelli et al., "Global Sensitivity Analysis: The Primer", Wiley 2008, sections 1.2 and 4.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The most cosines of a regression, and the samples that each of its terms needs.
MOST_COSINES, SAMPLES_OF_A_TERM = 6, 8
#: The fewest cosines that follow a curve, and the fewest samples that correlate.
LEAST_COSINES, LEAST_SAMPLES = 3, 5


@dataclass(frozen=True)
class Influence:
    """Of one variation on one metric; None where the samples do not tell it."""

    name: str
    correlation: float | None
    index: float | None

    @property
    def rank(self) -> float:
        """By which the largest comes first."""
        squared = 0.0 if self.correlation is None else self.correlation**2
        return max(squared, self.index or 0.0)


@dataclass(frozen=True)
class Influences:
    """Of all variations on one metric, the largest first."""

    samples: int
    of: tuple[Influence, ...]
    noise: float | None  # share of the whole variance that is left among runs of one sample

    @property
    def chance(self) -> float:
        """The correlation that 19 of 20 metrics without any stay below."""
        return min(1.0, 1.96 / math.sqrt(max(self.samples - 1, 1)))


def influences_of(
    samples: Sequence[Mapping[str, Any]], metric: Sequence[float], *, is_grid: bool
) -> Influences:
    """How much the variations have to do with a metric.

    Args:
        samples: what was varied, of each run.
        metric: its number, of each run.
        is_grid: whether all combinations of all values are among the runs.
    """
    numbers = np.asarray(metric, float)
    known = np.isfinite(numbers)
    places: dict[tuple[Any, ...], list[int]] = {}
    for place in np.flatnonzero(known).tolist():
        places.setdefault(tuple(samples[place].values()), []).append(place)
    means = np.array([numbers[own].mean() for own in places.values()])
    names = list(samples[0]) if samples else []
    columns = dict(zip(names, zip(*places, strict=True), strict=True)) if places else {}
    complete = is_grid and len(means) == math.prod(len(set(c)) for c in columns.values())
    found = [
        Influence(name, rank_correlation(column, means), first_index(column, means, complete))
        for name, column in columns.items()
    ]
    found.sort(key=lambda influence: -influence.rank)
    return Influences(len(means), tuple(found), _noise(numbers, list(places.values())))


def rank_correlation(column: Sequence[Any], means: Floats) -> float | None:
    """Spearman's correlation; None of names, of few samples and of what does not differ."""
    if not _is_number(column) or len(means) < LEAST_SAMPLES:
        return None
    ranks = [_ranks(np.asarray(values, float)) for values in (column, means)]
    spreads = [float(np.std(values)) for values in ranks]
    if min(spreads) == 0.0:
        return None
    return float(np.mean((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean()))) / (
        spreads[0] * spreads[1]
    )


def first_index(column: Sequence[Any], means: Floats, complete: bool) -> float | None:
    """Sobol's first index; None where there are too few samples for it."""
    total = float(((means - means.mean()) ** 2).sum()) if len(means) else 0.0
    curved = not complete and _is_number(column) and len(set(column)) > MOST_COSINES
    terms = _cosines(column) if curved else _items(column)
    more = terms.shape[1] - 1  # besides the constant
    if total == 0.0 or more < (LEAST_COSINES if curved else 1):
        return None
    left = float(((means - terms @ np.linalg.lstsq(terms, means, rcond=None)[0]) ** 2).sum())
    if complete:
        return 1.0 - left / total
    if SAMPLES_OF_A_TERM * more > len(means):
        return None
    by_chance = (len(means) - 1) / (len(means) - 1 - more)
    return float(np.clip(1.0 - by_chance * left / total, 0.0, 1.0))


def _items(column: Sequence[Any]) -> Floats:
    """A term for each value."""
    texts = [repr(value) for value in column]
    names = sorted(set(texts))
    return np.array([[float(text == name) for name in names] for text in texts])


def _cosines(column: Sequence[Any]) -> Floats:
    """A constant and the cosines of the ranks, fewer where there are few samples."""
    count = min(MOST_COSINES, len(column) // SAMPLES_OF_A_TERM)
    share = (_ranks(np.asarray(column, float)) + 0.5) / len(column)
    return np.cos(math.pi * np.outer(share, np.arange(count + 1)))


def _ranks(values: Floats) -> Floats:
    """Ranks from 0; equal values share the mean of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - 0.5 * (counts + 1))[which.reshape(-1)], float)


def _is_number(column: Sequence[Any]) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in column)


def _noise(numbers: Floats, groups: Sequence[Sequence[int]]) -> float | None:
    """The share of the variance of all runs that is among those with equal values."""
    known = numbers[np.isfinite(numbers)]
    if len(known) == len(groups) or float(np.ptp(known)) == 0.0:
        return None
    within = sum(float(((numbers[own] - numbers[own].mean()) ** 2).sum()) for own in groups)
    return within / float(((known - known.mean()) ** 2).sum())
