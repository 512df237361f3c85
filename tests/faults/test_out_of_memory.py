"""Memory that ends in the middle of a call: the right result or a MemoryError, nothing between."""

import sys

import pytest
from processes import run_process

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the limit on address space holds on Linux"
)

# The limit goes up in steps, so that it is met at each of the places that take memory: the result,
# blocks of columns, tables of small formats, threads.
CODE = """
import resource, sys
import ml_dtypes
import numpy as np
import sowreap as sr

sr.set_num_threads(4)
rng = np.random.default_rng(0)
square = rng.normal(size=(1024, 1024)).astype("f4")
index = rng.integers(0, 1024, (1024, 1024))
rows = rng.integers(0, 1024, (3000, 1))
updates = rng.normal(size=(3000, 1024)).astype("f4")
eighths = [getattr(ml_dtypes, name) for name in
           ("float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3", "int4", "uint4")]
small = [rng.integers(0, 5, 4096).astype(kind) for kind in eighths]
positions = rng.integers(0, 4096, 4096)

def calls(out):
    yield lambda: sr.gather_elements(square, index)
    yield lambda: sr.gather(square, rows[:, 0])
    yield lambda: sr.scatter_elements(square, index, square, reduction="add")
    yield lambda: sr.scatter_elements(out, index, square, reduction="add", out=out)
    yield lambda: sr.scatter_nd(out, rows, updates, "add", out=out)
    yield lambda: sr.tensor_scatter(square[None], square[None, :7])
    for array in small:
        yield lambda array=array: sr.scatter_elements(array, positions, array, reduction="mul")

def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

_, hard = resource.getrlimit(resource.RLIMIT_AS)
outcomes = {"right": 0, "no memory": 0}

# Returns the array that is worked on in place, and the result: None where memory was out.
def run(number, spare):
    out = square.copy()
    call = list(calls(out))[number]
    if spare is not None:
        resource.setrlimit(resource.RLIMIT_AS, (used() + spare, hard))
    try:
        got = call()
    except MemoryError:
        got = None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return out, got

spares = [int(spare) for spare in sys.argv[1:]]
for number in range(len(list(calls(square)))):
    met = [run(number, spare) for spare in spares]
    _, want = run(number, None)
    for out, got in met:
        if got is None:
            assert out.tobytes() == square.tobytes(), number
            outcomes["no memory"] += 1
        else:
            assert got.tobytes() == want.tobytes(), number
            outcomes["right"] += 1
print(outcomes["right"], outcomes["no memory"])
"""


def test_memory_ends_in_the_middle_of_a_call():
    spares = [0, *(1 << n for n in range(12, 28))]
    right, refused = map(int, run_process(CODE, *map(str, spares)).split())
    assert right + refused == 12 * len(spares)
    assert right > 50
    assert refused > 20


def test_result_that_no_memory_can_hold():
    code = """
import numpy as np, sowreap as sr
row = np.broadcast_to(np.float64(0), (1 << 20,))
many = np.broadcast_to(np.int64(0), (1 << 36,))
for call in (lambda: sr.gather(row[None], many), lambda: sr.gather_nd(row[None], many[:, None])):
    try:
        call()
    except MemoryError as error:
        print("MemoryError")
"""
    assert run_process(code) == "MemoryError\n" * 2
