"""Ideal signals of moving bodies, and the chain of errors of a triaxial sensor."""
