"""Sensor models: from the true motion of a body to what its sensors report.

Conventions, valid in the whole package

Units      SI: m, s, kg, T, W and rad. A name carries a unit suffix only where its value is
           not SI (``_deg``, ``_dps``). Standard gravity is 9.80665 m/s2.
Frames     Right-handed; the world's z axis points up. Sensor frame: x forward, y left, z up.
           A suffix says in which frame a vector is given (``velocity_w``, ``rate_b``; w world,
           b body, s sensor), ``rotation_wb`` takes vectors from b to w.
Quaternion (w, x, y, z), of unit length, takes vectors of the body to the world.
Time       Sample k of a sensor belongs to the instant start + k / rate, computed from k.
Random     Every draw is a function of (seed, sensor, term, sample, lane), see ``random``.
           There are no sequential generators, so no draw depends on what ran before it.
Parameters Frozen dataclasses whose fields are declared with ``quantities``: unit, range and
           meaning stand in one place, and the FMU's variables are made from it.
Bad input  A parameter outside its range is refused with ``ParameterError``. A reading that
           cannot be made of its inputs (not finite) is NaN and leaves the state alone.

Sources, cited in the modules by these names (numbers are those of their equations)

AGX        AGX Sensor report: lidar, surface and ambient materials, IMU, encoder, odometer
CONE       thesis on a function-based cone sensor for AGXUnity
CORR       Basilisk memorandum on sensor corruptions, draft 1.0, 2017
VANE       Sensor modelling for the Virtual Autonomous Navigation Environment
GYM        Aerial Gym documentation of its sensors
Where a module departs from its source, it says so and why.

Layers: ``kernels`` is compiled and sees floats and arrays only; the other modules are the
models; the FMUs in the package ``fmus`` stand on top and are never imported from here.
"""

from sensor_models._digest import digest_of_package

__version__ = "0.1.0"

#: Digest of this package's own sources, taken when it was imported. Two FMUs share one loaded
#: package only if their digests agree, and compiled kernels are cached under it.
SOURCE_DIGEST = digest_of_package(__file__)
