"""The interpreter ends while calls run: in daemon threads, in others, and in handlers at exit."""

import pytest
from processes import run_process

CODE = """
import atexit, sys, threading
import numpy as np
import sowreap as sr

sr.set_num_threads(4)
data, indices = np.zeros(1_000_000), np.arange(1_000_000)
rows, running = np.zeros((100_000, 1), int), threading.Semaphore(0)

def call(times):
    for _ in range(times):
        running.release()
        sr.gather(data, indices)
        sr.scatter_nd(data, rows, data[:100_000], "add")

def start(times, **kind):
    for _ in range(8):
        threading.Thread(target=call, args=(times,), **kind).start()
    for _ in range(8):
        running.acquire()

match sys.argv[1]:
    case "daemon":
        start(10**9, daemon=True)
    case "joined":
        start(20)
    case "raised":
        start(20)
        raise SystemExit(0)
    case "at exit":
        start(10**9, daemon=True)
        atexit.register(call, 5)
"""


@pytest.mark.parametrize("case", ["daemon", "joined", "raised", "at exit"])
def test_process_ends(case):
    for _ in range(3):
        assert run_process(CODE, case) == ""
