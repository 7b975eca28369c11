"""``sensor-fmus``: the command line of the project.

``sensor-fmus new DIRECTORY``         write a project that runs: a world, a path, two sensors
``sensor-fmus examples [DIRECTORY]``  copy all examples, or say what there are
``sensor-fmus list``                  what FMUs there are
``sensor-fmus build [OPTION ...]``    build FMUs into build/fmus, with the options of build_fmus.py
``sensor-fmus demo [OPTION ...]``     drive through a yard with all sensors, and write a report
``sensor-fmus scene new MESH ...``     write the first manifest of a world of your own
``sensor-fmus scene view | check | import ...``   pictures, checks, worlds of others as scenes
``sensor-fmus presets check | list | units ...``  your presets, and those that there are
``sensor-fmus campaign run FILE [--workers N | --scheduler tcp://HOST:8786] [--output DIR]``
``sensor-fmus campaign report FILE [--output DIR]``
``sensor-fmus dataset FILE [--workers N | --scheduler tcp://HOST:8786] [--output DIR]``
``sensor-fmus fit KIND LOG ... [--output preset.toml] [--compare PRESET]``  from logs to a preset

What a command needs beyond the package itself is imported by that command alone, so the others work
without it.
"""

import argparse
import ast
import contextlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sensor_models
from fmus.tools.validation.command import add_to

if TYPE_CHECKING:
    from sensor_models.tools.workers import WorkerPool

FMUS = Path("build/fmus")
REPORT = "report.html"
#: The folder of the examples that a new project begins with.
STARTER = "starter"
#: What the extras of the package bring that commands import.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "campaigns": ("fmpy", "scipy", "plotly"),
    "demo": ("fmpy", "matplotlib", "plotly", "pyarrow"),
}


class MissingError(RuntimeError):
    """A command that needs packages which are not installed."""


