"""Damaged scene files: each is read, or refused with one ``SceneError``; nothing else may happen.

``python -m tests.fuzz.scenes --count 2000 --seed 1``      as many mutations of small scenes
``python -m tests.fuzz.scenes --seed 1 --case 17 --keep D``  one of them, with its files left in D

A case is a small scene of which one file is mutated: bits, bytes, pieces of other files, numbers
and words that are likely to hurt. It fails if the reader raises anything but ``SceneError``, if
the message does not name the manifest, if it takes longer than ``PATIENCE``, if the process grows
beyond ``MOST_MEMORY`` or dies. Scenes that can be read are built, and some rays are traced.

Cases run in a process of their own, which is started again after one that ended it.
"""

import argparse
import faulthandler
import io
import json
import random
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from scenes.making import Solid, write_glb
from sensor_models.scene import kept
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.scene_files import TETRAHEDRON, obj, ply, stl

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # s for a case, far above what any takes on a busy machine
MOST_MEMORY = 2500.0  # MB; the largest terrain that a scene may have takes 1500
#: Scenes above it are read, but not built.
MOST_TRACED = 100_000

VERTICES, FACES = TETRAHEDRON

HEAD = 'format = 1\nname = "fuzz"\n'
MESH = """
[meshes.a]
file = "FILE"
material = "wood"
[[instances]]
mesh = "a"
position = [1, 2, 3]
"""
LABELLED = MESH.replace("[[", 'vertex_labels = "label"\nface_labels = "kind"\n[[')
TERRAIN = """
[meshes.a]
material = "soil"
heightmap = { size = [20, 10], HEIGHTS }
[[instances]]
mesh = "a"
"""
ALL = """
description = "all that a manifest can say"
labels = { thing = 7, other = 8 }
[world]
gravity = [0, 0, -9.8]
magnetic_field = [0, 2e-5, -4e-5]
medium = "mist"
[sky]
preset = "clear"
sun_spectrum = [[4e-7, 1.0], [5e-7, 2.0]]
[view]
position = [1, 2, 3]
target = [0, 0, 0]
[materials.panel]
kind = "two_layer"
source = "made"
surface = [{ diffuse_reflectance = 0.5, ior = 1.5 }, { band = [3e-3, 4e-3], ior = 2.0 }]
[materials.door]
base = "wood"
color = [0.1, 0.2, 0.3]
[media.mist]
preset = "fog"
visibility = 400
[media.smoke]
absorption = 0.3
return_probability = 0.2
[meshes.box]
box = { size = [1, 2, 3] }
material = "panel"
parts.top = { material = "glass", label = "other" }
[meshes.ball]
sphere = { radius = 2, segments = 12 }
material = "steel"
smooth = true
[meshes.post]
cylinder = { radius = 0.1, height = 2, segments = 7 }
material = "door"
[meshes.floor]
plane = { size = [9, 9] }
material = "asphalt"
faces = [{ first = 0, count = 1, label = "thing" }]
[[bodies]]
name = "cart"
position = [1, 0, 0]
orientation = [1, 0, 0, 0]
[[instances]]
mesh = "box"
body = "cart"
entity_id = 9
roll_pitch_yaw_deg = [1, 2, 3]
[[instances]]
mesh = "post"
places = [{ position = [1, 1, 0] }, { yaw_deg = 40, scale = 2 }]
[[instances]]
mesh = "floor"
[[volumes]]
mesh = "ball"
medium = "smoke"
scale = [1, 2, 3]
"""


def _picture() -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.arange(96, dtype=np.uint16).reshape(8, 12) * 600).save(stream, "PNG")
    return stream.getvalue()


def _glb() -> bytes:
    solid = Solid()
    solid.box("wood", (0, 0, 0), (1, 1, 1))
    solid.pane("glass", [(2, 0, 0), (3, 0, 0), (3, 0, 1), (2, 0, 1)], 0.01)
    with tempfile.TemporaryDirectory() as folder:
        write_glb(Path(folder) / "a.glb", solid)
        return (Path(folder) / "a.glb").read_bytes()


def _gltf(glb: bytes) -> tuple[bytes, bytes]:
    """The text and the buffer of a GLB as files of their own."""
    size = int.from_bytes(glb[12:16], "little")
    tree = json.loads(glb[20 : 20 + size])
    tree["buffers"][0]["uri"] = "a.bin"
    return json.dumps(tree, indent=1).encode(), glb[28 + size :]


