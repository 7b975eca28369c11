"""A stage of USD as plain numbers: shapes, their places, looks, and bodies that move.

As a script it reads a file in a process of its own, because USD's library opens what a file names
by itself, and may end a process whose file it cannot bear:

    python usd_stage.py DIRECTORY

``DIRECTORY`` holds ``ask.json``. Into it are written ``stage.json`` with ``arrays.npz``, or
``refusal.json``. This file and ``usd_shapes.py`` import nothing of the project.

Layers are opened one by one before they are composed, and one that lies outside of ``root`` is
refused before it is read. Layers in formats that USD does not have (MaterialX, Alembic) are noted.
"""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

#: Bytes that a stage may take while it is read, and more for each byte of its files.
MAX_MEMORY, FOR_EACH_BYTE = 2**30, 40
#: Seconds of the processor that it may take, and bytes of its files for each further one.
MAX_SECONDS, BYTES_A_SECOND = 15, 4_000_000
#: Bytes of one file.
MAX_FILE_BYTES = 2**31
SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")

_PLACE = re.compile(r"'?(?P<file>[^\s']+?):(?P<line>\d+):\d+: ")
_SAID = re.compile(r"line \d+ in file \S+ : '(.*?)'\s*(?:\n\s*Error in|\Z)", re.DOTALL)


class Refusal(Exception):  # noqa: N818 - it is what is said, not an error of this program
    """Why a file is refused: the file, the place in it, and the reason."""

    def __init__(self, file: str, place: str, reason: str) -> None:
        super().__init__(reason)
        self.file, self.place, self.reason = file, place, reason


class Layers:
    """The files of a stage, and where they may be."""

    def __init__(self, ask: dict[str, Any]) -> None:
        self.root, self.allow_outside = Path(ask["root"]), ask["allow_outside"]
        self.file = ask["file"]
        self.files: dict[str, tuple[str, str]] = {}  # by path: who names it, and as what
        self.unread: dict[str, str] = {}  # suffixes that USD does not have, with the first asset
        self.bytes = 0

    def open_all(self) -> Any:
        """Open the layers that a file needs, and compose them."""
        from pxr import Sdf, Usd

        self._admit(self.file, self.file, "")
        first = Sdf.Layer.FindOrOpen(self.file)
        waiting, seen = [first], {first.identifier}
        while waiting:
            for layer in self._next_to(waiting.pop()):
                if layer.identifier not in seen:
                    seen.add(layer.identifier)
                    waiting.append(layer)
        stage = Usd.Stage.Open(first, Usd.Stage.LoadAll)
        self._check(stage)
        return stage

    def _next_to(self, layer: Any) -> list[Any]:
        """The layers that one names, as far as they exist."""
        from pxr import Ar, Sdf

        found = []
        for asset in layer.GetCompositionAssetDependencies():
            if Path(asset).suffix.lower() not in SUFFIXES:
                self.unread.setdefault(Path(asset).suffix.lower() or asset, asset)
                continue
            known = Sdf.ComputeAssetPathRelativeToLayer(layer, asset)
            resolved = str(Ar.GetResolver().Resolve(known))
            if not resolved:
                self._refuse_outside(known, layer, asset)
                continue  # the stage may need it, or not
            outer = Ar.SplitPackageRelativePathOuter(resolved)[0]
            self._admit(outer, layer.realPath or self.file, asset)
            found.append(Sdf.Layer.FindOrOpen(known))
        return [layer for layer in found if layer]

    def _refuse_outside(self, path: str, layer: Any, asset: str) -> None:
        """Refuse a path that leads out of the folder, whether there is a file or not."""
        if "[" in path or self.allow_outside:  # within a package
            return
        is_address = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", asset)
        place = (Path(layer.realPath or self.file).parent / path).resolve()
        if is_address or not place.is_relative_to(self.root):
            reason = f"{asset!r} lies outside of {self.root}, which is allowed only on request"
            raise Refusal(layer.realPath or self.file, "", reason)

    def _admit(self, path: str, by: str, asset: str) -> None:
        """Take note of a file that is to be read, or refuse it."""
        if path in self.files:
            return
        file = Path(path).resolve()
        if not self.allow_outside and not file.is_relative_to(self.root):
            reason = f"{asset!r} lies outside of {self.root}, which is allowed only on request"
            raise Refusal(by, "", reason)
        if not file.is_file():
            raise Refusal(by, "", f"{asset!r} is no regular file")
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise Refusal(by, "", f"{asset!r} has {size} bytes, at most {MAX_FILE_BYTES} are read")
        self.files[path] = (by, asset)
        self.bytes += size
        bound(self.bytes)

    def _check(self, stage: Any) -> None:
        """Refuse a stage that lacks something, or that has read what was not admitted."""
        from pxr import Ar

        for error in stage.GetCompositionErrors():
            said = re.sub(r"\s+", " ", str(error))
            if not any(f"{suffix}@" in said.lower() for suffix in self.unread):
                site = re.search(r"(\S+?)@?<(/[^>]*)>", said)
                raise Refusal(self.file, site[2] if site else "", f"USD says: {said}")
        known = {Path(file).resolve() for file in self.files}
        for layer in stage.GetUsedLayers(True):
            outer = Ar.SplitPackageRelativePathOuter(layer.realPath)[0]
            if not layer.anonymous and Path(outer).resolve() not in known:
                reason = (
                    f"{layer.identifier!r} is named in a way that is not followed (value clips)"
                )
                raise Refusal(self.file, "", reason)


