"""Rows of few indices, done many at a time: their layouts, modes and dtypes, beside the loop."""

import ml_dtypes
import numpy as np
import pytest

import sowreap as sr
from cases import assert_same, random_values, reductions_of
from sowreap import _core, _reference

ROWS = 300


def layouts(array):
    """The same items, contiguous and not."""
    yield "contiguous", array
    yield "every second row", np.repeat(array, 2, 0)[::2]
    yield "backwards", np.ascontiguousarray(array[::-1])[::-1]
    wide = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
    wide[..., : array.shape[-1]] = array
    yield "with a gap", wide[..., : array.shape[-1]]
    yield "other order", array.copy(order="F")


def arrays(shape, picks, dtype=np.float32, index=np.int64, seed=0):
    """Data, indices along axis 1, and updates."""
    rng = np.random.default_rng(seed)
    own = (shape[0], picks, *shape[2:])
    draw = [rng.integers(0, 9, s).astype(dtype) for s in (shape, own)]
    low = 0 if np.dtype(index).kind == "u" else -shape[1]
    return draw[0], rng.integers(low, shape[1], own).astype(index), draw[1]


SHAPES = [
    ((ROWS, 8), 2),
    ((ROWS, 8), 8),
    ((ROWS, 5), 1),
    ((ROWS, 1), 3),
    ((ROWS, 70), 64),
    ((ROWS, 70), 65),
    ((ROWS, 4, 3), 4),
    ((ROWS, 4, 3), 1),
    ((ROWS, 16, 4), 16),
    ((ROWS, 3, 2, 2), 5),
]


def form_of(operator, *inputs, **attributes):
    text = _core.explain_plan(operator, *inputs, **attributes)
    return next(line for line in text.splitlines() if line.startswith("form")).split(",")[0]


@pytest.mark.parametrize(("shape", "picks"), SHAPES)
def test_which_rows_are_short(shape, picks):
    data, indices, updates = arrays(shape, picks)
    values = picks * int(np.prod(shape[2:]))
    text = form_of("scatter_elements", data, indices, updates, axis=1)
    short = values <= 64 and values > 1
    assert (text == "form: rows") == short


