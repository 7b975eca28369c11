"""The description of a campaign, in TOML.

::

    [campaign]
    name = "noise"
    system = "drive.toml"            # as ``build_fmus.py --ssp`` reads it, relative to this file
    fmus = "../../build/fmus"        # where the FMUs were built
    stop = 2.0                       # s; default: the system's
    step = 0.01                      # s; default: the system's
    sampling = "grid"                # grid, latin_hypercube, sobol, random
    samples = 100                    # how many, unless it is a grid
    seeds = 3                        # each sample with so many draws of noise, or a list of seeds
    sampling_seed = 0                # seed with which the samples themselves are drawn

    [vary]
    "imu.noise.density.x" = [1e-4, 1e-3]                          # each of these
    "car.mass" = { low = 900.0, high = 1500.0 }                   # uniform
    "car.drag" = { low = 0.1, high = 1.0, scale = "logarithmic" } # uniform in the logarithm
    "car.grip" = { mean = 0.8, deviation = 0.1 }                  # normal
    "sensor.offset" = { low = 0.0, high = 1.0, count = 5 }        # in a grid, so many values

    [metrics]
    drift = "abs(imu.gyroscope.z[-1])"                 # over outputs, which are arrays over time
    error = { function = "my_metrics:error", outputs = ["imu.gyroscope.z"] }

    [keep]
    files = false                    # files of the sensors, in a directory of each run
    series = ["imu.gyroscope.z"]     # outputs over time, as Parquet in that directory

A name is that of a part and its variable. Expressions may use the parts, ``t`` (the array of
times), ``np`` and Python's ``abs``, ``min``, ``max``, ``sum``, ``len``, ``float`` and ``bool``. A
function gets a mapping from the names of its outputs, and ``t``, to arrays. A description can run
code, so use only those of people you trust.
"""

import ast
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmus.campaigns.design import DesignError, Sampling, Variation, variation_of
from fmus.systems import DescriptionError, System, read_system
from fmus.systems.description import Part, value_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_CAMPAIGN: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "system": (str,),
    "fmus": (str,),
    "stop": (int, float),
    "step": (int, float),
    "sampling": (str,),
    "samples": (int,),
    "seeds": (int, list),
    "sampling_seed": (int,),
}
_TABLES = ("campaign", "vary", "metrics", "keep")
_METRIC = ("function", "outputs")
_KEEP: Mapping[str, tuple[type, ...]] = {"files": (bool,), "series": (list,)}

#: What can be recorded over time.
RECORDED = ("Real", "Integer", "Boolean", "Enumeration")


@dataclass(frozen=True)
class Metric:
    """A number for each run: an expression of outputs, or a function of them by its name."""

    name: str
    outputs: tuple[str, ...]
    expression: str = ""
    function: str = ""


