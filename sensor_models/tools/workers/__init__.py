"""Distribution of work to processes of this machine, or of a cluster.

A pool takes tasks, each a function of a module with its arguments, and returns results as they
come. ``local.LocalPool`` uses processes of this machine and needs no further packages; ``cluster``
uses a scheduler of Dask. The kind of pool, the number of processes and the loss of a process change
when a result comes, but never the result.
"""

from sensor_models.tools.workers.tasks import (
    Failure,
    Outcome,
    PoolError,
    Resident,
    Task,
    WorkerPool,
)

__all__ = ["Failure", "Outcome", "PoolError", "Resident", "Task", "WorkerPool"]
