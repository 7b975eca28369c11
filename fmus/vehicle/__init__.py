"""A skid-steered vehicle with an arm, for masters that have no dynamics of their own.

``solids``      the solid parts of a scene: terrain, slabs, boxes, cylinders
``parameters``  the parameters of a vehicle, and the commands that it takes
``model``       vehicle and scene as a model of MuJoCo
``traffic``     bodies of the scene that follow closed paths
``simulation``  the model in motion: start at rest, steps, state

Nothing here knows of FMI; the FMU is ``fmus.fmi.vehicle_dynamics_fmu``.
"""
