"""Every operand may have any strides; the result never depends on them.

Sizes are beyond those of the generated calls, so that rows are longer than vectors and blocks.
"""

import numpy as np
import pytest

from cases import OPERATORS, as_dtype, assert_same, call, place, sample_call

SCALE = 12

LAYOUTS = {
    "row-major": lambda a: place(a),
    "column-major": lambda a: place(a, order=tuple(reversed(range(a.ndim)))),
    "two axes swapped": lambda a: place(a, order=(*range(1, a.ndim), 0)),
    "every second item": lambda a: place(a, steps=(1,) * (a.ndim - 1) + (2,)),
    "every second row": lambda a: place(a, steps=(2,) + (1,) * (a.ndim - 1)),
    "backwards": lambda a: place(a, steps=(-1,) * a.ndim),
    "every third item backwards": lambda a: place(a, steps=(1,) * (a.ndim - 1) + (-3,)),
    "unaligned": lambda a: place(a, offset=1),
    "unaligned and backwards": lambda a: place(a, steps=(-2,) * a.ndim, offset=3),
}
DTYPES = ("int8", "float16", "float32", "float64", "complex128", "V3", "V5", "record")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", DTYPES)
def test_each_operand_in_each_layout(operator, name, layout):
    inputs, attributes = sample_call(operator, as_dtype(name), SCALE)
    if operator.endswith(("elements", "nd")) and "scatter" in operator and name[0] in "ifc":
        attributes["reduction"] = "add"
    want = call(operator, inputs, attributes)
    for moved in inputs:
        placed = LAYOUTS[layout](inputs[moved])
        before = placed.snapshot()
        assert_same(call(operator, {**inputs, moved: placed.array}, attributes), want)
        assert placed.snapshot() == before
    everything = {key: LAYOUTS[layout](values).array for key, values in inputs.items()}
    assert_same(call(operator, everything, attributes), want)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", DTYPES)
def test_out_in_each_layout(operator, name, layout):
    inputs, attributes = sample_call(operator, as_dtype(name), SCALE)
    want = call(operator, inputs, attributes)
    placed = LAYOUTS[layout](np.zeros(want.shape, want.dtype))
    beside = placed.beside()
    assert call(operator, inputs, attributes, out=placed.array) is placed.array
    assert_same(placed.array, want)
    assert placed.beside() == beside


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_operands_of_stride_0(operator, axis):
    """As from broadcasting: all items along an axis are one item."""
    inputs, attributes = sample_call(operator, np.dtype(np.float32), SCALE)
    for name, values in inputs.items():
        d = axis % values.ndim if axis < values.ndim else 0
        constant = np.broadcast_to(values.take([0], d), values.shape)
        placed = place(constant, repeat=(d,))
        want = call(operator, {**inputs, name: constant.copy()}, attributes)
        assert_same(call(operator, {**inputs, name: placed.array}, attributes), want)


@pytest.mark.parametrize("operator", ["gather_elements", "scatter_elements"])
def test_indices_constant_along_the_rows(operator):
    """Expanded indices, the commonest in graph networks: by stride 0 and written out."""
    rng = np.random.default_rng(0)
    data, rows = rng.normal(size=(50, 33)).astype(np.float32), rng.integers(-50, 50, (200, 1))
    expanded = np.broadcast_to(rows, (200, 33))
    inputs = {"data": data, "indices": expanded}
    attributes = {}
    if operator == "gather_elements":
        want = data[rows[:, 0]]
    else:
        inputs["updates"] = rng.normal(size=(200, 33)).astype(np.float32)
        attributes["reduction"] = "add"
        want = data.copy()
        np.add.at(want, rows[:, 0], inputs["updates"])
    assert_same(call(operator, inputs, attributes), want)
    assert_same(call(operator, {**inputs, "indices": expanded.copy()}, attributes), want)
