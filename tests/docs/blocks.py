"""Runs the code blocks of documents, page by page, each page in a directory of its own.

``python -m tests.docs.blocks FMUS PLACE PAGE ...`` prints a line of JSON for each block: page,
line, and what went wrong, or nothing. One process runs them all, because most of a block's time
would be imports: commands are calls of their functions, scripts are run by ``runpy``.

- ``sh``: line by line. Programs are those of ``COMMANDS``; anything else is an error.
- ``python``: a page is one program, of which a block is the next part.
- ``toml``: must parse. If its first line is ``# NAME.toml``, it is that file for what follows.
- ``text``: what is printed, and so on; nothing is run.

Building takes FMUs from ``FMUS``, where there are any. A block whose page says below it *Not run
by the tests, ...* is parsed.
"""

import ast
import contextlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import build_fmus
from fmus.building.sources import Source
from fmus.fmi.arrays import Interface
from fmus.tools import command
from tests.docs import preparing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(build_fmus.__file__).parent
FENCED = re.compile(
    r"^```(?P<kind>\w*)\n(?P<text>.*?)^```\n(?P<mark>\n\*Not run by the tests, [^*\n]+\*\n)?",
    re.MULTILINE | re.DOTALL,
)
OWN_NAME = re.compile(r"# ([\w-]+\.toml)\n")
KINDS = ("sh", "python", "toml", "text", "modelica")
#: Where programs of an environment lie in documents.
PROGRAMS = re.compile(r"^(\.\./)?\.venv/bin/")
TWINS = f"fmus {Interface.arrays.value}"
#: What is run in place of a command that takes long: by its beginning, what is put in or behind.
SHORTER_COMMANDS: Mapping[str, tuple[str, str]] = {
    "python run.py": ("run.py", "run.py 0.3"),
    "python -m sensor_models.tools.caster": ("2000 2000", "60 40"),
    "sensor-fmus scene view": ("", " --size 160x90"),
}
#: The same of programs.
SHORTER_PROGRAMS: Mapping[str, str] = {
    "width=2000, height=2000": "width=60, height=40",
    "width=480, height=300": "width=48, height=30",
    "columns=1800": "columns=18",
    "range(100)": "range(2)",
}


class BlockError(Exception):
    """A block that does not do what it should."""


@dataclass(frozen=True)
class Block:
    """A block of code."""

    page: str
    line: int
    kind: str
    text: str
    is_run: bool


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = [
        Block(page.name, text.count("\n", 0, m.start()) + 1, m["kind"], m["text"], not m["mark"])
        for m in FENCED.finditer(text)
    ]
    if 2 * len(found) != len(re.findall("^ *```", text, re.MULTILINE)):
        raise BlockError(f"{page.name}: a fence is not closed, or indented")
    return found


# ---- what runs them --------------------------------------------------------------------------


