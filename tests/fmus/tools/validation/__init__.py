"""Tests of ``sensor-fmus validate``."""
