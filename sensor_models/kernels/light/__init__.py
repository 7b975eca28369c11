"""Compiled optics, and the tree of rays that every sensor can send out that sees by light.

Scalar functions that tracing kernels call for each hit of each ray:

``fresnel``    how an interface divides and bends light
``surfaces``   how much light a surface sends where
``media``      what light loses on its way, and what the way itself sends back
``gamma_law``  the gamma distribution, forward and inverse
``beam``       the share of a widening beam that meets the detector

The tree:

``paths``       what light meets on its way, and how far it is followed
``tree``        rays set out, are traced and arrive; how a detector uses this
``arrivals``    what a detector finds when they have arrived
``branches``    rays that are under way
``segments``    the way through a medium
``boundaries``  from one medium to the next where nothing bends
``interfaces``  reflection and refraction at surfaces

Only what is made once for a thread allocates. Surfaces and media are rows of tables that
``sensor_models.light`` packs. A kernel takes a row out (``surface_at``, ``medium_at``, ``beam_of``)
and hands on a tuple of numbers: with an array as argument a function would count a reference to it
at each call, in one counter for all threads, which took 2.5 times as long even on a single one.
"""
