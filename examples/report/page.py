"""The page: text, tables, figures and scripts, in one file."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from report import figures
from report.allan import Allan, at_rest
from report.odometry import Odometry, odometry_of
from report.recording import Recording
from report.satellites import Fixes
from report.views import views_of
from sensor_models.tools.pictures.progress import Progress

HERE = Path(__file__).parent
ENDS_OF_TABLE = 3  # rows at the beginning and at the end that are shown of each sensor's files
PACKAGES = ("sensor-fmus", "numpy", "numba", "mujoco", "embreex", "fmpy", "plotly")


def write_report(recording: Recording, file: Path, hours: float, progress: Progress) -> Path:
    """Write the report of a drive; ``hours`` is how long the IMU is at rest for its noise."""
    progress.say("report: odometry and pictures")
    odometry, fixes = odometry_of(recording), Fixes(recording)
    shown = {
        "radar": figures.radar_map(),
        "pulse": figures.pulse(),
        "top-view": figures.top_view(recording, odometry, fixes),
        "sky": figures.sky(fixes),
        "fix": figures.fix(fixes),
        "heading": figures.heading(recording, odometry),
        "imu": figures.imu(recording),
        "wheels": figures.wheels(recording),
    }
    found = at_rest(hours, lambda share: progress.show(share, "report: the IMU at rest"))
    shown["allan"] = figures.allan(found)
    progress.say("report: point clouds, pictures, maps of the radar")
    data = {
        "figures": {k: _figure(f) for k, f in shown.items()},
        "views": views_of(recording, fixes) | {"sky": _sky(fixes)},
    }
    page = Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        _texts(recording, odometry, fixes, found),
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        plotly=get_plotlyjs(),
        # No text in it can end the element that it stands in.
        data=json.dumps(data, separators=(",", ":")).replace("</", "<\\/"),
        script=(HERE / "page.js").read_text(encoding="utf-8"),
    )
    file.write_text(page, encoding="utf-8")
    return file


def _figure(figure: go.Figure) -> dict[str, Any]:
    """A figure without Plotly's own template: the page has colours of its own."""
    made = json.loads(figure.to_json())
    made["layout"].pop("template", None)
    return {"data": made["data"], "layout": made["layout"]}


def _sky(fixes: Fixes) -> dict[str, Any]:
    return {key: np.asarray(value).tolist() for key, value in fixes.sky.items()}


def _texts(recording: Recording, odometry: Odometry, fixes: Fixes, found: Allan) -> dict[str, str]:
    """Values in the text of the page."""
    position = recording.vector("body.position", ("x", "y"))
    way = float(np.linalg.norm(np.diff(position, axis=0), axis=1).sum())
    off = np.linalg.norm([odometry.by_gyroscope[-1], odometry.by_wheels[-1]] - position[-1], axis=1)
    files = [entry for entry in recording.index if "frame" in entry]
    return {
        "seconds": f"{recording.seconds:g}",
        "wall": f"{recording.wall:.1f}",
        "factor": f"{recording.factor:.1f}",
        "way": f"{way:.1f}",
        "rolled": f"{odometry.distance:.1f}",
        "track": f"{odometry.effective_track:.2f}",
        "off_gyroscope": f"{off[0]:.1f}",
        "off_wheels": f"{off[1]:.1f}",
        "lidar": escape(str(recording.parameters["lidar"]["preset"])),
        "points": f"{sum(int(e['points']) for e in recording.frames('lidar', 'points')):,}",
        "off_fixes": f"{np.sqrt(np.nanmean((fixes.errors[:, :2] ** 2).sum(axis=1))):.1f}",
        "imu_rate": f"{found.rate:g}",
        "rest": f"{60.0 * found.hours:g}",
        "imu_error": _imu_error(recording),
        "frames": _frames(recording, files),
        "frame_files": f"{len(files):,}",
        "timings": _timings(recording),
        "parameters": _parameters(recording),
        "messages": _messages(recording),
        "versions": _versions(),
    }


