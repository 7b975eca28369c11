"""The library below the ray engine: found, loaded, called from kernels that come from a cache."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from sensor_models.kernels import cache
from sensor_models.kernels.math.memory import (
    claim_at,
    float32_at,
    int32_at,
    int64_at,
    put_float32,
    put_int32,
    put_int64,
    uint16_at,
)
from sensor_models.kernels.tracing import embree
from sensor_models.kernels.tracing.embree import EmbreeError, library_candidates, packet_width
from sensor_models.kernels.tracing.packets import ALIGNMENT, new_packet
from sensor_models.kernels.tracing.rays import claim_some

ROOT = Path(__file__).resolve().parents[4]

AVX512 = dict.fromkeys(("avx", "avx512f", "avx512cd", "avx512dq", "avx512bw"), True)


@pytest.mark.parametrize(
    ("machine", "features", "width"),
    [
        ("x86_64", AVX512, 16),
        ("AMD64", AVX512, 16),
        ("x86_64", {**AVX512, "avx512dq": False}, 8),
        ("x86_64", {"avx": True}, 8),
        ("x86_64", {"sse4.2": True}, 4),
        ("x86_64", {}, 4),
        ("arm64", {"neon": True}, 4),
    ],
)
def test_packets_are_as_wide_as_the_vectors_of_the_processor(machine, features, width):
    assert packet_width(machine, features) == width


@pytest.mark.parametrize(
    "file",
    [
        "embreex.libs/libembree4-4aef3270.so.4",  # auditwheel
        "embreex.libs/embree4-1f2e.dll",  # delvewheel
        "embreex/.dylibs/libembree4.4.dylib",  # delocate
    ],
)
def test_the_library_is_found_where_wheels_have_it(tmp_path, file):
    (tmp_path / "embreex").mkdir()
    library = tmp_path / file
    library.parent.mkdir(exist_ok=True)
    library.touch()
    (library.parent / "embree4.txt").touch()
    assert list(library_candidates(tmp_path / "embreex")) == [library]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(embree.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(embree.ctypes.util, "find_library", lambda name: None)
    monkeypatch.setattr(embree, "SONAME", "libembree4-nowhere.so")
    with pytest.raises(EmbreeError, match=r"package embreex .* not installed"):
        embree.find_library()


def test_without_the_package_the_library_of_the_system_is_taken(monkeypatch):
    monkeypatch.setattr(embree, "SONAME", embree.find_library())
    monkeypatch.setattr(embree.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(embree.ctypes.util, "find_library", lambda name: None)
    assert embree.find_library() == embree.SONAME
    monkeypatch.setattr(embree.ctypes.util, "find_library", lambda name: "libembree4.so.4")
    assert embree.find_library() == "libembree4.so.4"


def test_a_missing_library_is_named_with_its_place(monkeypatch, tmp_path):
    package = tmp_path / "embreex" / "__init__.py"

    class Spec:
        origin = str(package)

    monkeypatch.setattr(embree.importlib.util, "find_spec", lambda name: Spec)
    monkeypatch.setattr(embree.ctypes.util, "find_library", lambda name: None)
    with pytest.raises(EmbreeError, match=r"no library named .* beside the package embreex in"):
        embree.find_library()


def test_a_library_that_is_none_is_refused(tmp_path):
    broken = tmp_path / "libembree4.so"
    broken.write_bytes(b"no library")
    with pytest.raises(EmbreeError, match=r"libembree4\.so cannot be used"):
        embree.load_library(str(broken))


def test_what_goes_wrong_in_embree_is_raised():
    device = embree.new_device(1)
    embree.library.rtcNewGeometry(device, 12345)
    with pytest.raises(EmbreeError, match="Embree failed while testing"):
        embree.check(device, "testing")
    embree.check(device, "testing")  # said once
    embree.library.rtcReleaseDevice(device)


@njit
def _exchange(address, value):
    """Write to places of memory and read them back."""
    put_int32(address, 1, value)
    put_int64(address, 1, np.int64(value) * 2**33)
    put_float32(address, 4, value + 0.5)
    return (
        int32_at(address, 1),
        int64_at(address, 1),
        float32_at(address, 4),
        uint16_at(address, 10),
    )


def test_memory_is_read_and_written_by_its_address():
    memory = np.zeros(8, np.int32)
    memory[5] = 0x7000FFFE
    assert _exchange(memory.ctypes.data, -7) == (-7, -7 * 2**33, -6.5, 0xFFFE)
    expected = np.zeros(8, np.int32)
    expected[1], expected[5] = -7, 0x7000FFFE
    expected[2:4] = np.array([-7 * 2**33]).view(np.int32)
    expected[4:5].view(np.float32)[0] = -6.5
    np.testing.assert_array_equal(memory, expected)


@njit(nogil=True)
def _claim_many(address, taken):
    for k in range(len(taken)):
        taken[k] = claim_at(address)


def test_threads_claim_each_number_once():
    from concurrent.futures import ThreadPoolExecutor

    counter = np.zeros(1, np.int64)
    taken = [np.empty(100_000, np.int64) for _ in range(4)]
    _claim_many(counter.ctypes.data, taken[0][:0])  # compiled before the threads meet
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda mine: _claim_many(counter.ctypes.data, mine), taken))
    np.testing.assert_array_equal(np.sort(np.concatenate(taken)), np.arange(400_000))


@njit
def _claim_all(claims, total, least):
    parts = []
    while True:
        number, first, after = claim_some(claims, total, least)
        if first >= total:
            return parts, number
        parts.append((number, first, after))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("total", [1, 31, 2048, 10_007])
def test_claims_are_all_there_is_to_do_once_and_become_smaller(threads, total):
    parts, unused = _claim_all(np.array([0, threads]), total, 32)
    assert [number for number, _, _ in parts] == list(range(unused))
    ends = [0, *(after for _, _, after in parts)]
    assert [first for _, first, _ in parts] == ends[:-1]
    assert ends[-1] == total
    sizes = np.diff(ends)
    assert (np.diff(sizes) <= 0).all()
    assert (sizes[:-1] >= 32).all()
    # A thread has no more than half of its share in what is left, or what pays.
    left = total - np.array(ends[:-1])
    assert (sizes <= np.maximum(left / (2 * threads), 32)).all()
    assert len(parts) <= -(-total // 32)  # the places that kernels have for chunks


def test_packets_are_aligned_for_vector_loads():
    for _ in range(20):
        assert new_packet().words.ctypes.data % (4 * ALIGNMENT) == 0


# Prints cache hits and misses, and the distance of a hit.
TRACE = """
import numpy as np
from sensor_models.kernels.tracing import arrays as trace_arrays
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin
with RayScene(twin.scene_of(twin.box((1, -1, -1), (2, 1, 1))), threads=2) as rays:
    t = rays.trace((0, 0, 0), [[1.0, 0.1, 0.2]]).t[0]
stats = trace_arrays.trace_nearest.stats
print(stats.from_cache, stats.compiled, t)
"""


@pytest.mark.skipif(not cache.store().writable, reason="there is no cache of kernels")
def test_a_kernel_from_the_cache_calls_embree_in_a_new_process(tmp_path):
    environment = {**os.environ, cache.DIRECTORY_VARIABLE: str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", TRACE],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["0", "1", "1.0"], ["1", "0", "1.0"]]


def test_a_denormal_number_stays_one_after_building_a_scene():
    # Embree builds with flushed denormals; whoever calls it must not notice.
    device = embree.new_device(1)
    scene = embree.library.rtcNewScene(device)
    embree.library.rtcCommitScene(scene)
    tiny = ctypes.c_float(1e-40).value
    assert np.float32(tiny) * np.float32(0.5) > 0.0
    embree.library.rtcReleaseScene(scene)
    embree.library.rtcReleaseDevice(device)
