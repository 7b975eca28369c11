"""How the functions of tubes are compiled that are called for each of them.

They are handed dozens of arrays. Counting references to these took three times as long as all that
is computed, more with each thread (``kernels.options``).
"""

from sensor_models.kernels.tracing.packets import ACCESS

#: For functions that are called and not copied to where they are called from.
CALLED = {**ACCESS, "forceinline": False}
