"""How functions are compiled that are called for every sample of a triaxial sensor.

Numba counts references to each array that is passed to or sliced in a function. That guards memory
that is made in compiled code, and it took longer than all stages of a sensor together (0.29 us
instead of 0.12 us a sample). ``_nrt=False`` switches it off. It is allowed where no array is made
and none is kept: Numba refuses to compile the former, and there is no way to do the latter but to
return a view. The option is private to Numba (``private``).
"""

from sensor_models.kernels.private import NO_COUNTING

#: For functions that slice arrays or pass them on.
PLAIN = {"cache": True, **NO_COUNTING}
#: And for those that take part in every sample, however often they are called from one place.
INLINE = {**PLAIN, "forceinline": True}