@pytest.mark.parametrize("index", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize(("shape", "picks"), SHAPES)
def test_layouts(shape, picks, index):
    data, indices, updates = arrays(shape, picks, index=index)
    want = {r: _reference.scatter_elements(data, indices, updates, 1, r) for r in ("none", "add")}
    gathered = np.take_along_axis(data, indices.astype(np.int64), 1)
    for name, other in layouts(data):
        np.testing.assert_array_equal(sr.gather_elements(other, indices, 1), gathered, name)
        for reduction in want:
            got = sr.scatter_elements(other, indices, updates, 1, reduction)
            np.testing.assert_array_equal(got, want[reduction], name)
    for name, other in layouts(indices):
        np.testing.assert_array_equal(sr.gather_elements(data, other, 1), gathered, name)
    for name, other in layouts(updates):
        got = sr.scatter_elements(data, indices, other, 1, "add")
        np.testing.assert_array_equal(got, want["add"], name)
    for name, out in list(layouts(data.copy())):
        assert sr.scatter_elements(out, indices, updates, 1, "add", out=out) is out
        np.testing.assert_array_equal(out, want["add"], name)
    for name, out in list(layouts(np.zeros_like(gathered))):
        assert sr.gather_elements(data, indices, 1, out=out) is out
        np.testing.assert_array_equal(out, gathered, name)


DTYPES = ["bool", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
DTYPES += ["longdouble", "complex64", "complex128", "float8_e4m3fn", "uint4", "S3", "V12", "V16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    numbers = arrays((ROWS, 6), 4)
    if dtype[0] in "SV":
        raw = np.random.default_rng(1).integers(1, 99, (ROWS, 6, kind.itemsize), np.uint8)
        data, updates = raw.view(kind)[..., 0], raw[:, 2:].copy().view(kind)[..., 0]
    else:
        data, updates = numbers[0].astype(kind), numbers[2].astype(kind)
    indices = numbers[1]
    want = data[np.arange(ROWS)[:, None], indices]
    assert sr.gather_elements(data, indices, 1).tobytes() == want.tobytes()
    reductions = ["none"]
    if kind.kind not in "SV" or dtype in ("bfloat16", "float8_e4m3fn", "uint4"):
        reductions += ["add", "mul"] if kind.kind == "c" else ["add", "mul", "min", "max"]
    for reduction in reductions:
        got = sr.scatter_elements(data, indices, updates, 1, reduction)
        want = _reference.scatter_elements(data, indices, updates, 1, reduction)
        if kind.itemsize == 1:  # NaN of formats that NumPy does not know
            got, want = got.view(f"u{kind.itemsize}"), want.view(f"u{kind.itemsize}")
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("shape", "picks"), [((ROWS, 8), 3), ((ROWS, 4, 3), 2)])
def test_modes(shape, picks):
    data, indices, updates = arrays(shape, picks)
    indices = indices * 3 + 1
    for mode in ("wrap", "clip", "fill"):
        extra = {"fill_value": -7} if mode == "fill" else {}
        got = sr.gather_elements(data, indices, 1, mode=mode, **extra)
        want = _reference.gather_elements(data, indices, 1, mode=mode, **extra)
        np.testing.assert_array_equal(got, want)
    for mode in ("wrap", "clip", "drop"):
        for reduction in ("none", "add", "max"):
            got = sr.scatter_elements(data, indices, updates, 1, reduction, mode=mode)
            want = _reference.scatter_elements(data, indices, updates, 1, reduction, mode=mode)
            np.testing.assert_array_equal(got, want)
    counted = sr.scatter_elements(data, indices, updates, 1, "mean", mode="drop")
    want = _reference.scatter_elements(data, indices, updates, 1, "mean", mode="drop")
    np.testing.assert_array_equal(counted, want)


@pytest.mark.parametrize("shape", [(ROWS, 8), (ROWS, 200)])  # rows near each other, and apart
@pytest.mark.parametrize(
    "dtype", ["int8", "bfloat16", "float32", "float64", "complex128", "clongdouble", "uint4", "V12"]
)
def test_absent_cells(dtype, shape):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(3)
    indices = rng.integers(-shape[1] - 3, shape[1] + 3, (ROWS, 5))
    if dtype == "V12":
        raw = rng.integers(1, 99, (*shape, 12), np.uint8)
        data, updates = raw.view(kind)[..., 0], raw[:, :5].copy().view(kind)[..., 0]
        fill = np.zeros((), kind)[()]
    else:
        data, updates = (random_values(rng, kind, (ROWS, n)) for n in (shape[1], 5))
        fill = 3
    want = _reference.gather_elements(data, indices, 1, mode="fill", fill_value=fill)
    for _, other in layouts(data):
        assert_same(sr.gather_elements(other, indices, 1, mode="fill", fill_value=fill), want)
    for _, out in list(layouts(np.zeros_like(want))):
        sr.gather_elements(data, indices, 1, mode="fill", fill_value=fill, out=out)
        assert_same(out, want)
    for reduction in reductions_of(kind):
        want = _reference.scatter_elements(data, indices, updates, 1, reduction, mode="drop")
        for _, other in layouts(updates):
            assert_same(sr.scatter_elements(data, indices, other, 1, reduction, mode="drop"), want)
        for _, out in list(layouts(data.copy())):
            sr.scatter_elements(out, indices, updates, 1, reduction, mode="drop", out=out)
            assert_same(out, want)


@pytest.mark.parametrize(
    ("shape", "picks"), [((ROWS, 8), 5), ((ROWS, 40), 10), ((ROWS, 40), 9), ((ROWS, 4, 3), 3)]
)
@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.complex64])
@pytest.mark.parametrize("include_self", [True, False])
def test_counted_updates(shape, picks, dtype, include_self):
    data, indices, updates = arrays(shape, picks, dtype)
    indices[::7] *= 2  # some are absent
    options = {"include_self": include_self, "mode": "drop"}
    for reduction in ("mean", "add"):
        want = _reference.scatter_elements(data, indices, updates, 1, reduction, **options)
        for _, other in layouts(updates):
            got = sr.scatter_elements(data, indices, other, 1, reduction, **options)
            assert_same(got, want)
        for _, out in list(layouts(data.copy())):
            sr.scatter_elements(out, indices, updates, 1, reduction, **options, out=out)
            assert_same(out, want)


def test_counted_updates_by_threads():
    data, indices, updates = arrays((60_000, 8), 5)
    want = None
    for threads in (1, 2, 3):
        sr.set_num_threads(threads)
        got = sr.scatter_elements(data, indices, updates, 1, "mean")
        want = got if want is None else want
        assert_same(got, want)
    some = slice(0, None, 997)
    loop = _reference.scatter_elements(data[some], indices[some], updates[some], 1, "mean")
    assert_same(want[some], loop)


@pytest.mark.parametrize("row", [0, 150, ROWS - 1])
@pytest.mark.parametrize("value", [8, -9, 2**40])
def test_a_bad_index_changes_nothing(value, row):
    data, indices, updates = arrays((ROWS, 8), 4)
    indices[row, 2] = value
    before, message = data.copy(), rf"indices\[{row}, 2\] = {value}"
    for out in (None, data):
        with pytest.raises(IndexError, match=message):
            sr.scatter_elements(data, indices, updates, 1, "add", out=out)
    with pytest.raises(IndexError, match=message):
        sr.gather_elements(data, indices, 1)
    np.testing.assert_array_equal(data, before)


