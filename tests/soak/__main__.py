"""Random calls against the loops of the standard, and large ones against NumPy, for a given time.

    python -m tests.soak --seconds 180 --seed 1

Whatever differs is printed as a call to paste, with the command that draws it again::

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

from draw import Call, Source, draw_large, draw_layout, draw_medium, draw_small
from peers import peer

import sowreap
from cases import SCATTERS, Placed, assert_same, call_reference, paste
from cases import call as call_public

MEDIUM_EVERY = 20  # calls
LARGE_EVERY = 1000  # a large one takes as long as many small ones
REPORT_EVERY = 50_000


def outcome(function: Any, *arguments: Any, **out: Any) -> Any:
    """Return the result of a call, or the facts of its refusal."""
    try:
        return function(*arguments, **out)
    except sowreap.SowreapError as error:
        facts = (error.operator, error.argument, error.position, error.value)
        return (type(error), *facts, error.axis, error.length)


def check_small(drawn: Call, source: Source) -> None:
    """Result, refusal, inputs and everything beside them are as the loops say."""
    sowreap.set_num_threads(drawn.threads)
    want = outcome(call_reference, drawn.operator, drawn.arrays, drawn.attributes)
    refused = isinstance(want, tuple)
    target = target_of(drawn, want, source)
    before = {name: placed.snapshot() for name, placed in drawn.inputs.items()}
    whole, beside = (target.snapshot(), target.beside()) if target else (None, None)
    out = {"out": target.array} if target else {}
    got = outcome(call_public, drawn.operator, drawn.arrays, drawn.attributes, **out)
    if refused:
        assert got == want, f"{got} is not {want}"
    else:
        assert not isinstance(got, tuple), f"refused: {got}"
        assert_same(got, want)
    if target and refused:
        assert target.snapshot() == whole, "out changed"
    elif target:
        assert got is target.array
        assert target.beside() == beside, "bytes beside out changed"
    for name, placed in drawn.inputs.items():
        if placed is not target:
            assert placed.snapshot() == before[name], f"{name} changed"


def target_of(drawn: Call, want: Any, source: Source) -> Placed | None:
    """Return where the result goes, None for a new array. A wider result does not fit the input."""
    first = next(iter(drawn.inputs.values()))
    array = want
    if isinstance(want, tuple):
        if drawn.operator not in SCATTERS:
            return None
        array = first.array
    if drawn.out == "in place":
        return first if array.dtype == first.array.dtype else None
    if drawn.out == "elsewhere":
        values = source.values(drawn.dtype, array.shape).astype(array.dtype)
        return draw_layout(source, values, writable=True)
    return None


def check_by_numpy(drawn: Call) -> None:
    """Several threads, one thread and NumPy agree."""
    arrays = drawn.arrays
    sowreap.set_num_threads(1)
    one = call_public(drawn.operator, arrays, drawn.attributes)
    want = peer(drawn.operator, arrays, drawn.attributes)
    sowreap.set_num_threads(drawn.threads)
    first = next(iter(arrays.values()))
    out = {"out": first} if drawn.out == "in place" and one.dtype == first.dtype else {}
    got = call_public(drawn.operator, arrays, drawn.attributes, **out)
    assert_same(got, one)
    if drawn.attributes.get("reduction") in ("min", "max"):  # of two zeros NumPy takes either
        got, want = got + 0, want + 0
    assert_same(got, want)


def draw_case(seed: int, number: int) -> tuple[Call, Source, bool]:
    """Return a call, what it was drawn from, and whether it is a small one."""
    source = Source(seed, number)
    if number % MEDIUM_EVERY:
        return draw_small(source), source, True
    return (draw_medium if number % LARGE_EVERY else draw_large)(source), source, False


def describe(drawn: Call, is_small: bool) -> str:
    """Return the call as a line, small arrays with their values."""
    if is_small:
        text = paste(drawn.operator, drawn.arrays, drawn.attributes)
    else:
        words = [f"{name} {a.dtype}{list(a.shape)}" for name, a in drawn.arrays.items()]
        text = f"{drawn.operator}({', '.join(words)}, {drawn.attributes})"
    return f"{text}, {drawn.threads} threads{', out ' * bool(drawn.out)}{drawn.out}"


def run_case(seed: int, number: int) -> tuple[str, str | None]:
    """Return the operator, and what differs if anything does."""
    drawn, source, is_small = draw_case(seed, number)
    try:
        if is_small:
            check_small(drawn, source)
        else:
            check_by_numpy(drawn)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        again = f"python -m tests.soak --seed {seed} --case {number}"
        before, *_ = draw_case(seed, number)  # a call in place has changed its own
        return drawn.operator, f"{reason}\n  {again}\n  {describe(before, is_small)}"
    return drawn.operator, None


def report(counts: Counter[str], differences: int) -> None:
    """Print how many calls there were so far."""
    number = counts.total()
    by_operator = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
    large, others = (-(-number // every) for every in (LARGE_EVERY, MEDIUM_EVERY))
    print(
        f"{number} calls, {others - large} of them medium and {large} large, "
        f"{differences} differences ({by_operator})",
        flush=True,
    )


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
        if number % REPORT_EVERY == 0:
            report(counts, differences)
    report(counts, differences)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