def _imu_error(recording: Recording) -> str:
    """The errors of readings at the same instants, as root mean squares."""
    read = recording.record("IMU")
    texts = []
    for sensor, truth, unit in zip(
        ("accelerometer", "gyroscope"),
        figures.imu_truth(recording),
        ("m/s²", "rad/s"),
        strict=True,
    ):
        values = [
            np.interp(recording.time, read["time"], read[f"{sensor}.{axis}"]) for axis in "xyz"
        ]
        error = np.sqrt(np.mean((np.column_stack(values) - truth) ** 2, axis=0))
        texts.append(f"{sensor} {', '.join(f'{e:.2g}' for e in error)} {unit}")
    return "; ".join(texts)


# ---- tables ------------------------------------------------------------------------------------


def _row(cells: Iterable[object], kind: str = "td", about: str = "") -> str:
    return f"<tr{about}>" + "".join(f"<{kind}>{cell}</{kind}>" for cell in cells) + "</tr>"


def _frames(recording: Recording, files: Sequence[dict[str, Any]]) -> str:
    """The first and last files of each sensor, and the amount of all."""
    rows, points, size = [], 0, 0
    for sensor in dict.fromkeys(entry["sensor"] for entry in files):
        own = [entry for entry in files if entry["sensor"] == sensor]
        left_out = len(own) - 2 * ENDS_OF_TABLE
        for place, entry in enumerate(own):
            bytes_of = (recording.data / entry["file"]).stat().st_size
            points, size = points + int(entry.get("points", 0)), size + bytes_of
            if place < ENDS_OF_TABLE or place >= len(own) - ENDS_OF_TABLE:
                rows.append(_row(_frame_cells(entry, bytes_of)))
            elif place == ENDS_OF_TABLE:
                text = f"<td colspan=5>… {left_out} more of the {escape(sensor)}</td>"
                rows.append(f"<tr class=more>{text}</tr>")
    total = ("all", "", f"{len(files)} files", f"{points:,} points", f"{size / 1e6:.1f} MB")
    return "\n".join([*rows, _row(total, "th", " class=total")])


def _frame_cells(entry: dict[str, Any], size: int) -> tuple[str, ...]:
    time = f"{float(entry['time']):.3f}"
    return (
        escape(entry["sensor"]), time, escape(entry["file"]), _content(entry),
        f"{size / 1e6:.2f} MB",
    )  # fmt: skip


def _content(entry: dict[str, Any]) -> str:
    """What is in the file of a frame."""
    for counted in ("points", "detections", "waveforms", "samples"):
        if counted in entry:
            return f"{entry[counted]:,} {counted}"
    sides = entry.get("shape") or (entry["width"], entry["height"])
    return " \u00d7 ".join(map(str, sides)) + f", {escape(entry['kind'])}"


def _timings(recording: Recording) -> str:
    rows = []
    for own in recording.timings:
        share = own.seconds / recording.wall
        bar = f"<span class=bar style='width:{100.0 * share:.1f}%'></span>{100.0 * share:.1f} %"
        each = f"{1e6 * own.seconds / max(own.calls, 1):,.0f}"
        alone = f"{recording.seconds / max(own.seconds, 1e-9):,.0f} \u00d7"
        step = f"{1e3 * own.step:g}"
        names = escape(own.name), escape(own.model)
        cells = (*names, step, f"{own.calls:,}", each, f"{own.seconds:.2f}", alone, bar)
        rows.append(_row(cells))
    rest = recording.wall - sum(own.seconds for own in recording.timings)
    master = "the master: values, log, ends of files"
    share_of_rest = f"{100.0 * rest / recording.wall:.1f} %"
    rows.append(_row((master, "", "", "", "", f"{rest:.2f}", "", share_of_rest)))
    factor = f"{recording.factor:.1f} \u00d7"
    total = ("all", "", "", "", "", f"{recording.wall:.2f}", factor, "")
    return "\n".join([*rows, _row(total, "th", " class=total")])


def _parameters(recording: Recording) -> str:
    rows = []
    for name, values in recording.parameters.items():
        shown = {k: v for k, v in values.items() if k not in ("output_directory", "scene_handle")}
        texts = (f"{escape(key)} = {escape(_text(value))}" for key, value in shown.items())
        rows.append(_row((escape(name), ", ".join(texts) or "none")))
    return "\n".join(rows)


def _messages(recording: Recording) -> str:
    said = dict.fromkeys(recording.messages)  # each once
    return "\n".join(_row(map(escape, message)) for message in said) or _row(("", "none"))


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _versions() -> str:
    """Where it ran and with what."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return escape(f"Python {platform.python_version()}, {packages}. {machine}.")