def need(command: str, extra: str) -> None:
    """Refuse a command whose packages are not there, and say how to get them."""
    missing = [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingError(
            f"{command} needs {', '.join(missing)}: pip install 'sensor-fmus[{extra}]'"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0 if it succeeded."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["build"]:  # all other arguments are for that command
            return _build(words[1:])
        if words[:1] == ["demo"]:
            return run_demo(words[1:])
        if words[:1] == ["scene"]:
            from sensor_models.tools.pictures import scene_command

            return scene_command.main(words[1:])
        if words[:1] == ["presets"]:
            return _presets(words[1:])
        if words[:1] == ["fit"]:
            from sensor_models.tools.pictures import fit_command

            return fit_command.main(words[1:])
        given = _parser().parse_args(words)
        return int(given.act(given))
    except (RuntimeError, ValueError, OSError) as error:  # all that is raised on purpose is such
        if not _is_expected(error):
            raise
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        return 130


def _is_expected(error: Exception) -> bool:
    """Whether an error is reported in one line, without a traceback."""
    from fmus.tools.systems import DescriptionError
    from sensor_models.core.quantities import ParameterError

    if isinstance(error, ValueError):
        return isinstance(error, (DescriptionError, ParameterError)) or (
            type(error).__module__.startswith(("fmus.tools.campaigns.", "fmus.tools.validation."))
        )
    return True


def _build(words: Sequence[str]) -> int:
    import build_fmus

    if any(word.startswith("--reference-results") for word in words):
        need("--reference-results", "demo")
    return build_fmus.main(words)


def _presets(words: Sequence[str]) -> int:
    """Presets, also of sensors in files of the user (``--module``)."""
    from fmus.building.sources import own_spec
    from sensor_models.presets import __main__ as presets

    return presets.main(words, own_spec)


def run_demo(words: Sequence[str]) -> int:
    """Build the FMUs that are not there, for this processor, and run the demo."""
    from fmus.building import project
    from fmus.building.sources import fmu_sources

    need("sensor-fmus demo", "demo")
    if not {"-h", "--help", "--fmus"} & set(words):
        missing = [name for name in fmu_sources() if not (FMUS / f"{name}.fmu").is_file()]
        if missing and (status := _build(["--levels", "host", "--only", *missing])) != 0:
            return status
    command = [sys.executable, str(project.EXAMPLES / "demo.py"), *words]
    return subprocess.run(command, check=False).returncode


def _list(_given: argparse.Namespace) -> int:
    return _build(["--list"])


def _new(given: argparse.Namespace) -> int:
    from fmus.building import project

    copy_new(project.EXAMPLES / STARTER, given.directory)
    try:
        need("its run.py", "demo")
    except MissingError as missing:
        print(missing)
    print(f"now: cd {given.directory}; python run.py")
    return 0


def _examples(given: argparse.Namespace) -> int:
    from fmus.building import project

    if given.directory is None:
        for path in sorted(project.EXAMPLES.glob("*.py")):
            about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            print(f"{path.name:<16} {about.splitlines()[0]}")
        print("to have them all: sensor-fmus examples DIRECTORY")
        return 0
    copy_new(project.EXAMPLES, given.directory)
    print(given.directory)
    return 0


def copy_new(source: Path, target: Path) -> None:
    """Copy files of the project into a directory that is new or empty."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already; name a directory that is new or empty")
    shutil.copytree(
        source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )


def pool_of(given: argparse.Namespace) -> "WorkerPool":
    """The workers that the command line asks for."""
    from sensor_models.tools.workers.cluster import ClusterPool
    from sensor_models.tools.workers.local import LocalPool

    return ClusterPool(given.scheduler) if given.scheduler else LocalPool(given.workers)


def add_pool(parser: argparse.ArgumentParser) -> None:
    """Options that choose workers."""
    from sensor_models.threads.pool import processors

    parser.add_argument("--workers", type=int, default=processors(), help="processes here")
    parser.add_argument(
        "--scheduler",
        default="",
        help="address of a Dask scheduler, which runs code that it is sent: one that you trust",
    )


def _output(given: argparse.Namespace) -> Path:
    return Path(given.output or given.file.with_suffix(""))


def _run(given: argparse.Namespace) -> int:
    need("sensor-fmus campaign", "campaigns")
    from fmus.tools.campaigns.campaign import run_campaign
    from sensor_models.tools.pictures.progress import ProgressLine

    output = _output(given)
    with contextlib.closing(pool_of(given)) as pool, ProgressLine("running") as progress:
        results = run_campaign(given.file, output, pool, progress, trust=given.trust)
    failed = sum(row.status != "ok" for row in results.rows.values())
    print(f"{output}: {len(results.rows)} runs, {failed} failed")
    return max(_report(given), int(failed > 0))


def _report(given: argparse.Namespace) -> int:
    need("sensor-fmus campaign", "campaigns")
    from fmus.tools.campaigns.campaign import identity, open_campaign
    from fmus.tools.campaigns.report import write_report
    from fmus.tools.campaigns.results import ResultsError, in_order, read_rows

    campaign, output = open_campaign(given.file, trust=given.trust), _output(given)
    rows = in_order(read_rows(output, identity(campaign)))
    if not rows:
        raise ResultsError(f"{output} has no results: sensor-fmus campaign run makes some")
    print(write_report(campaign, rows, output / REPORT))
    return 0


def _dataset(given: argparse.Namespace) -> int:
    from sensor_models.tools.datasets.dataset import make_dataset
    from sensor_models.tools.pictures.progress import ProgressLine

    output = _output(given)
    with contextlib.closing(pool_of(given)) as pool, ProgressLine("making") as progress:
        print(make_dataset(given.file, output, pool, progress))
    return 0


def _validate(given: argparse.Namespace) -> int:
    from fmus.tools.validation.command import validate

    need("sensor-fmus validate", "demo")
    return validate(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sensor-fmus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = f"%(prog)s {sensor_models.__version__}"
    parser.add_argument("--version", action="version", version=version)
    topics = parser.add_subparsers(required=True)
    for name, about in (
        ("build", "build FMUs"),
        ("demo", "a drive with all sensors"),
        ("scene", "pictures and checks of scenes, worlds of others as scenes"),
        ("presets", "check preset files, list presets and units"),
        ("fit", "from recorded data to a preset with intervals"),
    ):
        topics.add_parser(name, help=f"{about}; has a --help of its own", add_help=False)
    topics.add_parser("list", help="list the FMUs").set_defaults(act=_list)
    new = topics.add_parser("new", help="write a project that runs, to be changed")
    new.set_defaults(act=_new)
    new.add_argument("directory", type=Path, help="is made, or empty")
    examples = topics.add_parser("examples", help="copy the examples, or list them")
    examples.set_defaults(act=_examples)
    examples.add_argument("directory", type=Path, nargs="?", help="is made, or empty")
    campaign = topics.add_parser("campaign", help="many runs of a system of FMUs")
    actions = campaign.add_subparsers(required=True)
    for name, act, about in (
        ("run", _run, "run what is left, and write a report"),
        ("report", _report, "write the report of what was run"),
    ):
        action = actions.add_parser(name, help=about)
        action.set_defaults(act=act)
        action.add_argument("file", type=Path, help="description of the campaign, in TOML")
        action.add_argument(
            "--output", type=Path, help="directory; default: beside the description"
        )
        action.add_argument(
            "--trust",
            action="store_true",
            help="run any code that the metrics of the description hold or name",
        )
        if name == "run":
            add_pool(action)
    dataset = topics.add_parser("dataset", help="samples of sensors in scenes drawn by rule")
    dataset.set_defaults(act=_dataset)
    dataset.add_argument("file", type=Path, help="description of the data set, in TOML")
    dataset.add_argument("--output", type=Path, help="directory; default: beside the description")
    add_pool(dataset)
    add_to(topics).set_defaults(act=_validate)
    return parser


if __name__ == "__main__":
    sys.exit(main())
