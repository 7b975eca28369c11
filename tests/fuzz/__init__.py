"""Fuzzers: modules with a ``main(arguments)``, which ``make fuzz`` runs for long."""
