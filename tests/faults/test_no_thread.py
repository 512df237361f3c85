"""A call goes on with the threads that there are when the system has no more."""

import sys

import pytest
from processes import run_process

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the limit on processes counts threads on Linux"
)

CODE = """
import os, resource, sys, threading
import numpy as np
import sowreap as sr

sr.set_num_threads(8)
rng = np.random.default_rng(0)
data, rows = np.zeros((1000, 64), "f4"), rng.integers(0, 1000, (30_000, 1))
updates = rng.normal(size=(30_000, 64)).astype("f4")

def call():
    return sr.scatter_nd(data, rows, updates, "add").tobytes()

sr.set_num_threads(1)
want = call()
sr.set_num_threads(int(sys.argv[1]))
if sys.argv[1] == "3":  # some workers run already
    assert call() == want
    sr.set_num_threads(8)
if os.getuid() == 0:
    os.setuid(65534)  # the limit does not hold for root
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
try:
    threading.Thread(target=print).start()
    print("a thread started")
except RuntimeError:
    pass
for _ in range(3):
    assert call() == want
assert sr.get_num_threads() == 8
"""


@pytest.mark.parametrize("before", ["8", "3"])
def test_no_further_thread_starts(before):
    assert run_process(CODE, before) == ""
