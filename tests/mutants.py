"""Mutants: small errors in compiled kernels, and whether a test notices each.

    python -m tests.mutants [--count 40] [--seed 1] [--only radar ...] [--report FILE]

A mutant is a kernel's module with one thing changed: a comparison turned round, a sign, a constant,
a line left out, or two arguments swapped. The tests that concern the module run with it
(``CONCERNED``), with compiled kernels: a mutant has sources of its own, so its family is compiled
anew. It is killed if a test fails or does not end; one that lives is a line that no test protects,
or one that changes nothing that could be seen.

Work is done in a copy of the project, with a cache of its own that begins as that of the user.
Constants below ``TOLERANCE`` are left alone: they are guards against rounding. So are the sizes of
arrays that are made: a larger one changes nothing.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sensor_models.kernels.cache import cache_root

ROOT = Path(__file__).resolve().parents[1]
#: What tests need of the project.
COPIED = (
    *("sensor_models", "fmus", "scenes", "examples", "docs", "tests"),
    *("build_fmus.py", "pyproject.toml", "setup.py", "README.md", "LICENSE", "CHANGELOG.md"),
)
#: Constants below are tolerances.
TOLERANCE = 1e-5
#: Functions whose arguments may be swapped.
SYMMETRIC = ("dot", "hypot", "math.hypot", "max", "min")
#: Functions that run others in advance, so that nothing is compiled in a step: no number of theirs
#: is kept.
LOADING = ("load", "load_kernels")
#: Functions that make arrays of a shape.
MAKERS = ("np.zeros", "np.empty", "np.ones")
#: Seconds after which tests do not end.
PATIENCE = 480.0

_RADAR = ("test_radar_cells", "test_radar_detection", "test_radar_paths", "test_radar_twin")
_GNSS = ("test_gnss", "test_gnss_fix", "test_gnss_sky", "test_gnss_dropout", "test_gnss_sensor")
_DEPTH = (
    *("test_depth_camera", "test_depth_rays", "test_depth_noise", "test_depth_shutter"),
    *("test_depth_zones", "test_flow"),
)
_CCD = ("test_ccd_chip", "test_ccd_optics", "test_ccd_light", "test_flicker")
_PICTURES = ("test_ccd_colors", "test_ccd_textures")
_MANIFEST = ("test_manifest", "test_scene_limits")
_WAVEFORM = ("test_waveform_lidar",)
_LIGHT = (
    *("test_optics_fresnel", "test_optics_media", "test_optics_surfaces", "test_optics_beam"),
    *("test_ccd_light", "test_lidar_media", "test_lidar_returns"),
)


def _files(kernels: Sequence[str], models: Sequence[str]) -> list[str]:
    """The files of tests of kernels and of models, by their names."""
    files = sorted((ROOT / "tests" / "sensor_models").rglob("test_*.py"))
    places = [file.relative_to(ROOT).as_posix() for file in files]
    wanted = [("/kernels/" in place, place) for place in places]
    return [
        next(
            place
            for is_kernel, place in wanted
            if is_kernel is kind and place.endswith(f"/{name}.py")
        )
        for kind, names in ((True, kernels), (False, models))
        for name in names
    ]


#: The tests of each module, those that say most about it first. A name is that of a module below
#: ``sensor_models`` without its suffix.
CONCERNED: Mapping[str, list[str]] = {
    **dict.fromkeys(
        [
            *("kernels/radar/scattering", "kernels/radar/interactions", "kernels/radar/fields"),
            *("kernels/radar/ray_paths", "kernels/radar/ray_tubes", "kernels/radar/batches"),
        ],
        _files((), ("test_radar_paths", "test_radar_detection", "test_radar_twin")),
    ),
    **dict.fromkeys(
        ["kernels/radar/detection", "kernels/radar/cells", "kernels/radar/synthesis"],
        _files((), _RADAR),
    ),
    **dict.fromkeys(
        ["kernels/radar/cone", "kernels/radar/obstacles"], _files((), ("test_cone_radar",))
    ),
    **dict.fromkeys(["radar/targets"], _files((), ("test_radar_detection", "test_radar_paths"))),
    **dict.fromkeys(
        ["kernels/gnss/errors", "kernels/gnss/orbits", "kernels/gnss/multipath"],
        _files(("test_gnss_errors", "test_gnss_orbits", "test_gnss_multipath"), _GNSS),
    ),
    **dict.fromkeys(
        ["kernels/gnss/dilution", "kernels/gnss/geodesy", "kernels/gnss/receiver"],
        _files(("test_dilution", "test_geodesy", "test_gnss_errors"), _GNSS),
    ),
    "kernels/gnss/sky": _files(("test_gnss_multipath",), ("test_gnss_sky", *_GNSS)),
    "kernels/gnss/corruption": _files((), ("test_gnss_corruption",)),
    "kernels/bodies/links": _files((), ("test_worlds_mujoco",)),
    **dict.fromkeys(
        ["kernels/camera/depth", "kernels/camera/depth_rays", "kernels/camera/flow"],
        _files(("test_depth",), _DEPTH),
    ),
    "kernels/camera/ccd/tone": _files((), _PICTURES),
    "kernels/camera/ccd/textures": _files((), _PICTURES),
    "kernels/camera/ccd/points": _files(("test_fast_functions", "test_depth"), _DEPTH),
    "kernels/camera/ways": _files((), ("test_flow", *_CCD)),
    **dict.fromkeys(
        [
            *(
                "kernels/camera/ccd/chip",
                "kernels/camera/ccd/aberrations",
                "kernels/camera/ccd/exposure",
            ),
            *("kernels/camera/ccd/shading", "kernels/camera/ccd/bounces"),
        ],
        _files((), _CCD),
    ),
    **dict.fromkeys(
        [
            *("kernels/waveform/receiver", "kernels/waveform/pulses", "kernels/waveform/search"),
            *("kernels/waveform/extraction", "kernels/waveform/decomposition"),
            *("kernels/waveform/listening", "kernels/waveform/bundles"),
            "kernels/waveform/landing",
            "kernels/waveform/histogram",
        ],
        _files(("test_waveform", "test_waveform_listening"), _WAVEFORM),
    ),
    "kernels/waveform/ranges": _files((), ("test_caster_pulses",)),
    **dict.fromkeys(
        [
            *("kernels/light/fresnel", "kernels/light/media", "kernels/light/surfaces"),
            *("kernels/light/beam", "kernels/light/gamma_law", "kernels/light/boundaries"),
        ],
        _files((), ("test_optics_fresnel", *_LIGHT[1:])),
    ),
    "kernels/light/tabulated": _files(("test_tabulated",), ("test_brdf", "test_ccd_tables")),
    **dict.fromkeys(
        [
            *("scene/brdf", "scene/openmaterial/tables", "scene/openmaterial/materials"),
            *("scene/openmaterial/texels", "scene/openmaterial/sheets"),
        ],
        _files((), ("test_brdf", "test_tables", "test_shapes", "test_asset", "test_writing")),
    ),
    **dict.fromkeys(
        ["scene/primitives", "scene/meshes", "scene/assembly"],
        _files((), ("test_meshes", "test_scenes", "test_mesh_precision", *_MANIFEST)),
    ),
    **dict.fromkeys(
        ["scene/history", "scene/pose_memory", "scene/weather"],
        _files((), ("test_history", "test_moving_bodies", "test_media", "test_registry")),
    ),
}

_TURNED = {
    ast.Lt: ">", ast.Gt: "<", ast.LtE: ">", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
_SIGNS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    module: str
    kind: str
    line: int
    #: The lines of the module that are replaced, from ``line`` on, and what takes their place.
    before: str
    after: str

    def source(self, original: str) -> str:
        """The module with the change."""
        lines = original.splitlines(keepends=True)
        count = self.before.count("\n")
        lines[self.line - 1 : self.line - 1 + count] = [self.after]
        return "".join(lines)


class _Text:
    """A module's text by the places of its syntax tree."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)

    def of(self, node: ast.expr | ast.stmt) -> str:
        return "".join(self._parts(node)[1])

    def _parts(self, node: ast.expr | ast.stmt) -> tuple[str, list[str], str]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        lines = [line.encode() for line in self.lines[node.lineno - 1 : node.end_lineno]]
        after = lines[-1][node.end_col_offset :]
        lines[-1] = lines[-1][: node.end_col_offset]
        before = lines[0][: node.col_offset]
        lines[0] = lines[0][node.col_offset :]
        return before.decode(), [line.decode() for line in lines], after.decode()

    def replaced(self, node: ast.expr | ast.stmt, new: str) -> tuple[str, str]:
        """The whole lines of a node, and the same with something else in its place."""
        before, middle, after = self._parts(node)
        return before + "".join(middle) + after, before + new + after