@pytest.mark.parametrize(("shape", "picks"), [((80_000, 8), 5), ((30_000, 6, 4), 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_threads(shape, picks, dtype):
    """The last also in an output that is streamed: of 32 MB and more."""
    data, indices, updates = arrays(shape, picks, dtype)
    many = [np.concatenate([a] * 16) for a in (data, indices, updates)]
    for inputs in ((data, indices, updates), many):
        results = []
        for threads in (1, 2, 3):
            sr.set_num_threads(threads)
            added = sr.scatter_elements(*inputs, 1, "add")
            gathered = sr.gather_elements(*inputs[:2], 1)
            results.append((added.tobytes(), gathered.tobytes()))
        assert len(set(results)) == 1
        want = np.take_along_axis(inputs[0], inputs[1] % shape[1], 1)
        np.testing.assert_array_equal(gathered, want)
        cells = inputs[0].copy()
        rows = np.indices(inputs[1].shape, sparse=True)
        np.add.at(cells, (rows[0], inputs[1], *rows[2:]), inputs[2])
        np.testing.assert_array_equal(added, cells)
        inputs = None


@pytest.mark.parametrize("items", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.complex64])
def test_runs_of_a_few_bytes(items, dtype):
    """Two, four, eight and sixteen bytes are moved as one item."""
    rng = np.random.default_rng(items)
    data = rng.integers(0, 99, (50, 9, items)).astype(dtype)
    picks = rng.integers(-9, 9, (50, 4, 1))
    updates = rng.integers(0, 99, (50, 4, items)).astype(dtype)
    got = sr.gather_nd(data, picks, batch_dims=1)
    np.testing.assert_array_equal(got, np.take_along_axis(data, picks, 1))
    rows = rng.integers(-50, 50, 70)
    for _, other in layouts(data):
        np.testing.assert_array_equal(sr.gather(other, rows), data[rows])
        for reduction in ("none", "add"):
            got = sr.scatter_nd(other, rows[:40, None], np.ones((40, 9, items), dtype), reduction)
            want = _reference.scatter_nd(
                data, rows[:40, None], np.ones((40, 9, items), dtype), reduction
            )
            np.testing.assert_array_equal(got, want)
    filled = sr.gather(data, np.array([99, 3]), mode="fill", fill_value=5)
    np.testing.assert_array_equal(filled, np.stack([np.full((9, items), 5, dtype), data[3]]))
    index = np.broadcast_to(picks, (50, 4, items))
    np.testing.assert_array_equal(
        sr.scatter_elements(data, index, updates, 1),
        _reference.scatter_elements(data, np.ascontiguousarray(index), updates, 1),
    )


@pytest.mark.parametrize("picks", [1, 2, 7, 64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_lanes_that_share_few_picks(order, picks):
    rng = np.random.default_rng(picks)
    data = np.asarray(rng.integers(0, 99, (6, ROWS, 10)), order=order)
    index = rng.integers(-10, 10, picks)
    np.testing.assert_array_equal(sr.gather(data, index, axis=2), data[:, :, index])
    out = np.zeros((ROWS, 6, picks), data.dtype).transpose(1, 0, 2)
    assert sr.gather(data, index, axis=2, out=out) is out
    np.testing.assert_array_equal(out, data[:, :, index])
    off = index * 2
    want = np.where((off >= -10) & (off < 10), data[:, :, np.clip(off, -10, 9)], 4)
    np.testing.assert_array_equal(sr.gather(data, off, axis=2, mode="fill", fill_value=4), want)


@pytest.mark.parametrize("shape", [(ROWS, 0), (40_000, 0), (ROWS, 0, 4)])
def test_rows_without_cells(shape):
    data = np.zeros(shape, np.float32)
    own = (shape[0], 5, *shape[2:])
    indices, updates = np.zeros(own, np.int64), np.ones(own, np.float32)
    assert sr.scatter_elements(data, indices, updates, 1, "add", mode="drop").shape == shape
    filled = sr.gather_elements(data, indices, 1, mode="fill", fill_value=3)
    np.testing.assert_array_equal(filled, np.full(own, 3, np.float32))
    for call in (sr.scatter_elements, sr.gather_elements):
        arrays = (data, indices, updates) if call is sr.scatter_elements else (data, indices)
        with pytest.raises(IndexError, match="axis 1"):
            call(*arrays, 1)