@dataclass(frozen=True)
class Campaign:
    """What is run, with which variations, and what is measured and kept."""

    name: str
    path: Path
    system: System
    fmus: Path
    step: float
    stop: float
    sampling: Sampling
    variations: tuple[Variation, ...]
    metrics: tuple[Metric, ...]
    keep_files: bool
    series: tuple[str, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """All outputs that are recorded over time, each once."""
        needed = [name for metric in self.metrics for name in metric.outputs]
        return tuple(dict.fromkeys([*needed, *self.series]))


def read_campaign(path: Path, models: Mapping[str, Any]) -> Campaign:
    """Read and check a description; ``models`` are the FMU classes by name."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return _campaign(content, models, path.absolute())
    except (OSError, ValueError) as error:
        raise DescriptionError(f"{path}: {error}") from error


def _campaign(content: Mapping[str, Any], models: Mapping[str, Any], path: Path) -> Campaign:
    _check("", content, dict.fromkeys(_TABLES, (dict,)), needed=("campaign",))
    about = content["campaign"]
    _check("campaign.", about, _CAMPAIGN, needed=("name", "system"))
    system = read_system(path.parent / about["system"], models)
    step, stop = float(about.get("step", system.step)), float(about.get("stop", system.stop))
    if not 0.0 < step <= stop:
        raise DescriptionError("campaign.step must be above 0 s and at most campaign.stop")
    parts = {part.name: part for part in system.parts}
    keep = content.get("keep", {})
    _check("keep.", keep, _KEEP)
    series = tuple(keep.get("series", ()))
    for name in series:
        _output(parts, name, "keep.series")
    return Campaign(
        about["name"],
        path,
        system,
        path.parent / about.get("fmus", "build/fmus"),
        step,
        stop,
        _sampling(about),
        tuple(_variation(parts, *item) for item in content.get("vary", {}).items()),
        tuple(_metric(parts, *item) for item in content.get("metrics", {}).items()),
        keep.get("files", False),
        series,
    )


def _sampling(about: Mapping[str, Any]) -> Sampling:
    seeds = about.get("seeds", 1)
    chosen = tuple(seeds) if isinstance(seeds, list) else tuple(range(1, seeds + 1))
    if not chosen or not all(type(seed) is int for seed in chosen):
        raise DescriptionError(f"campaign.seeds = {seeds!r} must be a number of seeds, or a list")
    try:
        return Sampling(
            about.get("sampling", "grid"),
            about.get("samples", 0),
            chosen,
            about.get("sampling_seed", 0),
        )
    except DesignError as error:
        raise DescriptionError(f"campaign.{error}") from error


def _variation(parts: Mapping[str, Part], name: str, given: Any) -> Variation:
    part, variable = _split(parts, name, "vary")
    try:
        variation = variation_of(name, given)
        values = tuple(value_of(part.table, variable, value) for value in variation.values)
        for bound in variation.bounds:  # drawn values must be in range as well
            value_of(part.table, variable, bound)
    except ValueError as error:
        raise DescriptionError(f"vary.{name}: {error}") from error
    return variation.with_values(values)


def _metric(parts: Mapping[str, Part], name: str, given: Any) -> Metric:
    where = f"metrics.{name}"
    if isinstance(given, str):
        return Metric(name, _outputs_of(parts, given, where), expression=given)
    _check(f"{where}.", given, {"function": (str,), "outputs": (list,)}, needed=_METRIC)
    if given["function"].count(":") != 1:
        raise DescriptionError(f'{where}.function = {given["function"]!r} is no "module:function"')
    for output in given["outputs"]:
        _output(parts, output, where)
    return Metric(name, tuple(given["outputs"]), function=given["function"])


def _outputs_of(parts: Mapping[str, Part], expression: str, where: str) -> tuple[str, ...]:
    """The outputs that an expression names."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise DescriptionError(f"{where} = {expression!r} is no expression: {error}") from error
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        chain = _chain(node)
        if chain and chain[0] in parts:
            part = parts[chain[0]]
            names = [".".join(chain[1:end]) for end in range(2, len(chain) + 1)]
            known = [n for n in names if n in part.table.by_name]
            if known:
                found[_output(parts, f"{chain[0]}.{known[-1]}", where)] = None
            elif not _is_inner(tree, node):
                _output(parts, ".".join(chain), where)
    return tuple(found)


def _is_inner(tree: ast.AST, node: ast.AST) -> bool:
    """Whether a name or an attribute is the beginning of a longer attribute."""
    return any(isinstance(n, ast.Attribute) and n.value is node for n in ast.walk(tree))


def _chain(node: ast.AST) -> list[str]:
    """The names of ``a.b.c``; nothing if a node is something else."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        before = _chain(node.value)
        return [*before, node.attr] if before else []
    return []


def _output(parts: Mapping[str, Part], name: str, where: str) -> str:
    """The name of an output that can be recorded."""
    part, variable = _split(parts, name, where)
    known = part.table.by_name.get(variable)
    if known is None or known.causality != "output":
        raise DescriptionError(f"{where}: {variable!r} is no output of {part.name}")
    if known.type_name not in RECORDED:
        raise DescriptionError(f"{where}: {name} is a {known.type_name}, which is not recorded")
    return name


def _split(parts: Mapping[str, Part], name: str, where: str) -> tuple[Part, str]:
    part, _, variable = name.partition(".")
    if part not in parts:
        raise DescriptionError(f"{where}: {part!r} is no part, there are {', '.join(parts)}")
    return parts[part], variable


def _check(
    where: str,
    table: Any,
    known: Mapping[str, tuple[type, ...]],
    needed: tuple[str, ...] = (),
) -> None:
    if not isinstance(table, Mapping):
        raise DescriptionError(f"{where.rstrip('.')} must be a table")
    for key in needed:
        if key not in table:
            raise DescriptionError(f"{where}{key} is missing")
    for key, value in table.items():
        if key not in known:
            raise DescriptionError(f"{where}{key} is unknown, known: {', '.join(known)}")
        if type(value) not in known[key]:
            kinds = " or ".join(kind.__name__ for kind in known[key])
            raise DescriptionError(f"{where}{key} = {value!r} must be a {kinds}")
