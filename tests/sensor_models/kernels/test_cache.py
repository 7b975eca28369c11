"""The cache of compiled kernels, as fresh processes see it."""

import os
import random
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sensor_models.kernels import cache, trust

ROOT = Path(__file__).resolve().parents[3]
KERNELS = ROOT / "sensor_models" / "kernels"
COPIED = (
    "__init__.py",
    "_digest.py",
    "_levels.py",
    *(f"kernels/{path.name}" for path in KERNELS.glob("*.py")),
    *(f"kernels/math/{name}.py" for name in ("__init__", "memory", "unpacking")),
)

KERNEL = """
from sensor_models.kernels.compiling import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""

# Prints how many kinds of arguments came from the cache and were compiled, then the results.
CALL = """
from sensor_models.kernels.tiny import twice
results = [twice(2), twice(2.5)]
print(twice.stats.from_cache, twice.stats.compiled, *results)
"""


def copy_package(directory, kernel=KERNEL):
    """A package of the same name with this cache and one kernel; the path to import it from."""
    for name in COPIED:
        target = directory / "sensor_models" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "sensor_models" / name, target)
    (directory / "sensor_models" / "kernels" / "tiny.py").write_text(kernel)
    return directory


def start(package, store, script, prefix=()):
    """Run a script in a new interpreter that imports the package and has no other environment."""
    return subprocess.Popen(
        [*prefix, sys.executable, "-W", "error", "-c", script],
        cwd=package,  # where an interpreter looks first
        env={"PYTHONPATH": str(package), cache.DIRECTORY_VARIABLE: str(store)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(package, store, script=CALL):
    process = start(package, store, script)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.strip(), errors


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def package(tmp_path):
    return copy_package(tmp_path / "first")


@pytest.fixture
def filled(package, store):
    """A store that holds both signatures of the kernel."""
    assert run(package, store)[0] == "0 2 4 5.0"
    return store


def test_the_same_package_in_another_directory_finds_its_kernels(filled, tmp_path):
    assert run(copy_package(tmp_path / "second"), filled)[0] == "2 0 4 5.0"


def test_a_package_of_other_content_does_not_find_them(filled, tmp_path):
    other = copy_package(tmp_path / "second", KERNEL.replace("2 * x", "3 * x"))
    assert run(other, filled)[0] == "0 2 6 7.5"


def test_kernels_are_found_when_the_sources_are_gone(filled, tmp_path):
    second = copy_package(tmp_path / "second")
    script = f"""
import shutil
import sensor_models.kernels.tiny
shutil.rmtree({str(second)!r})
{CALL}"""
    assert run(second, filled, script)[0] == "2 0 4 5.0"


def test_processes_may_compile_at_once(package, store):
    processes = [start(package, store, CALL) for _ in range(3)]
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert output.split()[2:] == ["4", "5.0"]
        assert errors == ""
    assert run(package, store)[0].split()[2:] == ["4", "5.0"]


def test_a_file_of_another_signature_is_not_used(filled, package):
    # What two processes leave that save different signatures at the same moment.
    first, second = sorted(filled.glob("*/twice_*.kernel"))
    shutil.copy(first, second)
    assert run(package, filled)[0] == "1 1 4 5.0"
    assert run(package, filled)[0] == "2 0 4 5.0"


def test_damaged_files_are_compiled_anew(filled, package):
    for file in filled.glob("*/*.kernel"):
        file.write_bytes(file.read_bytes()[:20])
    output, errors = run(package, filled)
    assert output == "0 2 4 5.0"
    assert "cannot be read" in errors
    assert run(package, filled) == ("2 0 4 5.0", "")


def test_no_flipped_bit_reaches_the_process(filled, package):
    (file, _) = sorted(filled.glob("*/twice_*.kernel"))
    whole = file.read_bytes()
    chosen = random.Random(7)
    script = f"""
