"""Logs of whole runs: everything that sensors measured, over time, in one file.

``mcap`` writes the file, ``shared`` lets sensors of one process write to the same one, ``sink``
says what results become. ``python -m sensor_models.log FILE`` says what is in a log.
"""
