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
    range = { expression = "np.ptp(imu.gyroscope.z)", unit = "rad/s" }   # for the report
    error = { function = "my_metrics:error", outputs = ["imu.gyroscope.z"] }  # with --trust

    [keep]
    files = false                    # files of the sensors, in a directory of each run
    series = ["imu.gyroscope.z"]     # outputs over time, as Parquet in that directory

A name is that of a part and its variable. Expressions compute with outputs and ``t``, the array of
times (``expressions`` says what they may hold); anything else in them is refused, and so is a
function, unless the caller trusts the description. A function gets a mapping from the names of its
outputs, and ``t``, to arrays. The FMUs of the system are programs, which run in any case.

All names, types, ranges and presets are checked when the description is read, and all values that
are drawn: a mistake is told before anything runs.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fmus.fmi.variables import convert_preset
from fmus.tools.campaigns.design import (
    DesignError,
    Run,
    Sampling,
    Variation,
    check_count,
    runs_of,
    variation_of,
)
from fmus.tools.campaigns.expressions import chain_of, check_expression, parsed
from fmus.tools.campaigns.results import COLUMNS
from fmus.tools.systems import DescriptionError, System, read_system
from fmus.tools.systems.description import Part, value_of
from fmus.tools.systems.foreign import ForeignTable
from sensor_models.core.spec import PRESET
from sensor_models.core.toml_files import TomlError, read_toml
from sensor_models.presets import is_path, load_preset

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

#: The most communication steps of a run.
MOST_STEPS = 100_000_000
#: Seeds are Integers of FMI, and of the samples those of a generator.
_SEEDS, _SAMPLING_SEEDS = (-(2**31), 2**31 - 1), (0, 2**63 - 1)

#: What can be recorded over time.
RECORDED = ("Real", "Integer", "Boolean", "Enumeration")


@dataclass(frozen=True)
class Metric:
    """A number for each run: an expression of outputs, or a function of them by its name."""

    name: str
    outputs: tuple[str, ...]
    expression: str = ""
    function: str = ""
    is_trusted: bool = False
    unit: str = ""  # as the description gives it


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

    def unit_of(self, name: str) -> str:
        """The unit of a variable that varies; "" if it has none."""
        part, _, variable = name.partition(".")
        (own,) = (p for p in self.system.parts if p.name == part)
        known = own.table.by_name.get(variable)
        return known.quantity.unit if known is not None else ""

    @cached_property
    def runs(self) -> list[Run]:
        """All runs, by their numbers."""
        return runs_of(self.sampling, self.variations)


def read_campaign(
    path: Path, models: Mapping[str, Any], *, trust: bool = False, draw: bool = True
) -> Campaign:
    """Read and check a description.

    Args:
        path: its file.
        models: the FMU classes by name.
        trust: whether its metrics may run any code.
        draw: whether to draw the runs, and check what was drawn; else it is done when they are
            asked for, and unchecked. SciPy, which draws them, takes half a second to import.
    """
    try:
        content = read_toml(path)
        campaign = _campaign(content, models, path.absolute(), trust)
        if draw:
            _check_draws(campaign)
    except TomlError as error:
        raise DescriptionError(str(error)) from error
    except (OSError, ValueError) as error:
        raise DescriptionError(f"{path}: {error}") from error
    return campaign


def _campaign(
    content: Mapping[str, Any], models: Mapping[str, Any], path: Path, trust: bool
) -> Campaign:
    _check("", content, dict.fromkeys(_TABLES, (dict,)), needed=("campaign",))
    about = content["campaign"]
    _check("campaign.", about, _CAMPAIGN, needed=("name", "system"))
    system = read_system(path.parent / about["system"], models)
    step, stop = float(about.get("step", system.step)), float(about.get("stop", system.stop))
    if not 0.0 < step <= stop:
        raise DescriptionError("campaign.step must be above 0 s and at most campaign.stop")
    if not stop / step <= MOST_STEPS:
        raise DescriptionError(
            f"campaign.stop = {stop} s and campaign.step = {step} s make {stop / step:.3g} steps,"
            f" allowed are at most {MOST_STEPS}"
        )
    parts = {part.name: part for part in system.parts}
    keep = content.get("keep", {})
    _check("keep.", keep, _KEEP)
    series = tuple(keep.get("series", ()))
    for name in series:
        _output(parts, name, "keep.series")
    varied, metrics = content.get("vary", {}), content.get("metrics", {})
    for name in metrics:
        if name in varied or name in COLUMNS:
            what = "is varied" if name in varied else "is a column of the results"
            raise DescriptionError(f"metrics.{name}: {name} {what}, give the metric another name")
    return Campaign(
        about["name"],
        path,
        system,
        path.parent / about.get("fmus", "build/fmus"),
        step,
        stop,
        _sampling(about),
        tuple(_variation(parts, name, given, path.parent) for name, given in varied.items()),
        tuple(_metric(parts, name, given, trust) for name, given in metrics.items()),
        keep.get("files", False),
        series,
    )


