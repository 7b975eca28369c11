"""Memory that lidars of a process borrow: lent to one at a time, and gone with the last of them."""

import gc

import numpy as np

from sensor_models.lidar.patterns import PatternParameters
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.waveform import WaveformLidar, WaveformParameters
from sensor_models.waveform.borrowed import Borrowed

POSE = (0.0, 0.0, 1.8, 1.0, 0.0, 0.0, 0.0)


class User:
    """Somebody who borrows."""


def test_two_at_a_time_have_memory_of_their_own():
    memory, user = Borrowed(), User()
    memory.join(user)
    one, other = memory.take(100), memory.take(100)
    assert min(len(one), len(other)) >= 100
    assert not np.shares_memory(one, other)
    memory.give(one)
    assert memory.take(80) is one


def test_the_smallest_that_fits_is_lent_and_too_small_ones_go():
    memory, user = Borrowed(), User()
    memory.join(user)
    small, large = memory.take(10), memory.take(1000)
    memory.give(large)
    memory.give(small)
    assert memory.take(10) is small
    memory.give(small)
    assert memory.take(500) is large
    fresh = memory.take(11)
    assert fresh is not small
    assert len(fresh) >= 11
    assert memory.take(10) is not small  # it went when it did not fit


def test_what_was_given_back_goes_with_the_last_user():
    memory, one, other = Borrowed(), User(), User()
    memory.join(one)
    memory.join(other)
    kept = memory.take(10)
    memory.give(kept)
    del one
    gc.collect()
    assert memory.take(10) is kept
    memory.give(kept)
    del other
    gc.collect()
    assert memory.take(10) is not kept
    memory.give(kept)  # of somebody who was about to go
    assert memory.take(10) is not kept


def test_lidars_that_take_turns_see_what_they_see_alone():
    """The second has more echoes a pulse and more pulses, so what is lent changes its size."""
    patterns = PatternParameters(rows=4, columns=16), PatternParameters(rows=8, columns=40)
    lidars = [
        WaveformLidar(WaveformParameters(subrays=19), patterns[0], keeps=True),
        WaveformLidar(WaveformParameters(subrays=37, max_echoes=5), patterns[1], keeps=True),
    ]
    with RayScene(load_scene("yard")) as rays:
        alone = [lidar.capture(rays, POSE) for lidar in lidars]
        clouds = [lidar.new_cloud() for lidar in lidars]
        for _ in range(2):
            for lidar, cloud in zip(lidars, clouds, strict=True):
                lidar.capture(rays, POSE, out=cloud)
        for cloud, expected in zip(clouds, alone, strict=True):
            assert cloud.number == expected.number > 0
            np.testing.assert_array_equal(cloud.points(), expected.points())
            np.testing.assert_array_equal(cloud.waves.samples(), expected.waves.samples())
            np.testing.assert_array_equal(cloud.waves.rows(), expected.waves.rows())
