"""A signal during a long call: a call that makes its result is left, one into `out` is finished."""

import os
import sys

import pytest
from processes import run_process

from cases import memory_available

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")

BEGIN = """
import os, signal, sys, threading, time, traceback
import numpy as np
from numpy.lib.stride_tricks import as_strided
import sowreap as sr

sr.set_num_threads(int(sys.argv[1]))
main = threading.main_thread().ident

def is_in_call(frame):
    return frame.f_code.co_filename.endswith("_ops.py")

# Once `is_time`: the time is kept, and the signal sent.
def send(number, is_time=lambda: is_in_call(sys._current_frames()[main])):
    def wait():
        while not is_time():
            pass
        sent.append(time.perf_counter())
        os.kill(os.getpid(), number)

    sent = []
    threading.Thread(target=wait, daemon=True).start()
    return sent

def left(call, error, sent):
    try:
        call()
    except error as caught:
        print(f"left after {time.perf_counter() - sent[0]:.3f} s")
        assert any(is_in_call(frame) for frame, _ in traceback.walk_tb(caught.__traceback__))
        return
    raise AssertionError("the call was not left")

def small_call():
    rows = np.arange(300_000) % 1000
    return sr.scatter_nd(np.zeros((1000, 8)), rows[:, None], np.ones((300_000, 8)), "add")
"""

# Calls that would take hours: what they read has strides of 0, or overlaps itself.
ENDLESS = """
many = 2**36
def repeated(value, *shape):
    return np.broadcast_to(value, shape)

tuples, cells = repeated(3, many, 1), np.arange(64) % 50
def columns(reduction, count, **more):
    return sr.scatter_elements(np.zeros((100, 64)), repeated(cells, count, 64),
                               repeated(1.0, count, 64), 0, reduction, **more)
def rows(reduction, **more):
    return sr.scatter_nd(np.zeros((1000, 64)), tuples, repeated(1.0, many, 64), reduction, **more)

out = np.zeros(100)
calls = {
    "items": lambda: sr.scatter_nd(np.zeros(1000), tuples, repeated(1.0, many), "add"),
    "moved items": lambda: sr.scatter_nd(np.zeros(1000), tuples, repeated(1.0, many)),
    "dropped items": lambda: sr.scatter_nd(np.zeros(1), tuples, repeated(1.0, many), mode="drop"),
    "rows": lambda: rows("add"),
    "mean of rows": lambda: rows("mean"),
    "first updates of rows": lambda: rows("add", include_self=False),
    "columns": lambda: columns("add", many),
    "mean of columns": lambda: columns("mean", 2**32 - 1),
    "batches": lambda: sr.scatter_elements(
        np.zeros((64, 100)), repeated(cells[:, None], 64, many), repeated(1.0, 64, many), 1, "add"),
    "indices of out": lambda: sr.scatter_nd(
        out, as_strided(np.zeros(2**21, np.int8), (2**20, 2**20, 1), (1, 1, 1)),
        repeated(1.0, 2**20, 2**20), out=out),
}
name = sys.argv[2]
"""

LEFT = """
left(calls[name], KeyboardInterrupt, send(signal.SIGINT))
assert not out.any()
assert (small_call() == 300).all()
"""

KINDS = [
    "items",
    "moved items",
    "dropped items",
    "rows",
    "mean of rows",
    "first updates of rows",
    "columns",
    "mean of columns",
    "batches",
    "indices of out",
]


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_without_end_is_left(kind, threads):
    print(run_process(BEGIN + ENDLESS + LEFT, threads, kind))


RAISES = """
class Late(Exception):
    pass

def handler(number, frame):
    raise Late

signal.signal(signal.SIGTERM, handler)
left(calls[name], Late, send(signal.SIGTERM))
"""


def test_what_the_handler_raises_is_raised():
    print(run_process(BEGIN + ENDLESS + RAISES, "2", "rows"))


