"""Tests of the vehicle, without FMI."""
