"""The card of an FMU: what of it was held against measurements, and with which result.

It is made of the last results that the project keeps when the FMU is built, so it needs no run. The
texts come from rows and are escaped.
"""

from collections.abc import Sequence
from functools import cache
from html import escape

from fmus.building import project
from fmus.building.reference.markup import STYLE
from fmus.tools.validation.results import RESULTS, KeptNumber, KeptRow, read_results

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{name}: validation</title>
<style>
{style}
.failed {{ color: #b3261e; font-weight: 600; }}
</style>
</head>
<body>
<h1>{name} against published measurements</h1>
<p>{summary}</p>
<p>Each row is a measurement that somebody published, simulated with this FMU (or with the Imu,
which has the same models). Rows that fail stay. The project's document on validation says how the
numbers are made; <code>sensor-fmus validate</code> makes them again.</p>
{rows}
</body>
</html>
"""


def validation_card(model_name: str) -> bytes:
    """The card of an FMU, from the results that the project keeps."""
    return card(model_name, [row for row in _kept() if model_name in row.fmus]).encode()


@cache
def _kept() -> tuple[KeptRow, ...]:
    return tuple(read_results(project.VALIDATION / RESULTS))


def card(model_name: str, rows: Sequence[KeptRow]) -> str:
    """The page for these rows."""
    passed = sum(row.verdict == "passed" for row in rows)
    others = sum(row.third_party for row in rows)
    summary = (
        f"{len(rows)} rows: {passed} passed, {len(rows) - passed} failed; {others} were measured"
        " by others than the maker of the device."
        if rows
        else "No measurement was held against this FMU yet."
    )
    return PAGE.format(
        name=escape(model_name), style=STYLE, summary=summary, rows="\n".join(map(_row, rows))
    )


def _row(row: KeptRow) -> str:
    by = "measured by others" if row.third_party else "not measured by others"
    message = f"<p>{escape(row.message)}</p>\n" if row.message else ""
    metric = f"<p>Double Validation Metric: {escape(row.metric)}</p>\n" if row.metric else ""
    verdict = f'<span class="{row.verdict.replace(" ", "-")}">{escape(row.verdict)}</span>'
    return (
        f'<h2 id="{escape(row.name)}">{escape(row.title)}: {verdict}</h2>\n'
        f"<p>{escape(row.proves)} ({escape(row.kind.replace('_', ' '))}, {by})</p>\n"
        f"<p>Source: {escape(row.source)}</p>\n{message}{metric}{number_table(row.numbers)}"
    )


def number_table(numbers: Sequence[KeptNumber]) -> str:
    """Published and simulated numbers as a table."""
    if not numbers:
        return ""
    lines = [
        "<tr>"
        f"<td>{escape(n.name)}</td><td>{n.published:.4g}</td><td>{n.simulated:.4g}</td>"
        f"<td>{escape(n.unit)}</td><td>{escape(n.allowed)}</td>"
        + ("<td>passed</td>" if n.passed else '<td class="failed">failed</td>')
        + "</tr>"
        for n in numbers
    ]
    head = "".join(
        f"<th>{name}</th>"
        for name in ("number", "published", "simulated", "unit", "tolerance", "verdict")
    )
    return f"<table>\n<tr>{head}</tr>\n" + "\n".join(lines) + "\n</table>"
