"""Standalone FMUs: what they carry besides ordinary ones, and in which form.

``resources`` puts them together, ``imports`` finds which modules they need, ``interpreter`` packs
these with the interpreter, ``startup`` and ``linear_algebra`` carry some of it in another form, and
``elf`` reads and shortens libraries. Nothing else of a build knows how it is done.
"""
