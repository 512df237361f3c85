"""Scatters whose picks are divided among threads: where indices ascend, and where cells are few."""

import ml_dtypes
import numpy as np
import pytest

import sowreap as sr
from sowreap import _core, _reference

PICKS = 20_000
THREADS = (1, 2, 3, 8)


def on_threads(operator, *arrays, **attributes):
    """The result, which is the same for every number of threads."""
    results = []
    for threads in THREADS:
        sr.set_num_threads(threads)
        results.append(getattr(sr, operator)(*arrays, **attributes))
    assert len({result.tobytes() for result in results}) == 1
    return results[0]


def split_of(operator, *arrays, **attributes):
    sr.set_num_threads(2)
    return _core.explain_plan(operator, *arrays, **attributes).splitlines()[-1]


def assert_bits(got, want):
    np.testing.assert_array_equal(got, want)
    if np.dtype(got.dtype).kind not in "iub":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


# ---- indices that ascend ----

SEGMENTS = {
    "of one": lambda rng: np.arange(PICKS),
    "of some": lambda rng: np.sort(rng.integers(0, PICKS, PICKS)),
    "of hundreds": lambda rng: np.sort(rng.integers(0, PICKS // 200, PICKS)),
    "of all": lambda rng: np.full(PICKS, 7),
    "of one and the others": lambda rng: np.r_[0, np.full(PICKS - 1, PICKS - 1)],
    "of two": lambda rng: np.repeat([3, 4], PICKS // 2),
}


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.uint32])
@pytest.mark.parametrize("width", [1, 3, 64])
@pytest.mark.parametrize("segments", SEGMENTS)
def test_ascending(segments, width, dtype):
    rng = np.random.default_rng(width)
    indices = SEGMENTS[segments](rng).astype(dtype)
    shape = (PICKS,) if width == 1 else (PICKS, width)
    data, updates = rng.normal(size=shape).astype(np.float32), rng.normal(size=shape)
    updates = updates.astype(np.float32)
    want = data.copy()
    np.add.at(want, indices, updates)
    got = on_threads("scatter_nd", data, indices[:, None], updates, reduction="add")
    assert_bits(got, want)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_every_reduction(reduction):
    rng = np.random.default_rng(5)
    indices = np.sort(rng.integers(0, 90_000, PICKS))
    data, updates = rng.normal(size=90_000), rng.normal(size=PICKS)
    want = _reference.scatter_elements(data, indices, updates, 0, reduction)
    got = on_threads("scatter_elements", data, indices, updates, reduction=reduction)
    assert_bits(got, want)


def test_only_ascending_ones_are_divided_so():
    indices = np.arange(1 << 18)
    data, updates = np.zeros(1 << 21, np.float32), np.zeros(1 << 18, np.float32)
    assert "along picks in 8" in split_of("scatter_elements", data, indices, updates)
    for place, value in ((100, 99), (0, -1), ((1 << 18) - 1, 0), (1 << 17, 5)):
        other = indices.copy()
        other[place] = value
        along = "picks" if (place, value) == (100, 99) else "owners of cells"
        assert f"along {along} in" in split_of("scatter_elements", data, other, updates)
    backwards = split_of("scatter_elements", data, indices[::-1], updates)
    assert "along owners of cells in 2" in backwards


def test_one_cell_of_all_has_no_second_owner():
    data, updates = np.zeros(1 << 21, np.float32), np.zeros(1 << 18, np.float32)
    indices = np.full(1 << 18, 5)
    assert "along nothing in 1" in split_of("scatter_elements", data, indices, updates)
    indices[: 1 << 17] = 4
    assert "along nothing" not in split_of("scatter_elements", data, indices, updates)


def test_a_bad_index_among_them_changes_nothing():
    indices = np.arange(PICKS * 4)
    indices[-1] = 400_000
    data, updates = np.zeros((400_000, 1)), np.ones((PICKS * 4, 1))
    sr.set_num_threads(2)
    for out in (data, np.zeros_like(data), None):
        with pytest.raises(IndexError, match=r"indices\[79999\] = \[400000\]"):
            sr.scatter_nd(data, indices[:, None], updates, reduction="add", out=out)
        assert not data.any()
        assert out is None or not out.any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "int8", "uint4"])
