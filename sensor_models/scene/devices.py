"""Embree's devices: one for each number of building threads, kept until the process ends.

All devices share the threads of TBB. Whenever a device is made or released, Embree removes the
limit of these threads and sets it again, to the most threads of any device. If the limit falls to
one, a thread that was woken just then sees work that it must not take, and keeps looking for it
until the scenes are closed: beside a scene for one thread, it took as much processor time as that
thread itself. If devices are never released, the limit never falls.

Source: issue 1417 of oneTBB (``github.com/uxlfoundation/oneTBB``), there since 2021.11; embreex
4.4 brings 2021.12.
"""

import os
from functools import cache

from sensor_models.kernels.tracing import embree


def device_for(threads: int) -> int:
    """The device of scenes that are built by so many threads; 0 for all processors."""
    return _device_of(os.getpid(), threads)


@cache
def _device_of(_process: int, threads: int) -> int:
    """A forked process makes its own devices, because TBB's threads do not exist in it."""
    return embree.new_device(threads)
