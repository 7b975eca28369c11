"""The site of the documents: complete, without dead links, and read without a network."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import build_fmus
from tests.browser import open_page

ROOT = Path(build_fmus.__file__).parent


class Html(HTMLParser):
    """What a page loads, links to, and has anchors for."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag in ("script", "img", "link"):
            self.loads |= {given[key] for key in ("src", "href") if key in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    words = ["build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "mkdocs", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return place


def test_every_document_is_on_the_site_and_in_its_menu(site: Path) -> None:
    for document in (ROOT / "docs").glob("*.md"):
        assert (site / document.with_suffix(".html").name).is_file()
    menu = (ROOT / "mkdocs.yml").read_text()
    assert set(re.findall(r"(\w+\.md)", menu)) == {
        "index.md", *(path.name for path in (ROOT / "docs").glob("*.md"))
    }  # fmt: skip


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loads = {link for path in site.glob("*.html") for link in Html(path).loads}
    assert any(link.endswith(".css") for link in loads)
    assert [link for link in loads if urlsplit(link).scheme or link.startswith("//")] == []


def test_no_link_is_dead(site: Path) -> None:
    pages = {path: Html(path) for path in site.glob("*.html") if path.name != "404.html"}
    dead = []
    for path, page in pages.items():
        for link in page.links | page.loads:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages[target].anchors if target in pages else None
            if not target.exists() or (
                parts.fragment and known is not None and parts.fragment not in known
            ):
                dead.append((path.name, link))
    assert dead == []


def test_pages_fit_into_windows_and_their_scripts_run(site: Path) -> None:
    pages = sorted(path for path in site.glob("*.html") if path.name != "404.html")
    wide, small = [], []
    with open_page(pages[0], 420, 900) as page:
        for width in (420, 1366):
            for path in pages:
                page.show(path, width, 900)
                page.wait_for(f"document.readyState === 'complete' && innerWidth === {width}")
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    wide.append((path.name, width))
                if page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") < 14:
                    small.append(path.name)
        errors = page.errors
    assert (wide, small, errors) == ([], [], [])


def test_search_finds_sections_in_pages_that_are_files(site: Path) -> None:
    with open_page(site / "start.html") as page:
        page.wait_for("document.readyState === 'complete'")
        look = "(i => {{ i.value = {!r}; i.dispatchEvent(new Event('input')); }})"
        look += "(document.getElementById('mkdocs-search-query'))"
        results = "[...document.querySelectorAll('#mkdocs-search-results a')].map(a => a.href)"
        page.evaluate(look.format("flicker Allan"))
        found = page.evaluate(results)
        assert any("how_it_works.html" in link for link in found)
        for link in found:
            parts = urlsplit(link)
            target = Path(unquote(parts.path))
            assert not parts.fragment or parts.fragment in Html(target).anchors
        page.evaluate(look.format("xyzzy"))
        assert page.evaluate(results) == []
        assert page.errors == []
