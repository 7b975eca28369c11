"""Which runs a campaign has: combinations of values, and seeds.

Runs are numbered, and the values of a run depend only on the description and its number. Grids go
through all combinations of the lists; the last list changes fastest. The other samplings fill the
unit cube, which has one side for each variation, and map each coordinate by the inverse
distribution of its variation; the items of a list have equal shares:

latin_hypercube   each side divided into as many intervals as there are samples, one in each
sobol             a scrambled Sobol sequence, whose first powers of two fill the cube evenly
random            independent draws

Each combination of values is run with each seed. The seeds are the same for all combinations, so
that two of them do not differ by their noise.

Source: McKay, Beckman, Conover, "A comparison of three methods for selecting values of input
variables", Technometrics 21 (1979); Owen, "Scrambling Sobol' and Niederreiter-Xing points",
J. Complexity 14 (1998); SciPy's ``stats.qmc``.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: The most runs of a campaign; each takes a kilobyte of memory in the caller.
MOST_RUNS = 1_000_000
SAMPLINGS = ("grid", "latin_hypercube", "sobol", "random")
_UNIFORM, _NORMAL = {"low", "high"}, {"mean", "deviation"}


class DesignError(ValueError):
    """An error in a variation or a sampling."""


@dataclass(frozen=True)
class Sampling:
    """How values are combined."""

    kind: str
    samples: int
    seeds: tuple[int, ...]
    seed: int

    def __post_init__(self) -> None:
        if self.kind not in SAMPLINGS:
            raise DesignError(f"sampling = {self.kind!r} is none of {', '.join(SAMPLINGS)}")
        if self.kind == "grid" and self.samples:
            raise DesignError("samples says nothing for a grid, whose lists say it")
        if self.kind != "grid":
            if self.samples < 1:
                raise DesignError(f"samples = {self.samples} must be at least 1 for {self.kind}")
            check_count("samples", self.samples)


@dataclass(frozen=True)
class Variation:
    """How one variable varies: values, or a distribution."""

    name: str
    values: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    logarithmic: bool = False
    mean: float = 0.0
    deviation: float = 0.0

    @property
    def known(self) -> tuple[float, ...]:
        """What is known of the values that will be drawn: their limits, or their mean."""
        if self.values:
            return ()
        return (self.mean,) if self.deviation else (self.low, self.high)

    def with_values(self, values: tuple[Any, ...]) -> "Variation":
        """The same with other values."""
        return dataclasses.replace(self, values=values)

    def at(self, share: float) -> Any:
        """The value below which this share of all draws lies."""
        if self.values:
            return self.values[min(int(share * len(self.values)), len(self.values) - 1)]
        if self.deviation:
            from scipy.special import ndtri

            return self.mean + self.deviation * float(ndtri(share))
        if self.logarithmic:
            return self.low * (self.high / self.low) ** share
        return self.low + (self.high - self.low) * share


def check_count(name: str, count: Any, least: int = 1) -> None:
    """Refuse what is no number of values, or more than a campaign may have runs."""
    if type(count) is not int or not least <= count <= MOST_RUNS:
        raise DesignError(f"{name} = {count!r} must be a whole number of {least} to {MOST_RUNS}")


def variation_of(name: str, given: Any) -> Variation:
    """A variation from its description."""
    if isinstance(given, list):
        if not given:
            raise DesignError("a list of no values")
        return Variation(name, tuple(given))
    if not isinstance(given, Mapping):
        raise DesignError(f"{given!r} is neither a list nor a table")
    keys = set(given)
    if keys == _NORMAL:
        mean, deviation = _numbers(given, ("mean", "deviation"))
        if not deviation > 0.0:
            raise DesignError(f"deviation = {deviation} must be above 0")
        return Variation(name, mean=mean, deviation=deviation)
    if not _UNIFORM <= keys <= _UNIFORM | {"scale", "count"}:
        raise DesignError(
            f"{sorted(keys)} are none of low and high (with scale, count), mean and deviation"
        )
    low, high = _numbers(given, ("low", "high"))
    scale = given.get("scale", "linear")
    if scale not in ("linear", "logarithmic"):
        raise DesignError(f"scale = {scale!r} is neither linear nor logarithmic")
    if not low < high or (scale == "logarithmic" and low <= 0.0):
        above = " above 0" if scale == "logarithmic" else ""
        raise DesignError(f"low = {low} and high = {high} must be rising{above}")
    uniform = Variation(name, low=low, high=high, logarithmic=scale == "logarithmic")
    if "count" not in given:
        return uniform
    count = given["count"]
    check_count("count", count, least=2)
    return uniform.with_values(tuple(uniform.at(k / (count - 1)) for k in range(count)))


def _numbers(given: Mapping[str, Any], keys: Sequence[str]) -> list[float]:
    for key in keys:
        if type(given[key]) not in (int, float) or not math.isfinite(given[key]):
            raise DesignError(f"{key} = {given[key]!r} is no number")
    return [float(given[key]) for key in keys]


@dataclass(frozen=True)
class Run:
    """One run of a campaign."""

    number: int
    seed: int
    values: dict[str, Any]  # by part and variable


def runs_of(sampling: Sampling, variations: Sequence[Variation]) -> list[Run]:
    """All runs, in the order of their numbers."""
    _check_number(sampling, variations)
    chosen = _grid(variations) if sampling.kind == "grid" else _drawn(sampling, variations)
    names = [variation.name for variation in variations]
    pairs = itertools.product(chosen, sampling.seeds)
    return [
        Run(number, seed, dict(zip(names, values, strict=True)))
        for number, (values, seed) in enumerate(pairs)
    ]


def _check_number(sampling: Sampling, variations: Sequence[Variation]) -> None:
    """Refuse too many runs before they are made."""
    sizes = [sampling.samples]
    if sampling.kind == "grid":
        sizes = [len(variation.values) for variation in variations if variation.values]
    number = math.prod(sizes) * len(sampling.seeds)
    if number > MOST_RUNS:
        raise DesignError(
            f"the campaign has {number} runs, with {len(sampling.seeds)} seeds for each"
            f" combination; allowed are at most {MOST_RUNS}"
        )


def _grid(variations: Sequence[Variation]) -> list[tuple[Any, ...]]:
    for variation in variations:
        if not variation.values:
            raise DesignError(
                f"vary.{variation.name}: a grid needs a list, or a count beside low and high"
            )
    return list(itertools.product(*(variation.values for variation in variations)))


def _drawn(sampling: Sampling, variations: Sequence[Variation]) -> list[tuple[Any, ...]]:
    cube = _cube(sampling, len(variations))
    return [
        tuple(variation.at(float(share)) for variation, share in zip(variations, row, strict=True))
        for row in cube
    ]


def _cube(sampling: Sampling, sides: int) -> Any:
    """Points in the open unit cube."""
    if sides == 0:
        return np.zeros((sampling.samples, 0))
    if sampling.kind == "random":
        found = np.random.default_rng(sampling.seed).random((sampling.samples, sides))
    else:
        from scipy.stats import qmc

        kinds = {"latin_hypercube": qmc.LatinHypercube, "sobol": qmc.Sobol}
        sampler = kinds[sampling.kind](sides, seed=sampling.seed)
        if sampling.kind == "sobol":  # the first samples of the next power of two
            found = sampler.random_base2(max(0, math.ceil(math.log2(sampling.samples))))
            found = found[: sampling.samples]
        else:
            found = sampler.random(sampling.samples)
    tiny = 2.0**-53
    return np.clip(found, tiny, 1.0 - tiny)
