"""How the functions of tubes are compiled that are called for each of them.

They are handed dozens of arrays. Counting references to these took three times as long as all that
is computed, more with each thread (``kernels.options``).

A call copies all words of the structs that it is handed, some 300 of a scene and its reflectors:
done for each ray, that took longer than to trace it. So what takes these is copied to where it is
called from (``ACCESS``), unless it is seldom called.
"""

from sensor_models.kernels.tracing.packets import ACCESS

#: For functions that are called and not copied to where they are called from.
CALLED = {**ACCESS, "forceinline": False}
