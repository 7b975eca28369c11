"""Reports of campaigns, as a person sees them in a browser, and the command that makes them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import html5lib
import numpy as np
import pytest

import sensor_models
from fmus.building.sources import fmu_sources
from fmus.tools import command
from fmus.tools.campaigns.campaign import open_campaign
from fmus.tools.campaigns.description import read_campaign
from fmus.tools.campaigns.report import decades, write_report
from fmus.tools.campaigns.results import Row
from tests.browser import open_page
from tests.campaigns import CAMPAIGN, write_campaign
from tests.tools import need

ROOT = Path(sensor_models.__file__).parents[1]


def test_the_command_runs_a_campaign_and_reports(fmu_directory, tmp_path, capsys):
    need("Chromium")
    path = write_campaign(tmp_path, fmu_directory)
    output = tmp_path / "out"
    assert command.main(["campaign", "run", str(path), "--output", str(output)]) == 0
    assert "6 runs, 0 failed" in capsys.readouterr().out
    with open_page(output / "report.html", 1200, 800) as page:
        page.wait_for("document.body?.dataset.ready === 'true'")
        assert page.evaluate("document.getElementById('runs').textContent") == "6"
        assert page.evaluate(DRAWN) == ["scatter", "coordinates"]
        assert page.evaluate("document.querySelectorAll('a[href^=runs]').length") == 12
        assert page.errors == []
        assert page.requests == []


#: Figures of the report in which Plotly has drawn.
DRAWN = (
    "[...document.querySelectorAll('.figure')].filter(f => f.querySelector('.main-svg'))"
    ".map(f => f.id)"
)
#: What names of axes and their numbers are printed over each other.
OVERLAPS = """(() => {
  const texts = "#coordinates .axis-title, #coordinates .tick text, #scatter text";
  const corners = (e) => {
    const box = e.getBBox(), m = e.getScreenCTM();
    return [[0, 0], [1, 0], [1, 1], [0, 1]].map(([u, v]) => {
      const x = box.x + u * box.width, y = box.y + v * box.height;
      return [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f];
    });
  };
  const apart = (a, b) => [a, b].some((shape) => shape.some((p, n) => {
    const q = shape[(n + 1) % 4], across = [q[1] - p[1], p[0] - q[0]];
    const on = (points) => points.map((c) => c[0] * across[0] + c[1] * across[1]);
    const [one, other] = [on(a), on(b)], least = 1.5 * Math.hypot(...across);
    return Math.max(...one) < Math.min(...other) + least
      || Math.max(...other) < Math.min(...one) + least;
  }));
  const shown = [...document.querySelectorAll(texts)].filter((e) => e.textContent.trim());
  const found = [];
  for (const [n, one] of shown.entries())
    for (const other of shown.slice(n + 1))
      if (!apart(corners(one), corners(other))) found.push([one.textContent, other.textContent]);
  return found;
})()"""


def example_report(directory):
    """The report of the example of the documents, with numbers made up here."""
    campaign = open_campaign(ROOT / "examples" / "campaign" / "campaign.toml")
    draw = np.random.default_rng(1)
    rows = []
    for run in campaign.runs:
        error = abs(run.values["imu.gyroscope.bias.z"]) + 1e-4 * draw.normal()
        metrics = {"heading_error": error, "rolled": 0.24 * run.values["vehicle.drive.right"]}
        if run.number == 3:
            metrics["rolled"] = np.nan
        rows.append(Row(run.number, run.seed, run.values, metrics, "ok", "", 0.1, ""))
    return write_report(campaign, rows, directory / "report.html")


@pytest.mark.parametrize("width", [420, 1366])
def test_the_report_is_legible_in_narrow_and_wide_windows(tmp_path, width):
    need("Chromium")
    with open_page(example_report(tmp_path), width, 800) as page:
        page.wait_for("document.body?.dataset.ready === 'true'")
        page.wait_for("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate(DRAWN) == ["scatter", "coordinates"]
        names = "[...document.querySelectorAll('.axis-title')].map(e => e.textContent)"
        assert "imu.gyroscope.bias.z / (rad/s)" in page.evaluate(names)
        assert page.evaluate(OVERLAPS) == []
        bar = "document.querySelectorAll('#scatter .modebar-btn').length"
        assert (page.evaluate(bar) > 0) is (width > 700)
        box = "(e => (r => [r.top, r.bottom])(e.getBoundingClientRect()))"
        menu = page.evaluate(f"{box}(document.getElementById('choices'))")
        plot = page.evaluate(f"{box}(document.getElementById('scatter'))")
        assert menu[1] <= plot[0]  # the bar of the plot is over the plot


def test_who_reads_chooses_what_is_drawn_over_what(tmp_path):
    need("Chromium")
    with open_page(example_report(tmp_path), 1000, 800) as page:
        page.wait_for("document.body?.dataset.ready === 'true'")
        titles = "(l => [l.xaxis.title.text, l.yaxis.title.text, l.xaxis.type])"
        titles += "(document.getElementById('scatter')._fullLayout)"
        # what has most influence comes first
        first = ["imu.gyroscope.bias.z / (rad/s)", "heading_error / rad", "linear"]
        assert page.evaluate(titles) == first
        for select, name in (
            ("x", "imu.gyroscope.noise.density.z"), ("y", "rolled"), ("color", "run"),
        ):  # fmt: skip
            option = f"[...s.options].find(o => o.textContent === '{name}').value"
            change = f"s.value = {option}; s.dispatchEvent(new Event('change'))"
            page.evaluate(f"(s => {{ {change} }})(document.getElementById('{select}'))")
        chosen = ["imu.gyroscope.noise.density.z / (rad/s/sqrt(Hz))", "rolled / m", "log"]
        assert page.evaluate(titles) == chosen
        color = "document.getElementById('scatter').data[0].marker.color"
        assert page.evaluate(color) == list(range(80))
        assert page.errors == []


def test_the_report_ranks_what_has_influence(tmp_path):
    text = example_report(tmp_path).read_text(encoding="utf-8")
    found = re.findall(r'<table class="influence">.*?</table>', text)
    tables = [
        [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
        for table in (html5lib.parse(own, namespaceHTMLElements=False) for own in found)
    ]
    of_error, of_way = tables
    assert of_error[1][0] == "imu.gyroscope.bias.z"
    assert float(of_error[1][2]) > 0.8  # |x|: no correlation, but all the variance
    assert of_way[1][0] == "vehicle.drive.right"
    assert float(of_way[1][1]) == 1.0


EVIL = '</script><!--<script><img src=x onerror="document.title = 1"><b>&amp;'


def test_names_and_messages_are_text_in_a_report_and_no_markup(tmp_path):
    need("Chromium")
    models = {name: source.model for name, source in fmu_sources().items()}
    text = CAMPAIGN.replace("rate =", f"{json.dumps(EVIL)} =").replace(
        'name = "small"', f"name = {json.dumps(EVIL)}"
    )
    campaign = read_campaign(write_campaign(tmp_path, tmp_path, text=text), models)
    varied = replace(campaign.variations[0], name=f"imu.{EVIL}")  # as a foreign FMU may name it
    campaign = replace(campaign, variations=(varied,))
    rows = [
        Row(0, 1, {varied.name: EVIL}, {EVIL: 0.5, "spread": 1.0}, "ok", "", 0.1, EVIL),
        Row(1, 1, {varied.name: "b"}, {EVIL: 0.7, "spread": 2.0}, "ok", "", 0.1, ""),
        Row(2, 1, {varied.name: EVIL}, {}, "failed", EVIL, 0.1, ""),
    ]
    report = write_report(campaign, rows, tmp_path / "report.html")
    with open_page(report, 1200, 800) as page:
        page.wait_for("document.body?.dataset.ready === 'true'")
        assert page.evaluate("document.title") == f"Campaign {EVIL}"
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("document.querySelectorAll('script').length") == 2
        assert page.evaluate("document.querySelector('h1').textContent") == f"Campaign {EVIL}"
        cells = "[...document.querySelectorAll('td, th')].map(c => c.textContent)"
        found = page.evaluate(cells)
        assert found.count(EVIL) == 7  # metric twice, value and directory in two tables, failure
        assert f"imu.{EVIL}" in found
        drawn = "[...document.querySelectorAll('svg text')].map(t => t.textContent)"
        shown = page.evaluate(drawn)
        assert any("onerror" in text and "<img" in text for text in shown)
        assert page.errors == []
        assert page.requests == []


def test_what_varies_by_decades_is_drawn_by_decades():
    axis = decades("density", [3e-5, 1e-3, 2e-4])
    np.testing.assert_allclose(axis["values"], [np.log10(3.0) - 5.0, -3.0, np.log10(2.0) - 4.0])
    assert axis["ticktext"] == ["5e-05", "0.0001", "0.0002", "0.0005", "0.001"]
    np.testing.assert_allclose(10.0 ** np.array(axis["tickvals"]), [5e-5, 1e-4, 2e-4, 5e-4, 1e-3])


def test_the_command_says_what_is_wrong_in_a_line(tmp_path, capsys):
    path = write_campaign(tmp_path, tmp_path / "none")
    assert command.main(["campaign", "run", str(path), "--workers", "1"]) == 1
    error = capsys.readouterr().err
    assert "Imu.fmu" in error
    assert "build it with build_fmus.py" in error
    assert "Traceback" not in error
