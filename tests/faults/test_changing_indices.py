"""Indices that change during the call, as another thread can make them: nothing beside is touched.

No thread is needed: the bytes of the indices and those of the output are one piece of a file that
is mapped twice, so that each write to the output makes an index that was good a bad one.
"""

import math
import mmap
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

import sowreap as sr

GUARD = 4096  # items before and behind the output, which a bad index would reach
MARK = 77
ITEMS = 50_000
AHEAD = 2500  # more than are resolved at a time


class Twice:
    """Items of a file between two guards, in two places of the memory."""

    def __init__(self, path):
        with path.open("w+b") as file:
            file.truncate(8 * (ITEMS + 2 * GUARD + AHEAD))
            self.first, self.second = (
                np.frombuffer(mmap.mmap(file.fileno(), 0), np.int64) for _ in range(2)
            )
        self.first[...] = MARK

    def out(self, shape):
        begin = GUARD + AHEAD
        return self.first[begin : begin + int(np.prod(shape))].reshape(shape)

    def indices(self, values, ahead=0):
        """Some that the output shows `ahead` items later than where they are."""
        begin = GUARD + AHEAD - ahead
        indices = self.second[begin : begin + values.size].reshape(values.shape)
        indices[...] = values
        return indices

    def check(self, ahead=0):
        assert (self.first[: GUARD + AHEAD - ahead] == MARK).all()
        assert (self.first[GUARD + AHEAD + ITEMS :] == MARK).all()


@pytest.fixture
def twice(tmp_path):
    return Twice(tmp_path / "bytes")


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"], autouse=True)
def threads(request):
    sr.set_num_threads(request.param)


def is_refused(call):
    try:
        call()
    except sr.OutOfRangeError:
        return True
    return False


@dataclass(frozen=True)
class Form:
    """Operators, good indices that meet all of the axis, and one beyond it that meets a guard."""

    scatter: Callable[..., np.ndarray] | None
    gather: Callable[..., np.ndarray]
    shape: tuple[int, ...]  # of data
    good: np.ndarray
    picked: tuple[int, ...]  # shape of what is gathered or scattered by these
    bad: int
    copied: bool = False  # the indices, before they are used


def elements(shape, axis, bad, constant=False):
    places = np.indices(shape)
    others = 0 if constant else places.sum(axis=0) - places[axis]
    good = (places[axis] + others + shape[axis] // 2) % shape[axis]
    operators = (
        partial(sr.scatter_elements, axis=axis),
        partial(sr.gather_elements, axis=axis),
    )
    return Form(*operators, shape, good, shape, bad, constant)


def tuples(shape, count, depth, bad):
    good = np.random.default_rng(0).integers(0, shape[:depth], (count, depth))
    return Form(sr.scatter_nd, sr.gather_nd, shape, good, (count, *shape[depth:]), bad)


def rows(form):
    """The same of gather, along the first axis."""
    return replace(form, scatter=None, gather=sr.gather, good=form.good[:, 0])


SCATTERS = {
    "elements, items": elements((ITEMS,), 0, ITEMS + 7),
    "elements, items before": elements((ITEMS,), 0, -ITEMS - 7),
    "elements, columns": elements((500, 100), 0, 505),
    "elements, constant rows": elements((500, 100), 0, 505, constant=True),
    "elements, batches": elements((5, 10_000), 1, 10_007),
    "nd, items": tuples((ITEMS,), ITEMS, 1, ITEMS + 7),
    "nd, rows": tuples((5000, 10), 20_000, 1, 5005),
    "nd, rows before": tuples((5000, 10), 20_000, 1, -5003),
    "nd, tuples": tuples((200, 250), 25_000, 2, 201),
    "nd, tuples of rows": tuples((250, 20, 10), 20_000, 2, 250),
}
GATHERS = SCATTERS | {
    f"rows of {name}": rows(form)
    for name, form in SCATTERS.items()
    if name in ("nd, items", "nd, rows", "nd, rows before")
}
REDUCTIONS = [
    {"reduction": "add"},
    {"reduction": "mean"},
    {"reduction": "max", "include_self": False},
    {"reduction": "mean", "include_self": False, "mode": "drop"},
]
each_scatter = pytest.mark.parametrize("form", SCATTERS.values(), ids=SCATTERS)


@each_scatter
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "drop"])
def test_scatter(form, mode, twice):
    out, indices = twice.out(form.shape), twice.indices(form.good)
    updates = np.full(form.picked, form.bad)
    refused = is_refused(lambda: form.scatter(out, indices, updates=updates, mode=mode, out=out))
    assert (out == form.bad).any()
    assert refused == (mode == "raise" and not form.copied)
    twice.check()


@each_scatter
@pytest.mark.parametrize(
    "joining", REDUCTIONS, ids=lambda joining: "-".join(map(str, joining.values()))
)
def test_scatter_with_reduction(form, joining, twice):
    out, indices = twice.out(form.shape), twice.indices(form.good)
    updates = np.full(form.picked, form.bad)
    is_refused(lambda: form.scatter(out, indices, updates=updates, out=out, **joining))
    assert (indices != form.good).any()
    twice.check()


# What a gather reads beyond data would be the mark of a guard: data is `bad` everywhere.
@pytest.mark.parametrize("form", GATHERS.values(), ids=GATHERS)
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_gather(form, mode, twice, tmp_path):
    source = Twice(tmp_path / "source")
    data, row = source.out(form.shape), form.picked[1:]
    data[...] = form.bad
    good = form.good[: ITEMS // math.prod(row)]
    out, indices = twice.out((len(good), *row)), twice.indices(good, AHEAD)
    refused = is_refused(lambda: form.gather(data, indices, mode=mode, out=out))
    assert (indices == form.bad).any()
    assert refused == (mode == "raise" and not form.copied)
    assert (out != MARK).all() or refused
    twice.check(AHEAD)


@pytest.mark.parametrize("bad", [9, -1, 2**62])
@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("rows", [20, ITEMS // 4])
def test_tensor_scatter(rows, mode, bad, twice):
    """A write index that was good when it was checked is folded into the axis."""
    cache, starts = twice.out((rows, 4)), twice.indices(np.zeros(rows, int))
    sr.tensor_scatter(cache, np.full((rows, 1), bad), starts, axis=1, mode=mode, out=cache)
    assert (starts == bad).any()
    twice.check()
    assert (twice.out((ITEMS,))[4 * rows :] == MARK).all()
