"""Compiled code of full-waveform lidars: from the rays of a beam to the echoes of a pulse.

``layout``         what the kernels are given
``bundles``        the rays of some pulses, in packets
``landing``        what they hit, and what of that goes where in time
``histogram``      what comes back of them as energy over time
``receiver``       what a detector makes of it: currents, noise, counts
``search``         where a waveform has echoes, and the simple ways to say when
``decomposition``  sums of Gaussians, fitted
``extraction``     the echoes of a waveform, by one of five ways
``pulses``         all of that, pulse by pulse
``simd``           sums and questions of eight samples at a time
"""
