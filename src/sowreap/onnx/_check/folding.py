"""Values that a graph computes from constants alone, known without running it.

Onnx infers the shape of each result first, so that no model makes the check read and write more
than `MOST_ITEMS`, whatever it claims.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
import onnx.defs
import onnx.shape_inference
from onnx import GraphProto, NodeProto, TypeProto, helper, numpy_helper

from sowreap.onnx import _values
from sowreap.onnx._check.sites import UNKNOWN, Array, Value
from sowreap.onnx._evaluator import Evaluator
from sowreap.onnx._loading import subgraphs, walk

MOST_ITEMS = 1 << 24  # of the inputs and results of all nodes of a graph together
MOST_NODES = 10_000  # of a graph
MOST_SIZES = 1024  # items of an input that may be a shape

NUMBERS = "biuf"
SHAPE_READERS = frozenset({"Shape", "Size"})
# What indices and shapes are made with; each gives one result, whose shape onnx infers.
OPERATORS = SHAPE_READERS | frozenset(
    {"Abs", "Add", "And", "Cast", "CastLike", "Ceil", "Clip", "Concat", "ConstantOfShape"}
    | {"CumSum", "Div", "Equal", "Expand", "EyeLike", "Flatten", "Floor", "Gather"}
    | {"GatherElements", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max"}
    | {"Min", "Mod", "Mul", "Neg", "Not", "Or", "Pad", "Range", "ReduceMax", "ReduceMin"}
    | {"ReduceProd", "ReduceSum", "Reshape", "ScatterElements", "ScatterND", "Slice", "Sqrt"}
    | {"Squeeze", "Sub", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor"}
)


class Folder:
    """The constant results of one graph, computed as its nodes are met in their order.

    Parameters
    ----------
    graph : onnx.GraphProto
        The graph.
    opset : int
        Version of the default domain.
    wanted : iterable of str
        Values that are of use; nothing else is computed.
    """

    def __init__(self, graph: GraphProto, opset: int, wanted: Iterable[str]) -> None:
        self.opset = opset
        self.items = MOST_ITEMS
        self.nodes = MOST_NODES
        self.wanted = _with_sources(graph, wanted)

    def folded(self, node: NodeProto, known: Mapping[str, Value]) -> Value | None:
        """Return the result of a node, None where it is not constant, not wanted or too large."""
        if node.domain or node.op_type not in OPERATORS or len(node.output) != 1:
            return None
        if node.output[0] not in self.wanted or not self.nodes:
            return None
        given = {name: known.get(name, UNKNOWN) for name in node.input if name}
        reads_items = node.op_type not in SHAPE_READERS
        if not all(_is_known(value, reads_items) for value in given.values()):
            return None
        if reads_items and not self._allows(sum(_size(value) for value in given.values())):
            return None
        self.nodes -= 1
        try:
            return self._run(node, {name: _array(node, value) for name, value in given.items()})
        except Exception:  # of many kinds: tensors and nodes may be broken in every way
            return None

    def _run(self, node: NodeProto, arrays: Mapping[str, Array]) -> Value | None:
        count = _item_count(node, arrays, self.opset)
        if count is None or not self._allows(count):
            return None
        graph = helper.make_graph(
            [node],
            "constant",
            [helper.make_value_info(name, _type_of(array)) for name, array in arrays.items()],
            [helper.make_empty_tensor_value_info(node.output[0])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        with np.errstate(all="ignore"):
            outputs: Any = Evaluator(model).run(None, dict(arrays))
        return Value.of_array(outputs[0])

    def _allows(self, items: int) -> bool:
        """Return whether there is room for so many items, and take it."""
        if items > self.items:
            return False
        self.items -= items
        return True


def _is_known(value: Value, reads_items: bool) -> bool:
    """Return whether what a node reads of an input is known: its items, or its shape alone."""
    if value.shape is None or any(not isinstance(size, int) or size < 0 for size in value.shape):
        return False
    if not reads_items:
        return True
    return value.content is not None and value.dtype is not None and value.dtype.kind in NUMBERS


def _size(value: Value) -> int:
    return math.prod(size for size in value.shape or () if isinstance(size, int))


def _array(node: NodeProto, value: Value) -> Array:
    """Return the items of an input; where a node reads the shape alone, that shape of nothing."""
    if node.op_type in SHAPE_READERS:
        return np.broadcast_to(np.float32(0), cast("tuple[int, ...]", value.shape))
    return cast(Array, value.array)


def read_names(node: NodeProto) -> set[str]:
    """Return the names that a node and its subgraphs read."""
    names = set(node.input)
    for graph in subgraphs(node):
        names.update(info.name for info in graph.output)
        for inner in walk(graph.node):
            names.update(inner.input)
    return names


def _with_sources(graph: GraphProto, wanted: Iterable[str]) -> set[str]:
    """Return the names of values, and of all from which nodes of the graph compute them."""
    found = set(wanted)
    for node in reversed(graph.node):
        if found.intersection(node.output):
            found |= read_names(node)
    return found


def _type_of(array: Array) -> TypeProto:
    number = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_type_proto(number, array.shape)


def _item_count(node: NodeProto, arrays: Mapping[str, Array], opset: int) -> int | None:
    """Return how many items the result of a node has, None if that is not known before."""
    if node.op_type == "Range":
        return _range_count(*(arrays[name] for name in node.input))
    types = onnx.shape_inference.infer_node_outputs(
        onnx.defs.get_schema(node.op_type, opset),
        node,
        {name: _type_of(array) for name, array in arrays.items()},
        {
            name: numpy_helper.from_array(array, name)
            for name, array in arrays.items()
            if array.size <= MOST_SIZES and node.op_type not in SHAPE_READERS
        },
        opset_imports=[helper.make_opsetid("", opset)],
    )
    shape = _values.shape(types[node.output[0]])
    if shape is None or not all(isinstance(size, int) and size >= 0 for size in shape):
        return None
    return math.prod(size for size in shape if isinstance(size, int))


def _range_count(start: Array, limit: Array, delta: Array) -> int:
    """Return the length of a Range, which onnx computes with 64 bits, and beyond them wrongly."""
    count: int = math.ceil((limit.item() - start.item()) / delta.item())
    return max(0, count)