import os
from sensor_models.kernels import cache
for place, bit in {[(chosen.randrange(len(whole)), chosen.randrange(8)) for _ in range(200)]}:
    changed = bytearray({whole!r})
    changed[place] ^= 1 << bit
    with open({str(file)!r}, "wb") as stream:
        stream.write(changed)
    try:
        cache.read_checked({str(file)!r})
    except ValueError as damage:
        assert "is damaged" in str(damage)
    else:
        raise AssertionError((place, bit))
{CALL}"""
    output, errors = run(package, filled, script)
    assert output.endswith(" 4 5.0")
    assert "cannot be read" in errors


def test_an_entry_that_was_removed_meanwhile_is_made_again(package, store):
    script = f"""
import shutil
from sensor_models.kernels import cache
import sensor_models.kernels.tiny
shutil.rmtree({str(store)!r})
{CALL}"""
    assert run(package, store, script)[0] == "0 2 4 5.0"
    assert run(package, store)[0] == "2 0 4 5.0"


def test_a_full_disk_keeps_no_kernel_from_running(package, store):
    script = f"""
import errno, tempfile
import sensor_models.kernels.tiny
def full(**_): raise OSError(errno.ENOSPC, "No space left on device")
tempfile.TemporaryFile = tempfile.NamedTemporaryFile = full
{CALL}"""
    output, errors = run(package, store, script)
    assert output == "0 2 4 5.0"
    assert "No space left on device" in errors


def test_a_directory_that_others_can_write_is_refused(package, store):
    store.mkdir()
    store.chmod(0o770)
    output, errors = run(package, store)
    assert output == "0 2 4 5.0"
    assert re.search(r"not kept .* can be written by others \(mode 770\)", errors)
    assert list(store.iterdir()) == []


def test_an_entry_that_others_can_write_is_refused(filled, package):
    (entry,) = filled.glob("kernels-all-*")  # the kernel stands beside the families
    entry.chmod(0o702)
    output, errors = run(package, filled)
    assert output == "0 2 4 5.0"
    assert "can be written by others (mode 702)" in errors


def test_a_directory_of_somebody_else_is_refused(tmp_path, monkeypatch):
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PermissionError, match=f"belongs to user {owner}"):
        trust.make_private(tmp_path)


def test_a_directory_that_others_could_exchange_is_refused(package, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    output, errors = run(package, shared / "store")
    assert output == "0 2 4 5.0"
    assert re.search(rf"lies in {shared}, which can be written by others \(mode 777\)", errors)
    shared.chmod(0o1777)  # as the temporary directory is
    assert run(package, shared / "store") == ("0 2 4 5.0", "")
    assert run(package, shared / "store") == ("2 0 4 5.0", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can give files away")
def test_a_link_of_somebody_else_is_not_followed(package, tmp_path):
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    shared.chmod(0o1777)
    own.mkdir(mode=0o700)
    (shared / "store").symlink_to(own)
    assert run(package, shared / "store") == ("0 2 4 5.0", "")  # one's own link is fine
    os.lchown(shared / "store", 12345, 12345)
    output, errors = run(package, shared / "store")
    assert output == "0 2 4 5.0"
    assert "which belongs to user 12345" in errors


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can give files away")
@pytest.mark.parametrize("relative", [False, True])
def test_links_that_links_lead_to_count_like_the_first_one(tmp_path, relative):
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    shared.chmod(0o1777)
    own.mkdir(mode=0o700)
    (shared / "theirs").symlink_to(own)
    store = own / "store"
    store.symlink_to(Path("../shared/theirs") if relative else shared / "theirs")
    trust.check_trust(store, owners=(os.geteuid(),))
    os.lchown(shared / "theirs", 12345, 12345)
    with pytest.raises(PermissionError, match=r"theirs, which belongs to user 12345"):
        trust.check_trust(store, owners=(os.geteuid(),))


def test_links_that_lead_in_a_circle_are_refused(tmp_path):
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    assert not trust.is_trusted(tmp_path / "one")


# ---- where nothing can be written ----------------------------------------------------------------

#: Root writes where nobody may, unless this is taken from it.
BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


def run_bound(package, store):
    """Run the kernels as somebody who must respect the rights of files."""
    process = start(package, store, CALL, BOUND)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.strip(), errors


def make_read_only(directory):
    for path in (directory, *directory.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)


@pytest.fixture
def read_only(package, tmp_path):
    """The directory of the package; nothing can be written there or beside it."""
    (package / "sensor_models" / "kernels" / "__pycache__").mkdir()
    yield package
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)


def test_with_nowhere_to_write_kernels_run_and_one_warning_names_the_variable(read_only, tmp_path):
    make_read_only(tmp_path)
    output, errors = run_bound(read_only, tmp_path / "store")
    assert output == "0 2 4 5.0"
    assert errors.count("\n") == 1
    assert "are not kept for the next start" in errors
    assert cache.DIRECTORY_VARIABLE in errors


def test_a_warmed_cache_that_is_read_only_is_used(read_only, filled, tmp_path):
    make_read_only(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in filled.rglob("*")}
    assert run_bound(read_only, filled) == ("2 0 4 5.0", "")
    assert {path: path.stat().st_mtime_ns for path in filled.rglob("*")} == before


def test_a_read_only_cache_that_others_may_have_filled_is_not_read(read_only, filled, tmp_path):
    make_read_only(tmp_path)
    filled.chmod(0o577)
    output, errors = run_bound(read_only, filled)
    assert output == "0 2 4 5.0"
    assert "can be written by others" in errors


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator has such a directory")
def test_what_the_administrator_owns_is_read_and_not_written(tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PermissionError, match="belongs to user 0"):
        trust.make_private(tmp_path)
    assert trust.is_trusted(tmp_path)
    os.chown(tmp_path, 54321, 54321)
    assert not trust.is_trusted(tmp_path)


def test_directories_are_made_for_their_owner_only(filled):
    for directory in (filled, *filled.iterdir()):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_what_is_no_directory_is_refused(package, store):
    store.write_text("")
    output, errors = run(package, store)
    assert output == "0 2 4 5.0"
    assert "not kept" in errors


def test_a_numba_with_another_interface_calls_its_kernels_itself(package, store):
    script = f"""
