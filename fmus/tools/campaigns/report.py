"""A page about a campaign: what was varied, the results, and which runs to look at.

It is one HTML file that contains Plotly's script and needs no network. Names of metrics, messages
and values come from others and are text in it, never markup.
"""

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from fmus.tools.campaigns.description import Campaign
from fmus.tools.campaigns.influence import Influences, influences_of
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
    drawn = done[:: max(1, -(-len(done) // MOST_DRAWN))]
    found = {name: _influences(campaign, done, name) for name in metrics}
    data: dict[str, Any] = {
        "coordinates": None,
        "columns": _columns(campaign, drawn, found),
        "labels": [f"run {row.run}, seed {row.seed}" for row in drawn],
    }
    if drawn and (varied or len(metrics) > 1):
        data["coordinates"] = _figure(_coordinates(campaign, drawn))
    page = Template(PAGE.read_text(encoding="utf-8")).substitute(
        name=escape(campaign.name),
        about=escape(campaign.system.description),
        runs=len(rows),
        failed=len(rows) - len(done),
        choices=len(varied),
        seconds=f"{sum(row.seconds for row in rows):.1f}",
        simulated=f"{campaign.stop * len(done):g}",
        table=TABLE,
        summary=_summary(campaign, done),
        influence="".join(_influence(campaign, name, own) for name, own in found.items()),
        worst="".join(_worst(campaign, done, metric) for metric in metrics),
        failures=_failures([row for row in rows if row.status != "ok"]),
        plotly=get_plotlyjs(),
        # No text in it can end the element that it stands in, or begin a comment there.
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    )
    aside = file.with_suffix(".part")
    aside.write_text(page, encoding="utf-8")
    aside.replace(file)
    return file


def _figure(figure: go.Figure) -> dict[str, Any]:
    made = json.loads(figure.to_json())
    made["layout"].pop("template", None)
    return {"data": made["data"], "layout": made["layout"]}


def _columns(
    campaign: Campaign, rows: Sequence[Row], found: Mapping[str, Influences]
) -> list[dict[str, Any]]:
    """What can be drawn over what: variations, the run, metrics; the most influential first."""
    first = next(iter(found.values()), None)
    order = [own.name for own in first.of] if first is not None else []
    varied = sorted(campaign.variations, key=lambda v: order.index(v.name) if order else 0)
    columns = [
        {
            "name": own.name,
            "unit": campaign.unit_of(own.name),
            "kind": "varied",
            "axis": "log" if own.logarithmic else "-",
            "values": [row.values[own.name] for row in rows],
        }
        for own in varied
    ]
    run = {"name": "run", "unit": "", "kind": "run", "axis": "-", "values": [r.run for r in rows]}
    metrics = [
        {
            "name": own.name,
            "unit": own.unit,
            "kind": "metric",
            "axis": "-",
            "values": [_number(row, own.name) for row in rows],
        }
        for own in campaign.metrics
    ]
    return [*columns, run, *metrics]


def _coordinates(campaign: Campaign, rows: Sequence[Row]) -> go.Figure:
    """All runs over all that was varied and measured, coloured by the first metric."""
    metrics = [metric.name for metric in campaign.metrics]
    dimensions = [
        (decades if own.logarithmic else _dimension)(
            _named(own.name, campaign.unit_of(own.name)), [row.values[own.name] for row in rows]
        )
        for own in campaign.variations
    ]
    dimensions += [
        _dimension(_named(own.name, own.unit), [_number(row, own.name) for row in rows])
        for own in campaign.metrics
    ]
    colors = [_number(row, metrics[0]) for row in rows] if metrics else None
    line = {"color": colors, "colorscale": "Viridis", "showscale": False}
    hidden = {"size": 1, "color": "rgba(0,0,0,0)"}  # ends of axes, which names are printed over
    figure = go.Figure(
        go.Parcoords(dimensions=dimensions, line=line, labelangle=-20, rangefont=hidden)
    )
    return figure.update_layout(margin={"l": 90, "r": 90, "t": 110, "b": 30})


def _named(name: str, unit: str) -> str:
    """The name of an axis with its unit."""
    return name if unit in ("", "1") else f"{name} / {_unit_text(unit)}"


def _unit_text(unit: str) -> str:
    """A unit, in brackets if it is a quotient itself."""
    return f"({unit})" if "/" in unit else unit


def _dimension(label: str, values: Sequence[Any]) -> dict[str, Any]:
    """An axis; names and Booleans have their places on it."""
    if all(isinstance(v, (int, float, type(None))) and not isinstance(v, bool) for v in values):
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


def _number(row: Row, metric: str) -> float | None:
    value = row.metrics[metric]
    return value if math.isfinite(value) else None


def _influences(campaign: Campaign, rows: Sequence[Row], metric: str) -> Influences:
    numbers = [row.metrics[metric] for row in rows]
    is_grid = campaign.sampling.kind == "grid"
    return influences_of([row.values for row in rows], numbers, is_grid=is_grid)


def _influence(campaign: Campaign, metric: str, found: Influences) -> str:
    """A table of the variations by their influence on a metric."""
    if not found.of:
        return ""
    head = _line(["varied", "rank correlation", "share of the variance"], "th")
    lines = [
        _line([_breakable(own.name), _bar(own.correlation, found.chance), _bar(own.index, 0.0)])
        for own in found.of
    ]
    about = f"{found.samples} samples; without any influence, 19 of 20 correlations are within"
    about += f" \u00b1 {found.chance:.2f} (grey)."
    if found.noise is not None:
        about += f" Noise that seeds draw makes {100.0 * found.noise:.0f} % of the whole variance."
    table = f'<div class="wide"><table class="influence">{head}{"".join(lines)}</table></div>'
    title = escape(_named(metric, unit_of_metric(campaign, metric)))
    return f"<h3>On {title}</h3>{table}<p class=about>{about}</p>"


def _bar(value: float | None, chance: float) -> str:
    """A number from -1 to 1 with a bar of its size."""
    if value is None:
        return "not known"
    kind = "down" if value < 0.0 else "up"
    faint = " faint" if abs(value) < chance else ""
    width = f"{5.0 * abs(value):.2f}em"
    return _Markup(f'<span class="bar {kind}{faint}" style="width:{width}"></span>{value:.2f}')


def unit_of_metric(campaign: Campaign, name: str) -> str:
    """The unit that a description gives to a metric; "" if none."""
    return next(metric.unit for metric in campaign.metrics if metric.name == name)


def _summary(campaign: Campaign, rows: Sequence[Row]) -> str:
    """Least, quartiles and largest of each metric."""
    lines = []
    for metric in campaign.metrics:
        values = sorted(v for row in rows if (v := _number(row, metric.name)) is not None)
        shares = (
            [values[round(q * (len(values) - 1))] for q in (0, 0.25, 0.5, 0.75, 1)]
            if values
            else []
        )
        lines.append(_line([metric.name, metric.unit, len(values), *shares]))
    return "".join(lines)


def _worst(campaign: Campaign, rows: Sequence[Row], metric: str) -> str:
    """The runs with the largest numbers of a metric, as a table."""
    varied = [variation.name for variation in campaign.variations]
    known = [row for row in rows if _number(row, metric) is not None]
    known.sort(key=lambda row: -row.metrics[metric])
    own = _named(metric, unit_of_metric(campaign, metric))
    names = [_named(name, campaign.unit_of(name)) for name in varied]
    head = _line(["run", own, "seed", *names, "files"], "th")
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


def _breakable(name: str) -> str:
    """A name that may be broken after its dots."""
    return _Markup(escape(name).replace(".", ".<wbr>"))


def _text(value: object) -> str:
    """A cell of a table."""
    if isinstance(value, _Markup):
        return value
    return f"{value:.5g}" if isinstance(value, float) else escape(str(value))


def _line(cells: Sequence[object], kind: str = "td") -> str:
    return "<tr>" + "".join(f"<{kind}>{_text(cell)}</{kind}>" for cell in cells) + "</tr>"
