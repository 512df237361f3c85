"""The rules of the check against the functions that compute, over drawn shapes and indices."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import sowreap
from sowreap.onnx._check.rules import check_site
from sowreap.onnx._check.shape_rules import check_shapes
from sowreap.onnx._check.sites import Site, Value
from sowreap.onnx._check.value_rules import check_values

SIZES = st.lists(st.integers(0, 3), max_size=3).map(tuple)
OPERATORS = {
    "Gather": (13, ("data", "indices")),
    "GatherElements": (13, ("data", "indices")),
    "GatherND": (13, ("data", "indices")),
    "ScatterElements": (18, ("data", "indices", "updates")),
    "ScatterND": (18, ("data", "indices", "updates")),
    "TensorScatter": (24, ("past_cache", "update", "write_indices")),
}
FUNCTIONS = {
    "Gather": sowreap.gather,
    "GatherElements": sowreap.gather_elements,
    "GatherND": sowreap.gather_nd,
    "ScatterElements": sowreap.scatter_elements,
    "ScatterND": sowreap.scatter_nd,
    "TensorScatter": sowreap.tensor_scatter,
}
INDEX_INPUTS = ("indices", "write_indices")


def site(operator: str, values: list[Value], attributes: dict[str, Any]) -> Site:
    opset, names = OPERATORS[operator]
    node = helper.make_node(operator, names, ["out"], **attributes)
    return Site(node, opset, (), tuple(values))


def dtype_of(name: str) -> type:
    return np.int64 if name in INDEX_INPUTS else np.float32


@st.composite
def calls(draw: Any) -> tuple[str, list[tuple[int, ...]], dict[str, int]]:
    """Draw an operator, shapes that often agree, and attributes that are often right."""
    operator = draw(st.sampled_from(sorted(OPERATORS)))
    data = draw(SIZES)
    indices = draw(st.one_of(SIZES, st.just(data)))
    shapes = [data, indices]
    attributes: dict[str, int] = {}
    if operator == "GatherND":
        attributes["batch_dims"] = draw(st.integers(-1, 2))
    elif operator != "ScatterND":
        attributes["axis"] = draw(st.integers(-3, 3))
    if operator.startswith("Scatter"):
        wanted = indices
        if operator == "ScatterND":
            wanted = indices[:-1] + data[indices[-1] if indices else 0 :]
        shapes.append(draw(st.one_of(SIZES, st.just(wanted), st.just(wanted))))
    elif operator == "TensorScatter":
        shapes.append(draw(st.one_of(SIZES, st.just(data[:1]), st.just(data[:1]))))
    return operator, shapes, attributes


def is_refused(operator: str, shapes: list[tuple[int, ...]], attributes: dict[str, int]) -> bool:
    names = OPERATORS[operator][1]
    arrays = [np.zeros(s, dtype_of(name)) for s, name in zip(shapes, names, strict=True)]
    try:
        FUNCTIONS[operator](*arrays, **attributes)
    except IndexError:
        return False
    except ValueError:
        return True
    return False


@given(calls())
def test_shape_rules_are_those_of_the_functions(call):
    operator, shapes, attributes = call
    names = OPERATORS[operator][1]
    values = [Value(np.dtype(dtype_of(name)), s) for name, s in zip(names, shapes, strict=True)]
    findings = [*check_shapes(site(operator, values, attributes))]
    assert bool(findings) == is_refused(operator, shapes, attributes)


@given(calls(), st.data())
def test_what_is_said_of_partly_known_shapes_holds(call, data):
    operator, shapes, attributes = call
    names = OPERATORS[operator][1]
    values = []
    for name, shape in zip(names, shapes, strict=True):
        hidden = tuple(
            data.draw(st.sampled_from([size, None, f"{name}{d}"])) for d, size in enumerate(shape)
        )
        values.append(Value(np.dtype(dtype_of(name)), data.draw(st.sampled_from([hidden, None]))))
    if [*check_shapes(site(operator, values, attributes))]:
        assert is_refused(operator, shapes, attributes)


@st.composite
def index_arrays(draw: Any) -> tuple[str, np.ndarray, np.ndarray, np.ndarray, int]:
    """Draw a scatter with indices that may be out of range."""
    operator = draw(st.sampled_from(["ScatterElements", "ScatterND"]))
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    if operator == "ScatterElements":
        sizes = tuple(draw(st.integers(1, n)) for n in shape)
        updates = sizes
    else:
        length = draw(st.integers(0, len(shape)))
        rows = draw(st.integers(0, 4))
        sizes, updates = (rows, length), (rows, *shape[length:])
    reach = draw(st.integers(0, 1))  # one beyond the largest axis
    low, high = -min(shape) - reach, min(shape) - 1 + reach
    count = int(np.prod(sizes))
    indices = np.array(
        draw(st.lists(st.integers(low, high), min_size=count, max_size=count)), np.int64
    ).reshape(sizes)
    values = draw(
        st.lists(st.integers(0, 1), min_size=int(np.prod(updates)), max_size=int(np.prod(updates)))
    )
    return (
        operator,
        np.zeros(shape, np.float32),
        indices,
        np.array(values, np.float32).reshape(updates),
        axis,
    )


def places(operator: str, data: np.ndarray, indices: np.ndarray, axis: int) -> list[Any]:
    """Return the place that each entry or tuple addresses, in their order."""
    if operator == "ScatterND":
        return [
            tuple(k % n for k, n in zip(row, data.shape, strict=False)) for row in indices.tolist()
        ]
    axis %= data.ndim
    return [
        (*i[:axis], int(indices[i]) % data.shape[axis], *i[axis + 1 :])
        for i in np.ndindex(indices.shape)
    ]


def raised(
    operator: str, data: Any, indices: Any, updates: Any, attributes: Any
) -> sowreap.OutOfRangeError | None:
    try:
        FUNCTIONS[operator](data, indices, updates, **attributes)
    except sowreap.OutOfRangeError as error:
        return error
    return None


@given(index_arrays())
def test_value_rules_are_those_of_the_functions(drawn):
    operator, data, indices, updates, axis = drawn
    attributes = {"axis": axis} if operator == "ScatterElements" else {}
    values = [Value.of_array(array) for array in (data, indices, updates)]
    findings = {f.rule: f for f in check_values(site(operator, values, attributes))}
    error = raised(operator, data, indices, updates, attributes)
    if error is not None:
        finding = findings["index-range"]
        assert indices[finding.position] == finding.value
        assert finding.position[: len(error.position)] == error.position
        assert set(findings) == {"index-range"}
        return
    assert "index-range" not in findings
    addressed = places(operator, data, indices, axis)
    most = max(Counter(addressed).values(), default=0)
    assert ("repeated-none" in findings) == (most > 1)
    if most > 1:
        finding = findings["repeated-none"]
        first = next(i for i, place in enumerate(addressed) if place in addressed[:i])
        shape = indices.shape if operator == "ScatterElements" else indices.shape[:-1]
        assert_position(finding.position, shape, addressed, first, operator)
        rows = updates.reshape(len(addressed), -1).tolist()
        groups: dict[Any, list[Any]] = {}
        for place, row in zip(addressed, rows, strict=True):
            groups.setdefault(place, []).append(row)
        are_equal = all(row == group[0] for group in groups.values() for row in group)
        assert finding.severity.value == ("note" if are_equal else "warning")


def assert_position(
    position: tuple[int, ...],
    shape: tuple[int, ...],
    addressed: list[Any],
    first: int,
    operator: str,
) -> None:
    """The position is that of an entry whose place an earlier entry has; of tuples the first."""
    flat = int(np.ravel_multi_index(position, shape)) if shape else 0
    assert addressed[flat] in addressed[:flat]
    if operator == "ScatterND":
        assert flat == first


@given(index_arrays(), st.sampled_from(["none", "add"]))
def test_no_drawn_call_makes_the_rules_fail(drawn, reduction):
    operator, data, indices, updates, axis = drawn
    attributes: dict[str, Any] = {"reduction": reduction}
    if operator == "ScatterElements":
        attributes["axis"] = axis
    values = [Value.of_array(array) for array in (data, indices, updates)]
    for finding in check_site(site(operator, values, attributes), "6_4"):
        assert finding.to_dict()
