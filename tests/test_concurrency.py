"""Calls from several threads at once."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sowreap as sr
from cases import OPERATORS, SCATTERS, assert_same, call, sample_call

CALLERS = 8
ROUNDS = 6


def at_once(run):
    """Call `run(number)` in each of eight threads, let go by a barrier in every round."""
    start = threading.Barrier(CALLERS)

    def caller(number):
        for _ in range(ROUNDS):
            start.wait()
            run(number)

    with ThreadPoolExecutor(CALLERS) as pool:
        for done in [pool.submit(caller, number) for number in range(CALLERS)]:
            done.result()


@pytest.mark.parametrize("scale", [1, 400])
@pytest.mark.parametrize("operator", OPERATORS)
def test_same_inputs(operator, scale):
    inputs, attributes = sample_call(operator, np.dtype(np.float32), scale)
    if operator in ("scatter_elements", "scatter_nd"):
        attributes["reduction"] = "add"
    want = call(operator, inputs, attributes)
    at_once(lambda number: assert_same(call(operator, inputs, attributes), want))


def test_different_calls():
    """Small and large, all operators, some refused."""
    prepared = []
    for number in range(CALLERS):
        operator = OPERATORS[number % len(OPERATORS)]
        inputs, attributes = sample_call(operator, np.dtype(np.float64), 200, seed=number)
        prepared.append((operator, inputs, attributes, call(operator, inputs, attributes)))

    def run(number):
        operator, inputs, attributes, want = prepared[number]
        assert_same(call(operator, inputs, attributes), want)
        with pytest.raises(sr.OutOfRangeError, match=rf"indices\[{number}\] = 99 "):
            sr.gather(np.zeros(9), np.where(np.arange(9) == number, 99, 0))

    at_once(run)


@pytest.mark.parametrize("operator", SCATTERS)
def test_disjoint_parts_of_one_array_in_place(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32), 60)
    name, first = next(iter(inputs.items()))
    want = call(operator, inputs, attributes)
    shared = np.stack([first] * CALLERS)

    def run(number):
        shared[number] = first
        part = shared[number]
        call(operator, {**inputs, name: part}, attributes, out=part)
        assert_same(part, want)

    at_once(run)


def test_number_of_threads_changes_meanwhile():
    rng = np.random.default_rng(0)
    data, indices = np.zeros((50, 64), np.float32), rng.integers(0, 50, (20_000, 1))
    updates = rng.normal(size=(20_000, 64)).astype(np.float32)
    want = data.copy()
    np.add.at(want, indices[:, 0], updates)

    def run(number):
        sr.set_num_threads(1 + number)
        assert_same(sr.scatter_nd(data, indices, updates, "add"), want)

    at_once(run)


def test_the_process_ends_while_daemon_threads_call():
    code = """
import threading, time
import numpy as np
import sowreap as sr
data, indices = np.zeros(2_000_000), np.arange(2_000_000)
def call():
    while True:
        sr.gather(data, indices)
for _ in range(3):
    threading.Thread(target=call, daemon=True).start()
time.sleep(0.3)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
