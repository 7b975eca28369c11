"""FMUs at run time: what FMI calls, around the models of ``sensor_models``.

``base``               what all FMUs share: values, life cycle, states
``sensor_fmu``         the FMU class of a sensor, made from its spec
``sensors``            the FMU classes of the catalog's sensors, by name
``run``, ``scalar_run``  a sensor between initialisation and termination; one with a compiled step
``inputs``, ``outputs``  the values of an instance, as a sensor takes and gives them
``osmp``               messages of OSI, as addresses of buffers
``variables``          FMI variables made from the declarations of the models
``model_description``  modelDescription.xml
``fmu_state``          saved states as bytes
``*_fmu``              the FMUs that are not sensors
"""
