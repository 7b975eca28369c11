"""FMI 2.0 co-simulation FMUs around the models of ``sensor_models``.

``base``               what all FMUs share: values, life cycle, states
``sensor_fmu``         the FMU class of a sensor, made from its spec
``sensors``            the FMU classes of the catalog's sensors, by name
``run``, ``scalar_run``  a sensor between initialisation and termination; one with a compiled step
``inputs``, ``outputs``  the values of an instance, as a sensor takes and gives them
``variables``          FMI variables made from the declarations of the models
``model_description``  modelDescription.xml
``fmu_state``          saved states as bytes
``*_fmu``              the FMUs that are not sensors
``vehicle``            the vehicle that VehicleDynamics simulates; knows no FMI
``building``           what FMUs are built from; used by the build only
``systems``            systems of FMUs as SSP files; used by the build only
``reference``          the page on each FMU in its documentation; used by the build only
``binding``            the C library between FMI and Python, and what loads it

Nothing here computes physics, except ``vehicle``.
"""

from sensor_models._digest import digest_of_package

#: Digest of this package's own sources (not of the binding, which no process shares).
SOURCE_DIGEST = "".join(digest_of_package(__file__, part) for part in ("*.py", "vehicle/*.py"))
