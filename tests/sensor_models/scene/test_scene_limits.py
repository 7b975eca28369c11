"""Small scene files that ask for much are refused before they get it."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.scene.errors import SceneError
from sensor_models.scene.gltf_tree import MAX_SHARED, MAX_STEPS
from sensor_models.scene.limits import (
    MAX_DEPTH,
    MAX_OPERATIONS,
    MAX_PARTS,
    check_formula,
)
from sensor_models.scene.manifest import load_scene
from tests.sensor_models.scene_files import HEAD, write_manifest

MEASURE = """
import resource, sys
from sensor_models.scene.manifest import load_scene

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

load_scene(sys.argv[1])  # what reading any scene takes
before = peak()
try:
    load_scene(sys.argv[2])
    print("read")
except Exception as error:
    print(type(error).__name__, error)
print(peak() - before)
"""

#: Far above what any of these cases takes, for machines that are busy; far below a hang.
PATIENCE = 120.0  # s


def outcome(folder: Path, text: str) -> tuple[str, float]:
    """What reading a scene says, and by how many megabytes the process grew."""
    (folder / "plain").mkdir()
    plain = write_manifest(
        folder / "plain", "[meshes.a]\nplane = { size = [1, 1] }\nmaterial = 'wood'"
    )
    path = write_manifest(folder, text)
    found = subprocess.run(
        [sys.executable, "-c", MEASURE, str(plain), str(path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    said, grown = found.stdout.splitlines()
    return said, float(grown) / (1024.0 if sys.platform != "darwin" else 1024.0**2)


def nested(length: int, depth: int) -> str:
    """A formula whose operations wait for the innermost, as deep as they may."""
    formula = "x*y"
    for _ in range(depth):
        formula = f"(x+y)*({formula})"
    return "x*y+" * ((length - len(formula)) // 4) + formula


def heightmap(cells: int, formula: str) -> str:
    return (
        "[meshes.a]\nmaterial = 'wood'\n"
        f"heightmap = {{ size = [1, 1], cells = [{cells}, {cells}], formula = '{formula}' }}\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="the module resource is of Unix")
@pytest.mark.parametrize(
    ("text", "said", "megabytes"),
    [
        pytest.param(
            heightmap(4095, nested(1800, MAX_DEPTH)),
            "meshes.a.heightmap.formula: asks for 899 operations at each of 16777216 corners",
            50.0,
            id="formula beyond the limit",
        ),
        # 40 arrays of 524,176 numbers would take 170 MB.
        pytest.param(
            heightmap(723, nested(1330, MAX_DEPTH)), "read", 240.0, id="formula within the limit"
        ),
        pytest.param(
            ".".join("a" * 40_000) + " = 1\n", "line 3: has a key of more than 8", 50.0, id="dots"
        ),
        pytest.param(
            "[" + ".".join("a" * 40_000) + "]\n", "line 3: has a key of more", 50.0, id="table"
        ),
    ],
)
def test_a_small_manifest_takes_little_memory(
    tmp_path: Path, text: str, said: str, megabytes: float
) -> None:
    found, grown = outcome(tmp_path, text)
    assert said in found
    assert said == "read" or found.startswith("SceneError")
    assert grown < megabytes


#: What a thread with as little stack as FMUs ask for says of a scene.
IN_A_THREAD = """
import sys, threading
from sensor_models.scene.manifest import load_scene

def read():
    try:
        load_scene(sys.argv[1])
        print("read")
    except Exception as error:
        print(type(error).__name__, error)

