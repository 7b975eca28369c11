"""A page about a campaign: what was varied, the results, and which runs to look at.

It is one HTML file that contains Plotly's script and needs no network. Names of metrics, messages
and values come from others and are text in it, never markup.
"""

import json
import math
from collections.abc import Container, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from fmus.tools.campaigns.description import Campaign
from fmus.tools.campaigns.results import TABLE, Row

PAGE = Path(__file__).parent / "page.html"
#: The most runs in each list: the worst of each metric, and those that failed.
LISTED = 10
#: If there are more runs, only every n-th is drawn.
MOST_DRAWN = 5000


def write_report(campaign: Campaign, rows: Sequence[Row], file: Path) -> Path:
    """Write the page."""
    done = [row for row in rows if row.status == "ok"]
    metrics = [metric.name for metric in campaign.metrics]
    varied = [variation.name for variation in campaign.variations]
    by_decades = {variation.name for variation in campaign.variations if variation.logarithmic}
    drawn = done[:: max(1, -(-len(done) // MOST_DRAWN))]
    figures: dict[str, Any] = {}
    if drawn and (varied or len(metrics) > 1):
        figures["coordinates"] = _figure(_coordinates(drawn, varied, metrics, by_decades))
    for metric in metrics:
        figures[f"metric-{metric}"] = _figure(_scatter(drawn, varied, metric, by_decades))
    page = Template(PAGE.read_text(encoding="utf-8")).substitute(
        name=escape(campaign.name),
        about=escape(campaign.system.description),
        runs=len(rows),
        failed=len(rows) - len(done),
        choices=len(varied),
        seconds=f"{sum(row.seconds for row in rows):.1f}",
        simulated=f"{campaign.stop * len(done):g}",
        table=TABLE,
        summary=_summary(done, metrics),
        worst="".join(_worst(done, varied, metric) for metric in metrics),
        failures=_failures([row for row in rows if row.status != "ok"]),
        plotly=get_plotlyjs(),
        # No text in it can end the element that it stands in, or begin a comment there.
        data=json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c"),
    )
    aside = file.with_suffix(".part")
    aside.write_text(page, encoding="utf-8")
    aside.replace(file)
    return file


def _figure(figure: go.Figure) -> dict[str, Any]:
    made = json.loads(figure.to_json())
    made["layout"].pop("template", None)
    return {"data": made["data"], "layout": made["layout"]}


def _coordinates(
    rows: Sequence[Row], varied: Sequence[str], metrics: Sequence[str], by_decades: Container[str]
) -> go.Figure:
    """All runs over all that was varied and measured, coloured by the first metric."""
    dimensions = [
        (decades if name in by_decades else _dimension)(name, [row.values[name] for row in rows])
        for name in varied
    ]
    dimensions += [_dimension(name, [_number(row, name) for row in rows]) for name in metrics]
    colors = [_number(row, metrics[0]) for row in rows] if metrics else None
    line = {"color": colors, "colorscale": "Viridis", "showscale": bool(metrics)}
    figure = go.Figure(go.Parcoords(dimensions=dimensions, line=line, labelangle=-15))
    return figure.update_layout(margin={"l": 60, "r": 40, "t": 110, "b": 30})


def _dimension(label: str, values: Sequence[Any]) -> dict[str, Any]:
    """An axis; names and Booleans have their places on it."""
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return {"label": escape(label), "values": list(values)}
    names = sorted({str(value) for value in values})
    places = [names.index(str(value)) for value in values]
    texts = [escape(name) for name in names]
    ticks = {"tickvals": [*range(len(names))], "ticktext": texts}
    return {"label": escape(label), "values": places, **ticks}


def decades(label: str, values: Sequence[float]) -> dict[str, Any]:
    """An axis of logarithms, which Plotly's parallel coordinates lack: marks at 1, 2 and 5."""
    logarithms = [math.log10(value) for value in values]
    exponents = range(math.floor(min(logarithms)), math.ceil(max(logarithms)) + 1)
    marks = [float(f"{digit}e{exponent}") for exponent in exponents for digit in (1, 2, 5)]
    inside = [mark for mark in marks if min(values) <= mark <= max(values)]
    return {
        "label": escape(label),
        "values": logarithms,
        "tickvals": [math.log10(mark) for mark in inside],
        "ticktext": [f"{mark:g}" for mark in inside],
    }


def _scatter(
    rows: Sequence[Row], varied: Sequence[str], metric: str, by_decades: Container[str]
) -> go.Figure:
    """A metric over each variation, chosen by buttons; over the runs if nothing varies."""
    over = [*varied, "run"]
    kinds = ["log" if name in by_decades else "-" for name in over]
    numbers = [_number(row, metric) for row in rows]
    figure = go.Figure()
    for index, name in enumerate(over):
        across = [row.run if name == "run" else _plain(row.values[name]) for row in rows]
        labels = [f"run {row.run}, seed {row.seed}" for row in rows]
        marks = {"size": 5, "opacity": 0.6}
        figure.add_scattergl(
            x=across, y=numbers, mode="markers", text=labels, marker=marks, visible=index == 0
        )
    buttons = [
        {
            "label": escape(name),
            "method": "update",
            "args": [
                {"visible": [n == name for n in over]},
                {"xaxis.title.text": escape(name), "xaxis.type": kind},
            ],
        }
        for name, kind in zip(over, kinds, strict=True)
    ]
    menu = {"buttons": buttons, "x": 0, "y": 1.2, "xanchor": "left", "yanchor": "top"}
    return figure.update_layout(
        yaxis_title=escape(metric),
        xaxis_title=escape(over[0]),
        xaxis_type=kinds[0],
        updatemenus=[menu],
        showlegend=False,
        margin={"l": 70, "r": 20, "t": 70, "b": 50},
    )


def _plain(value: Any) -> Any:
    """A value of an axis: Plotly takes texts for a little HTML."""
    return escape(value) if isinstance(value, str) else value


def _number(row: Row, metric: str) -> float | None:
    value = row.metrics[metric]
    return value if math.isfinite(value) else None


def _summary(rows: Sequence[Row], metrics: Sequence[str]) -> str:
    """Least, quartiles and largest of each metric."""
    lines = []
    for metric in metrics:
        values = sorted(v for row in rows if (v := _number(row, metric)) is not None)
        shares = (
            [values[round(q * (len(values) - 1))] for q in (0, 0.25, 0.5, 0.75, 1)]
            if values
            else []
        )
        lines.append(_line([metric, len(values), *shares]))
    return "".join(lines)


def _worst(rows: Sequence[Row], varied: Sequence[str], metric: str) -> str:
    """The runs with the largest numbers of a metric, as a table."""
    known = [row for row in rows if _number(row, metric) is not None]
    known.sort(key=lambda row: -row.metrics[metric])
    head = _line(["run", metric, "seed", *varied, "files"], "th")
    lines = [
        _line(
            [
                row.run,
                row.metrics[metric],
                row.seed,
                *(row.values[name] for name in varied),
                _link(row.directory),
            ]
        )
        for row in known[:LISTED]
    ]
    title = f"<h3>Largest {escape(metric)}</h3>"
    return f'{title}<div class="wide"><table>{head}{"".join(lines)}</table></div>'


def _failures(rows: Sequence[Row]) -> str:
    if not rows:
        return "<p>None.</p>"
    head = _line(["run", "seed", "what was said"], "th")
    lines = [_line([row.run, row.seed, row.message]) for row in rows[:LISTED]]
    more = f"<p>And {len(rows) - LISTED} more.</p>" if len(rows) > LISTED else ""
    return f'<div class="wide"><table>{head}{"".join(lines)}</table></div>{more}'


class _Markup(str):
    """Text that is HTML already."""


def _link(directory: str) -> str:
    if not directory:
        return "none kept"
    return _Markup(f'<a href="{escape(directory)}/">{escape(directory)}</a>')


def _text(value: object) -> str:
    """A cell of a table."""
    if isinstance(value, _Markup):
        return value
    return f"{value:.5g}" if isinstance(value, float) else escape(str(value))


def _line(cells: Sequence[object], kind: str = "td") -> str:
    return "<tr>" + "".join(f"<{kind}>{_text(cell)}</{kind}>" for cell in cells) + "</tr>"
