"""Rays in a scene: Embree, packets, hits, moving bodies and the memory that holds them."""
