"""Optics: what surfaces and media do to light.

``fresnel``   how an interface divides and bends light
``surfaces``  materials of a scene as the kernels take them, and how they reflect
``media``     media of a scene as the kernels take them, and where their numbers come from
``beam``      the share of a widening beam that meets the detector

The equations are those of ``sensor_models.kernels.light``, which tracing kernels call directly.
What stands here checks and packs parameters, and evaluates the same functions for arrays.
"""
