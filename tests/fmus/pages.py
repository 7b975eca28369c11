"""Reference pages as a reader finds them: taken out of FMUs, and parsed without our own code."""

import zipfile
from html.parser import HTMLParser
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder

PAGE = "documentation/index.html"

#: Elements without an end, of those that pages may have.
VOID = frozenset({"meta"})


class PageParser(HTMLParser):
    """Builds a tree; refuses elements that are not closed where they should be."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.builder = TreeBuilder()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice"
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        if tag in VOID:
            self.builder.end(tag)
        else:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag
        self.builder.end(tag)

    def handle_data(self, data: str) -> None:
        self.builder.data(data)


def parse(page: bytes) -> Element:
    """The tree of a page."""
    text = page.decode("utf-8")
    doctype, _, rest = text.partition("\n")
    assert doctype == "<!DOCTYPE html>"
    parser = PageParser()
    parser.feed(rest.rstrip())
    parser.close()
    assert parser.open == []
    return parser.builder.close()


def page_of(fmu: Path) -> bytes:
    """The page that an FMU carries."""
    with zipfile.ZipFile(fmu) as archive:
        return archive.read(PAGE)


def text_of(element: Element | None) -> str:
    """All text in an element, blanks as single spaces; nothing for no element."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def part(cell: Element, name: str) -> Element | None:
    """What has a class within an element."""
    return next((inner for inner in cell.iter() if inner.get("class") == name), None)


def section(page: Element, anchor: str) -> Element | None:
    """The section of a page with this heading; none if the page has no such section."""
    return next((s for s in page.iter("section") if s[0].get("id") == anchor), None)
