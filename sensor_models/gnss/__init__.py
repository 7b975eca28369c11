"""Satellite navigation: a receiver for position, velocity and time.

``sensor``         what it is declared as, and how it samples, in a scene or without
``gnss.gnss``      the receiver: what it is made of, and one sample of it
``parameters``     its parameters and its reading
``corruption``     constant errors, codes and limits of what it reports
``constellation``  the satellites: Walker patterns, and almanacs in YUMA format
``mirrors``        which surfaces of a scene hide and which mirror satellites
``nmea``           sentences in the format NMEA 0183
``rinex``          observation files in the format RINEX 3

The equations are in ``kernels.gnss.receiver`` and what it names.
"""
