"""Damaged worlds of others: each is read, or refused with one ``SceneError`` that names a file.

``python -m tests.fuzz.worlds --count 500 --seed 1 --kind mjcf``    or several, or all

A case is a small world of which the file itself or one of those that it names is mutated. It fails
if the reader raises anything else, if the message has several lines or names none of the files, or
if it takes longer than ``PATIENCE``.
"""

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from tests.sensor_models.scene import world_files
from tests.sensor_models.scene.openmaterial import asset_files

PATIENCE = 60.0  # s for a case, far above what any takes on a busy machine
#: Bytes that are likely to hurt.
_SIGNS = b'<>"/0129e-+naif {}[],:'

KINDS: Mapping[str, Callable[[Path], Path]] = {
    "mjcf": world_files.write_machine,
    "urdf": world_files.write_urdf,
    "gltf": world_files.write_gltf,
    "usda": world_files.write_usd,
    "usdc": world_files.write_usdc,
    "usdz": world_files.write_usdz,
    "xoma": asset_files.write_asset,
    "xomm": asset_files.write_asset,
    "xomp": asset_files.write_asset,
    "xompt": asset_files.write_asset,
    "map": world_files.write_map,
}
#: Kinds of which only the files with their name's ending are damaged.
_ONE_KIND = ("xoma", "xomm", "xomp", "xompt")


def mutated(data: bytes, draws: random.Random) -> bytes:
    """One to four changes: another byte, a piece less, signs more, cut off, a piece twice."""
    changed = bytearray(data)
    for _ in range(draws.randint(1, 4)):
        place = draws.randrange(len(changed)) if changed else 0
        kind = draws.randrange(5)
        if kind == 0 and changed:
            changed[place] = draws.randrange(256)
        elif kind == 1:
            del changed[place : place + draws.randint(1, 40)]
        elif kind == 2:
            changed[place:place] = bytes(draws.choices(_SIGNS, k=draws.randint(1, 8)))
        elif kind == 3:
            del changed[place:]
        else:
            changed[place:place] = changed[max(0, place - 60) : place]
    return bytes(changed)


def failure_of(world: Path) -> str:
    """What is wrong with how a world is read or refused; nothing if all is right."""
    start = time.monotonic()
    try:
        load_scene(world)
    except SceneError as refusal:
        said = str(refusal)
        names = [file.name for file in world.parent.parent.rglob("*") if file.is_file()]
        if "\n" in said or not any(name in said for name in names):
            return f"its message is {said!r}"
    except Exception as error:
        return f"it raises {error!r}"
    took = time.monotonic() - start
    return f"it takes {took:.0f} s" if took > PATIENCE else ""


def run(
    kind: str, seed: int, count: int, folder: Path, took: list[float] | None = None
) -> Iterator[tuple[int, str]]:
    """The cases that fail, and why; ``took`` gets the seconds of each."""
    world = KINDS[kind](folder / kind)
    content = {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    others = [file for file in content if file != world]
    for number in range(count):
        draws = random.Random(f"{seed} {number}")
        target = draws.choice(others) if others and number % 3 == 0 else world
        if kind in _ONE_KIND:
            target = draws.choice([file for file in content if file.suffix == f".{kind}"])
        target.write_bytes(mutated(content[target], draws))
        start = time.monotonic()
        failure = failure_of(world)
        if took is not None:
            took.append(time.monotonic() - start)
        if failure:
            yield number, failure
        target.write_bytes(content[target])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases that the command line asks for; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=list(KINDS))
    given = parser.parse_args(arguments)
    failed, took = 0, [0.0]
    for kind in given.kind:
        with tempfile.TemporaryDirectory() as folder:
            for number, failure in run(kind, given.seed, given.count, Path(folder), took):
                failed += 1
                print(f"{kind} {given.seed}:{number}: {failure}")
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, -1)) / 1024.0
    print(f"{failed} failed; the longest took {max(took):.1f} s, the largest had {most:.0f} MB")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
