"""Indices that change during the call, as another thread can make them: nothing beside is touched.

No thread is needed: the bytes of the indices and those of the output are one piece of a file that
is mapped twice, so that each write to the output makes an index that was good a bad one.
"""

import mmap

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


# Shapes, and an index beyond the axis that still meets a guard.
ELEMENTS = {  # shape, axis
    "items": ((ITEMS,), 0, ITEMS + 7),
    "items before": ((ITEMS,), 0, -ITEMS - 7),
    "columns": ((500, 100), 0, 505),
    "constant rows": ((500, 100), 0, 505),
    "batches": ((5, 10_000), 1, 10_007),
}
TUPLES = {  # shape of data, of indices
    "items": ((ITEMS,), (ITEMS, 1), ITEMS + 7),
    "rows": ((5000, 10), (20_000, 1), 5005),
    "rows before": ((5000, 10), (20_000, 1), -5003),
    "tuples": ((200, 250), (25_000, 2), 201),
    "tuples of rows": ((250, 20, 10), (20_000, 2), 250),
}
REDUCTIONS = [
    {"reduction": "add"},
    {"reduction": "mean"},
    {"reduction": "max", "include_self": False},
    {"reduction": "mean", "include_self": False, "mode": "drop"},
]
each_reduction = pytest.mark.parametrize(
    "joining", REDUCTIONS, ids=lambda joining: "-".join(map(str, joining.values()))
)


def elements(form):
    """Indices that are good, on which all of the axis is met."""
    shape, axis, _ = ELEMENTS[form]
    places = np.indices(shape)
    others = 0 if form == "constant rows" else places.sum(axis=0) - places[axis]
    return (places[axis] + others + shape[axis] // 2) % shape[axis]


def tuples(form):
    shape, count, _ = TUPLES[form]
    return np.random.default_rng(0).integers(0, shape[: count[1]], count)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "drop"])
@pytest.mark.parametrize("form", ELEMENTS)
def test_scatter_elements(form, mode, twice):
    shape, axis, bad = ELEMENTS[form]
    out, indices = twice.out(shape), twice.indices(elements(form))
    refused = is_refused(
        lambda: sr.scatter_elements(out, indices, np.full(shape, bad), axis, mode=mode, out=out)
    )
    assert (out == bad).any()
    assert refused == (mode == "raise" and form != "constant rows")  # whose values are kept apart
    twice.check()


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "drop"])
@pytest.mark.parametrize("form", TUPLES)
def test_scatter_nd(form, mode, twice):
    shape, count, bad = TUPLES[form]
    out, indices = twice.out(shape), twice.indices(tuples(form))
    updates = np.full((count[0], *shape[count[1] :]), bad)
    refused = is_refused(lambda: sr.scatter_nd(out, indices, updates, mode=mode, out=out))
    assert (out == bad).any()
    assert refused == (mode == "raise")
    twice.check()


@each_reduction
@pytest.mark.parametrize("form", ["items", "columns", "constant rows", "batches"])
def test_scatter_elements_with_reduction(form, joining, twice):
    shape, axis, bad = ELEMENTS[form]
    good = elements(form)
    out, indices = twice.out(shape), twice.indices(good)
    is_refused(
        lambda: sr.scatter_elements(out, indices, np.full(shape, bad), axis, out=out, **joining)
    )
    assert (indices != good).any()
    twice.check()


@each_reduction
@pytest.mark.parametrize("form", ["items", "rows", "tuples", "tuples of rows"])
def test_scatter_nd_with_reduction(form, joining, twice):
    shape, count, bad = TUPLES[form]
    good = tuples(form)
    out, indices = twice.out(shape), twice.indices(good)
    updates = np.full((count[0], *shape[count[1] :]), bad)
    is_refused(lambda: sr.scatter_nd(out, indices, updates, out=out, **joining))
    assert (indices != good).any()
    twice.check()


# What a gather reads beyond data would be the mark of a guard: data is `bad` everywhere.
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
@pytest.mark.parametrize("form", ELEMENTS)
def test_gather_elements(form, mode, twice, tmp_path):
    shape, axis, bad = ELEMENTS[form]
    source = Twice(tmp_path / "source")
    data = source.out(shape)
    data[...] = bad
    out, indices = twice.out(shape), twice.indices(elements(form), AHEAD)
    refused = is_refused(lambda: sr.gather_elements(data, indices, axis, mode=mode, out=out))
    assert (indices == bad).any()
    assert refused == (mode == "raise" and form != "constant rows")
    assert (out != MARK).all() or refused
    twice.check(AHEAD)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
@pytest.mark.parametrize(
    ("operator", "form"),
    [
        *(("gather", form) for form, (_, count, _) in TUPLES.items() if count[1] == 1),
        *(("gather_nd", form) for form in TUPLES),
    ],
)
def test_gather(operator, form, mode, twice, tmp_path):
    shape, (_, depth), bad = TUPLES[form]
    row = shape[depth:]
    picks = ITEMS // max(int(np.prod(row, dtype=int)), depth)
    source = Twice(tmp_path / "source")
    data, out = source.out(shape), twice.out((picks, *row))
    data[...] = bad
    indices = twice.indices(np.resize(tuples(form), (picks, depth)), AHEAD)
    given = indices[:, 0] if operator == "gather" else indices
    refused = is_refused(lambda: getattr(sr, operator)(data, given, mode=mode, out=out))
    assert (indices == bad).any()
    assert refused == (mode == "raise")
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