def changed(module): raise AttributeError("another interface")
from sensor_models.kernels import private
private.module_of = changed
{CALL}"""
    assert run(package, store, script)[0] == "0 2 4 5.0"
    assert list(store.glob("*/*.kernel")) == []


def test_numba_is_not_imported_for_kernels_that_are_kept(filled, package):
    script = f"{CALL}\nimport sys; assert not [name for name in sys.modules if 'numba' in name]"
    assert run(package, filled, script)[0] == "2 0 4 5.0"


def test_pruning_keeps_the_last_few_those_in_use_and_all_that_is_not_ours(tmp_path):
    now = 1e9
    day = 24 * 3600.0

    def entry(name, age):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.nbc").write_text("")
        os.utime(tmp_path / name, (now - age, now - age))
        return tmp_path / name

    current = entry("kernels-current", 1000 * day)
    foreign = entry("something else", 1000 * day)
    old = [entry(f"kernels-{n}", (100 + n) * day) for n in range(cache.KEPT_ENTRIES + 3)]
    cache.prune(tmp_path, [current], now)
    assert {*tmp_path.iterdir()} == {current, foreign, *old[: cache.KEPT_ENTRIES]}

    in_use = [entry(f"kernels-used-{n}", n * day) for n in range(7)]
    cache.prune(tmp_path, [current], now)
    assert {*tmp_path.iterdir()} == {
        current,
        foreign,
        *in_use,
        *old[: cache.KEPT_ENTRIES - len(in_use)],
    }


def test_a_start_counts_as_use(filled, package):
    (entry,) = filled.glob("kernels-all-*")  # the kernel stands beside the families
    os.utime(entry, (0.0, 0.0))
    run(package, filled)
    assert entry.stat().st_mtime > 0.0


def test_old_entries_are_removed_at_start(package, store):
    old = [store / f"kernels-{n:03}" for n in range(cache.KEPT_ENTRIES + 5)]
    for age, entry in enumerate(old):
        entry.mkdir(parents=True)
        os.utime(entry, (1e6 - age, 1e6 - age))
    store.chmod(0o700)
    run(package, store)
    # those that are used now, one for each family and one for the rest, are among the last few
    in_use = len(cache.NEEDS) + 1
    assert sorted(store.glob("kernels-[0-9]*")) == old[: cache.KEPT_ENTRIES - in_use]


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/sensor-fmus"),
        ("linux", {"HOME": "/home/me", "XDG_CACHE_HOME": "/var/me"}, "/var/me/sensor-fmus"),
        ("linux", {"HOME": "/home/me", "XDG_CACHE_HOME": "me"}, "/home/me/.cache/sensor-fmus"),
        ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches/sensor-fmus"),
        ("win32", {"LOCALAPPDATA": "/me/Local"}, "/me/Local/sensor-fmus/Cache"),
        ("win32", {"USERPROFILE": "/me"}, "/me/AppData/Local/sensor-fmus/Cache"),
        ("linux", {"HOME": "/home/me", cache.DIRECTORY_VARIABLE: "/chosen"}, "/chosen"),
        ("win32", {cache.DIRECTORY_VARIABLE: "/chosen"}, "/chosen"),
    ],
)
def test_the_directory_follows_the_conventions_of_the_platform(platform, environment, expected):
    assert cache.cache_root(environment, platform) == Path(expected)


@pytest.mark.parametrize("environment", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_a_home_in_the_environment_the_user_database_is_asked(environment):
    import pwd

    home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    assert cache.cache_root(environment, "linux") == home / ".cache" / "sensor-fmus"


def test_a_user_without_home_has_no_cache(monkeypatch, caplog):
    monkeypatch.setattr(os, "geteuid", lambda: 2**31 - 7)
    store = cache.find_store({}, "linux")
    assert not store.readable
    assert not store.writable
    assert not cache.find_store({}, "win32").readable
    assert "the user has no home directory" in caplog.text
    assert cache.DIRECTORY_VARIABLE in caplog.text


def test_a_relative_choice_stays_where_it_was_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cache.cache_root({cache.DIRECTORY_VARIABLE: "here"}, "linux") == tmp_path / "here"


PAIR = """
from sensor_models.kernels.compiling import njit

