"""Co-simulation FMUs around the models of ``sensor_models``, in rooms.

``fmi``       FMUs at run time: variables, life cycle, steps, states; each FMU carries it
``vehicle``   the vehicle that VehicleDynamics simulates; knows no FMI; each FMU carries it
``binding``   the C library between FMI and Python, and what loads it
``building``  what FMUs are built from, with their reference pages; used by the build only
``tools``     systems of FMUs as SSP files, campaigns of many runs, the command line

Nothing here computes physics, except ``vehicle``.
"""

from sensor_models._digest import digest_of_package

#: The sources that FMUs carry.
PACKED = ("*.py", "fmi/*.py", "vehicle/*.py")

#: Digest of this package's own sources (not of the binding, which no process shares).
SOURCE_DIGEST = "".join(digest_of_package(__file__, pattern) for pattern in PACKED)
