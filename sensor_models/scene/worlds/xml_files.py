"""XML from elsewhere, read within bounds: elements with their attributes, files and lines.

Texts between elements are dropped, as neither MJCF nor URDF has any. A document type is refused,
because its entities could grow without bounds or name other files.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from sensor_models.scene.errors import SceneError

#: Elements of one file, each of which takes about a kilobyte.
MAX_ELEMENTS = 2**18
#: How deep elements may be nested; readers behind us call themselves for each.
MAX_DEPTH = 256
MAX_BYTES = 2**26


@dataclass
class Node:
    """An element."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    children: list["Node"] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"line {self.line}, {self.tag}"

    def walk(self) -> Iterator["Node"]:
        """It and all below it, in the order of the file."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)

    def of(self, tag: str) -> Iterator["Node"]:
        """The children with a tag."""
        return (child for child in self.children if child.tag == tag)


class _Builder:
    """Makes nodes of what the parser finds."""

    def __init__(self, file: Path) -> None:
        self.file, self.count = file, 0
        self.root: Node | None = None
        self._open: list[Node] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        line = self.parser.CurrentLineNumber
        if self.count > MAX_ELEMENTS or len(self._open) >= MAX_DEPTH:
            reason = f"has more than {MAX_ELEMENTS} elements, or more than {MAX_DEPTH} in another"
            raise SceneError(self.file, f"line {line}", reason)
        node = Node(tag, attributes, self.file, line)
        if self._open:
            self._open[-1].children.append(node)
        else:
            self.root = node
        self._open.append(node)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _doctype(self, name: str, *_: object) -> None:
        place = f"line {self.parser.CurrentLineNumber}"
        raise SceneError(
            self.file, place, f"has a document type, {name!r}, whose entities are not read"
        )


def parse_xml(data: bytes, file: Path) -> Node:
    """The root element of a file."""
    builder = _Builder(file)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        place = f"line {error.lineno}"
        raise SceneError(file, place, f"is no XML: {expat.ErrorString(error.code)}") from error
    except (UnicodeError, LookupError, ValueError) as error:
        if isinstance(error, SceneError):
            raise
        raise SceneError(file, "", f"is no XML: {error}") from error
    if builder.root is None:
        raise SceneError(file, "", "has no element")
    return builder.root


def xml_text(root: Node) -> tuple[str, list[Node]]:
    """The text of an element, one line for each, and the elements by lines, the first at 1."""
    out, nodes = io.StringIO(), [root]
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, ended = waiting.pop()
        if ended:
            out.write(f"</{node.tag}>")
            continue
        nodes.append(node)
        given = "".join(f" {key}={quoteattr(text)}" for key, text in node.attributes.items())
        out.write(f"\n<{node.tag}{given}>" if len(nodes) > 2 else f"<{node.tag}{given}>")
        waiting.append((node, True))
        waiting += [(child, False) for child in reversed(node.children)]
    return out.getvalue(), nodes
