"""``sensor-fmus``: the command line of the project.

``sensor-fmus list``                what FMUs there are
``sensor-fmus build [OPTION ...]``  build FMUs into build/fmus, with the options of build_fmus.py
``sensor-fmus demo [OPTION ...]``   drive through a yard with all sensors, and write a report
``sensor-fmus campaign run FILE [--workers N | --scheduler tcp://HOST:8786] [--output DIR]``
``sensor-fmus campaign report FILE [--output DIR]``
``sensor-fmus dataset FILE [--workers N | --scheduler tcp://HOST:8786] [--output DIR]``
"""

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import build_fmus
from fmus.building import project
from fmus.campaigns.campaign import identity, open_campaign, run_campaign
from fmus.campaigns.design import DesignError
from fmus.campaigns.results import Results, ResultsError
from fmus.systems import DescriptionError
from sensor_models.core.quantities import ParameterError
from sensor_models.crew import Crew
from sensor_models.crew.cluster import ClusterCrew
from sensor_models.crew.local import LocalCrew
from sensor_models.datasets.dataset import make_dataset
from sensor_models.pictures.progress import ProgressLine
from sensor_models.scene.workers import processors

FMUS = Path("build/fmus")
REPORT = "report.html"
#: Errors that are reported in one line, without a traceback.
EXPECTED = (DescriptionError, DesignError, ParameterError, ResultsError, RuntimeError, OSError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0 if it succeeded."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["build"]:  # all other arguments are for that command
        return build_fmus.main(words[1:])
    if words[:1] == ["demo"]:
        return run_demo(words[1:])
    given = _parser().parse_args(words)
    try:
        return int(given.act(given))
    except EXPECTED as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        return 130


def run_demo(words: Sequence[str]) -> int:
    """Build the FMUs for this processor if there are none, and run the demo."""
    built = "--fmus" in words or FMUS.is_dir()
    if not built and (status := build_fmus.main(["--levels", "host"])) != 0:
        return status
    command = [sys.executable, str(project.EXAMPLES / "demo.py"), *words]
    return subprocess.run(command, check=False).returncode


def _list(_given: argparse.Namespace) -> int:
    return build_fmus.main(["--list"])


def crew_of(given: argparse.Namespace) -> Crew:
    """The workers that the command line asks for."""
    return ClusterCrew(given.scheduler) if given.scheduler else LocalCrew(given.workers)


def add_crew(parser: argparse.ArgumentParser) -> None:
    """Options that choose workers."""
    parser.add_argument("--workers", type=int, default=processors(), help="processes here")
    parser.add_argument("--scheduler", default="", help="address of a Dask scheduler")


def _output(given: argparse.Namespace) -> Path:
    return Path(given.output or given.file.with_suffix(""))


def _run(given: argparse.Namespace) -> int:
    output = _output(given)
    with contextlib.closing(crew_of(given)) as crew, ProgressLine("running") as progress:
        results = run_campaign(given.file, output, crew, progress)
    failed = sum(row.status != "ok" for row in results.rows.values())
    print(f"{output}: {len(results.rows)} runs, {failed} failed")
    return _report(given)


def _report(given: argparse.Namespace) -> int:
    from fmus.campaigns.report import write_report

    campaign, output = open_campaign(given.file), _output(given)
    with contextlib.closing(Results(output, identity(campaign))) as results:
        print(write_report(campaign, results.ordered(), output / REPORT))
    return 0


def _dataset(given: argparse.Namespace) -> int:
    output = _output(given)
    with contextlib.closing(crew_of(given)) as crew, ProgressLine("making") as progress:
        print(make_dataset(given.file, output, crew, progress))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sensor-fmus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    topics = parser.add_subparsers(required=True)
    for name, about in (("build", "build FMUs"), ("demo", "a drive with all sensors")):
        topics.add_parser(name, help=f"{about}; has a --help of its own", add_help=False)
    topics.add_parser("list", help="list the FMUs").set_defaults(act=_list)
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
        if name == "run":
            add_crew(action)
    dataset = topics.add_parser("dataset", help="samples of sensors in scenes drawn by rule")
    dataset.set_defaults(act=_dataset)
    dataset.add_argument("file", type=Path, help="description of the data set, in TOML")
    dataset.add_argument("--output", type=Path, help="directory; default: beside the description")
    add_crew(dataset)
    return parser


if __name__ == "__main__":
    sys.exit(main())
