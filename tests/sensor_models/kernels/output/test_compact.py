"""Points without gaps, against the same in plain Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.kernels.output.compact import compact_words, pack_words


def stretches(room: int) -> st.SearchStrategy[list[int]]:
    """Counts of rays, of which up to thirty in a row have the same."""
    stretch = st.tuples(st.integers(0, room), st.integers(1, 30))
    return st.lists(stretch, max_size=8).map(lambda found: [c for c, n in found for _ in range(n)])


@settings(deadline=None)
@given(
    st.integers(1, 4).flatmap(lambda room: st.tuples(st.just(room), stretches(room))),
    st.integers(1, 20),
)
def test_valid_points_stand_one_behind_the_other_in_the_order_of_the_rays(rays, width):
    room, given_counts = rays
    counts = np.array(given_counts, np.uint8)
    words = np.arange(len(counts) * room * width, dtype=np.uint32).reshape(-1, width)
    valid = [ray * room + k for ray, count in enumerate(given_counts) for k in range(count)]
    expected = words[np.array(valid, np.int64)]
    target = np.empty_like(expected)
    compact_words(words, room, counts, target)
    assert np.array_equal(target, expected)
    assert pack_words(words, room, counts) == len(expected)
    assert np.array_equal(words[: len(expected)], expected)
