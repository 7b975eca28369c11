"""Compiled kernels: floats and arrays in, floats and arrays out, nothing else.

They import nothing of the package above them, so that they can be compiled, cached and tested
alone. Importing this package sets up the cache they are stored in (``kernels.cache``).
"""

# All kernels are called with it, and its source may be gone by then: an FMU's copy goes with it.
from sensor_models.kernels.math import unpacking as unpacking