load_scene(sys.argv[2])  # imports what reading a scene needs
threading.stack_size(256 * 1024)
thread = threading.Thread(target=read)
thread.start()
thread.join()
"""


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("(" * 990 + "x" + ")" * 990, "nests parentheses or signs 990 deep, allowed are 40"),
        ("sin(" * 190 + "x" + ")" * 190, "nests parentheses or signs 190 deep"),
        ("- " * 41 + "x", "nests parentheses or signs 41 deep"),
        ("(" * 40 + "x" + ")" * 40, "read"),
        ("(" * 39 + "(x)*(-" + "-" * 39 + "y)" + ")" * 39, "read"),
        ("**".join("x" * 660), "vertex 0 is not finite"),
        ("+".join("x" * 800), "read"),
    ],
)
def test_a_formula_takes_no_more_stack_than_a_thread_of_a_host_may_have(
    tmp_path: Path, formula: str, said: str
) -> None:
    (tmp_path / "plain").mkdir()
    plain = write_manifest(
        tmp_path / "plain", "[meshes.a]\nplane = { size = [1, 1] }\nmaterial = 'wood'"
    )
    path = write_manifest(tmp_path, heightmap(2, formula))
    command = [sys.executable, "-c", IN_A_THREAD, str(path), str(plain)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert said in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the module resource is of Unix")
def test_blanks_in_an_obj_take_no_time(tmp_path: Path) -> None:
    blanks = b" " * 2_000_000
    data = b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"\n" * 2_000_000
    data += b"usemtl" + blanks + b"wood" + blanks + b"\nf 1 2" + blanks + b"3\nmtllib" + blanks
    (tmp_path / "a.obj").write_bytes(data)
    found, grown = outcome(tmp_path, "[meshes.a]\nfile = 'a.obj'\nmaterial = 'wood'\n")
    assert found == "read"
    assert grown < 150.0


FLOATS = {"componentType": 5126, "type": "VEC3"}


def gltf(buffer: bytes = b"", **tree: Any) -> bytes:
    """A glTF with its buffer in it; one mesh of the first accessor, on one node, if not given."""
    uri = "data:application/octet-stream;base64," + base64.b64encode(buffer).decode()
    known = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": len(buffer), "uri": uri}],
        "bufferViews": [{"buffer": 0, "byteLength": len(buffer)}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        **tree,
    }
    nodes = list(range(len(known["nodes"])))
    return json.dumps({"scenes": [{"nodes": nodes}], **known}).encode()


TRIANGLE = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], "<f4").tobytes()
HELD = {"bufferView": 0, "count": 3, **FLOATS}
INDICES = {"bufferView": 0, "count": 3, "componentType": 5121, "type": "SCALAR"}
#: Small files that ask for gigabytes, and what is said of each.
GREEDY = {
    "zeros that nodes share": (
        "a.gltf",
        gltf(
            TRIANGLE,
            accessors=[{"count": 2**20, **FLOATS}, INDICES],
            meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            nodes=[{"mesh": 0}] * 100,
        ),
        "a.gltf asks for 104857600 vertices with its 100 parts, more than",
    ),
    "zeros that primitives share": (
        "a.gltf",
        gltf(
            TRIANGLE,
            accessors=[{"count": 2**20, **FLOATS}, INDICES],
            meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}] * 50}],
        ),
        "a.gltf asks for 52428800 vertices with its 50 parts",
    ),
    "triangles of shared indices": (
        "a.gltf",
        gltf(
            TRIANGLE,
            accessors=[HELD, {"count": 3 * 2**20, "componentType": 5125, "type": "SCALAR"}],
            meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            nodes=[{"mesh": 0}] * 31,
        ),
        "a.gltf asks for 32505856 triangles with its 31 parts",
    ),
    "counts below zero": (
        "a.gltf",
        gltf(
            accessors=[
                {"count": sign * 10**8, "componentType": 5126, "type": "VEC3"}
                for sign in (1, -1)
                for _ in range(40)
            ]
        ),
        "a.gltf has accessors[40].count = -100000000, allowed are 0 to",
    ),
    "a count that is no number": (
        "a.gltf",
        gltf(accessors=[{"count": "3", **FLOATS}]),
        "a.gltf has accessors[0].count = '3', allowed are 0 to",
    ),
    "accessors that share bytes": (
        "a.gltf",
        gltf(bytes(2**18), accessors=[{"bufferView": 0, "count": 21845, **FLOATS}] * 5000),
        "a.gltf has accessors of 1310700000 bytes together, its buffers have",
    ),
    "views that share bytes": (
        "a.gltf",
        gltf(
            bytes(2**18),
            accessors=[HELD],
            bufferViews=[{"buffer": 0, "byteLength": 2**18}] * 8000,
        ),
        "a.gltf has bufferViews of 2097152000 bytes together, its buffers have",
    ),
    "nodes below each other": (
        "a.gltf",
        gltf(
            TRIANGLE,
            accessors=[HELD],
            nodes=[{"mesh": 0, "children": [n + 1]} for n in range(1999)] + [{"mesh": 0}],
            scenes=[{"nodes": [0]}],
        ),
        f"a.gltf has 2000 nodes with 1999000 steps up to their roots, allowed are {MAX_STEPS}",
    ),
    "nodes in a circle": (
        "a.gltf",
        gltf(TRIANGLE, accessors=[HELD], nodes=[{"mesh": 0, "children": [0]}]),
        "a.gltf has nodes[0] within itself",
    ),
    "more parts than a file may have": (
        "a.gltf",
        gltf(TRIANGLE, accessors=[HELD], nodes=[{"mesh": 0}] * (MAX_PARTS + 1)),
        f"a.gltf has {MAX_PARTS + 1} parts, a mesh file may have {MAX_PARTS}",
    ),
    "values without end": (
        "a.gltf",
        b'{"extras":[' + b"[]," * 2**22 + b"0]}",
        "a.gltf has 8388610 values in its JSON, allowed are",
    ),
    "groups without end": (
        "a.obj",
        b"v 0 0 0\nv 1 0 0\nv 0 1 0\n"
        + b"".join(b"g %d\nf 1 2 3\n" % n for n in range(MAX_PARTS + 1)),
        f"a.obj has {MAX_PARTS + 1} parts, a mesh file may have {MAX_PARTS}",
    ),
    "a count that is given twice": (
        "a.ply",
        b"ply\nformat ascii 1.0\n element vertex 99999999999\nelement vertex 0\nend_header\n",
        "a.ply announces 99999999999 of vertex, a scene has less room: 0 to",
    ),
    "more triangles than bytes": (
        "a.stl",
        b"\0" * 80 + (2**25).to_bytes(4, "little"),
        "a.stl is neither a whole binary STL nor",
    ),
}

CONFINED = """
import resource, sys
import trimesh
from sensor_models.scene import kept
from sensor_models.scene.manifest import load_scene