@njit(cache=True)
def inner(x):
    return 2 * x

@njit(cache=True)
def outer(x):
    return inner(x) + 1
"""


def test_what_a_kernel_calls_is_compiled_with_it_and_not_taken_from_the_cache(tmp_path, store):
    package = copy_package(tmp_path / "pair", PAIR)
    counts = "print(inner.stats.compiled, inner.stats.from_cache, len(inner.optimised.overloads))"
    start_with = "from sensor_models.kernels.tiny import inner, outer; "
    assert run(package, store, f"{start_with}inner(1); {counts}")[0] == "1 0 1"
    assert run(package, store, f"{start_with}inner(1); {counts}")[0] == "0 1 0"
    assert run(package, store, f"{start_with}inner(1); outer(1); {counts}")[0] == "0 1 1"
    assert run(package, store, f"{start_with}outer(1); {counts}")[0] == "0 0 0"


CLOCKED = """
import ctypes
from sensor_models.kernels import machine_code
from sensor_models.kernels.compiling import intrinsic, njit

@njit(cache=True)
def early(x):
    return x

@intrinsic
def _call(_context, _x):
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def emit(target, builder, signature, arguments):
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()])
        function = cgutils.get_or_insert_function(builder.module, kind, "somebody_elses_fabs")
        return builder.call(function, arguments)

    return types.float64(types.float64), emit

@njit(cache=True)
def late(x):
    return _call(x)

def make_known():
    machine_code.make_known("somebody_elses_fabs", ctypes.CDLL("libm.so.6").fabs)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="names the C library of Linux")
def test_functions_made_known_late_are_called_and_unknown_ones_refused(tmp_path, store):
    package = copy_package(tmp_path / "late", CLOCKED)
    script = "from sensor_models.kernels.tiny import early, late, make_known; early(1.0); "
    known = f"{script}make_known(); print(late(-3.0), late.stats.from_cache)"
    assert [run(package, store, known)[0] for _ in range(2)] == ["3.0 0", "3.0 1"]
    unknown = f"""{script}
try:
    late(-3.0)
except ImportError as refusal:
    print(refusal)"""
    assert "needs somebody_elses_fabs" in run(package, store, unknown)[0]
