"""Compiled parts of the quick caster."""
