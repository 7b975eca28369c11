"""Sensors on a turning or sliding joint: encoder and odometer."""