# How far a call into new memory got is how much of it has become resident.
RESULT = """
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

gigabyte, side = 2**30, 2**14
many_rows = repeated(cells[np.arange(2 * side) % 64], 4 * side, 2 * side)
one = repeated(np.uint8(1), 2, 1)
calls = {
    "rows": lambda: sr.gather(np.zeros((4, gigabyte), np.uint8), [1, 2]),
    "many rows": lambda: sr.gather(np.zeros((side, side), np.uint8), np.arange(8 * side) % side),
    "items": lambda: sr.gather(np.zeros(1000, np.uint8), repeated(np.int8(5), 2 * gigabyte)),
    "tuples": lambda: sr.gather_nd(np.zeros((8, 8)), repeated(np.int8(5), gigabyte // 4, 2)),
    "columns": lambda: sr.gather_elements(repeated(np.uint8(0), 100, 2 * side), many_rows),
    "lanes": lambda: sr.gather(repeated(np.uint8(0), gigabyte, 2), [0, 1], axis=1),
    "copy": lambda: sr.scatter_nd(repeated(0.0, gigabyte // 4), [[1]], [1.0]),
    "cache": lambda: sr.tensor_scatter(repeated(np.uint8(0), 2, gigabyte), one, axis=1),
}
before = resident()
left(calls[name], KeyboardInterrupt, send(signal.SIGINT, lambda: resident() > before + 2**26))
# Of this program alone: what getrusage tells counts the process that started it.
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))
assert peak < before + 1.5 * gigabyte, peak
print(f"{(peak - before) / 2**20:.0f} MB of {2 * gigabyte / 2**20:.0f} MB")
assert resident() < before + 2**25
"""


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read as Linux tells it")
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize(
    "kind", ["rows", "many rows", "items", "tuples", "columns", "lanes", "copy", "cache"]
)
def test_a_large_result_is_left_and_freed(kind, threads, monkeypatch):
    if memory_available() < 3 << 30:
        pytest.skip("needs 3 GB of memory, should the call not be left")
    monkeypatch.setenv("SOWREAP_POOL_LIMIT", "0")
    print(run_process(BEGIN + ENDLESS + RESULT, threads, kind))


# A handler that returns lets the call go on. It calls sowreap itself, and forks.
GOES_ON = """
handled, children = [], []

def handler(number, frame):
    if is_in_call(frame):
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert (small_call() == 300).all()
        handled.append(os.getpid())
        if sys.argv[2] == "fork":
            children.append(os.fork())

signal.signal(signal.SIGALRM, handler)
index, updates = np.arange(4_000_000) % 1000, repeated(1.0, 4_000_000, 16)
while not handled:
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    assert (sr.scatter_nd(np.zeros((1000, 16)), index[:, None], updates, "add") == 4000).all()
if children == [0]:
    os._exit(7)
for child in children:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("right")
"""


@pytest.mark.parametrize("threads", ["1", "2", "8"])
@pytest.mark.parametrize("what", ["return", "fork"])
def test_handler_that_returns(what, threads):
    assert run_process(BEGIN + ENDLESS + GOES_ON, threads, what) == "right\n"


# The child has no such call, and makes others.
FORK = """
def fork():
    while not is_in_call(sys._current_frames()[main]):
        pass
    child = os.fork()
    if child == 0:
        os._exit(5 if (small_call() == 300).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

sent = []
threading.Thread(target=fork, daemon=True).start()
left(calls[name], KeyboardInterrupt, sent)
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_fork_of_another_thread(threads):
    print(run_process(BEGIN + ENDLESS + FORK, threads, "rows"))


# Sent once the first element is written.
WHOLE = """
count = 20_000_000
out = np.zeros(1000)
rows = np.broadcast_to(np.arange(1000), (count // 1000, 1000)).reshape(-1, 1)
updates = np.broadcast_to(1.0, (count,))
sent = send(signal.SIGINT, lambda: out[0] != 0)
try:
    sr.scatter_nd(out, rows, updates, "add", out=out)
    time.sleep(60)
except KeyboardInterrupt:
    print(f"raised after {time.perf_counter() - sent[0]:.3f} s")
assert (out == count // 1000).all(), out
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_array_that_is_written_into_is_whole(threads):
    print(run_process(BEGIN + WHOLE, threads))
