"""Fuzzing without end in sight: ``make fuzz``. Each module here has a ``main(seconds)``."""
