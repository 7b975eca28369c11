"""Samples of encoders and odometers."""
