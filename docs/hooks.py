"""Hooks of the site (``mkdocs.yml``): files of the project that documents refer to come along.

Documents are read in the tree, too, where links lead to files beside ``docs``, such as examples.
The site has copies of these, as texts, below ``files``; the README is its first page. Its search
works in pages that are opened as files (``search.js``).
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)(#[^)]*)?\)")
FILES = "files"


def on_files(files: Any, config: Any) -> Any:
    """The README as first page, and what pages refer to outside of ``docs``."""
    from mkdocs.structure.files import File

    front = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    front = re.sub(r"\]\((?!https?:|#)([A-Za-z_./]+)\)", _from_top, front)
    files.append(File.generated(config, "index.md", content=front))
    wanted = set(re.findall(rf"\]\({FILES}/([^)]+)\.txt\)", front))
    for page in ROOT.glob("docs/*.md"):
        wanted |= {link[1].rstrip("/") for link in OUTSIDE.finditer(page.read_text("utf-8"))}
    for name in sorted(wanted - {"README.md"}):
        files.append(File.generated(config, f"{FILES}/{name}.txt", content=_text(ROOT / name)))
    return files


def _text(path: Path) -> str:
    """A file, or the names of what is in a folder."""
    if path.is_dir():
        return "".join(f"{file.name}\n" for file in sorted(path.iterdir()) if file.suffix)
    return path.read_text(encoding="utf-8")


def _from_top(link: re.Match[str]) -> str:
    """A link of the README: pages are beside it here, other files are below ``files``."""
    inside = (ROOT / "docs" / link[1]).exists()
    return link[0] if inside else f"]({FILES}/{link[1]}.txt)"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links out of ``docs`` lead to the copies."""
    del page, config, files
    return OUTSIDE.sub(lambda m: f"]({_place(m[1])}{m[2] or ''})", markdown)


def _place(name: str) -> str:
    return "index.md" if name == "README.md" else f"{FILES}/{name.rstrip('/')}.txt"


def on_post_build(config: Any) -> None:
    """Put the text of all pages into the script that searches it."""
    place = Path(config["site_dir"]) / "search"
    index = json.loads((place / "search_index.json").read_text(encoding="utf-8"))
    script = (ROOT / "docs" / "search.js").read_text(encoding="utf-8")
    filled = script.replace("SECTIONS = []", f"SECTIONS = {json.dumps(index['docs'])}", 1)
    for old in place.iterdir():
        old.unlink()
    (place / "main.js").write_text(filled, encoding="utf-8")
