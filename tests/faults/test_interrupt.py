"""Ctrl-C during a long call: the call is finished, then KeyboardInterrupt is raised."""

import os

import pytest
from processes import run_process

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")

# The signal is sent once the call is seen to be at work: its first element is written.
CODE = """
import os, signal, sys, threading, time
import numpy as np
import sowreap as sr

sr.set_num_threads(int(sys.argv[1]))
count = 20_000_000
out = np.zeros(1000)
rows = np.broadcast_to(np.arange(1000), (count // 1000, 1000)).reshape(-1, 1)
updates = np.broadcast_to(1.0, (count,))
times = {}

def interrupt():
    while out[0] == 0:
        pass
    times["signal"] = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

thread = threading.Thread(target=interrupt)
try:
    thread.start()
    sr.scatter_nd(out, rows, updates, "add", out=out)
    returned = True
    thread.join()
    print("not interrupted")
except KeyboardInterrupt:
    times["raised"] = time.perf_counter()
thread.join()
assert (out == count // 1000).all(), out
print("whole")
if "times" in sys.argv:
    print("raised after", times["raised"] - times["signal"])
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_array_is_whole(threads):
    assert run_process(CODE, threads) == "whole\n"
