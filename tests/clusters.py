"""A Dask cluster of processes on this machine, for tests and benchmarks."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """So many workers with a thread each, without a page to look at them.

    Starting workers leaves variables in this process's environment, which are taken out again.
    """
    before = dict(os.environ)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of distributed's own, at import
        from distributed import LocalCluster
    try:
        with LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=0,
            silence_logs=50,
        ) as cluster:
            yield cluster
    finally:
        os.environ.clear()
        os.environ.update(before)