def test_runs_of_one_cell_are_rounded_after_each_update(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(2)
    indices = np.repeat(rng.integers(0, 50, 40), 25)
    data = rng.integers(0, 9, 50).astype(dtype)
    updates = rng.integers(0, 9, 1000).astype(dtype)
    if dtype.kind in "fcV" and dtype.itemsize > 1:
        updates /= dtype.type(7)
    strided = np.repeat(updates, 2)[::2]
    for reduction in ("add", "mul") if dtype.kind == "c" else ("add", "mul", "min", "max"):
        for cells, others in ((data, updates), (data[::-1], strided)):
            got = sr.scatter_elements(cells, indices, others, 0, reduction)
            want = _reference.scatter_elements(cells, indices, others, 0, reduction)
            assert got.tobytes() == want.tobytes()


# ---- few cells ----

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def few(dtype, cells=50, picks=1 << 19):
    rng = np.random.default_rng(cells)
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    indices = rng.integers(-cells, cells, picks)
    if dtype.name in INTEGERS:
        info = np.iinfo(dtype)
        draw = [rng.integers(info.min, info.max, n, dtype, endpoint=True) for n in (cells, picks)]
    else:
        draw = [rng.normal(size=n).astype(dtype) for n in (cells, picks)]
    return draw[0], indices, draw[1]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_integers_are_combined_apart(reduction, dtype):
    data, indices, updates = few(dtype)
    split = split_of("scatter_elements", data, indices, updates, reduction=reduction)
    assert split == "threads: 2, each with its share of the picks in cells of its own"
    ufunc = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[reduction]
    want = data.copy()
    ufunc.at(want, indices, updates)
    got = on_threads("scatter_elements", data, indices, updates, reduction=reduction)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["min", "max"])
def test_of_floats_the_first_zero_stays_and_the_same_nan_wins(reduction, dtype):
    data, indices, updates = few(dtype, picks=1 << 18)
    rng = np.random.default_rng(3)
    sign = 1 if reduction == "min" else -1
    data[:] = sign * np.inf
    updates[:] = np.where(rng.random(len(updates)) < 0.5, -0.0, 0.0)
    updates[rng.random(len(updates)) < 0.5] = sign
    bits = updates.view(np.dtype(f"u{updates.itemsize}"))
    nan = np.array([np.nan], updates.dtype).view(bits.dtype)[0]
    chosen = rng.choice(len(bits), 60, replace=False)
    bits[chosen] = nan | np.arange(1, 61).astype(bits.dtype)  # told apart
    split = split_of("scatter_elements", data, indices, updates, reduction=reduction)
    assert split == "threads: 2, each with its share of the picks in cells of its own"
    want = _reference.scatter_elements(data, indices, updates, 0, reduction)
    got = on_threads("scatter_elements", data, indices, updates, reduction=reduction)
    assert_bits(got.astype(np.float64), want.astype(np.float64))
    assert np.isnan(got).any()
    assert (got == 0).any()


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "mean"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", *FLOATS, "bool", "complex64"])
def test_what_depends_on_order_is_not(reduction, dtype):
    data, indices, updates = few(dtype)
    split = split_of("scatter_elements", data, indices, updates, reduction=reduction)
    assert ("share" in split) == (dtype in INTEGERS and reduction in ("add", "mul"))
    if reduction == "none":
        last = data.copy()
        last[indices] = updates
        np.testing.assert_array_equal(on_threads("scatter_elements", data, indices, updates), last)


@pytest.mark.parametrize("mode", ["wrap", "clip", "drop"])
def test_other_modes(mode):
    data, indices, updates = few("int32")
    indices *= 3
    attributes = {"reduction": "add", "mode": mode}
    got = on_threads("scatter_elements", data, indices, updates, **attributes)
    good = {
        "wrap": indices % len(data),
        "clip": np.clip(indices, 0, len(data) - 1),
        "drop": np.where((indices >= -50) & (indices < 50), indices, 0),
    }[mode]
    kept = updates if mode != "drop" else np.where((indices >= -50) & (indices < 50), updates, 0)
    want = data.copy()
    np.add.at(want, good, kept)
    np.testing.assert_array_equal(got, want)


def test_few_cells_in_place_and_strided():
    data, indices, updates = few("int64", picks=1 << 19)
    want = data.copy()
    np.add.at(want, indices, updates)
    sr.set_num_threads(2)
    array = np.zeros((len(data), 3), np.int64)
    array[:, 1] = data
    out = array[:, 1]
    assert sr.scatter_elements(out, indices, updates, reduction="add", out=out) is out
    np.testing.assert_array_equal(out, want)
    assert not array[:, ::2].any()
    bad = indices.copy()
    bad[-1] = 50
    with pytest.raises(IndexError, match=r"indices\[524287\] = 50"):
        sr.scatter_elements(out, bad, updates, reduction="add", out=out)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("picks", [1 << 15, 1 << 19])
def test_no_cells_at_all(picks):
    sr.set_num_threads(2)
    data, indices, updates = np.zeros(0, np.int64), np.zeros(picks, np.int64), np.ones(picks, int)
    assert sr.scatter_elements(data, indices, updates, 0, "add", mode="drop").shape == (0,)
    with pytest.raises(IndexError, match="axis 0"):
        sr.scatter_elements(data, indices, updates, 0, "add")
