"""Compiled kernels: floats and arrays in, floats and arrays out, nothing else.

They import nothing of the package above them, so that they can be compiled, cached and tested
alone. Importing this package sets up the cache they are stored in (``kernels.cache``).
"""

from sensor_models.kernels import cache as cache
