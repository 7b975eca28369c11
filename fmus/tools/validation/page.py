"""All rows as one HTML file without scripts, which needs no network.

Pictures are drawn by matplotlib as SVG and stand in the file. Texts come from rows, which others
may have written, and are text in it, never markup.
"""

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from fmus.tools.validation.card import number_table
from fmus.tools.validation.judging import Judged, RowResult, kept
from fmus.tools.validation.metric import samples_of
from fmus.tools.validation.rows import Distribution, Row, factor_of
from fmus.tools.validation.sheets import SheetResult, sheet_table

PAGE = Path(__file__).parent / "page.html"
#: Rows whose pictures stand in documents.
SHOWN = ("vn100", "d455-law", "zed-f9p-rtk")
#: What keeps dates and versions out of pictures.
_NO_DATE: Mapping[str, Mapping[str, None]] = {"svg": {"Date": None}, "png": {"Software": None}}
#: Pictures beside one another.
ACROSS = 3
#: The most points of an empirical distribution that are drawn.
DRAWN = 400
DEFINITION = (
    "Where a distribution was published, the Double Validation Metric is given: d_bias, the"
    " difference of the means, and d_CC, the area between the two empirical distribution functions"
    " after the simulated one was shifted by the bias."
)


def write_page(results: Sequence[RowResult], sheets: Sequence[SheetResult], file: Path) -> Path:
    """Write the page."""
    passed = sum(result.passed for result in results)
    page = Template(PAGE.read_text(encoding="utf-8")).substitute(
        rows=len(results),
        passed=passed,
        failed=len(results) - passed,
        others=sum(result.row.third_party for result in results),
        sensors=len({result.row.sensor for result in results}),
        seconds=f"{sum(r.seconds for r in results) + sum(s.seconds for s in sheets):.0f}",
        definition=DEFINITION,
        summary="\n".join(_line(result) for result in results),
        sections="\n".join(_section(result) for result in results),
        presets=_presets(sheets),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_suffix(".part")
    aside.write_text(page, encoding="utf-8")
    aside.replace(file)
    return file


def _line(result: RowResult) -> str:
    row = result.row
    good = sum(judged.passed for judged in result.judged)
    cells = (row.sensor, row.simulation.fmu, row.kind.replace("_", " "),
             "yes" if row.third_party else "no", f"{good} of {len(row.numbers)}")  # fmt: skip
    name = f'<a href="#{escape(row.name)}">{escape(row.title)}</a>'
    return (
        f"<tr><td>{name}</td>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + f"<td>{_verdict(result)}</td></tr>"
    )


def _verdict(result: RowResult) -> str:
    return f'<span class="{result.verdict.replace(" ", "-")}">{result.verdict}</span>'


def _section(result: RowResult) -> str:
    row = result.row
    parts = [
        f'<section id="{escape(row.name)}">',
        f"<h2>{escape(row.title)}: {_verdict(result)}</h2>",
        f"<p>{escape(row.set_up)} {escape(row.proves)}</p>",
        f'<p class="source">Source: {escape(str(row.source))}</p>',
        f'<p class="source">Simulated: {escape(_simulated(row))}</p>',
    ]
    if result.message:
        parts.append(f'<p class="not-run">{escape(result.message)}</p>')
    if result.apart is not None:
        apart = result.apart
        parts.append(
            "<p>Double Validation Metric:"
            f" d_bias = {apart.bias:.4g} {escape(apart.unit)},"
            f" d_CC = {apart.shape:.4g} {escape(apart.unit)}</p>"
        )
    parts += [f'<div class="wide">{number_table(kept(result).numbers)}</div>', _reasons(result)]
    picture = picture_of(result)
    if picture:
        source = base64.b64encode(picture).decode()
        parts.append(
            f'<p><img alt="measured and simulated" src="data:image/svg+xml;base64,{source}"></p>'
        )
    return "\n".join([*parts, "</section>"])


def _reasons(result: RowResult) -> str:
    reasons = dict.fromkeys(number.reason for number in result.row.numbers)
    return f'<p class="source">Tolerance: {escape("; ".join(reasons))}</p>'


def _simulated(row: Row) -> str:
    simulation = row.simulation
    with_preset = f", preset {simulation.preset}" if simulation.preset else ""
    given = ", ".join(f"{name} = {value}" for name, value in simulation.parameters.items())
    runs = f", {len(simulation.runs)} runs" if len(simulation.runs) > 1 else ""
    return (
        f"FMU {simulation.fmu}{with_preset}, {simulation.duration:g} s{runs}, method"
        f" {simulation.method}{'; ' + given if given else ''}"
    )


def _presets(sheets: Sequence[SheetResult]) -> str:
    if not sheets:
        return ""
    return f'<h2 id="presets">Presets against their data sheets</h2>\n{sheet_table(sheets)}'


def picture_of(result: RowResult, kind: str = "svg") -> bytes:
    """A picture of a row, SVG or PNG: curves with published points on them, and distributions."""
    row, outcome = result.row, result.outcome
    if outcome is None:
        return b""
    curves: dict[str, list[Judged]] = {}
    for judged in result.judged:
        if judged.number.at is not None or f"{_stem(judged)}.deviation" in outcome.curves:
            name = judged.number.result if judged.number.at is not None else _curve(judged)
            curves.setdefault(name, []).append(judged)
    wanted: list[str | Distribution] = [
        *curves,
        *([row.distribution] if row.distribution and result.apart else []),
    ]
    if not wanted:
        return b""
    import matplotlib as mpl

    mpl.use("Agg")  # no screen is needed
    from matplotlib import pyplot

    with mpl.rc_context({"svg.hashsalt": row.name, "font.size": 9}):
        across, down = min(len(wanted), ACROSS), -(-len(wanted) // ACROSS)
        size = (4.8 * across, 3.4 * down)
        figure, axes = pyplot.subplots(
            down, across, figsize=size, layout="constrained", squeeze=False
        )
        for axis in axes.flat[len(wanted) :]:
            axis.remove()
        for axis, what in zip(axes.flat, wanted, strict=False):
            if isinstance(what, Distribution):
                _draw_distribution(axis, what, outcome.samples[what.result])
            else:
                _draw_curve(axis, what, outcome.curves[what], outcome.axis, curves[what])
        stream = io.BytesIO()
        figure.savefig(stream, format=kind, dpi=80, metadata=_NO_DATE[kind])
        pyplot.close(figure)
    return stream.getvalue()


def _stem(judged: Judged) -> str:
    return judged.number.result.rpartition(".")[0]


def _curve(judged: Judged) -> str:
    return f"{_stem(judged)}.deviation"


#: Where on an Allan curve a number is read, or what line it is: of a time τ, with its value.
LINES: Mapping[str, Callable[[Any, float], Any]] = {
    "noise": lambda tau, value: value / np.sqrt(tau),
    "walk": lambda tau, value: value * np.sqrt(tau / 3.0),
    "floor": np.full_like,
    "flat": np.full_like,
}


def _draw_curve(
    axis: Any, name: str, curve: tuple[Any, Any], over: str, judged: Sequence[Judged]
) -> None:
    places, values = curve
    unit = judged[0].number.unit
    on = [one for one in judged if one.number.at is not None]
    factor = factor_of(unit) if on else 1.0
    axis.plot(places, values / factor, ".-" if len(places) < 12 else "-", label="simulated")
    if on:
        axis.plot(
            [one.number.at for one in on],
            [one.number.published for one in on],
            "ko",
            mfc="none",
            label="published",
        )
    for one in judged:
        kind = one.number.result.rpartition(".")[2]
        if one.number.at is None and kind in LINES:
            line = LINES[kind](places, one.number.published * factor_of(one.number.unit))
            axis.plot(places, line, "k--", lw=0.8, label=f"published {kind}")
    if np.all(values > 0.0) and np.all(places > 0.0) and np.ptp(values) > 0.0:
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(values.min() / factor / 2.0, values.max() / factor * 2.0)
    axis.set_title(f"{name} / {unit}" if on else f"{name} / SI")
    axis.set_xlabel(over)
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize="small")


def _draw_distribution(axis: Any, given: Distribution, simulated: Any) -> None:
    factor = factor_of(given.unit)
    for label, samples in (("simulated", simulated), ("published", samples_of(given))):
        ordered = np.sort(np.ravel(samples)) / factor
        shares = (np.arange(len(ordered)) + 0.5) / len(ordered)
        step = max(1, len(ordered) // DRAWN)
        style = {"color": "k", "ls": "--"} if label == "published" else {}
        axis.step(ordered[::step], shares[::step], where="mid", label=label, **style)
    axis.set_title(f"distribution of {given.result}")
    axis.set_xlabel(given.unit)
    axis.set_ylabel("share")
    axis.grid(alpha=0.3)
    axis.legend(fontsize="small")


def write_pictures(results: Sequence[RowResult], folder: Path) -> None:
    """Write the pictures that documents show, of rows that were run."""
    for result in results:
        if (
            result.row.name in SHOWN
            and folder.parent.is_dir()
            and (made := picture_of(result, "png"))
        ):
            folder.mkdir(exist_ok=True)
            (folder / f"{result.row.name}.png").write_bytes(made)