@cache
def scenes() -> list[dict[str, bytes]]:
    """The scenes that are mutated: the content of their files by name."""
    glb = _glb()
    tree, buffer = _gltf(glb)
    text_stl = b"solid a\n" + b"".join(
        b"facet normal 0 0 0\nouter loop\n"
        + b"".join(b"vertex %d %d %d\n" % tuple(corner) for corner in face)
        + b"endloop\nendfacet\n"
        for face in VERTICES[FACES].astype(int)
    )
    wavefront = obj(VERTICES, {("a", "wood"): FACES[:2], ("b", "glass"): FACES[2:]})
    wavefront += b"o c\nvn 0 0 1\nvt 0 0\nf 1/1/1 2//1 3/1 -1\n"
    listed = "heights = [[0, 1, 2], [1, 2, 3], [2, 3.5, 1e-3]]"
    formula = 'formula = "0.5*sin(x/9)**2 - max(y, min(x, 3))/7 + exp(-x*x)", cells = [9, 7]'
    meshes = {"a.obj": wavefront, "a.stl": stl(VERTICES[FACES]), "b.stl": text_stl + b"endsolid\n"}
    plain = [
        ("a.glb", MESH, {"a.glb": glb}),
        ("a.gltf", MESH, {"a.gltf": tree, "a.bin": buffer}),
        ("a.ply", LABELLED, {"a.ply": ply(VERTICES, FACES, labels=[1, 2, 3, 4], kinds=[5] * 4)}),
        *((name, MESH, {name: data}) for name, data in meshes.items()),
    ]
    found = [
        {"scene.toml": (HEAD + text.replace("FILE", name)).encode(), **files}
        for name, text, files in plain
    ]
    picture = {"a.png": _picture()}
    for heights, files in (('image = "a.png"', picture), (listed, {}), (formula, {})):
        found.append({"scene.toml": (HEAD + TERRAIN.replace("HEIGHTS", heights)).encode(), **files})
    found.append({"scene.toml": (HEAD + ALL).encode()})
    return found


# ---- mutations ---------------------------------------------------------------------------------

NUMBERS = [b"0", b"-1", b"1e308", b"-1e-320", b"nan", b"inf", b"4294967296", b"2147483647"]
NUMBERS += [b"65536", b"4096", b"1e7", b"0.5", b"9" * 400, b"0x7f", b"1e400", b"33554432"]
WORDS = [b" ", b"\n", b"\t", b".", b"a.", b'"', b"'''", b"[", b"{", b"[[", b"}", b"=", b"#", b"/"]
WORDS += [b"\\", b"\\\n", b"\xff", b"\0", b"\xf0\x9f\x98\x80", b"f 1 2 3\n", b"-", b"("]
WORDS += [b"x**", b"true", b"../", b"file", b"end_header\n", b"element face 9\n", b"\r"]

Mutation = Callable[[bytearray, random.Random, list[bytes]], None]


def _place(data: bytearray, draw: random.Random) -> int:
    return draw.randrange(len(data) + 1)


def _flip(data: bytearray, draw: random.Random, _: list[bytes]) -> None:
    if data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _set(data: bytearray, draw: random.Random, _: list[bytes]) -> None:
    if data:
        data[draw.randrange(len(data))] = draw.choice((0, 1, 32, 127, 128, 255))


def _cut(data: bytearray, draw: random.Random, _: list[bytes]) -> None:
    start = _place(data, draw)
    del data[start : start + draw.choice((1, 2, 4, 16, 200, len(data)))]


def _repeat(data: bytearray, draw: random.Random, _: list[bytes]) -> None:
    start = _place(data, draw)
    part = bytes(data[start : start + draw.choice((1, 2, 8, 40))])
    data[start:start] = part * draw.choice((1, 2, 50, 3000))


def _insert(data: bytearray, draw: random.Random, _: list[bytes]) -> None:
    start = _place(data, draw)
    data[start:start] = draw.choice(WORDS) * draw.choice((1, 1, 2, 30, 20_000))


