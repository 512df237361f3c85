"""A process that forks after a parallel call keeps working, and so does its child."""

import os
import subprocess
import sys

import numpy as np
import pytest

import sowreap as sr
from cases import assert_same
from forks import LIMIT, run_in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def parallel_call():
    rng = np.random.default_rng(0)
    data, indices = np.zeros((1000, 64), np.float32), rng.integers(0, 1000, (30_000, 1))
    updates = rng.normal(size=(30_000, 64)).astype(np.float32)
    return sr.scatter_nd(data, indices, updates, "add")


@pytest.mark.parametrize("threads", [2, 8])
def test_child_calls(threads):
    sr.set_num_threads(threads)
    want = parallel_call()
    run_in_child(lambda: assert_same(parallel_call(), want))
    assert_same(parallel_call(), want)


def test_child_changes_the_number_of_threads():
    sr.set_num_threads(2)
    want = parallel_call()

    def child():
        assert sr.get_num_threads() == 2
        for threads in (8, 1, 3):
            sr.set_num_threads(threads)
            assert_same(parallel_call(), want)

    run_in_child(child)
    assert sr.get_num_threads() == 2


def test_grandchild_calls():
    sr.set_num_threads(2)
    want = parallel_call()

    def child():
        assert_same(parallel_call(), want)
        run_in_child(lambda: assert_same(parallel_call(), want))

    run_in_child(child)


def test_first_parallel_call_in_the_child():
    """Nothing is set up before the fork. A process of its own, which ends in the ordinary way."""
    code = """
import os, sys, warnings
import numpy as np
import sowreap as sr
sr.set_num_threads(4)
warnings.simplefilter("ignore", DeprecationWarning)
run = lambda: sr.gather(np.zeros((1000, 1000)), np.arange(1000))
if "before" in sys.argv:
    run()
child = os.fork()
run()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    for when in ("before", "after"):
        subprocess.run([sys.executable, "-c", code, when], check=True, timeout=2 * LIMIT)


def test_multiprocessing_by_fork():
    code = """
import multiprocessing, warnings
import numpy as np
import sowreap as sr
warnings.simplefilter("ignore", DeprecationWarning)

def work(seed):
    data, ones = np.full((1000, 500), seed, np.float32), np.ones((3000, 500), np.float32)
    return float(sr.scatter_nd(data, np.zeros((3000, 1), int), ones, "add")[0, 0])

if __name__ == "__main__":
    sr.set_num_threads(2)
    work(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(6)) == [3000.0 + seed for seed in range(6)]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=4 * LIMIT)
