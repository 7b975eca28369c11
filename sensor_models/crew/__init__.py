"""Distribution of work to processes of this machine, or of a cluster.

A crew takes tasks, each a function of a module with its arguments, and returns results as they
come. ``local.LocalCrew`` uses processes of this machine and needs no further packages; ``cluster``
uses a scheduler of Dask. The kind of crew, the number of processes and the loss of a process change
when a result comes, but never the result.
"""

from sensor_models.crew.tasks import Crew, CrewError, Failure, Outcome, Resident, Task

__all__ = ["Crew", "CrewError", "Failure", "Outcome", "Resident", "Task"]
