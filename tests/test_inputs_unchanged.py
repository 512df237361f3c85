"""No call changes an array that it is given to read."""

import numpy as np
import pytest

import sowreap as sr
from cases import DTYPES, OPERATORS, as_dtype, call, place, reductions_of, sample_call


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", DTYPES)
def test_inputs_unchanged(operator, name):
    inputs, attributes = sample_call(operator, as_dtype(name))
    can_reduce = operator in ("scatter_elements", "scatter_nd")
    for reduction in reductions_of(as_dtype(name)) if can_reduce else ("none",):
        placed = {key: place(values) for key, values in inputs.items()}
        before = {key: p.snapshot() for key, p in placed.items()}
        extra = {"reduction": reduction} if can_reduce else {}
        arrays = {key: p.array for key, p in placed.items()}
        result = call(operator, arrays, attributes | extra)
        assert {key: p.snapshot() for key, p in placed.items()} == before
        assert not any(np.shares_memory(result, a) for a in arrays.values())


@pytest.mark.parametrize("operator", OPERATORS)
def test_read_only_inputs_are_read(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    for array in inputs.values():
        array.flags.writeable = False
    assert call(operator, inputs, attributes).flags.writeable


@pytest.mark.parametrize("operator", OPERATORS)
def test_inputs_unchanged_when_refused(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    last = "write_indices" if operator == "tensor_scatter" else "indices"
    inputs[last][(-1,) * inputs[last].ndim] = -(2**40)
    before = {key: values.copy() for key, values in inputs.items()}
    with pytest.raises(sr.OutOfRangeError):
        call(operator, inputs, attributes)
    for key, values in inputs.items():
        np.testing.assert_array_equal(values, before[key])
