"""Every code block of README, *Start* and *How to* runs: here, or in a test that is named."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT, blocks_of

#: Blocks and commands that tests of their own run, with what they find in the results.
ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "README.md": {"simulate_fmu(": "tests/docs/test_documents.py"},
    "start.md": {"python examples/demo.py": "tests/examples/test_report.py"},
    "basics.md": {"python examples/trajectory.py": "tests/examples/test_trajectory_example.py"},
    "masters.md": {
        "python examples/drive.py": "tests/examples/test_examples.py",
        "build/Drive.ssp": "tests/examples/test_examples.py",
    },
    "messages.md": {
        "python examples/demo.py": "tests/examples/test_report.py",
        "ouster.capture(": "tests/docs/test_documents.py",
    },
    "own_sensor.md": {
        "sensor-fmus build --module": "tests/examples/test_own_sensor.py",
        "sensor-fmus presets check": "tests/examples/test_own_sensor.py",
        "simulate_fmu(": "tests/examples/test_own_sensor.py",
    },
    "worlds.md": {"python examples/robot.py": "tests/examples/test_examples.py"},
}


def pages() -> list[Path]:
    """README, *Start* with what it leads to, and all of *How to*."""
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    how_to = re.search(r"- How to:\n((?:      - .*\n)+)", menu)
    assert how_to is not None
    named = re.findall(r"(\w+\.md)", how_to[1])
    docs = [ROOT / "docs" / name for name in ("start.md", "how_it_works.md", "basics.md", *named)]
    return [ROOT / "README.md", *docs]


def run_blocks(fmus: Path, place: Path, own: Sequence[Path]) -> list[dict[str, Any]]:
    """The result of each block of pages."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.blocks", str(fmus), str(place), *map(str, own)],
        cwd=ROOT, input=json.dumps({page: list(words) for page, words in ELSEWHERE.items()}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_pages(place: Path, texts: Sequence[str]) -> list[list[dict[str, Any]]]:
    """The results of pages of these texts, without any FMU."""
    files = [place / f"page{number}.md" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    (place / "fmus").mkdir()
    results = run_blocks(place / "fmus", place / "run", files)
    return [[r for r in results if r["page"] == file.name] for file in files]


@pytest.fixture(scope="module")
def results(
    fmu_directory: Path, fmu3_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Mapping[int, str]]:
    """What went wrong, by page and line of the block."""
    assert fmu3_directory.parent == fmu_directory.parent
    place = tmp_path_factory.mktemp("blocks")
    found: dict[str, dict[int, str]] = {}
    for result in run_blocks(fmu_directory, place / "pages", pages()):
        found.setdefault(result["page"], {})[result["line"]] = result["wrong"]
    return found


@pytest.mark.parametrize("page", [page.name for page in pages()])
def test_blocks_of_a_page_run(page: str, results: Mapping[str, Mapping[int, str]]) -> None:
    (path,) = (path for path in pages() if path.name == page)
    own = results.get(page, {})
    assert {f"{page}:{line}": wrong for line, wrong in own.items() if wrong} == {}
    assert [block.line for block in blocks_of(path)] == list(own)


def test_what_runs_elsewhere_is_there_and_in_its_page() -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in pages()}
    for page, commands in ELSEWHERE.items():
        for words, test in commands.items():
            assert words in texts[page], (page, words)
            own = (ROOT / test).read_text(encoding="utf-8")
            script = re.search(r"\w+\.py", words)
            assert (script[0] if script else page) in own, (page, words)


WRONG = (
    "```sh\nfrobnicate --all\n```\n",
    "```sh\nsensor-fmus presets check nowhere.toml\n```\n",
    "```sh\nmake coffee\n```\n",
    "```sh\npip install 'sensor-fmus[all]'\n```\n",
    "```python\n1 / 0\n```\n",
    "```python\n1 +\n```\n\n*Not run by the tests, which have no time.*\n",
    "```toml\na =\n```\n",
    "```modelica\nmodel end;\n```\n\n*Not run by the tests, which have no Modelica tool.*\n",
    "```\nanything\n```\n",
)


def test_blocks_that_are_wrong_are_found(tmp_path: Path) -> None:
    found = run_pages(tmp_path, [f"{text}\nand\n\n```text\nmore\n```\n" for text in WRONG])
    assert [len(results) for results in found] == [1] * len(WRONG)  # nothing after it
    assert all(results[0]["wrong"] for results in found)


def test_a_block_that_is_marked_is_parsed_only(tmp_path: Path) -> None:
    mark = "\n*Not run by the tests, which have no time.*\n"
    (found,) = run_pages(tmp_path, [f"```python\n1 / 0\n```\n{mark}"])
    assert [result["wrong"] for result in found] == [""]
