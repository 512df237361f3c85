"""The loops of the standard refuse what the functions refuse, by the same class and argument.

That both give the same results is the matter of the generated calls; the values of other projects
run on the loops too.
"""

import numpy as np
import pytest

import sowreap as sr
from cases import call, call_reference
from sowreap import _reference

ZEROS, INDICES = np.zeros((2, 3)), np.zeros((2, 3), int)
CACHE = {"past_cache": np.zeros((2, 3, 4)), "update": np.zeros((2, 1, 4))}
READ = {"data": ZEROS, "indices": INDICES}
WRITE = READ | {"updates": ZEROS}
WRITE_ROWS = {"data": ZEROS, "indices": INDICES[:, :1], "updates": ZEROS}

BAD_CALLS = [
    ("gather", READ | {"data": np.zeros(())}, {}),
    ("gather", READ | {"indices": ZEROS}, {}),
    ("gather", READ | {"indices": INDICES + 2}, {}),
    ("gather", READ, {"axis": 2}),
    ("gather_elements", READ | {"indices": INDICES[0]}, {}),
    ("gather_elements", READ | {"indices": np.zeros((2, 4), int)}, {}),
    ("gather_elements", READ | {"indices": INDICES > 0}, {}),
    ("gather_nd", READ | {"data": np.zeros(())}, {}),
    ("gather_nd", READ | {"indices": np.int64(0)}, {}),
    ("gather_nd", READ, {"batch_dims": 2}),
    ("gather_nd", READ, {}),
    ("gather_nd", READ | {"indices": INDICES[:1, :1]}, {"batch_dims": 1}),
    ("scatter", WRITE | {"updates": ZEROS[:1]}, {}),
    ("scatter", WRITE | {"updates": INDICES}, {}),
    ("scatter_elements", WRITE | {"indices": INDICES - 3}, {}),
    ("scatter_elements", WRITE, {"reduction": "sum"}),
    ("scatter_elements", WRITE, {"axis": -3}),
    ("scatter_nd", WRITE_ROWS | {"updates": ZEROS[0]}, {}),
    ("scatter_nd", WRITE_ROWS | {"indices": ZEROS[:, :1]}, {}),
    ("scatter_nd", WRITE_ROWS, {"reduction": "median"}),
    ("scatter_nd", WRITE_ROWS, {"mode": "fill"}),
    ("scatter_elements", WRITE, {"mode": "Wrap"}),
    ("gather", READ, {"mode": "drop"}),
    ("gather_elements", READ, {"mode": "linear"}),
    ("gather_nd", READ | {"indices": INDICES[:, :1]}, {"mode": ""}),
    ("tensor_scatter", CACHE, {"mode": "wrap"}),
    ("tensor_scatter", CACHE, {"axis": 0}),
    ("tensor_scatter", CACHE, {"axis": 3}),
    ("tensor_scatter", CACHE | {"update": np.zeros((2, 4, 4))}, {}),
    ("tensor_scatter", CACHE | {"update": np.zeros((2, 1, 4), int)}, {}),
    ("tensor_scatter", CACHE | {"write_indices": INDICES}, {}),
    ("tensor_scatter", CACHE | {"write_indices": np.array([0, 3])}, {}),
    ("tensor_scatter", CACHE | {"write_indices": np.array([0, -1])}, {"mode": "circular"}),
]


@pytest.mark.parametrize(("operator", "inputs", "attributes"), BAD_CALLS)
def test_refuses_what_the_function_refuses(operator, inputs, attributes):
    refusals = []
    for function in (call, call_reference):
        with pytest.raises(sr.SowreapError) as caught:
            function(operator, inputs, attributes)
        refusals.append(caught.value)
    expected, found = refusals
    assert type(found) is type(expected)
    assert found.operator == expected.operator == operator
    assert found.argument == expected.argument
    assert found.position == expected.position


@pytest.mark.parametrize(
    ("reduction", "want"), [("none", 3), ("add", 5), ("mul", 6), ("min", 2), ("max", 3)]
)
def test_combine(reduction, want):
    assert _reference.combine(reduction, np.int8(2), np.int8(3), np.dtype(np.int8)) == want


@pytest.mark.parametrize("reduction", ["min", "max"])
def test_combine_keeps_the_first_of_two_zeros_and_any_nan(reduction):
    dtype = np.dtype(np.float32)
    zero, minus, nan, one = (np.float32(v) for v in (0.0, -0.0, np.nan, 1.0))
    assert not np.signbit(_reference.combine(reduction, zero, minus, dtype))
    assert np.signbit(_reference.combine(reduction, minus, zero, dtype))
    assert np.isnan(_reference.combine(reduction, nan, one, dtype))
    assert np.isnan(_reference.combine(reduction, one, nan, dtype))
