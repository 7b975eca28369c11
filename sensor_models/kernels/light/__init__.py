"""Compiled optics: scalar functions that tracing kernels call for each hit of each ray.

``fresnel``    how an interface divides and bends light
``surfaces``   how much light a surface sends where
``media``      what light loses on its way, and what the way itself sends back
``gamma_law``  the gamma distribution, forward and inverse
``beam``       the share of a widening beam that meets the detector

Nothing here allocates. Surfaces and media are rows of tables that ``sensor_models.light`` packs.
A kernel takes a row out (``surface_at``, ``medium_at``, ``beam_of``) and hands on a tuple of
numbers: with an array as argument a function would count a reference to it at each call, in one
counter for all threads, which took 2.5 times as long even on a single one.
"""
