"""Frames in the form that files have."""
