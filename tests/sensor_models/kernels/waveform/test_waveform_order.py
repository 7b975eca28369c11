"""In which order pulses are made, and the draws that are made many at a time."""

from types import SimpleNamespace

import numpy as np
import pytest

from sensor_models.core.random import stream_key
from sensor_models.kernels.compiling import plain
from sensor_models.kernels.math.philox import block
from sensor_models.kernels.waveform.bundles import STRIP, pulse_at
from sensor_models.kernels.waveform.draws import draw_uniforms


def part_of_scan(rows, first, last):
    """Some columns of a scan: its size is all that counts."""
    return SimpleNamespace(rows=rows, first=first, last=last)


@pytest.mark.parametrize("rows", [1, 2, 7, 32])
@pytest.mark.parametrize(("first", "last"), [(0, 16), (5, 6), (3, 40), (0, 33)])
def test_each_pulse_of_some_columns_is_made_once(rows, first, last):
    scan, count = part_of_scan(rows, first, last), rows * (last - first)
    rays = [plain(pulse_at)(scan, number) for number in range(count)]
    assert sorted(rays) == list(range(first * rows, last * rows))


def test_pulses_that_follow_one_another_lie_side_by_side():
    scan = part_of_scan(8, 0, 64)
    rays = np.array([plain(pulse_at)(scan, number) for number in range(8 * 64)])
    rows, columns = (rays % 8).reshape(-1, STRIP), (rays // 8).reshape(-1, STRIP)
    assert (rows == rows[:, :1]).all()
    np.testing.assert_array_equal(np.diff(columns, axis=1), 1)


@pytest.mark.parametrize("blocks", [0, 1, 7, 8, 9, 26, 64])
def test_draws_of_many_blocks_are_those_of_each(blocks):
    key, lane = stream_key(3, "a lidar", "noise"), (1 << 40) | 5
    draws = np.full(4 * blocks + 1, np.nan)
    draw_uniforms(key, draws, 11, lane, blocks)
    words = [word for number in range(blocks) for word in block(key, 11, lane + number)]
    wanted = [((int(word) >> 12) + 0.5) * 2.0**-52 - 0.5 for word in words]
    np.testing.assert_array_equal(draws[:-1], wanted)
    assert np.isnan(draws[-1])
