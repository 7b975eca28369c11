"""``sensor-fmus fit``: from recorded data to a preset with intervals."""

import argparse
import datetime
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sensor_models.core.quantities import ParameterError
from sensor_models.output.files import OutputError
from sensor_models.presets import Preset, find_preset, is_path, list_presets, read_preset
from sensor_models.tools.fitting.ccd import fit_ccd
from sensor_models.tools.fitting.comparing import Comparison, compare
from sensor_models.tools.fitting.depth import fit_depth
from sensor_models.tools.fitting.encoder import fit_encoder
from sensor_models.tools.fitting.estimates import Fit, FitError
from sensor_models.tools.fitting.gnss import fit_gnss
from sensor_models.tools.fitting.imu import fit_imu
from sensor_models.tools.fitting.lidar import fit_lidar
from sensor_models.tools.fitting.report import check_report, write_report
from sensor_models.tools.fitting.writing import preset_text, write_preset
from sensor_models.tools.pictures.progress import ProgressLine

EXAMPLES = """examples:
  sensor-fmus fit imu still.csv --output my_imu.toml --report my_imu.html
  sensor-fmus fit imu still.mcap --column topic=/imu/data --compare VN-100
  sensor-fmus fit imu log.csv --column gyroscope.x=gx[deg/s] --column time=stamp[us]
  sensor-fmus fit ccd frames.toml          # files and their exposures, or the folder with it
"""

Fitter = Callable[[Sequence[Path], Mapping[str, str], Callable[[int, int], None]], Fit]


class Kind(NamedTuple):
    """What fits data of a kind, and the sensors that these may be of."""

    fitter: Fitter
    sensors: tuple[str, ...]


KINDS: Mapping[str, Kind] = {
    "imu": Kind(fit_imu, ("Imu", "Accelerometer", "Gyroscope", "Magnetometer")),
    "encoder": Kind(fit_encoder, ("Encoder",)),
    "lidar": Kind(fit_lidar, ("Lidar",)),
    "depth": Kind(fit_depth, ("DepthCamera",)),
    "gnss": Kind(fit_gnss, ("Gnss",)),
    "ccd": Kind(fit_ccd, ("CcdCamera",)),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0 if it succeeded."""
    given = _parser().parse_args(arguments)
    try:
        return _run(given)
    except (FitError, ParameterError, OutputError) as error:
        print(error, file=sys.stderr)
        return 1


def _run(given: argparse.Namespace) -> int:
    columns = _columns(given.column)
    if given.report:
        check_report(given.report)
    preset = _preset(given.kind, given.compare) if given.compare else None
    with ProgressLine("fitting") as progress:
        fit = KINDS[given.kind].fitter(given.logs, columns, progress)
    comparisons = compare(fit, preset) if preset else []
    print("\n".join(summary(fit, comparisons)))
    if given.output:
        text = preset_text(fit, given.name or given.output.stem, given.logs, datetime.date.today())
        write_preset(given.output, text, fit.files)
        print(given.output)
    if given.report:
        write_report(given.report, fit, comparisons)
        print(given.report)
    return 0


def summary(fit: Fit, comparisons: Sequence[Comparison]) -> list[str]:
    """What is printed of a fit."""
    width = max((len(e.name) for e in fit.estimates), default=0)
    lines = [f"{', '.join(fit.sensors)}: value [interval of 95 %]"]
    lines += [f"  {e.name:<{width}}  {e.shown()}" for e in fit.estimates]
    lines += [f"  {name:<{width}}  {value}" for name, value in fit.settings.items()]
    for title, remarks in (
        ("notes:", fit.notes),
        ("what the data cannot tell:", fit.unknown),
    ):
        if remarks:
            lines += [title, *(f"  {remark}" for remark in remarks)]
    if comparisons:
        wrong = sum(comparison.contradicted for comparison in comparisons)
        lines.append(f"compared: the data contradict {wrong} of {len(comparisons)} numbers")
        lines += [f"  {comparison.shown()}" for comparison in comparisons]
    return lines


def _preset(kind: str, name: str) -> Preset:
    """The preset of a name or file, for the whole device or one of its parts."""
    if is_path(name):
        return read_preset(Path(name))
    sensors = KINDS[kind].sensors
    of = [s for s in sensors if _plain(name) in map(_plain, list_presets(s))]
    return find_preset(of[0] if of else sensors[0], name)


def _plain(name: str) -> str:
    """A name as presets are compared: letters and digits alone."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _columns(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, theirs = text.partition("=")
        if not equals or not name or not theirs:
            raise FitError(f"--column {text}: must be name=theirs, or name=theirs[unit]")
        found[name] = theirs
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sensor-fmus fit",
        description="From recorded data to a preset with intervals.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=list(KINDS), help="what the data are of")
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="file, bag or folder")
    parser.add_argument("--output", type=Path, metavar="FILE.toml", help="write a preset")
    parser.add_argument("--name", default="", help="of the preset; default: that of its file")
    parser.add_argument("--compare", default="", metavar="PRESET", help="name or file of a preset")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="page (.html) or picture (.png)"
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=THEIRS[UNIT]",
        help="what the log calls a column, and its unit; topic=NAME chooses a topic",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