def _number(data: bytearray, draw: random.Random, _: list[bytes]) -> None:
    """Replace a number in a text by one that hurts."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?", data))
    if found:
        match = draw.choice(found)
        data[match.start() : match.end()] = draw.choice(NUMBERS)


def _word(data: bytearray, draw: random.Random, _: list[bytes]) -> None:
    """Replace a word by another of the same text."""
    found = list(re.finditer(rb"[A-Za-z_]+", data))
    if found:
        match, other = draw.choice(found), draw.choice(found)
        data[match.start() : match.end()] = other.group()


def _lines(data: bytearray, draw: random.Random, _: list[bytes]) -> None:
    """Exchange two lines."""
    lines = bytes(data).split(b"\n")
    a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    data[:] = b"\n".join(lines)


def _splice(data: bytearray, draw: random.Random, others: list[bytes]) -> None:
    """Put a piece of another file in."""
    other = draw.choice(others)
    start, place = draw.randrange(len(other) + 1), _place(data, draw)
    data[place:place] = other[start : start + draw.choice((4, 40, 400))]


MUTATIONS: Sequence[Mutation] = (
    *(_flip, _set, _cut, _repeat, _insert, _splice, _lines),
    *(_number, _number, _number, _word, _word),
)


def case(seed: int, number: int) -> dict[str, bytes]:
    """The files of a case."""
    draw = random.Random(f"{seed}:{number}")
    every = scenes()
    files = dict(every[number % len(every)])
    name = draw.choice(sorted(files))
    data = bytearray(files[name])
    others = [content for scene in every for content in scene.values()]
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        draw.choice(MUTATIONS)(data, draw, others)
    files[name] = bytes(data)
    return files


# ---- running -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """A case that did what none may do."""

    number: int
    reason: str


def try_case(folder: Path, files: dict[str, bytes]) -> str:
    """What is wrong with how a scene is read; "" if nothing."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    path = folder / "scene.toml"
    try:
        scene = load_scene(path)
        if sum(len(mesh.faces) for mesh in scene.meshes) <= MOST_TRACED:
            with RayScene(scene) as rays:
                rays.trace([0.1, 0.2, 9.0], [[0, 0, -1], [1, 0, 0], [0.1, 0.2, -0.9]])
    except SceneError as error:
        named = error.file in (path, scene_name(files))
        clear = named and error.reason and "\n" not in str(error) and len(str(error)) < 100_000
        return "" if clear else f"unclear: {str(error)[:500]!r}"
    except BaseException:
        return traceback.format_exc()
    return ""


def scene_name(files: dict[str, bytes]) -> str:
    """The name that a manifest gives to its scene, which messages of the ray engine carry."""
    match = re.search(rb'name = "([^"]*)"', files["scene.toml"])
    return match.group(1).decode("utf-8", "replace") if match else ""


def megabytes() -> float:
    """The most memory that this process had, 0 where the system does not say it.

    Not what ``getrusage`` says: a child starts with what its parent had there.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    (line,) = (part for part in status.read_text().splitlines() if part.startswith("VmHWM:"))
    return float(line.split()[1]) / 1024.0


def work(seed: int, numbers: range, folder: Path) -> None:
    """Try cases one after the other; says on standard output where it is and what failed."""
    kept.directory = lambda: None  # nothing of this is worth keeping
    for number in numbers:
        print(json.dumps({"at": number}), flush=True)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            reason = try_case(Path(place), case(seed, number))
        faulthandler.cancel_dump_traceback_later()
        if reason:
            print(json.dumps({"failed": number, "reason": reason}), flush=True)
        if megabytes() > MOST_MEMORY:
            reason = f"the process grew to {megabytes():.0f} MB"
            print(json.dumps({"failed": number, "reason": reason}), flush=True)
            return


def run(seed: int, count: int, folder: Path) -> Iterator[Failure]:
    """Try so many cases, in processes that may die."""
    first = 0
    while first < count:
        command = [sys.executable, "-m", "tests.fuzz.scenes", "--worker", str(folder.absolute())]
        command += ["--seed", str(seed), "--first", str(first), "--count", str(count - first)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for line in said:
            if "failed" in line:
                yield Failure(line["failed"], line["reason"])
        last = max((line["at"] for line in said if "at" in line), default=first)
        if done.returncode != 0:
            yield Failure(last, f"ended the process ({done.returncode}): {done.stderr[-3000:]}")
        first = last + 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzz; 0 if no case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.scenes", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--count", type=int, default=2000, help="number of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="one case alone, in this process")
    parser.add_argument("--keep", type=Path, help="where the files of that case are left")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker is not None:
        work(given.seed, range(given.first, given.first + given.count), given.worker)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if given.case is not None:
            place = given.keep or Path(folder)
            place.mkdir(parents=True, exist_ok=True)
            reason = try_case(place, case(given.seed, given.case))
            print(reason or "read, or refused as it should be")
            return int(bool(reason))
        failures = list(run(given.seed, given.count, Path(folder)))
    for failure in failures:
        print(f"seed {given.seed}, case {failure.number}: {failure.reason}")
    print(f"{given.count} damaged scenes, {len(failures)} failures")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
