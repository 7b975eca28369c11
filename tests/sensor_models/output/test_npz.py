"""Npz files that grow side by side: as NumPy and ``zipfile`` read them."""

import io
import zipfile

import numpy as np
import pytest

from sensor_models.output import npz
from sensor_models.output.npz import NpzFile


def written(arrays, at_a_time=1):
    """A file of arrays whose rows took turns."""
    stream = io.BytesIO()
    file = NpzFile(stream)
    for name, array in arrays.items():
        file.leave_room(name, array.dtype, array.shape)
    for first in range(0, max(map(len, arrays.values())), at_a_time):
        for name, array in arrays.items():
            file.add_rows(name, array[first : first + at_a_time])
    file.finish()
    return stream.getvalue()


@pytest.fixture
def arrays():
    random = np.random.default_rng(3)
    record = np.dtype([("x", "<f4"), ("ring", "<u2"), ("count", "u1")])
    points = np.zeros(11, record)
    points["x"], points["ring"] = random.random(11), random.integers(0, 9, 11)
    return {
        "front.image": random.random((7, 5, 4)).astype(np.float32),
        "top.points": points,
        "größe": random.integers(-5, 5, (4, 3)),
        "none": np.zeros((0, 3), np.float32),
        "strided": np.arange(24.0).reshape(6, 4)[:, ::2],
    }


@pytest.mark.parametrize("at_a_time", [1, 2, 100])
def test_numpy_reads_rows_that_took_turns(arrays, at_a_time):
    content = written(arrays, at_a_time)
    with np.load(io.BytesIO(content)) as found:
        assert set(found) == set(arrays)
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)
    assert content == written(arrays), "the same arrays are the same file"


def test_each_member_is_what_numpy_would_write(arrays):
    with zipfile.ZipFile(io.BytesIO(written(arrays))) as archive:
        assert archive.testzip() is None
        for name, array in arrays.items():
            wanted = io.BytesIO()
            np.save(wanted, np.ascontiguousarray(array))
            assert archive.read(f"{name}.npy") == wanted.getvalue()
            assert archive.getinfo(f"{name}.npy").compress_type == zipfile.ZIP_STORED


@pytest.mark.parametrize("limit", [100, 400, 1000])
def test_sizes_that_do_not_fit_are_written_as_zip64(arrays, monkeypatch, limit):
    """With a limit of some bytes in place of 4 GiB, each member is on either side of it."""
    plain = written(arrays)
    monkeypatch.setattr(npz, "LIMIT", limit)
    content = written(arrays)
    assert len(content) > len(plain)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
    with np.load(io.BytesIO(content)) as found:
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)


def test_rows_that_do_not_fit_are_refused():
    file = NpzFile(io.BytesIO())
    file.leave_room("a", np.dtype(float), (2, 3))
    file.add_rows("a", np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"a\.npy misses rows"):
        file.finish()
    with pytest.raises(ValueError, match=r"a\.npy has no room"):
        file.add_rows("a", np.zeros((2, 3)))
    with pytest.raises(ValueError, match="a is in the file already"):
        file.add("a", np.zeros(1))
