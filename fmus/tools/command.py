"""``sensor-fmus``: the command line of the project.

What a command needs beyond the package itself is imported by that command alone, so the others work
without it.
"""

import argparse
import ast
import contextlib
import difflib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sensor_models
from fmus.tools.validation.command import add_to

if TYPE_CHECKING:
    from sensor_models.tools.workers import WorkerPool

REPORT = "report.html"
#: The folder of the examples that a new project begins with.
STARTER = "starter"
#: What folders among the examples are, besides those that scripts use.
FOLDERS: Mapping[str, str] = {
    "campaign": "Many runs of one system: sensor-fmus campaign run campaign/campaign.toml",
    "dataset": "A data set of depth and clouds: sensor-fmus dataset dataset/yard.toml",
    "scenes": "The built-in scenes with the scripts that make their meshes",
    "own_sensor": "A sonar, a sensor of one's own, with a preset",
    "ssp": "The system of drive.py as a description, which sensor-fmus build --ssp packs",
    "starter": "What sensor-fmus new writes",
}
#: Commands that leave alone what they have done already.
RESUMED = ("build", "campaign", "dataset")
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
        return _run_command(words)
    except BrokenPipeError:  # whoever read the output has seen enough; Python writes the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (RuntimeError, ValueError, OSError) as error:  # all that is raised on purpose is such
        if not _is_expected(error):
            raise
        print(_told(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        goes_on = "; the same command goes on from here" if {*words[:1]} & {*RESUMED} else ""
        print(f"\nstopped{goes_on}", file=sys.stderr)
        return 130


def _run_command(words: Sequence[str]) -> int:
    others: Mapping[str, Callable[[Sequence[str]], int]] = {
        "build": _build, "demo": run_demo, "fit": _fit, "presets": _presets, "scene": _scene,
    }  # fmt: skip
    if words and words[0] in others:  # all other arguments are for that command
        return others[words[0]](words[1:])
    parser, names = _parser()
    if not words:
        parser.print_help(sys.stderr)
        return 2
    if words[0] not in names and not words[0].startswith("-"):
        close = difflib.get_close_matches(words[0], names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
        print(f"sensor-fmus: no command {words[0]!r}; {hint}", file=sys.stderr)
        return 2
    given = parser.parse_args(words)
    return int(given.act(given))


def _told(error: Exception) -> str:
    """An error in a line; the system's own have the file first, as all others do."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


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
    return build_fmus.main(words, "sensor-fmus build")


def _scene(words: Sequence[str]) -> int:
    from sensor_models.tools.pictures import scene_command

    return scene_command.main(words, "sensor-fmus scene")


def _fit(words: Sequence[str]) -> int:
    from sensor_models.tools.pictures import fit_command

    return fit_command.main(words)


def _presets(words: Sequence[str]) -> int:
    """Presets, also of sensors in files of the user (``--module``)."""
    from fmus.building.sources import own_spec
    from sensor_models.presets import __main__ as presets

    return presets.main(words, own_spec)


def run_demo(words: Sequence[str]) -> int:
    """Run the demo, which builds the FMUs that are not there."""
    from fmus.building import project

    need("sensor-fmus demo", "demo")
    command = [sys.executable, str(project.EXAMPLES / "demo.py"), *words]
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:  # of which the demo itself has told
        return 130


def _list(_given: argparse.Namespace) -> int:
    return _build(["--list"])


def _new(given: argparse.Namespace) -> int:
    from fmus.building import project

    copy_new(project.EXAMPLES / STARTER, given.directory)
    try:
        need("its run.py", "demo")
    except MissingError as missing:
        print(missing)
    print(f"now: cd {_quoted(given.directory)} && {_python()} run.py")
    return 0


def _python() -> str:
    """How the user's shell calls this Python."""
    found, own = shutil.which("python"), Path(sys.executable)
    return "python" if found and Path(found).parent == own.parent else _quoted(own)


def _quoted(path: Path) -> str:
    """A path as one word of a command line."""
    return subprocess.list2cmdline([str(path)]) if os.name == "nt" else shlex.quote(str(path))


def _examples(given: argparse.Namespace) -> int:
    from fmus.building import project

    if given.directory is None:
        for name, about in _described(project.EXAMPLES):
            print(f"{name:<16} {about}")
        print("to have them all: sensor-fmus examples DIRECTORY")
        return 0
    copy_new(project.EXAMPLES, given.directory)
    copy_new(project.SCENES, given.directory / "scenes")
    print(given.directory)
    return 0


def _described(examples: Path) -> Iterator[tuple[str, str]]:
    """Scripts with the first lines of their docstrings, and folders."""
    for path in sorted(examples.glob("*.py")):
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        yield path.name, about.splitlines()[0]
    for name, about in FOLDERS.items():
        yield f"{name}/", about


def copy_new(source: Path, target: Path) -> None:
    """Copy files of the project into a directory that is new or empty.

    Without their permissions: a package may be installed for reading only.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already; name a directory that is new or empty")
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


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


def _parser() -> tuple[argparse.ArgumentParser, Sequence[str]]:
    """The parser, and the commands that there are."""
    parser = argparse.ArgumentParser(
        prog="sensor-fmus",
        description="Simulated sensors as FMUs. Begin with: sensor-fmus new DIRECTORY",
        epilog="sensor-fmus COMMAND --help says what a command takes.",
    )
    version = f"%(prog)s {sensor_models.__version__}"
    parser.add_argument("--version", action="version", version=version)
    topics = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    new = topics.add_parser("new", help="write a project that runs: a world, a path, two sensors")
    new.set_defaults(act=_new)
    new.add_argument("directory", type=Path, help="is made, or empty")
    examples = topics.add_parser("examples", help="list the examples, or copy them")
    examples.set_defaults(act=_examples)
    examples.add_argument("directory", type=Path, nargs="?", help="is made, or empty")
    topics.add_parser("list", help="what FMUs there are").set_defaults(act=_list)
    for name, about in (
        ("build", "build FMUs into build/fmus"),
        ("demo", "drive through a yard with all sensors, and write a report"),
        ("scene", "a first manifest of your meshes; pictures and checks; worlds of others"),
        ("presets", "check presets, list those that there are, and units"),
        ("fit", "from recorded data to a preset with intervals"),
    ):
        topics.add_parser(name, help=about, add_help=False)
    _add_campaign(topics.add_parser("campaign", help="many runs of a system of FMUs"))
    dataset = topics.add_parser("dataset", help="samples of sensors in scenes drawn by rule")
    dataset.set_defaults(act=_dataset)
    dataset.add_argument("file", type=Path, help="description of the data set, in TOML")
    dataset.add_argument("--output", type=Path, help="directory; default: beside the description")
    add_pool(dataset)
    add_to(topics).set_defaults(act=_validate)
    return parser, list(topics.choices)


def _add_campaign(campaign: argparse.ArgumentParser) -> None:
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


if __name__ == "__main__":
    sys.exit(main())
