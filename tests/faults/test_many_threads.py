"""Sixty-four threads call at once, each its own mix of operators, good calls and bad."""

from processes import run_process

CODE = """
import sys, threading
import numpy as np
import sowreap as sr

CALLERS, ROUNDS = 64, 12
start = threading.Barrier(CALLERS)
failures = []

def call(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 500, (4000, 1))
    updates = rng.normal(size=(4000, 40)).astype("f4")
    index = rng.integers(-300, 300, (300, 200))
    cache = np.zeros((4, 300, 32), "f4")
    results = [
        sr.scatter_nd(np.zeros((500, 40), "f4"), rows, updates, "add"),
        sr.gather(updates, rows[:, 0]),
        sr.gather_elements(updates[:300, :], index[:, :40]),
        sr.scatter_elements(np.zeros((300, 200)), index, index * 0.5, reduction="max"),
        sr.tensor_scatter(cache, cache[:, :5] + seed, rows[:4, 0] % 290, axis=1),
    ]
    try:
        sr.gather(updates, np.where(np.arange(4000) == seed, 4000, 0))
    except sr.OutOfRangeError as error:
        results.append(np.array(error.position))
    return results

wanted = [call(seed) for seed in range(CALLERS)]

def caller(number):
    start.wait()
    for round in range(ROUNDS):
        seed = (number * 7 + round) % CALLERS
        for got, want in zip(call(seed), wanted[seed], strict=True):
            if got.tobytes() != want.tobytes():
                failures.append((number, round))

threads = [threading.Thread(target=caller, args=(n,)) for n in range(CALLERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(failures), "failures")
"""


def test_sixty_four_threads_at_once():
    assert run_process(CODE) == "0 failures\n"
