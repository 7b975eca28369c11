"""FMI 2.0 co-simulation FMUs around the models of ``sensor_models``.

``base``               what all FMUs share: values, life cycle, states
``sensor_fmu``         what all sensors share: sampling, faults, presets, records
``run``                a sensor between initialisation and termination
``scene_sensor``       what sensors share that see the scene; ``frame_run`` is one of these running
``variables``          FMI variables made from the declarations of the models
``model_description``  modelDescription.xml
``fmu_state``          saved states as bytes
``*_fmu``              one short module for each FMU, found by its name
``vehicle``            the vehicle that VehicleDynamics simulates; knows no FMI
``systems``            systems of FMUs as SSP files; used by the build only
``reference``          the page on each FMU in its documentation; used by the build only
``binding``            the C library between FMI and Python, and what loads it

But for ``vehicle``, nothing here computes physics.
"""

from sensor_models._digest import digest_of_package

#: Digest of this package's own sources (not of the binding, which no process shares).
SOURCE_DIGEST = "".join(digest_of_package(__file__, part) for part in ("*.py", "vehicle/*.py"))
