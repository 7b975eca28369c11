"""Programs that run sensors in a master with a Python interface, each in a process of its own.

``python -m tests.masters.hosts.<master> TASK RESULTS`` reads a task and writes what was measured.
"""
