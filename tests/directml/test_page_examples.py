"""The worked examples of Microsoft's pages, corrected where they contradict themselves.

docs/directml.md lists the corrections. Each runs through arrays, and through buffers with a
descriptor that was written to bytes and read back.
"""

from __future__ import annotations

import numpy as np
import pytest

from sowreap.directml import IndexWarning, OperatorDesc, execute, run, schema

F, U, I = "FLOAT32", "UINT32", "INT32"  # noqa: E741

# operator, attributes, then for each tensor in struct order (type, sizes, values)
EXAMPLES = {
    "gather 1": (
        "GATHER",
        {"Axis": 0, "IndexDimensions": 1},
        (F, [4], [11, 12, 13, 14]),
        (U, [5], [3, 1, 3, 0, 2]),
        (F, [5], [14, 12, 14, 11, 13]),
    ),
    "gather 2": (
        "GATHER",
        {"Axis": 0, "IndexDimensions": 1},
        (F, [3, 2], [1, 2, 3, 4, 5, 6]),
        (U, [1, 4], [0, 1, 1, 2]),
        (F, [4, 2], [1, 2, 3, 4, 3, 4, 5, 6]),
    ),
    "gather 3": (
        "GATHER",
        {"Axis": 1, "IndexDimensions": 1},
        (F, [3, 2], [1, 2, 3, 4, 5, 6]),
        (U, [1, 2], [1, 0]),
        (F, [3, 2], [2, 1, 4, 3, 6, 5]),
    ),
    "gather 4": (
        "GATHER",
        {"Axis": 2, "IndexDimensions": 2},
        (F, [1, 3, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (U, [1, 1, 2], [0, 2]),
        (F, [3, 1, 2], [1, 3, 4, 6, 7, 9]),
    ),
    "gather 5": (
        "GATHER",
        {"Axis": 1, "IndexDimensions": 2},
        (F, [1, 3, 2], [1, 2, 3, 4, 5, 6]),
        (U, [1, 2, 2], [0, 1, 1, 2]),
        (F, [2, 2, 2], [1, 2, 3, 4, 3, 4, 5, 6]),
    ),
    "gather without index dimensions": (
        "GATHER",
        {"Axis": 1, "IndexDimensions": 0},
        (F, [3, 2], [1, 2, 3, 4, 5, 6]),
        (I, [1, 1], [-1]),
        (F, [1, 3], [2, 4, 6]),
    ),
    "gather elements": (
        "GATHER_ELEMENTS",
        {"Axis": 0},
        (F, [3, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (U, [2, 3], [1, 2, 0, 2, 0, 0]),
        (F, [2, 3], [4, 8, 3, 7, 2, 3]),
    ),
    "gather nd 1": (
        "GATHER_ND",
        {"InputDimensionCount": 2, "IndicesDimensionCount": 2},
        (F, [2, 2], [0, 1, 2, 3]),
        (U, [2, 1], [1, 0]),
        (F, [2, 2], [2, 3, 0, 1]),
    ),
    "gather nd 2": (
        "GATHER_ND",
        {"InputDimensionCount": 3, "IndicesDimensionCount": 2},
        (F, [1, 2, 2, 2], [0, 1, 2, 3, 4, 5, 6, 7]),
        (U, [1, 1, 2, 2], [0, 1, 1, 0]),
        (F, [1, 1, 2, 2], [2, 3, 4, 5]),
    ),
    "gather nd1 1": (
        "GATHER_ND1",
        {"InputDimensionCount": 2, "IndicesDimensionCount": 2, "BatchDimensionCount": 0},
        (F, [2, 2], [0, 1, 2, 3]),
        (U, [2, 1], [1, 0]),
        (F, [2, 2], [2, 3, 0, 1]),
    ),
    "gather nd1 2": (
        "GATHER_ND1",
        {"InputDimensionCount": 3, "IndicesDimensionCount": 3, "BatchDimensionCount": 1},
        (F, [1, 3, 2, 2], list(range(12))),
        (U, [1, 3, 2, 2], [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0]),
        (F, [1, 1, 3, 2], [0, 3, 7, 4, 9, 10]),
    ),
    "scatter 1, which repeats index 3": (
        "SCATTER",
        {"Axis": 0},
        (F, [5], [0, 1, 2, 3, 4]),
        (U, [4], [3, 1, 3, 0]),
        (F, [4], [5, 6, 7, 8]),
        (F, [5], [8, 6, 2, 7, 4]),
    ),
    "scatter 2": (
        "SCATTER",
        {"Axis": 0},
        (F, [3, 3], [0] * 9),
        (U, [2, 3], [1, 0, 2, 0, 2, 1]),
        (F, [2, 3], [10, 11, 12, 20, 21, 22]),
        (F, [3, 3], [20, 11, 0, 10, 0, 22, 0, 21, 12]),
    ),
    "scatter nd": (
        "SCATTER_ND",
        {"InputDimensionCount": 1, "IndicesDimensionCount": 2},
        (F, [1, 8], [1, 2, 3, 4, 5, 6, 7, 8]),
        (U, [4, 1], [4, 3, 1, 7]),
        (F, [1, 4], [9, 10, 11, 12]),
        (F, [1, 8], [1, 11, 3, 10, 9, 6, 7, 12]),
    ),
}


@pytest.fixture(params=EXAMPLES)
def example(request):
    operator, attributes, *tensors = EXAMPLES[request.param]
    row = schema.operator_of(operator)
    arrays = {
        name: np.array(values, schema.DATA_TYPES[kind].dtype).reshape(sizes)
        for name, (kind, sizes, values) in zip((*row.inputs, row.output), tensors, strict=True)
    }
    return row, arrays, attributes


@pytest.mark.filterwarnings("ignore::sowreap.directml.IndexWarning")
def test_from_arrays(example):
    row, arrays, attributes = example
    expected = arrays.pop(row.output)
    result = run(row.name, **arrays, **attributes)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize("arch", ["x64", "x86"])
def test_from_bytes(example, arch):
    row, arrays, attributes = example
    written = OperatorDesc.from_arrays(row.name, arrays, **attributes).to_struct(arch)
    desc = OperatorDesc.from_bytes(written.to_bytes(), arch, base=written.base)
    expected = arrays.pop(row.output)
    output = bytearray(expected.nbytes)
    execute(desc, {name: array.tobytes() for name, array in arrays.items()}, output)
    assert output == expected.tobytes()


def test_a_repeated_target_is_told():
    operator, attributes, data, indices, updates, _ = EXAMPLES["scatter 1, which repeats index 3"]
    given = (
        np.array(values, schema.DATA_TYPES[kind].dtype)
        for kind, _, values in (data, indices, updates)
    )
    arrays = dict(zip(("InputTensor", "IndicesTensor", "UpdatesTensor"), given, strict=True))
    with pytest.warns(IndexWarning, match=r"1 repeated targets, the first at \[2\]"):
        run(operator, **arrays, **attributes)


def test_shapes_of_the_nd_pages():
    """Their printed formula would give {5, 6, 7} where the printed answer has {6, 7}."""
    result = run(
        "GATHER_ND",
        InputTensor=np.zeros((3, 4, 5, 6, 7), np.float16),
        IndicesTensor=np.zeros((1, 1, 1, 2, 3), np.uint32),
        InputDimensionCount=5,
        IndicesDimensionCount=3,
    )
    assert result.shape == (1, 1, 2, 6, 7)
