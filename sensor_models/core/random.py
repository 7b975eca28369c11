"""Random numbers as a function of what they are for, not of what was drawn before.

A draw is a function of (seed, sensor, term, sample, lane). With a sequential generator it would
depend on how many numbers were drawn before, and so on the length of steps, on the order of sensors
and threads, on whether a ray hit, and on which other error terms are switched on. With a counter
instead, sample k is the same draw in any run that reaches it, a saved state needs no generator, and
switching one term on does not change the noise of the others.

``stream_key`` makes the key for one error term of one sensor, once, when the sensor is set up. The
draws themselves are compiled (``kernels.math.philox``): kernels call them directly, Python calls
them from here. Samples are numbered from 0 by the sensor's clock; lanes distinguish the draws
within a sample (axes, rays).
"""

import hashlib
import operator

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.math.philox import normal, uniform

__all__ = ["encode_stream", "normal", "stream_key", "uniform"]


def stream_key(seed: int, sensor: str, term: str) -> NDArray[np.uint64]:
    """The key of one stream: 128 bits, as two words.

    Args:
        seed: the run's seed, any whole number.
        sensor: the sensor's identity. Sensors with the same identity have the same noise.
        term: the error term, such as ``noise``.
    """
    digest = hashlib.sha256(encode_stream(seed, sensor, term)).digest()
    # Little-endian on every machine, then native and writable, which is what kernels take.
    return np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)


def encode_stream(seed: int, sensor: str, term: str) -> bytes:
    """A stream's name as bytes, different for different streams: each part after its length."""
    encoded = b""
    for part in (str(int(operator.index(seed))), sensor, term):
        # Names come from outside and may contain surrogates; this keeps such names different, too.
        data = part.encode("utf-8", "surrogatepass")
        encoded += b"%d:%s" % (len(data), data)
    return encoded
