"""HTML elements, made from the texts of declarations and docstrings.

Pages are trees of elements, so all escaping is done in one place, when they are written.

A docstring is shown paragraph by paragraph. One that has an indented line or columns (two blanks
within a line) is a formula or a table: it keeps its lines and blanks. Any other is prose. In both,
what stands between double backticks is code, and a link if it names something with an anchor.
"""

import re
from collections.abc import Mapping
from textwrap import dedent
from xml.etree.ElementTree import Element, tostring

Child = Element | str

#: Elements within a line; a line break follows every other one.
INLINE = frozenset({"a", "code", "span"})

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
p, dd, nav { max-width: 46rem; }
code, pre { font: 0.875rem/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.75rem; background: var(--soft); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.75rem 0.3rem 0; }
th { font-weight: 600; }
tr { border-top: 1px solid var(--line); }
thead tr { border-top: 0; }
.facts { width: auto; }
.names code { font-size: 0.8125rem; display: inline-block; margin-right: 0.75rem; }
.variables { table-layout: fixed; }
.variables td { overflow-wrap: anywhere; }
.variables thead th:nth-child(1) { width: 32%; }
.variables thead th:nth-child(2) { width: 14%; }
.variables thead th:nth-child(3) { width: 20%; }
.unit, .range { opacity: 0.75; }
td p { margin: 0.25rem 0; }
.group th { padding-top: 1.25rem; }
:target { background: #fc06; }
dt { font-weight: 600; margin-top: 0.75rem; }
dd { margin-left: 0; }
nav ul { padding: 0; }
nav li { display: inline-block; margin-right: 1.25rem; }
""".strip()


def node(tag: str, *children: Child, **attributes: str) -> Element:
    """An element with texts and elements in it; ``class_`` stands for ``class``."""
    made = Element(tag, {name.rstrip("_"): value for name, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + child
        else:
            made.text = (made.text or "") + child
    return made


def link(target: str, *children: Child) -> Element:
    """A link to an anchor of the same page."""
    return node("a", *children, href=f"#{target}")


def prose(text: str, anchors: Mapping[str, str]) -> list[Child]:
    """A text with its code marked, and linked where ``anchors`` knows the name."""
    found: list[Child] = []
    for number, part in enumerate(re.split(r"``(.+?)``", text)):
        if number % 2 == 0:
            found.append(part)
        elif part in anchors:
            found.append(link(anchors[part], node("code", part)))
        else:
            found.append(node("code", part))
    return found


def paragraphs(docstring: str, anchors: Mapping[str, str]) -> list[Element]:
    """A docstring as paragraphs and preformatted blocks."""
    return [
        node("pre", *prose(with_columns_kept(dedent(block)), anchors))
        if is_preformatted(block)
        else node("p", *prose(re.sub(r"::$", ":", " ".join(block.split("\n"))), anchors))
        for block in blocks(docstring)
    ]


def with_columns_kept(block: str) -> str:
    """A block with blanks added, so that columns stay aligned without the backticks."""
    return re.sub(r"(``.+?``)(?=  )", r"\1    ", block)


def blocks(docstring: str) -> list[str]:
    """The blocks between empty lines; formulas and tables next to each other are one block."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", docstring.strip("\n")):
        if found and is_preformatted(found[-1]) and is_preformatted(block):
            found[-1] += f"\n\n{block}"
        else:
            found.append(block)
    return found


def is_preformatted(block: str) -> bool:
    """Whether a block must keep its lines and blanks."""
    return any(re.search(r"^ |\S  ", line) for line in block.split("\n"))


def document(title: str, *content: Element) -> bytes:
    """A whole page as the bytes of its file."""
    head = node(
        "head",
        node("meta", charset="utf-8"),
        node("meta", name="viewport", content="width=device-width, initial-scale=1"),
        node("title", title),
        node("style", f"\n{STYLE}\n"),
    )
    root = node("html", head, node("body", *content), lang="en")
    for made in root.iter():
        if made.tag not in INLINE:
            made.tail = (made.tail or "") + "\n"
    return f"<!DOCTYPE html>\n{tostring(root, 'unicode', method='html')}".encode()
