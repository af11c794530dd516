"""Threads: limits of the process that overlap, and work that is begun beside other work."""

from threading import Thread, get_ident
from time import sleep

import numpy as np  # noqa: F401, with its BLAS
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from eifffel._utils.parallel import one_blas_thread, start_beside


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_limits_of_threads_that_would_overlap_follow_each_other():
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
    inside, seen = [], []

    def work():
        with one_blas_thread(), one_blas_thread():
            inside.append(get_ident())
            seen.append((len(inside), set(blas_threads())))
            sleep(0.05)
            inside.remove(get_ident())

    others = [Thread(target=work) for _ in range(4)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert seen == [(1, {1})] * 4
    with threadpool_limits(limits=2, user_api="blas"):
        assert blas_threads() == before


def test_the_limit_is_taken_off():
    own = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == own


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_work_beside_other_work_gives_its_result_or_its_error(n_jobs):
    done = start_beside(get_ident, n_jobs)
    assert (done() == get_ident()) == (n_jobs == 1)
    with pytest.raises(ZeroDivisionError):
        start_beside(lambda: 1 // 0, n_jobs)()
