"""Embree's devices: one for each number of threads that build, for as long as the process lives.

All devices share the threads of TBB. Whenever one is made or released, Embree takes the limit of
these threads away and sets it anew, to the most that a device is for. If it falls to one in that,
a thread that was woken meanwhile finds work announced that it may not take, and goes on looking
for it until the scenes are closed: beside a scene for one thread it took as much time as that one
itself. Devices that stay never let the limit fall.

Source: issue 1417 of oneTBB (``github.com/uxlfoundation/oneTBB``), there since 2021.11; embreex
4.4 brings 2021.12.
"""

import os
from functools import cache

from sensor_models.kernels.tracing import embree


def device_for(threads: int) -> int:
    """The device of scenes that so many threads build, 0 for all processors."""
    return _device_of(os.getpid(), threads)


@cache
def _device_of(_process: int, threads: int) -> int:
    """A forked process has devices of its own: TBB's threads do not live there."""
    return embree.new_device(threads)
