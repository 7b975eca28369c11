"""The report of a fit: its figures as a picture, and with its numbers as a page in one file."""

import base64
import html
import io
import math
from collections.abc import Sequence
from pathlib import Path

from sensor_models.output.files import output_errors, published
from sensor_models.tools.fitting.comparing import Comparison
from sensor_models.tools.fitting.estimates import Figure, Fit, FitError
from sensor_models.tools.fitting.tables import need

_STYLE = """body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left}
td.no{background:#f7d4d4}img{max-width:100%}"""


def check_report(path: Path) -> None:
    """Refuse a report that could not be written.

    Raises:
        FitError: for a file of another kind, or without what draws.
    """
    need(f"--report {path}", "matplotlib")
    if path.suffix not in (".png", ".html"):
        raise FitError(f"--report {path}: a report is .html or .png")


def write_report(path: Path, fit: Fit, comparisons: Sequence[Comparison]) -> None:
    """Write the figures (.png), or a page with figures and numbers (.html)."""
    content = picture_of(fit.figures)
    if path.suffix == ".html":
        content = _page(fit, comparisons, content).encode()
    with output_errors(f"cannot write {path}"), published(path) as aside:
        aside.write_bytes(content)


def picture_of(figures: Sequence[Figure]) -> bytes:
    """Figures beside one another as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    columns = min(max(len(figures), 1), 2)
    rows = max(math.ceil(len(figures) / columns), 1)
    sheet = Sheet(figsize=(6.4 * columns, 4.4 * rows), layout="constrained")
    FigureCanvasAgg(sheet)
    for place, figure in enumerate(figures):
        axes = sheet.add_subplot(rows, columns, place + 1)
        colors: list[str] = []
        for curve in figure.curves:
            if curve.is_line:  # in the colour of the points before it
                axes.plot(curve.x, curve.y, "-", lw=1.2, color=colors[-1] if colors else None,
                          label=curve.label)  # fmt: skip
            elif len(curve.spread):
                drawn = axes.errorbar(curve.x, curve.y, curve.spread, fmt="o", ms=3, lw=1,
                                      label=curve.label)  # fmt: skip
                colors.append(drawn[0].get_color())
            else:
                (line,) = axes.plot(curve.x, curve.y, ".", ms=4, label=curve.label)
                colors.append(line.get_color())
        if figure.is_logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
        axes.grid(visible=True, which="both", alpha=0.25)
        if figure.curves:
            axes.legend(fontsize="small")
    stream = io.BytesIO()
    sheet.savefig(stream, format="png", dpi=80)
    return stream.getvalue()


def _page(fit: Fit, comparisons: Sequence[Comparison], picture: bytes) -> str:
    judged = {c.estimate.name: c for c in comparisons}
    head = ["number", "value and interval of 95 %", "method"]
    rows = []
    for e in fit.estimates:
        cells = [e.name, e.shown(), e.method]
        mark = ""
        if comparisons:
            comparison = judged.get(e.name)
            cells.append(f"{comparison.preset:.5g}" if comparison else "")
            mark = ' class="no"' if comparison and comparison.contradicted else ""
        row = "".join(f"<td{mark}>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f"<tr>{row}</tr>")
    if comparisons:
        head.append("preset; contradicted in red")
    header = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    lists = "".join(
        f"<h2>{title}</h2><ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>"
        for title, lines in (("Notes", fit.notes), ("What the data cannot tell", fit.unknown))
        if lines
    )
    image = base64.b64encode(picture).decode()
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>fit {fit.kind}</title>"
        f"<style>{_STYLE}</style><h1>Fit of {html.escape(', '.join(fit.sensors))}</h1>"
        f"<table><tr>{header}</tr>{''.join(rows)}</table>{lists}"
        f'<p><img alt="figures" src="data:image/png;base64,{image}"></html>\n'
    )
