"""A call that fails leaves `out` as it was, byte for byte, on every path and for every reason."""

import numpy as np
import pytest

import sowreap as sr
from cases import OPERATORS, SCATTERS, as_dtype, call, place, reductions_of, sample_call

DTYPES = ("int8", "float16", "float32", "complex64", "V5", "record", "object", "StringDType", "U5")


def spoil(inputs, position):
    """One index out of range, at the first or last position."""
    name = list(inputs)[-1] if "past_cache" in inputs else "indices"
    values = inputs[name].copy()
    values.flat[0 if position == "first" else -1] = -(2**40)
    return {**inputs, name: values}


@pytest.mark.parametrize("operator", SCATTERS)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("position", ["first", "last"])
@pytest.mark.parametrize("scale", [1, 40])
def test_in_place(operator, name, position, scale):
    inputs, attributes = sample_call(operator, as_dtype(name), scale)
    key, first = next(iter(inputs.items()))
    reducing = operator in ("scatter_elements", "scatter_nd")
    for reduction in reductions_of(first.dtype) if reducing else ("none",):
        placed = place(first)
        before = placed.snapshot()
        extra = {"reduction": reduction} if reducing else {}
        bad = spoil({**inputs, key: placed.array}, position)
        with pytest.raises(sr.OutOfRangeError):
            call(operator, bad, attributes | extra, out=placed.array)
        assert placed.snapshot() == before


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("position", ["first", "last"])
def test_fresh_out(operator, name, position):
    inputs, attributes = sample_call(operator, as_dtype(name), 20)
    want = call(operator, inputs, attributes)
    placed = place(np.zeros(want.shape, want.dtype))
    before = placed.snapshot()
    with pytest.raises(sr.OutOfRangeError):
        call(operator, spoil(inputs, position), attributes, out=placed.array)
    assert placed.snapshot() == before


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("shape", [(2000, 300), (600_000, 1), (600_000,)])
def test_in_place_when_parallel(threads, reduction, shape):
    """Large enough for several threads: the last index alone is bad."""
    sr.set_num_threads(threads)
    rng = np.random.default_rng(0)
    data = rng.random(shape).astype(np.float32)
    indices = rng.integers(0, shape[0], shape)
    indices.flat[-1] = shape[0]
    before = data.copy()
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.scatter_elements(data, indices, before, 0, reduction, out=data)
    assert caught.value.position == tuple(n - 1 for n in shape)
    np.testing.assert_array_equal(data, before)
    rows = indices.reshape(-1)[-shape[0] :, None]
    with pytest.raises(sr.OutOfRangeError):
        sr.scatter_nd(data, rows, before, reduction, out=data)
    np.testing.assert_array_equal(data, before)


@pytest.mark.parametrize("operator", SCATTERS)
def test_other_refusals(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    key, first = next(iter(inputs.items()))
    updates = "update" if operator == "tensor_scatter" else "updates"
    before = first.copy()
    for wrong in (inputs[updates][1:], inputs[updates].astype(np.float64)):
        with pytest.raises((sr.ShapeError, sr.DtypeError)):
            call(operator, {**inputs, updates: wrong}, attributes, out=inputs[key])
    with pytest.raises(sr.ArgumentError):
        call(operator, inputs, attributes | {"mode": "none"}, out=inputs[key])
    np.testing.assert_array_equal(first, before)