def _others(stage: Any) -> list[str]:
    """Layers that say other axes or units than the stage."""
    from pxr import UsdGeom

    own = {"metersPerUnit": UsdGeom.GetStageMetersPerUnit(stage)}
    own["upAxis"] = UsdGeom.GetStageUpAxis(stage)
    return [
        Path(layer.identifier).name
        for layer in stage.GetUsedLayers()
        if any(
            layer.pseudoRoot.HasInfo(key) and layer.pseudoRoot.GetInfo(key) != value
            for key, value in own.items()
        )
    ]


def bound(size: int) -> None:
    """Keep what is read here from files of this size within bounds, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most, seconds = MAX_MEMORY + FOR_EACH_BYTE * size, MAX_SECONDS + size // BYTES_A_SECOND
    hard = resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def said_of(error: BaseException, file: str) -> tuple[str, str, str]:
    """File, place and reason of what USD says, which is in several lines."""
    text = str(error) or repr(error)
    found = _SAID.search(text)
    text = re.sub(r"\s+", " ", found[1] if found else text).strip()
    if place := _PLACE.search(text):
        file = place["file"] if Path(place["file"]).is_file() else file
        return file, f"line {place['line']}", f"USD says: {text[place.end() :]}"
    return file, "", f"USD says: {text}"


def _read(folder: Path) -> None:
    ask = json.loads((folder / "ask.json").read_text(encoding="utf-8"))
    try:
        bound(0)
        layers = Layers(ask)
        stage = layers.open_all()
        sys.path.insert(0, str(Path(__file__).parent))
        shapes = importlib.import_module("usd_shapes")
        described, arrays = shapes.described(stage, ask["geometry"])
        described["files"] = [[path, *by] for path, by in layers.files.items()]
        described["unread"] = layers.unread
        described["others"] = _others(stage)
        np.savez(folder / "arrays.npz", **arrays)
        (folder / "stage.json").write_text(json.dumps(described), encoding="utf-8")
    except Refusal as refusal:
        _refuse(folder, refusal.file, refusal.place, refusal.reason)
    except Exception as error:
        _refuse(folder, *said_of(error, ask["file"]))


def _refuse(folder: Path, *about: str) -> None:
    (folder / "refusal.json").write_text(json.dumps(about), encoding="utf-8")


if __name__ == "__main__":
    _read(Path(sys.argv[1]))
