"""Random numbers as a function of what they are for, not of what was drawn before.

A draw is a function of (seed, sensor, term, sample, lane). A sequential generator would make it
depend on how many numbers ran before it, and so on how the time axis is cut into steps, on the
order of sensors and threads, on whether a ray hit, and on whether another error term is switched
on. With a counter instead, sample k is the same draw in any run that reaches it, a state that is
restored needs no generator, and each term is switched on alone without shifting the others.

``stream_key`` makes the key of the stream of one error term of one sensor, once, when the sensor
is set up. The draws themselves are compiled (``kernels.math.philox``): a kernel calls them
directly, Python calls them from here. Samples count from 0, as a sensor's clock counts them;
lanes tell apart the draws of one sample (axes, rays).
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
        sensor: the sensor's identity. Sensors that share it share their noise.
        term: the error term, such as ``noise``.
    """
    digest = hashlib.sha256(encode_stream(seed, sensor, term)).digest()
    # Little-endian on every machine, then native and writable, which is what kernels take.
    return np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)


def encode_stream(seed: int, sensor: str, term: str) -> bytes:
    """A stream's name as bytes, different for different streams: each part after its length."""
    encoded = b""
    for part in (str(int(operator.index(seed))), sensor, term):
        # Names come from outside and may hold surrogates; this keeps them apart as well.
        data = part.encode("utf-8", "surrogatepass")
        encoded += b"%d:%s" % (len(data), data)
    return encoded
