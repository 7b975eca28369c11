"""The last results as a document in Markdown."""

from collections.abc import Sequence

from fmus.tools.validation.results import KeptRow

HEAD = """# Results of validation

Written by `sensor-fmus validate --update` (`make validate`), from `validation/results.toml`. What a
row is, and which definitions are used, is in [validation.md](validation.md).

"""


def row_document(rows: Sequence[KeptRow]) -> str:
    """All rows in one table, then their numbers."""
    passed = sum(row.verdict == "passed" for row in rows)
    others = sum(row.third_party for row in rows)
    sensors = len({row.sensor for row in rows})
    lines = [
        f"{len(rows)} rows of {sensors} kinds of sensors, {others} measured by others than the"
        f" maker of the device: {passed} passed, {len(rows) - passed} failed.",
        "",
        "| row | sensor | FMU | kind | by others | numbers passed | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        good = f"{sum(n.passed for n in row.numbers)} of {len(row.numbers)}"
        by = "yes" if row.third_party else "no"
        verdict = row.verdict if row.verdict == "passed" else f"**{row.verdict}**"
        cells = (f"[{row.title}](#{row.name})", row.sensor, row.fmus[0], row.kind.replace("_", " "),
                 by, good, verdict)  # fmt: skip
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return HEAD + "\n".join(lines + [line for row in rows for line in _section(row)]) + "\n"


def _section(row: KeptRow) -> list[str]:
    lines = ["", f"## {row.name}", "", f"{row.title}. {row.proves} Source: {row.source}."]
    if row.message:
        lines += ["", f"Not run: {row.message}"]
    if row.metric:
        lines += ["", f"Double Validation Metric: {row.metric}."]
    if row.numbers:
        lines += ["", "| number | published | simulated | unit | tolerance | |",
                  "| --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for n in row.numbers:
        cells = (n.name, f"{n.published:.4g}", f"{n.simulated:.4g}", n.unit, n.allowed,
                 "passed" if n.passed else "**failed**")  # fmt: skip
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