kept.directory = lambda: None
megabytes, plain, *paths = sys.argv[1:]
load_scene(plain)  # with all that reading takes
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (int(megabytes) << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for path in paths:
    try:
        load_scene(path)
        print("read")
    except Exception as error:
        print(type(error).__name__, error)
"""


def said_of_meshes(folder: Path, files: dict[str, tuple[str, bytes]], megabytes: int) -> list[str]:
    """What reading mesh files says in a process that gets no more memory than this."""
    paths = []
    for number, (name, data) in enumerate(files.values()):
        (folder / str(number)).mkdir()
        (folder / str(number) / name).write_bytes(data)
        text = f"[meshes.a]\nfile = '{name}'\nmaterial = 'wood'\n"
        paths.append(str(write_manifest(folder / str(number), text)))
    plain = write_manifest(folder, "[meshes.a]\nplane = { size = [1, 1] }\nmaterial = 'wood'")
    command = [sys.executable, "-c", CONFINED, str(megabytes), str(plain), *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return [line.replace(f"{folder}/", "") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def said_of_greedy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of the greedy files where they may have 300 MB."""
    files = {case: (name, data) for case, (name, data, _) in GREEDY.items()}
    said = said_of_meshes(tmp_path_factory.mktemp("greedy"), files, 300)
    return dict(zip(files, said, strict=True))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit addresses")
@pytest.mark.parametrize("case", GREEDY)
def test_a_small_mesh_file_asks_for_little_memory(
    said_of_greedy: dict[str, str], case: str
) -> None:
    found = said_of_greedy[case].partition("/")[2]
    assert found.startswith(f"scene.toml: meshes.a.file: {GREEDY[case][2]}")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit addresses")
def test_what_needs_more_memory_than_there_is_is_refused_by_its_file(tmp_path: Path) -> None:
    shared = gltf(accessors=[{"count": 3 * 2**20, **FLOATS}])
    assert said_of_meshes(tmp_path, {"": ("a.gltf", shared)}, 60) == [
        "SceneError 0/scene.toml: needs more memory than this process can have"
    ]


def test_nodes_may_share_what_a_scene_has_room_for(tmp_path: Path) -> None:
    """A hundred copies of a real mesh are a hundred parts."""
    many = gltf(TRIANGLE, accessors=[HELD], nodes=[{"mesh": 0, "translation": [9, 0, 0]}] * 100)
    (tmp_path / "a.gltf").write_bytes(many)
    scene = load_scene(write_manifest(tmp_path, "[meshes.a]\nfile = 'a.gltf'\nmaterial = 'wood'\n"))
    assert len(scene.meshes[0].faces) == 100
    assert MAX_SHARED > 3 * 100


@pytest.mark.parametrize(("what", "count", "bound"), [("vertices", 8, 7), ("triangles", 4, 3)])
def test_all_meshes_of_a_scene_share_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, count: int, bound: int
) -> None:
    name = f"MAX_{what.upper()}"
    monkeypatch.setattr(f"sensor_models.scene.limits.{name}", bound)
    text = "".join(
        f"[meshes.m{n}]\nplane = {{ size = [1, 1] }}\nmaterial = 'wood'\n" for n in (1, 2)
    )
    refusal = rf"meshes\.m2: has {count} {what}, a scene may have {bound} in all"
    with pytest.raises(SceneError, match=refusal):
        load_scene(write_manifest(tmp_path, text))


def test_the_work_of_a_formula_is_what_it_asks_at_all_corners() -> None:
    corners = 1024
    signs = MAX_OPERATIONS // corners**2
    check_formula("+x" * signs, (corners - 1, corners - 1), Path("x"), "k")
    with pytest.raises(SceneError, match=r"k\.formula: asks for 513 operations"):
        check_formula("+x" * signs + "-", (corners - 1, corners - 1), Path("x"), "k")


PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    "data",
    [
        PNG + bytes.fromhex("0000000d4948445200000002000000020800000000") + b"\0\0\0\0",
        PNG + b"\xff\xff\xff\xffIHDR" + b"\0" * 20,
        PNG + b"\0\0\0\x0dIHDR\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0",
        b"",
    ],
)
def test_a_damaged_picture_is_refused_with_file_and_key(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.png").write_bytes(data)
    text = "[meshes.a]\nmaterial = 'wood'\nheightmap = { size = [1, 1], image = 'a.png' }\n"
    path = write_manifest(tmp_path, text, HEAD)
    with pytest.raises(SceneError, match=r"meshes\.a\.heightmap\.image: a\.png is no readable PNG"):
        load_scene(path)
