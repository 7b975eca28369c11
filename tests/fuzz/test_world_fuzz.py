"""A short fuzz of worlds of others; ``python -m tests.fuzz.worlds`` is the long one."""

from pathlib import Path

import pytest

from tests.fuzz.worlds import run

FEW = [
    ("mjcf", 6),
    ("urdf", 6),
    ("gltf", 150),
    ("usda", 4),
    ("usdc", 5),
    ("usdz", 3),
    ("map", 90),
    *((k, 25) for k in ("xoma", "xomm", "xomp", "xompt")),
]


@pytest.mark.parametrize(("kind", "count"), FEW)
def test_damaged_worlds_are_read_or_refused(tmp_path: Path, kind: str, count: int) -> None:
    assert list(run(kind, 2, count, tmp_path)) == []
