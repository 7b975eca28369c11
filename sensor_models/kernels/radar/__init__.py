"""Radars, compiled."""
