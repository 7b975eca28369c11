"""Small scene files that ask for much are refused before they get it."""

import subprocess
import sys
from pathlib import Path

import pytest

from sensor_models.scene.errors import SceneError
from sensor_models.scene.limits import (
    MAX_DOTS,
    MAX_DOTTED_KEYS,
    MAX_OPERATIONS,
    check_formula,
    check_keys,
)
from sensor_models.scene.manifest import load_scene
from tests.models.scene_files import HEAD, write_manifest

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


def nested(length: int) -> str:
    """A formula whose operations all wait for the innermost."""
    formula = "x*y"
    while len(formula) < length:
        formula = f"(x+y)*({formula})"
    return formula


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
            heightmap(4095, nested(1800)),
            "meshes.a.heightmap.formula: asks for 901 operations at each of 16777216 corners",
            50.0,
            id="formula beyond the limit",
        ),
        # 190 arrays of 524,176 numbers would take 800 MB.
        pytest.param(heightmap(723, nested(1330)), "read", 300.0, id="formula within the limit"),
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


@pytest.mark.skipif(sys.platform == "win32", reason="the module resource is of Unix")
def test_blanks_in_an_obj_take_no_time(tmp_path: Path) -> None:
    blanks = b" " * 2_000_000
    data = b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"\n" * 2_000_000
    data += b"usemtl" + blanks + b"wood" + blanks + b"\nf 1 2" + blanks + b"3\nmtllib" + blanks
    (tmp_path / "a.obj").write_bytes(data)
    found, grown = outcome(tmp_path, "[meshes.a]\nfile = 'a.obj'\nmaterial = 'wood'\n")
    assert found == "read"
    assert grown < 150.0


@pytest.mark.parametrize(
    "text",
    [
        "a = '" + "." * 1000 + "'",
        'a = "\\"' + "." * 1000 + '"',
        'a = """' + ".\n" * 1000 + '"""',
        "a = '''" + ".\n" * 1000 + "'''",
        "# " + "." * 1000,
        "a = [" + "1.5, " * 1000 + "]",
        "a = [" + "1979-05-27T00:32:00.999999, " * 10 + "]",
        "a.b.c.d.e.f = { g = 1.0, h.i = 2.0 }\n[j.k]\n",
        ".".join("a" * (MAX_DOTS + 1)) + " = 1",
    ],
)
def test_dots_count_in_keys_alone(text: str) -> None:
    check_keys(text, Path("scene.toml"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (".".join("a" * (MAX_DOTS + 2)) + " = 1", 1),
        ("a = 1 # '''\n" + "'x' . " * (MAX_DOTS + 1) + "y = 1", 2),
        ("a = '\n" + "x." * (MAX_DOTS + 1) + "y = 1", 2),
        ('a = """\n.\n"""\n' + '"." .' * (MAX_DOTS + 1), 4),
        ("a = { " + "x." * (MAX_DOTS + 1) + "y = 1 }", 1),
        ("a.b.c = 1\n" * (MAX_DOTTED_KEYS + 1), MAX_DOTTED_KEYS + 1),
    ],
)
def test_keys_of_many_dots_are_refused_by_their_line(text: str, line: int) -> None:
    with pytest.raises(SceneError, match=f"scene.toml: line {line}: has a key of more than"):
        check_keys(text, Path("scene.toml"))


def test_the_work_of_a_formula_is_what_it_asks_at_all_corners() -> None:
    corners = 1024
    signs = MAX_OPERATIONS // corners**2
    check_formula("+" * signs, (corners - 1, corners - 1), Path("x"), "k")
    with pytest.raises(SceneError, match=r"k\.formula: asks for 513 operations"):
        check_formula("+" * signs + "-", (corners - 1, corners - 1), Path("x"), "k")


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