class Runner:
    """Runs the blocks of one page."""

    def __init__(self, place: Path, fmus: Path, elsewhere: Sequence[str]) -> None:
        self.place, self.fmus, self.elsewhere = place, fmus, elsewhere
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, block: Block) -> None:
        """Run a block, or parse it."""
        if block.kind not in KINDS:
            raise BlockError(f"is of the kind {block.kind!r}, known: {', '.join(KINDS)}")
        os.chdir(self.place)
        getattr(self, f"_{block.kind}")(block)

    def _sh(self, block: Block) -> None:
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            if words and block.is_run:
                self._command(words)

    def _python(self, block: Block) -> None:
        ast.parse(block.text)
        if block.is_run and not self._is_elsewhere(block.text):
            text = block.text
            for long, short in SHORTER_PROGRAMS.items():
                text = text.replace(long, short)
            exec(compile(text, f"{block.page}:{block.line}", "exec"), self.names)

    def _toml(self, block: Block) -> None:
        tomllib.loads(block.text)
        if named := OWN_NAME.match(block.text):
            (self.place / named[1]).write_text(block.text, encoding="utf-8")

    def _text(self, block: Block) -> None:
        """There is nothing to run."""

    def _modelica(self, block: Block) -> None:
        if block.is_run:
            raise BlockError("nothing here runs Modelica")
        import pymoca.parser

        if pymoca.parser.parse(block.text) is None:
            raise BlockError("is no Modelica")

    def _command(self, words: Sequence[str]) -> None:
        words = [PROGRAMS.sub("", words[0]), *words[1:]]
        line = shlex.join(words)
        if self._is_elsewhere(line):
            return
        known = [start for start in COMMANDS if words[: len(start)] == list(start)]
        if not known:
            raise BlockError(f"{line}: this program is not known to tests/docs/blocks.py")
        for start, (long, short) in SHORTER_COMMANDS.items():
            if line.startswith(start):
                line = line.replace(long, short) if long else line + short
        start = max(known, key=len)
        COMMANDS[start](self, shlex.split(line)[len(start) :])

    def _is_elsewhere(self, text: str) -> bool:
        return any(start in text for start in self.elsewhere)

    # ---- programs

    def sensor_fmus(self, words: Sequence[str]) -> None:
        """The command of the project."""
        with taken_from(self.fmus):
            self._succeeded(command.main(words))

    def builder(self, words: Sequence[str]) -> None:
        """The build of a checkout."""
        with taken_from(self.fmus):
            self._succeeded(build_fmus.main(words))

    def script(self, words: Sequence[str]) -> None:
        """A script."""
        with arguments(words), taken_from(self.fmus):
            sys.path.insert(0, str(Path(words[0]).resolve().parent))
            try:
                runpy.run_path(words[0], run_name="__main__")
            finally:
                del sys.path[0]

    def module(self, words: Sequence[str]) -> None:
        """A module of a package, in a process of its own.

        After an FMU was run here, its files are found first, which have no ``__main__``.
        """
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(done.stdout, done.stderr)
        self._succeeded(done.returncode)

    def cd(self, words: Sequence[str]) -> None:
        """Go on in another directory, which has the FMUs, too."""
        os.chdir(words[0])
        preparing.give_fmus(Path.cwd(), self.fmus)

    def make(self, words: Sequence[str]) -> None:
        """Targets of the Makefile, which are not made."""
        rules = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in words:
            if not re.search(rf"^{re.escape(target)}:", rules, re.MULTILINE):
                raise BlockError(f"make {target}: there is no such target")

    def install(self, words: Sequence[str]) -> None:
        """Packages, which are not installed: their extras have to be there."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for word in [word for word in words if not word.startswith("-") and word != "pip"]:
            found = re.fullmatch(r"(?:\.|sensor-fmus)(?:\[([\w,]+)\])?", word)
            if found is None:
                raise BlockError(f"pip install {word}: is not this project")
            for extra in filter(None, (found[1] or "").split(",")):
                if extra not in project["optional-dependencies"]:
                    raise BlockError(f"pip install {word}: there is no extra {extra}")

    def venv(self, words: Sequence[str]) -> None:
        """An environment, which is there already."""

    @staticmethod
    def _succeeded(code: object) -> None:
        if code not in (0, None):
            raise BlockError(f"ended with {code}")


COMMANDS: Mapping[tuple[str, ...], Callable[[Runner, Sequence[str]], None]] = {
    ("cd",): Runner.cd,
    ("make",): Runner.make,
    ("pip", "install"): Runner.install,
    ("python", "-m", "pip", "install"): Runner.install,
    ("python", "-m", "venv"): Runner.venv,
    ("python", "-m"): Runner.module,
    ("python", "build_fmus.py"): Runner.builder,
    ("python",): Runner.script,
    ("sensor-fmus",): Runner.sensor_fmus,
}


@contextlib.contextmanager
def arguments(words: Sequence[str]) -> Iterator[None]:
    """Have a program called with these words."""
    before, sys.argv = sys.argv, list(words)
    try:
        yield
    finally:
        sys.argv = before


@contextlib.contextmanager
def taken_from(fmus: Path) -> Iterator[None]:
    """Take FMUs that are there in place of building them."""
    really = build_fmus.build

    def build(wanted: Sequence[Source], output: Path, *given: Any, **options: Any) -> list[Path]:
        interface = options.get("interface", Interface.fmi2)
        there = fmus if interface is Interface.fmi2 else fmus.with_name(TWINS)
        names = [source.model.model_name for source in wanted]
        if not all((there / f"{name}.fmu").is_file() for name in names):
            return really(wanted, output, *given, **options)
        output.mkdir(parents=True, exist_ok=True)
        for name in names:
            if not (output / f"{name}.fmu").exists():
                (output / f"{name}.fmu").symlink_to(there / f"{name}.fmu")
        return [output / f"{name}.fmu" for name in names]

    build_fmus.build = build
    try:
        yield
    finally:
        build_fmus.build = really


# ---- a process that runs pages ---------------------------------------------------------------


def run_page(page: Path, place: Path, fmus: Path, elsewhere: Sequence[str]) -> Iterator[str]:
    """Run a page; a line of JSON for each block. What follows a block that fails is not run."""
    place.mkdir(parents=True)
    preparing.prepare(page.name, place, fmus, ROOT)
    runner = Runner(place, fmus, elsewhere)
    for block in blocks_of(page):
        said, wrong = io.StringIO(), ""
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                runner.run(block)
            except (Exception, SystemExit):
                wrong = f"{traceback.format_exc(limit=-6)}\n{said.getvalue()[-2000:]}"
        yield json.dumps({"page": page.name, "line": block.line, "wrong": wrong})
        if wrong:
            return


def main(words: Sequence[str]) -> None:
    """Run pages; of the standard input comes which commands are run elsewhere, by page."""
    fmus, place, *pages = map(Path, words)
    elsewhere = json.load(sys.stdin)
    os.environ["MPLBACKEND"] = "Agg"
    for page in pages:
        for line in run_page(page, place / page.stem, fmus, elsewhere.get(page.name, [])):
            print(line, flush=True)
    os.chdir(ROOT)
    shutil.rmtree(place)


if __name__ == "__main__":
    main(sys.argv[1:])
