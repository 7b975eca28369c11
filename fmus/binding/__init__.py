"""The C library between FMI 2.0 and Python, how it is compiled, and what it runs to load an FMU."""