def mutants_of(module: str, text: str) -> list[Mutant]:
    """All mutants of a module."""
    found, source = [], _Text(text)
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef) or function.name.lstrip("_") in LOADING:
            continue
        for statement in function.body:
            shapes = _in_shapes(statement, source)
            for node in ast.walk(statement):
                if node in shapes:
                    continue
                for kind, new in _changes(node, source):
                    assert isinstance(node, (ast.expr, ast.stmt))
                    before, after = source.replaced(node, new)
                    found.append(Mutant(module, kind, node.lineno, before, after))
    return list(dict.fromkeys(found))  # functions in functions are walked twice


def _in_shapes(statement: ast.stmt, source: _Text) -> set[ast.AST]:
    """All that stands in the shape of an array that is made."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and node.args]
    shapes = [call.args[0] for call in calls if source.of(call.func) in MAKERS]
    return {node for shape in shapes for node in ast.walk(shape)}


def _changes(node: ast.AST, source: _Text) -> Iterator[tuple[str, str]]:
    """What can be changed at a node: kinds, and texts in its place."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED and len(node.ops) == 1:
        left, right = source.of(node.left), source.of(node.comparators[0])
        yield "comparison", f"{left} {_TURNED[type(node.ops[0])]} {right}"
    elif isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        left, right = source.of(node.left), source.of(node.right)
        yield "sign", f"({left}) {_SIGNS[type(node.op)]} ({right})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", f"({source.of(node.operand)})"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if node.value == 0 or abs(node.value) >= TOLERANCE:
            yield "constant", repr(node.value + 1 if type(node.value) is int else _other(node))
    elif _can_go(node):
        yield "line", "pass"
    elif isinstance(node, ast.Call) and len(node.args) > 1 and not node.keywords:
        first, second, *rest = map(source.of, node.args)
        if first != second and source.of(node.func) not in SYMMETRIC:
            yield "arguments", f"{source.of(node.func)}({', '.join([second, first, *rest])})"


