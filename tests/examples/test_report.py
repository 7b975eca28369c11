"""The demo, and its report in a browser: what is visible, asked for and complained of."""

import io
import itertools
import json
import re
import subprocess
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from mcap.reader import NonSeekingReader, make_reader
from PIL import Image

import build_fmus
from sensor_models.tools.pictures.progress import MARK
from tests.browser import Page, open_page

ROOT = Path(build_fmus.__file__).parent
READY = "document.body?.dataset.ready === 'true'"
#: Figures of the page, and the least number of lines in each.
LINES = {
    "pulse": 1, "top-view": 6, "fix": 4, "heading": 7, "imu": 18, "wheels": 4, "allan": 10,
}  # fmt: skip
INSTANCES = [
    "vehicle", "yard", "IMU", "accelerometer", "gyroscope", "magnetometer", "left encoder",
    "right encoder", "left odometer", "right odometer", "lidar", "camera", "colour camera", "radar",
    "waveform lidar", "GNSS",
]  # fmt: skip
BACKGROUND = (16, 19, 26)  # of the point cloud


@pytest.fixture(scope="module")
def demo(
    fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    """Where a short run of the demo has written, and what it said."""
    output = tmp_path_factory.mktemp("demo")
    arguments = ["--quick", "--mcap", "--fmus", str(fmu_directory), "--output", str(output)]
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output, done


@pytest.fixture(scope="module")
def report(demo: tuple[Path, Any]) -> Path:
    return demo[0] / "report.html"


@pytest.fixture(scope="module")
def page(report: Path) -> Iterator[Page]:
    """The report in a window of a laptop."""
    with open_page(report, 1366, 768) as opened:
        opened.wait_for(READY)
        yield opened


@pytest.fixture(scope="module")
def index(demo: tuple[Path, Any]) -> list[dict[str, Any]]:
    lines = (demo[0] / "data" / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return [entry for entry in map(json.loads, lines) if "frame" in entry]


def choose(page: Page, instant: int) -> None:
    """Move the slider to one of the instants."""
    move = f"s.value = {instant}; s.dispatchEvent(new Event('input'))"
    page.evaluate(f"(s => {{ {move} }})(document.getElementById('instant'))")


def show_all(page: Page, wanted: bool = True) -> None:
    """Show all sweeps, or one."""
    button = "document.getElementById('all')"
    if page.evaluate(f"{button}.getAttribute('aria-pressed')") != str(wanted).lower():
        page.evaluate(f"{button}.click()")


def color_by(page: Page, value: str) -> None:
    set_value = f"s.value = {value!r}; s.dispatchEvent(new Event('change'))"
    page.evaluate(f"(s => {{ {set_value} }})(document.getElementById('color'))")


def pixels(page: Page, selector: str) -> np.ndarray:
    picture = Image.open(io.BytesIO(page.screenshot(selector))).convert("RGB")
    return np.asarray(picture, np.int64)


def settled(page: Page, selector: str) -> np.ndarray:
    """What an element looks like once that stays: a screenshot itself can make it draw again."""
    seen = pixels(page, selector)
    for _ in range(100):
        before, seen = seen, pixels(page, selector)
        if np.array_equal(before, seen):
            return seen
    raise AssertionError(f"{selector} never looks the same twice")


def share_unlike(seen: np.ndarray, other: np.ndarray) -> float:
    """The share of pixels that clearly have another colour."""
    return float((np.abs(seen - other).max(axis=-1) > 40).mean())


# ---- the run -----------------------------------------------------------------------------------


def test_demo_in_a_pipe_says_what_came_of_it_and_nothing_else(demo: tuple[Path, Any]) -> None:
    output, done = demo
    first, files, report, log = done.stdout.splitlines()
    assert re.fullmatch(r"3 s driven in \d+\.\d s: \d+\.\d times real time", first)
    assert files.split() == ["files", str(output / "data")]
    assert report.split() == ["report", str(output / "report.html")]
    assert log.split() == ["log", str(output / "drive.mcap")]
    assert [line for line in done.stderr.splitlines() if not line.startswith(MARK)] == []


def test_demo_writes_one_log_of_all_its_sensors_in_the_order_of_time(
    demo: tuple[Path, Any],
) -> None:
    with (demo[0] / "drive.mcap").open("rb") as stream:
        summary = make_reader(stream, validate_crcs=True).get_summary()
        stream.seek(0)
        times, topics = [], Counter()
        for _, channel, message in NonSeekingReader(stream).iter_messages(log_time_order=False):
            times.append(message.log_time)
            topics[channel.topic] += 1
    assert times == sorted(times)
    statistics = summary.statistics
    assert statistics.message_count == len(times)
    named = {c.topic: statistics.channel_message_counts[n] for n, c in summary.channels.items()}
    assert named == topics
    sensors = {name.replace(" ", "_") for name in INSTANCES} - {"vehicle", "yard"}
    assert {topic.split("/")[1] for topic in topics} == sensors | {"tf", "scene"}
    assert topics["/left_encoder/reading"] == 301  # 3 s at 100 Hz, both ends included
    assert topics["/lidar/points"] >= 29
    assert topics["/scene"] == 1
    assert (
        sum(index.message_start_time <= index.message_end_time for index in summary.chunk_indexes)
        == statistics.chunk_count
        > 1
    )


def test_demo_leaves_files_alone_that_are_not_its_own(fmu_directory: Path, tmp_path: Path) -> None:
    mine = tmp_path / "data" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("precious")
    arguments = ["--fmus", str(fmu_directory), "--output", str(tmp_path)]
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "choose another --output" in done.stderr
    assert mine.read_text() == "precious"


def test_demo_writes_what_its_sensors_sample(index: list[dict[str, Any]]) -> None:
    sweeps = [entry for entry in index if entry["sensor"] == "lidar"]
    assert [entry["time"] for entry in sweeps] == pytest.approx(np.arange(30) / 10.0)
    assert min(entry["points"] for entry in sweeps) > 10_000
    kinds = {"depth": 5.0, "entity": 5.0, "label": 5.0, "picture": 1.0}
    for kind, rate in kinds.items():
        times = [entry["time"] for entry in index if entry["kind"] == kind]
        assert times == pytest.approx(np.arange(3 * rate + 1) / rate)  # both ends included
    for kind in ("cube", "detections", "waveform"):  # they are complete some time later
        times = [entry["time"] for entry in index if entry["kind"] == kind]
        assert times[:3] == pytest.approx([0.0, 1.0, 2.0], abs=0.01)


# ---- the page ----------------------------------------------------------------------------------


def test_report_is_one_file_of_a_size_to_send(report: Path) -> None:
    assert report.stat().st_size < 12e6


def test_report_has_a_title_and_says_how_fast_it_was(page: Page, demo: tuple[Path, Any]) -> None:
    assert page.evaluate("document.title") == "sensor-fmus: a drive through the yard"
    (factor,) = re.findall(r": (\S+) times", demo[1].stdout)
    assert page.evaluate("document.getElementById('factor').innerText") == f"{factor} \u00d7"


@pytest.mark.parametrize(
    "text",
    [
        "What lidar and cameras saw",
        "What radar and full-waveform lidar saw",
        "Satellites",
        "Where it was, and where it thought it was",
        "IMU: truth and reading",
        "IMU: noise at rest",
        "Encoders",
        "Time by FMU",
        "Frames",
        "Parameters",
        "Messages",
        "satellite fixes",
        "odometers + gyroscope",
        "specific force / (m/s²)",
        "datasheet: noise density N/√τ",
        "preset = VLP-16",
        "plotly",
    ],
)
def test_text_is_visible(page: Page, text: str) -> None:
    shown = page.evaluate(
        "[...document.querySelectorAll('h2, text, td, #versions')]"
        ".filter(e => e.getBoundingClientRect().width > 0)"
        ".map(e => e.textContent).join('\\n')"
    )
    assert text in shown


@pytest.mark.parametrize("figure", LINES)
def test_figure_is_drawn(page: Page, figure: str) -> None:
    drawn = page.evaluate(
        f"[...document.querySelectorAll('#{figure} .scatterlayer .trace path')]"
        ".filter(p => (p.getAttribute('d') ?? '').length > 20 && p.getBoundingClientRect().width)"
        ".length"
    )
    assert drawn >= LINES[figure]


def test_yard_lies_beneath_the_paths(page: Page) -> None:
    box = page.evaluate(
        "(r => [r.width, r.height])"
        "(document.querySelector('#top-view image').getBoundingClientRect())"
    )
    assert min(box) > 200.0


def test_point_cloud_is_drawn_and_changes_with_its_colours(page: Page) -> None:
    looks = []
    for color in ("intensity", "label", "height", "entity"):
        color_by(page, color)
        looks.append(settled(page, "#cloud"))
    # the axes and the way of the vehicle alone are a hundredth
    assert min(share_unlike(look, np.array(BACKGROUND)) for look in looks) > 0.1
    for one, other in itertools.combinations(looks, 2):
        assert share_unlike(one, other) > 0.02
    color_by(page, "intensity")


def test_single_sweep_has_the_points_of_its_file(
    page: Page, index: list[dict[str, Any]], report: Path
) -> None:
    choose(page, 1)
    page.wait_for("document.getElementById('cloud-about').innerText.includes('one sweep')")
    assert page.evaluate("document.getElementById('clock').innerText") == "1.0 s"
    (sweep,) = (e for e in index if e["sensor"] == "lidar" and abs(e["time"] - 1.0) < 0.01)
    assert f"{sweep['points']:,} points" in page.evaluate(
        "document.getElementById('cloud-about').innerText"
    )
    drawn = page.evaluate("document.getElementById('cloud').data[0].x.length")
    assert drawn == sweep["points"]
    color_by(page, "entity")
    points = np.load(report.parent / "data" / sweep["file"])
    key = page.evaluate("document.getElementById('cloud-key').innerText")
    assert key == f"{len(np.unique(points['entity_id']))} entities, a colour each"
    color_by(page, "intensity")
    show_all(page)


@pytest.mark.parametrize("picture", ["picture", "depth", "labels"])
def test_picture_is_shown_and_follows_the_slider(page: Page, picture: str) -> None:
    image = f"document.getElementById('{picture}')"
    sources = []
    for instant in (0, 3):
        choose(page, instant)
        page.wait_for(f"{image}.complete")
        assert page.evaluate(f"[{image}.naturalWidth, {image}.naturalHeight]") == [424, 240]
        assert page.evaluate(f"{image}.getBoundingClientRect().width") > 200.0
        sources.append(page.evaluate(f"{image}.src"))
    assert sources[0] != sources[1]
    seen = pixels(page, f"#{picture}").reshape(-1, 3)
    assert len(np.unique(seen, axis=0)) >= 4
    show_all(page)


def test_radar_map_shows_the_targets_of_the_frame_where_power_comes_from(
    page: Page, index: list[dict[str, Any]], report: Path
) -> None:
    choose(page, 2)
    (frame,) = (e for e in index if e.get("kind") == "detections" and e["frame"] == 2)
    table = pyarrow.parquet.read_table(report.parent / "data" / frame["file"])
    distance, azimuth = (np.array(table[name]) for name in ("range", "azimuth"))
    rings = "document.getElementById('radar').data.flatMap(t => t.x.map((x, n) => [x, t.y[n]]))"
    shown = sorted(map(tuple, page.evaluate(rings)))
    truth = np.column_stack([distance * np.sin(azimuth), distance * np.cos(azimuth)])
    assert len(shown) == len(truth) > 3
    np.testing.assert_allclose(shown, sorted(map(tuple, truth.round(2))), atol=0.011)
    source = "document.getElementById('radar').layout.images[0].source"
    content = b64decode(page.evaluate(source).partition(",")[2])
    level = np.asarray(Image.open(io.BytesIO(content)).convert("L"), float)
    rows = ((30.0 - truth[:, 1]) / 0.15).astype(int)
    columns = ((15.0 - truth[:, 0]) / 0.15).astype(int)
    inside = (np.minimum(rows, columns) >= 2) & (np.maximum(rows, columns) < 198)
    places = zip(rows[inside], columns[inside], strict=True)
    near = [level[r - 2 : r + 3, c - 2 : c + 3].max() for r, c in places]
    looked = level[level > 20.0]  # the rest is outside of the field of view
    assert inside.sum() > 3
    assert np.median(near) > np.percentile(looked, 90)
    show_all(page)


def test_pulse_has_its_echoes_where_its_signal_is(page: Page) -> None:
    several = 0
    for instant in range(4):
        choose(page, instant)
        signal, echoes = page.evaluate(
            "document.getElementById('pulse').data.map(t => [t.x, t.y, t.text])"
        )
        ranges, power = np.array(signal[0]), np.array(signal[1])
        assert len(echoes[0]) >= 1
        several += len(echoes[0]) > 1
        for place, height in zip(*echoes[:2], strict=True):
            seen = np.interp(place, ranges, power)
            assert seen == pytest.approx(height, rel=0.5)  # noise, and the time of an edge
        assert all(echoes[2])
    assert several > 0
    show_all(page)


def test_sky_has_the_satellites_that_were_used(page: Page, report: Path) -> None:
    table = pyarrow.parquet.read_table(report.parent / "data" / "GNSS.parquet")
    choose(page, 3)
    used, hidden = page.evaluate("document.getElementById('sky').data.map(t => t.text)")
    row = table.slice(15, 1).to_pylist()[0]  # at 3 s of 5 Hz
    measured = {
        name.partition(".")[2]
        for name, value in row.items()
        if name.startswith("pseudorange.") and np.isfinite(value)
    }
    assert set(used) == measured
    assert len(measured) == row["satellites"]
    assert set(used).isdisjoint(hidden)
    show_all(page)


def test_drive_plays(page: Page) -> None:
    choose(page, 0)
    play = "document.getElementById('play')"
    page.evaluate(f"{play}.click()")
    page.wait_for("document.getElementById('clock').innerText === '2.0 s'")
    page.evaluate(f"{play}.click()")
    assert page.evaluate(f"{play}.getAttribute('aria-pressed')") == "false"
    show_all(page)


def test_frames_table_counts_the_files(page: Page, index: list[dict[str, Any]]) -> None:
    rows = page.evaluate("[...document.querySelectorAll('#frames tbody tr')].map(r => r.innerText)")
    # three at each end of a sensor's, a line that stands for the rest, and the sum of all
    counts = Counter(entry["sensor"] for entry in index)
    assert len(counts) == 5
    assert len(rows) == sum(min(count, 3 + 1 + 3) for count in counts.values()) + 1
    assert f"{len(index)} files" in rows[-1]
    assert f"{sum(entry.get('points', 0) for entry in index):,} points" in rows[-1]


def test_timing_table_has_every_fmu_and_adds_up(page: Page) -> None:
    rows = page.evaluate(
        "[...document.querySelectorAll('#timings tbody tr')]"
        ".map(r => [...r.cells].map(c => c.innerText))"
    )
    assert [row[0] for row in rows[:-2]] == INSTANCES
    seconds = [float(row[5]) for row in rows]
    assert sum(seconds[:-1]) == pytest.approx(seconds[-1], abs=0.005 * len(seconds))  # rounding


@pytest.mark.parametrize("width", [1366, 820])
def test_nothing_sticks_out_of_the_page(page: Page, width: int) -> None:
    page.resize(width, 768)
    page.wait_for("document.documentElement.scrollWidth <= window.innerWidth")
    page.resize(1366, 768)


@pytest.fixture(scope="module")
def phone(report: Path) -> Iterator[Page]:
    """The report in a window of a phone."""
    with open_page(report, 420, 800) as opened:
        opened.wait_for(READY)
        yield opened


OVERLAPS = """(() => {
  const texts = ".annotation-text, g[class^='g-'] text, .legendtext";
  const boxes = [...document.querySelectorAll(texts)]
    .map(e => [e.textContent, e.getBoundingClientRect()]).filter(([t, r]) => r.width > 0);
  const found = [];
  for (const [n, [one, a]] of boxes.entries())
    for (const [other, b] of boxes.slice(n + 1))
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
          && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
        found.push([one, other]);
  return found;
})()"""


@pytest.mark.parametrize("width", [420, 720, 960, 1366])
def test_no_title_is_printed_over_another(report: Path, width: int) -> None:
    with open_page(report, width, 800) as shown:
        shown.wait_for(READY)
        count = "document.querySelectorAll('.annotation-text, g[class^=\\'g-\\'] text').length"
        assert shown.evaluate(count) >= 20
        assert shown.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("figure", sorted(LINES))
def test_plots_are_in_one_column_on_a_phone(phone: Page, page: Page, figure: str) -> None:
    parts = (
        f"(axes => axes.map(a => a._offset + ' ' + a._length))"
        f"(Object.values(document.getElementById('{figure}')._fullLayout._plots)"
        ".map(plot => plot.AXISaxis))"
    )
    places = phone.evaluate(parts.replace("AXIS", "x"))
    assert len(set(places)) == 1  # one beneath the other
    spans = [tuple(map(float, text.split())) for text in phone.evaluate(parts.replace("AXIS", "y"))]
    assert len(spans) == len(places) == len(page.evaluate(parts.replace("AXIS", "x")))
    spans.sort()
    for (top, height), (below, _) in itertools.pairwise(spans):
        assert top + height < below
    assert all(height > 100.0 for _, height in spans)
    names = f"[...document.querySelectorAll('#{figure} .legendtext')].map(e => e.textContent)"
    assert sorted(phone.evaluate(names)) == sorted(page.evaluate(names))


def test_tool_bars_are_hidden_on_a_phone(phone: Page, page: Page) -> None:
    bars = "[...document.querySelectorAll('.modebar')].filter(e => e.children.length).length"
    assert phone.evaluate(bars) == 0
    assert page.evaluate(bars) > 0


def test_a_window_that_becomes_narrow_gets_one_column_and_back(phone: Page) -> None:
    columns = "new Set(Object.values(document.getElementById('imu')._fullLayout._plots)"
    columns += ".map(plot => plot.xaxis._offset)).size"
    phone.resize(1366, 768)
    phone.wait_for(f"{columns} === 2")
    phone.resize(420, 800)
    phone.wait_for(f"{columns} === 1")
    assert phone.errors == []


def test_dark_page_is_dark_and_legible(report: Path) -> None:
    with open_page(report, dark=True) as page:
        page.wait_for(READY)
        assert pixels(page, "header").mean() < 60.0
        ink = page.evaluate("getComputedStyle(document.querySelector('#imu text')).fill")
        assert min(map(int, re.findall(r"\d+", ink)[:3])) > 180


def test_page_asks_for_nothing_and_complains_of_nothing(page: Page) -> None:
    assert page.requests == []
    assert page.errors == []
