"""Kernels of the CCD camera: the light of surfaces, lens and chip."""
