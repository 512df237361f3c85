"""The first calls of a process come from many threads at once, which make tables and pools then."""

import pytest
from processes import run_process

CODE = """
import sys, threading
import ml_dtypes
import numpy as np
import sowreap as sr

CALLERS = 16
start = threading.Barrier(CALLERS)
rows = np.arange(3000) * 7 % 50
data = {
    name: np.arange(50 * 40).reshape(50, 40).astype(name)
    for name in ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint8", "S3"]
}
updates = {name: array[rows] for name, array in data.items()}
big = np.zeros((1 << 16, 40), "f4")  # a result for the pool

def calls():
    for name, array in data.items():
        yield sr.gather(array, rows)
        if name != "S3":
            yield sr.scatter_nd(array, rows[:, None], updates[name], "add")
    yield sr.gather([3, 1, 2], [0, 2])
    yield sr.gather(data["float16"], [0, 99], mode="fill", fill_value=7)
    yield sr.gather(big, np.arange(1 << 16))
    yield np.from_dlpack(sr.gather(data["float16"], rows))
    yield sr.gather(np.array(["a", None, 3], object), [2, 0])
    try:
        sr.gather(data["float16"], [1, 77])
    except sr.OutOfRangeError as error:
        yield np.array(error.position)

results = [None] * CALLERS

def caller(number):
    start.wait()
    results[number] = [array.tobytes() if array.dtype != object else array.tolist()
                       for array in calls()]

threads = [threading.Thread(target=caller, args=(n,)) for n in range(CALLERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
want = [array.tobytes() if array.dtype != object else array.tolist() for array in calls()]
print(sum(result != want for result in results), "differ of", len(results), "with", len(want))
"""


@pytest.mark.parametrize("attempt", range(3))
def test_first_calls_of_a_process_at_once(attempt):
    assert run_process(CODE) == "0 differ of 16 with 19\n"