def _other(node: ast.Constant) -> float:
    value = node.value
    assert isinstance(value, float)
    return 1.2 * value if value else 1.0


def _can_go(node: ast.AST) -> bool:
    """Whether a statement can be left out, and the rest still has all of its names."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Subscript)
    return isinstance(node, ast.AugAssign)


def drawn(modules: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants, from all families in turn, then from modules and kinds by chance."""
    chance = random.Random(seed)
    families: dict[str, list[str]] = {}
    for module in modules:
        families.setdefault(module.rpartition("/")[0].rpartition("/")[2], []).append(module)
    found: list[Mutant] = []
    while len(found) < count:
        for family in families.values():
            module = chance.choice(family)
            known = mutants_of(module, _path(ROOT, module).read_text(encoding="utf-8"))
            kind = chance.choice(sorted({mutant.kind for mutant in known}))
            mutant = chance.choice([mutant for mutant in known if mutant.kind == kind])
            if mutant not in found and len(found) < count:
                found.append(mutant)
    return found


def _path(root: Path, module: str) -> Path:
    return root / "sensor_models" / f"{module}.py"


class Workshop:
    """A copy of the project, in which mutants live."""

    def __init__(self, place: Path) -> None:
        self.root, self._cache = place / "project", place / "cache"
        self.root.mkdir()
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.root / name)
        known = cache_root(os.environ, sys.platform)
        if known.is_dir():  # links: nothing of it is ever written to
            shutil.copytree(known, self._cache, copy_function=os.link)
        else:
            self._cache.mkdir(mode=0o700)

    def fate(self, mutant: Mutant) -> tuple[str, str]:
        """``killed``, ``endless`` or ``alive``, and the test that noticed."""
        file = _path(self.root, mutant.module)
        original = file.read_text(encoding="utf-8")
        before = set(self._cache.iterdir())
        file.write_text(mutant.source(original), encoding="utf-8")
        try:
            return self._tested(CONCERNED[mutant.module])
        finally:
            file.write_text(original, encoding="utf-8")
            for entry in set(self._cache.iterdir()) - before:
                shutil.rmtree(entry, ignore_errors=True)

    def _tested(self, tests: Sequence[str]) -> tuple[str, str]:
        command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider"]
        there = [test for test in tests if (self.root / test).exists()]
        environment = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            "SENSOR_FMUS_CACHE_DIR": str(self._cache),
        }
        try:
            done = subprocess.run(
                [*command, *there], cwd=self.root, env=environment, timeout=PATIENCE, check=False,
                capture_output=True, text=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "endless", ""
        if done.returncode == 0:
            return "alive", ""
        noticed = [
            line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
        ]
        return "killed", noticed[0].partition(" - ")[0] if noticed else done.stdout[-300:]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make mutants and say which live; 0 if none does."""
    given = _parser().parse_args(arguments)
    modules = [m for m in CONCERNED if not given.only or any(word in m for word in given.only)]
    mutants = drawn(modules, given.count, given.seed)
    alive = 0
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        for number, mutant in enumerate(mutants, 1):
            start = time.monotonic()
            fate, noticed = shop.fate(mutant)
            alive += fate == "alive"
            seconds = time.monotonic() - start
            print(f"[{number}/{len(mutants)}] {fate} {mutant.module}:{mutant.line} {mutant.kind}"
                  f" in {seconds:.0f} s {noticed}", flush=True)  # fmt: skip
            if fate == "alive":
                print(f"    - {mutant.before.strip()}\n    + {mutant.after.strip()}", flush=True)
            if given.report:
                with given.report.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps({**asdict(mutant), "fate": fate, "by": noticed}) + "\n")
    print(f"{len(mutants) - alive} of {len(mutants)} killed")
    return int(alive > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--count", type=int, default=40, help="how many, default: 40")
    parser.add_argument("--seed", type=int, default=1, help="of the draws, default: 1")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="modules whose names have it")
    parser.add_argument("--report", type=Path, metavar="FILE", help="a line of JSON for each")
    return parser


if __name__ == "__main__":
    sys.exit(main())
