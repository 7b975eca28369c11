"""Work shared out to processes: those of this machine, or of a cluster.

A crew takes tasks, each a function of a module with its arguments, and gives their results as
they come. ``local.LocalCrew`` has processes of this machine and needs nothing; ``cluster`` takes
a scheduler of Dask's. Which one works, how many processes there are and which of them ends early
changes when a result comes, never what it is.
"""

from sensor_models.crew.tasks import Crew, CrewError, Failure, Outcome, Resident, Task

__all__ = ["Crew", "CrewError", "Failure", "Outcome", "Resident", "Task"]
