"""Random calls against the loops of the standard, and large ones against NumPy, for a given time.

    python -m tests.soak --seconds 180 --seed 1

Whatever differs is printed as a call to paste, with the number that draws it again::

    python -m tests.soak --seed 1 --case 4711
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from draw import Call, draw_large, draw_small
from peers import peer

import sowreap
from cases import assert_close, assert_same, call_reference, paste
from cases import call as call_public

LARGE_EVERY = 400  # calls; a large one takes as long as many small ones


def outcome(function: Any, *arguments: Any, **out: Any) -> Any:
    """Return the result of a call, or the facts of its refusal."""
    try:
        return function(*arguments, **out)
    except sowreap.SowreapError as error:
        facts = (error.operator, error.argument, error.position, error.value)
        return (type(error), *facts, error.axis, error.length)


def check_small(drawn: Call) -> None:
    """Result, refusal, inputs and everything beside them are as the loops say."""
    sowreap.set_num_threads(drawn.threads)
    before = {name: placed.snapshot() for name, placed in drawn.inputs.items()}
    want = outcome(call_reference, drawn.operator, drawn.arrays, drawn.attributes)
    first_name, first = next(iter(drawn.inputs.items()))
    wider = not isinstance(want, tuple) and want.dtype != first.array.dtype
    out = {"out": first.array} if drawn.in_place and not wider else {}
    beside = first.beside()
    got = outcome(call_public, drawn.operator, drawn.arrays, drawn.attributes, **out)
    if isinstance(want, tuple):
        assert got == want, f"{got} is not {want}"
    else:
        assert not isinstance(got, tuple), f"refused: {got}"
        assert_same(got, want)
    if out and not isinstance(want, tuple):
        assert got is first.array
        assert first.beside() == beside, "bytes beside the array changed"
        del before[first_name]
    for name, snapshot in before.items():
        assert drawn.inputs[name].snapshot() == snapshot, f"{name} changed"


def check_large(drawn: Call) -> None:
    """Several threads, one thread and NumPy agree."""
    sowreap.set_num_threads(drawn.threads)
    got = call_public(drawn.operator, drawn.arrays, drawn.attributes)
    sowreap.set_num_threads(1)
    assert_same(got, call_public(drawn.operator, drawn.arrays, drawn.attributes))
    want = peer(drawn.operator, drawn.arrays, drawn.attributes)
    # of two zeros NumPy's minimum takes either
    exact = drawn.attributes.get("reduction") not in ("min", "max")
    assert_close(got, want, 0, exact_bits=exact)


def describe(drawn: Call, number: int) -> str:
    """Return the call as a line, small arrays with their values."""
    if number % LARGE_EVERY == 0:
        words = [f"{name} {a.dtype}{list(a.shape)}" for name, a in drawn.arrays.items()]
        text = f"{drawn.operator}({', '.join(words)}, {drawn.attributes})"
    else:
        text = paste(drawn.operator, drawn.arrays, drawn.attributes)
    return f"{text}, {drawn.threads} threads{', in place' if drawn.in_place else ''}"


def run_case(seed: int, number: int) -> tuple[str, str | None]:
    """Return the operator, and what differs if anything does."""
    rng = np.random.default_rng([seed, number])
    is_large = number % LARGE_EVERY == 0
    drawn = draw_large(rng) if is_large else draw_small(rng)
    try:
        (check_large if is_large else check_small)(drawn)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return (
            drawn.operator,
            f"case {number} of seed {seed}: {reason}\n  {describe(drawn, number)}",
        )
    return drawn.operator, None


def main() -> int:
    """Run, report, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--calls", type=int, help="so many calls, however long they take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="only the case of this number")
    given = parser.parse_args()
    if given.case is not None:
        _, difference = run_case(given.seed, given.case)
        print(difference or "no difference")
        return 1 if difference else 0
    counts: Counter[str] = Counter()
    differences, number = 0, 0
    end = time.monotonic() + given.seconds
    while time.monotonic() < end if given.calls is None else number < given.calls:
        operator, difference = run_case(given.seed, number)
        counts[operator] += 1
        number += 1
        if difference:
            differences += 1
            print(difference, flush=True)
    by_operator = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
    large = -(-number // LARGE_EVERY)
    print(f"{number} calls, {large} of them large, {differences} differences ({by_operator})")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
