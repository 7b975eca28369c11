"""Families of kernels: what an edit of one concerns, and what may call what."""

import re
import shutil
from pathlib import Path

from sensor_models.kernels import cache

KERNELS = Path(cache.__file__).parent


def test_an_edit_changes_the_digests_of_those_families_that_may_call_what_was_edited(tmp_path):
    folder = tmp_path / "kernels"
    shutil.copytree(KERNELS, folder)
    before = cache.digests(str(folder / "cache.py"))
    edited = folder / "light" / "media.py"
    edited.write_text(edited.read_text() + "# another line\n")
    after = cache.digests(str(folder / "cache.py"))
    assert {f for f in before if before[f] != after[f]} == {
        "",
        "light",
        "camera",
        "lidar",
        "waveform",
    }


def test_families_import_only_what_is_said_to_be_needed():
    for path in KERNELS.glob("*/**/*.py"):
        family = path.relative_to(KERNELS).parts[0]
        imported = set(re.findall(r"sensor_models\.kernels(?:\.| import )(\w+)", path.read_text()))
        beside = {"compiling", "machine_code", "options", "carried", "private"}
        allowed = {family, *cache.NEEDS[family], *beside}
        assert imported <= allowed, f"{path} imports {imported - allowed}"


def test_kernels_are_declared_in_one_way():
    for path in KERNELS.glob("*/**/*.py"):
        assert not re.search(r"^(from|import) (numba|llvmlite.ir)", path.read_text(), re.M), path
