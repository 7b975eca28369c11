"""Satellite navigation: geodesy, orbits, the sky above an antenna, errors and the fix."""