def _sampling(about: Mapping[str, Any]) -> Sampling:
    seeds, own = about.get("seeds", 1), about.get("sampling_seed", 0)
    try:
        if not isinstance(seeds, list):
            check_count("seeds", seeds)
            seeds = range(1, seeds + 1)
        for seed in seeds:
            _check_seed("seeds", seed, _SEEDS)
        _check_seed("sampling_seed", own, _SAMPLING_SEEDS)
        return Sampling(about.get("sampling", "grid"), about.get("samples", 0), tuple(seeds), own)
    except DesignError as error:
        raise DescriptionError(f"campaign.{error}") from error


def _check_seed(name: str, seed: Any, allowed: tuple[int, int]) -> None:
    if type(seed) is not int or not allowed[0] <= seed <= allowed[1]:
        low, high = allowed
        raise DesignError(f"{name} = {seed!r} must be a whole number of {low} to {high}")


def _variation(parts: Mapping[str, Part], name: str, given: Any, folder: Path) -> Variation:
    part, variable = _split(parts, name, "vary")
    try:
        variation = variation_of(name, given)
        values = tuple(value_of(part.table, variable, value) for value in variation.values)
        for value in variation.known:
            value_of(part.table, variable, value)
        if variable == PRESET:
            values = tuple(_preset(part, value, folder) for value in values)
    except ValueError as error:
        raise DescriptionError(f"vary.{name}: {error}") from error
    return variation.with_values(values)


def _preset(part: Part, name: str, folder: Path) -> str:
    """A preset of a part, whose path is relative to this file if it is one."""
    if isinstance(part.table, ForeignTable) or not name:
        return name
    preset = str(folder / name) if is_path(name) else name
    convert_preset(part.table, load_preset(part.model_name, preset), preset)
    return preset


def _check_draws(campaign: Campaign) -> None:
    """Refuse values that were drawn out of the range of their variable."""
    parts, runs = {part.name: part for part in campaign.system.parts}, campaign.runs
    for variation in campaign.variations:
        if variation.values:
            continue
        part, variable = _split(parts, variation.name, "vary")
        drawn = [run.values[variation.name] for run in runs]
        for value in (min(drawn), max(drawn)):
            try:
                value_of(part.table, variable, value)
            except ValueError as error:
                raise DescriptionError(
                    f"vary.{variation.name}: a run would have {error}; choose a smaller deviation,"
                    " or low and high"
                ) from error


def _metric(parts: Mapping[str, Part], name: str, given: Any, trust: bool) -> Metric:
    where = f"metrics.{name}"
    if isinstance(given, str):
        given = {"expression": given}
    if isinstance(given, Mapping) and "expression" in given:
        _check(f"{where}.", given, {"expression": (str,), "unit": (str,)})
        expression = given["expression"]
        outputs = _outputs_of(parts, expression, where, trust)
        unit = given.get("unit", "")
        return Metric(name, outputs, expression=expression, is_trusted=trust, unit=unit)
    known = {"function": (str,), "outputs": (list,), "unit": (str,)}
    _check(f"{where}.", given, known, needed=_METRIC)
    if given["function"].count(":") != 1:
        raise DescriptionError(f'{where}.function = {given["function"]!r} is no "module:function"')
    for output in given["outputs"]:
        _output(parts, output, where)
    if not trust:
        raise DescriptionError(
            f"{where}.function = {given['function']!r} is code of a module. If you trust this"
            " description, --trust runs it"
        )
    outputs, unit = tuple(given["outputs"]), given.get("unit", "")
    return Metric(name, outputs, function=given["function"], is_trusted=True, unit=unit)


def _outputs_of(
    parts: Mapping[str, Part], expression: str, where: str, trust: bool
) -> tuple[str, ...]:
    """The outputs that an expression names."""
    found: dict[str, None] = {}
    try:
        tree = parsed(expression)
    except ValueError as error:
        raise DescriptionError(f"{where} = {error}") from error
    for node in ast.walk(tree):
        chain = chain_of(node)
        if chain and chain[0] in parts:
            part = parts[chain[0]]
            names = [".".join(chain[1:end]) for end in range(2, len(chain) + 1)]
            known = [n for n in names if n in part.table.by_name]
            if known:
                found[_output(parts, f"{chain[0]}.{known[-1]}", where)] = None
            elif not _is_inner(tree, node):
                _output(parts, ".".join(chain), where)
    if not trust:
        try:
            check_expression(expression, found.__contains__)
        except ValueError as error:
            raise DescriptionError(f"{where} = {error}") from error
    return tuple(found)


def _is_inner(tree: ast.AST, node: ast.AST) -> bool:
    """Whether a name or an attribute is the beginning of a longer attribute."""
    return any(isinstance(n, ast.Attribute) and n.value is node for n in ast.walk(tree))


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
