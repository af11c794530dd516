"""A real Dask cluster for tests: worker processes, dashboards off, on 127.0.0.1 alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("distributed")
from dask.distributed import Client, LocalCluster

# HTTP servers are started all the same; any free port will do.
ANY_PORT = "127.0.0.1:0"


@contextmanager
def local_cluster(n_workers: int = 2) -> Iterator[Any]:
    """The client of a cluster of processes."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=ANY_PORT,
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
