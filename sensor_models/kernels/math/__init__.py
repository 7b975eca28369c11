"""Draws, rotations, motion between known states: what all other kernels stand on."""
