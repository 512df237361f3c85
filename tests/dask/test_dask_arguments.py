"""What is refused, when, and in which words."""

import dask.array as da
import numpy as np
import pytest
from chunked import call_dask, compute, outcome

import sowreap as sr
import sowreap.dask as sd
from cases import OPERATORS, SCATTERS, assert_same, call, sample_call

zarr = pytest.importorskip("zarr")
FLOAT32 = np.dtype(np.float32)
INDEX = {name: "write_indices" if name == "tensor_scatter" else "indices" for name in OPERATORS}


def lazy(inputs, **changes):
    arrays = {name: da.from_array(array, chunks=2) for name, array in inputs.items()}
    return {**arrays, **changes}


def same_refusal(operator, inputs, attributes):
    """The refusal, which is that of the function on arrays and comes without computing."""
    want = outcome(call, operator, inputs, attributes)
    assert isinstance(want, tuple)
    with pytest.raises(sr.SowreapError) as caught:
        getattr(sd, operator)(*lazy(inputs).values(), **attributes)
    assert (type(caught.value), str(caught.value)) == want[:2]
    return caught.value


# --- refused as in memory -----------------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS)
def test_index_dtype(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    inputs[INDEX[operator]] = inputs[INDEX[operator]].astype(float)
    error = same_refusal(operator, inputs, attributes)
    assert isinstance(error, sr.DtypeError)


@pytest.mark.parametrize("operator", OPERATORS)
def test_shapes(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    last = list(inputs)[-1]
    inputs[last] = inputs[last][..., None]
    if operator in ("gather", "gather_nd"):  # whose indices may have any rank
        inputs["data"] = inputs["data"][0, 0, 0]
    assert isinstance(same_refusal(operator, inputs, attributes), sr.ShapeError)


@pytest.mark.parametrize("operator", SCATTERS)
def test_update_dtype(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    name = "update" if operator == "tensor_scatter" else "updates"
    inputs[name] = inputs[name].astype(np.float64)
    assert isinstance(same_refusal(operator, inputs, attributes), sr.DtypeError)


@pytest.mark.parametrize("operator", OPERATORS)
def test_unknown_mode(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    error = same_refusal(operator, inputs, {**attributes, "mode": "mirror"})
    assert (type(error), error.argument) == (sr.ArgumentError, "mode")


@pytest.mark.parametrize("operator", [name for name in OPERATORS if not name.endswith("_nd")])
def test_axis(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    error = same_refusal(operator, inputs, {**attributes, "axis": 9})
    assert (type(error), error.argument) == (sr.ArgumentError, "axis")


def test_batch_dims():
    inputs, _ = sample_call("gather_nd", FLOAT32)
    error = same_refusal("gather_nd", inputs, {"batch_dims": 3})
    assert error.argument == "batch_dims"


@pytest.mark.parametrize("operator", ["scatter_elements", "scatter_nd"])
@pytest.mark.parametrize(
    ("reduction", "dtype", "kind"),
    [("median", "f4", sr.ArgumentError), ("max", "c8", sr.DtypeError), ("mul", "O", sr.DtypeError)],
)
def test_reduction(operator, reduction, dtype, kind):
    inputs, attributes = sample_call(operator, np.dtype(dtype))
    error = same_refusal(operator, inputs, {**attributes, "reduction": reduction})
    assert (type(error), error.argument) == (kind, "reduction")


# Each is either refused in memory, and then here in the same words, or gives the same result.
POLICIES = [
    *(("gather", {"mode": mode}) for mode in ("wrap", "clip", "fill")),
    ("gather_elements", {"mode": "fill", "fill_value": 7}),
    ("gather_nd", {"mode": "fill", "fill_value": 2.5}),
    *(("scatter", {"mode": mode}) for mode in ("wrap", "clip", "drop")),
    *(("scatter_nd", {"mode": m, "reduction": "add"}) for m in ("wrap", "clip", "drop")),
    *(
        ("scatter_elements", {"reduction": r, "include_self": False})
        for r in ("none", "add", "max")
    ),
    *(("scatter_elements", {"reduction": "mean", "include_self": s}) for s in (True, False)),
    ("scatter_nd", {"reduction": "mean", "mode": "drop"}),
]


@pytest.mark.parametrize(("operator", "policy"), POLICIES)
def test_policies_as_in_memory(operator, policy):
    inputs, attributes = sample_call(operator, FLOAT32)
    outside = np.random.default_rng(1).random(inputs["indices"].shape) < 0.3
    if policy.get("mode"):
        inputs["indices"] = np.where(outside, inputs["indices"] * 5, inputs["indices"])
    attributes = {**attributes, **policy}
    want = outcome(call, operator, inputs, attributes)
    got = outcome(call_dask, operator, lazy(inputs), attributes)
    if isinstance(want, tuple):
        assert got == want
    else:
        assert_same(got, want)


# --- refused here -------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("position", [0, 1, -1])
def test_unknown_chunk_sizes(operator, position):
    inputs, attributes = sample_call(operator, FLOAT32)
    arrays = lazy(inputs)
    name = list(arrays)[position]
    arrays[name] = arrays[name][arrays[name].reshape(len(inputs[name]), -1)[:, 0] == 0]
    with pytest.raises(sr.ShapeError) as caught:
        getattr(sd, operator)(*arrays.values(), **attributes)
    assert str(caught.value).startswith(f"{operator}: {name} has unknown chunk sizes, ((nan, ")
    assert str(caught.value).endswith(f"Call {name}.compute_chunk_sizes() first.")


def test_computed_chunk_sizes_do():
    data = da.arange(10, chunks=3)
    chosen = data[data % 2 == 0]
    chosen.compute_chunk_sizes()
    assert compute(sd.gather(chosen, chosen // 2)).tolist() == [0, 2, 4, 6, 8]


def test_blocks_of_another_kind():
    masked = da.ma.masked_equal(da.arange(4, chunks=2), 1)
    with pytest.raises(sr.DtypeError, match=r"^gather: data has blocks of numpy\.ma.*MaskedArray"):
        sd.gather(masked, [0])


@pytest.mark.parametrize("dtype", ["U3", "S3"])
def test_strings_of_unknown_width(dtype):
    data = da.from_array(np.array(["a", "b"], dtype), chunks=1)
    with pytest.raises(sr.DtypeError, match=r"width depends on the values.*StringDType"):
        sd.scatter_nd(data, [[0]], data[:1], "add")
    words = sd.scatter_nd(data.astype("O"), [[0]], data[:1].astype("O"), "add")
    assert compute(words).tolist() == (["aa", "b"] if dtype == "U3" else [b"aa", b"b"])


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: np.zeros(6), sr.DtypeError, "must be a dask.array.Array or a zarr.Array"),
        (lambda: da.zeros(5), sr.ShapeError, r"has shape \(5,\) but the result \(6,\)"),
        (
            lambda: da.zeros(6, dtype="f4"),
            sr.DtypeError,
            "has dtype float32 but the result float64",
        ),
    ],
)
def test_out(make, kind, words):
    with pytest.raises(kind, match=f"^scatter_nd: out {words}") as caught:
        sd.scatter_nd(da.zeros(6, chunks=2), [[1]], [1.0], out=make())
    assert caught.value.argument == "out"


def test_read_only_out(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", shape=(6,), chunks=(2,), dtype="f8")
    array = zarr.open_array(tmp_path / "a.zarr", mode="r")
    with pytest.raises(sr.ArgumentError, match=r"^gather: out is read-only"):
        sd.gather(da.zeros(3), [0] * 6, out=array)


def test_out_that_has_no_room_beside_it():
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=(6,), chunks=(2,), dtype="f8")
    with pytest.raises(sr.ArgumentError, match=r"root of its store.*Put it into a group"):
        sd.gather(da.zeros(3), [0] * 6, out=array)


# --- lazy ---------------------------------------------------------------------------------------


def never(*blocks):
    raise AssertionError("computed at the call")


@pytest.mark.parametrize("operator", OPERATORS)
def test_call_computes_nothing(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    arrays = {name: a.map_blocks(never, meta=a._meta) for name, a in lazy(inputs).items()}
    result = getattr(sd, operator)(*arrays.values(), **attributes)
    want = call(operator, inputs, attributes)
    assert (result.shape, result.dtype) == (want.shape, want.dtype)
    with pytest.raises(AssertionError, match="computed at the call"):
        compute(result)


def test_out_becomes_the_result():
    out = da.zeros(6, chunks=3)
    result = sd.scatter_nd(da.zeros(6, chunks=2), [[1]], [1.0], out=out)
    assert result is out
    assert compute(out).tolist() == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("operator", OPERATORS)
def test_index_in_memory_is_refused_at_the_call(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    attributes.pop("mode", None)
    bad = inputs[INDEX[operator]].copy()
    bad[(-1,) * bad.ndim] = 99
    want = outcome(call, operator, {**inputs, INDEX[operator]: bad}, attributes)
    arrays = lazy(inputs)
    arrays[INDEX[operator]] = bad
    with pytest.raises(sr.OutOfRangeError) as caught:
        getattr(sd, operator)(*arrays.values(), **attributes)
    assert str(caught.value) == want[1]


def test_inputs_are_not_changed():
    data = np.zeros(6)
    result = sd.scatter_nd(da.from_array(data, chunks=2), [[1]], [1.0], "add")
    assert compute(result).tolist() == compute(result).tolist() == [0, 1, 0, 0, 0, 0]
    assert data.tolist() == [0] * 6
