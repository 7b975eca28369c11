"""Streams: different names have different keys, and each key is the same in every run."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.core import random

TEXTS = st.text(st.characters(exclude_categories=()), max_size=5)
STREAMS = st.tuples(st.integers(), TEXTS, TEXTS)


def decode(encoded):
    """Read an encoding back, which shows that nothing of the name was lost."""
    parts = []
    while encoded:
        length, _, rest = encoded.partition(b":")
        parts.append(rest[: int(length)].decode("utf-8", "surrogatepass"))
        encoded = rest[int(length) :]
    seed, sensor, term = parts
    return int(seed), sensor, term


@given(STREAMS)
def test_the_encoding_can_be_read_back(stream):
    assert decode(random.encode_stream(*stream)) == stream


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, "ab", "c"), (1, "a", "bc")),
        ((1, "a", ""), (1, "", "a")),
        ((1, "1:a", "b"), (1, "1", "a1:b")),
        ((1, "2", "3"), (12, "", "3")),
        ((1, "a", "b"), (-1, "a", "b")),
        ((0, "a", "b"), (2**64, "a", "b")),
        ((0, "ä", "b"), (0, "a\u0308", "b")),
        ((0, "\ud83d\ude00", "b"), (0, "\U0001f600", "b")),
        ((0, "a", "noise"), (0, "a", "drift")),
    ],
)
def test_streams_of_different_names_have_different_keys(one, other):
    assert not np.array_equal(random.stream_key(*one), random.stream_key(*other))


def test_a_key_is_the_start_of_the_hash_of_its_name():
    digest = hashlib.sha256(b"2:-7" + b"4:im\xc3\xbc" + b"5:noise").digest()
    low, high = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")
    assert random.stream_key(-7, "imü", "noise").tolist() == [low, high]


def test_a_seed_of_any_integer_type_is_the_same_seed():
    assert np.array_equal(random.stream_key(np.int32(5), "a", "b"), random.stream_key(5, "a", "b"))
    with pytest.raises(TypeError):
        random.stream_key(5.0, "a", "b")


def test_kernels_take_a_key_as_it_is():
    key = random.stream_key(1, "imu", "noise")
    assert (key.dtype, key.shape, key.flags.writeable) == (np.uint64, (2,), True)
    draws = {random.normal(key, sample, lane) for sample in range(3) for lane in range(3)}
    assert len(draws) == 9
    assert random.uniform(key, 0, 0) == random.uniform(key.copy(), 0, 0)
