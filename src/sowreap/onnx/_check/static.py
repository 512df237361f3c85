"""The family nodes of a model, with what is known before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import onnx.shape_inference
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from sowreap.onnx import _values
from sowreap.onnx._check.folding import Folder, read_names
from sowreap.onnx._check.sites import FAMILY, UNKNOWN, Array, Site, Value
from sowreap.onnx._errors import node_name
from sowreap.onnx._loading import all_nodes, subgraphs, walk
from sowreap.onnx._schemas import known_dtype

OVERRIDABLE_SINCE_IR = 4

MOST_FOLLOWED = 1 << 22  # items of a vector

Key = tuple[str, str]
Known = Mapping[str, Value]


def static_sites(model: ModelProto, *, infer: bool = True) -> Iterator[Site]:
    """Yield the family nodes of the graph, of subgraphs at any depth, and of each function call.

    Without `infer` types and shapes are those written down; for models that onnx's checker refuses.
    """
    functions = _functions_of_the_family(model)
    prepare = _inferred if infer else _as_it_is
    yield from _Walk(prepare(model), functions, (), prepare).sites()


def _as_it_is(model: ModelProto) -> ModelProto:
    return model


def _functions_of_the_family(model: ModelProto) -> dict[Key, FunctionProto]:
    """Return the functions that have family nodes, or call a function that has."""
    functions = {(each.domain, each.name): each for each in model.functions}
    found: set[Key] = set()
    while True:
        more = {
            key
            for key, function in functions.items()
            if key not in found
            and any(
                _is_family(node) or (node.domain, node.op_type) in found
                for node in walk(function.node)
            )
        }
        if not more:
            return {key: functions[key] for key in found}
        found |= more


def _is_family(node: NodeProto) -> bool:
    return node.domain == "" and node.op_type in FAMILY


def _inferred(model: ModelProto) -> ModelProto:
    """Return the model with the shapes and types that onnx infers, itself where it cannot."""
    if _may_crash_inference(model):
        return model
    try:
        plain = onnx.shape_inference.infer_shapes(model)
        if _has_long_vector(plain.graph):
            return plain
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # of many kinds: broken shapes, types without rules, more than 2 GB
        return model


def _has_long_vector(graph: GraphProto) -> bool:
    """Return whether a vector is too long for its items to be followed.

    onnx 1.23.2 makes a description of each item, also where the model merely claims a length.
    """
    infos = (*graph.input, *graph.output, *graph.value_info)
    shapes = [_described(info.type).shape or () for info in infos]
    shapes += [tuple(tensor.dims) for tensor in graph.initializer]
    return any(
        len(shape) == 1 and isinstance(shape[0], int) and shape[0] > MOST_FOLLOWED
        for shape in shapes
    ) or any(_has_long_vector(inner) for node in graph.node for inner in subgraphs(node))


def _may_crash_inference(model: ModelProto) -> bool:
    """Return whether a GatherND may have a negative batch_dims, of a call if not of its own.

    onnx 1.23.2 reads beyond the end of a shape then.
    """
    given = [
        attribute
        for node in all_nodes(model)
        if node.op_type == "GatherND"
        for attribute in node.attribute
        if attribute.name == "batch_dims"
    ]
    if any(attribute.i < 0 for attribute in given):
        return True
    calls = (node for node in all_nodes(model) if node.domain != "")
    values = (attribute for owner in calls for attribute in owner.attribute)
    defaults = (attribute for each in model.functions for attribute in each.attribute_proto)
    return any(attribute.ref_attr_name for attribute in given) and any(
        attribute.i < 0 for attribute in (*values, *defaults)
    )


class _Walk:
    """The nodes of one graph with its subgraphs; a called function is another."""

    def __init__(
        self,
        model: ModelProto,
        functions: Mapping[Key, FunctionProto],
        path: tuple[str, ...],
        prepare: Callable[[ModelProto], ModelProto],
    ) -> None:
        self.prepare = prepare
        self.infers = prepare is _inferred
        self.model = model
        self.functions = functions
        self.path = path
        self.opset = _opset(model)
        self.has_overridable = model.ir_version >= OVERRIDABLE_SINCE_IR

    def sites(self) -> Iterator[Site]:
        yield from self.walk(self.model.graph, {}, self.path)

    def walk(self, graph: GraphProto, outer: Known, path: tuple[str, ...]) -> Iterator[Site]:
        known = {**outer, **self.declared(graph)}
        folder = Folder(graph, self.opset, self.wanted(graph)) if self.infers else None
        for node in graph.node:
            result = None if folder is None else folder.folded(node, known)
            if result is not None:
                known[node.output[0]] = result
            if _is_family(node):
                values = tuple(known.get(name, UNKNOWN) for name in node.input)
                yield Site(node, self.opset, path, values)
            inside = (*path, node_name(node))
            for body in subgraphs(node):
                yield from self.walk(body, known, inside)
            if (node.domain, node.op_type) in self.functions:
                yield from self.called(node, known, inside)

    def wanted(self, graph: GraphProto) -> set[str]:
        """Return the names that family nodes and those around them read."""
        names: set[str] = set()
        for node in graph.node:
            inside = [node, *(each for body in subgraphs(node) for each in walk(body.node))]
            if any(
                _is_family(each) or (each.domain, each.op_type) in self.functions for each in inside
            ):
                names |= read_names(node)
        return names

    def declared(self, graph: GraphProto) -> dict[str, Value]:
        """Return what the graph says of its values; an input's default is no constant."""
        known = {
            info.name: _described(info.type)
            for info in (*graph.value_info, *graph.output, *graph.input)
        }
        fed = {info.name for info in graph.input} if self.has_overridable else set()
        for tensor in graph.initializer:
            value = Value.of_tensor(tensor)
            known[tensor.name] = Value(value.dtype, value.shape) if tensor.name in fed else value
        for node in graph.node:
            if node.op_type == "Constant" and node.domain == "" and node.output:
                known[node.output[0]] = _constant(node)
        return known

    def called(self, call: NodeProto, known: Known, path: tuple[str, ...]) -> Iterator[Site]:
        """Yield the family nodes of a function, as this call sees them."""
        key = call.domain, call.op_type
        function = self.functions[key]
        # Without itself: a function that calls itself is no valid model.
        others = {other: each for other, each in self.functions.items() if other != key}
        values = {
            name: known.get(given, UNKNOWN)
            for name, given in zip(function.input, call.input, strict=False)
        }
        body = self.prepare(_as_model(function, call, values, self.model))
        yield from _Walk(body, others, path, self.prepare).sites()


def _opset(model: ModelProto) -> int:
    return next((e.version for e in model.opset_import if e.domain == ""), 1)


def _described(value_type: TypeProto) -> Value:
    shape = _values.shape(value_type)
    number = value_type.tensor_type.elem_type
    return Value(known_dtype(number) if number else None, None if shape is None else tuple(shape))


def _constant(node: NodeProto) -> Value:
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            return UNKNOWN
        value = helper.get_attribute_value(attribute)
        if attribute.name == "value":
            return Value.of_tensor(value)
        if attribute.name in ("value_int", "value_ints"):
            return Value.of_array(np.asarray(value, np.int64))
        if attribute.name in ("value_float", "value_floats"):
            return Value.of_array(np.asarray(value, np.float32))
    return UNKNOWN


def _as_model(
    function: FunctionProto, call: NodeProto, values: Known, caller: ModelProto
) -> ModelProto:
    """Return a model whose graph is the body of a function, with what a call gives to it."""
    graph = GraphProto(name=function.name)
    for name, value in values.items():
        if value.content is not None:
            graph.initializer.append(_named_tensor(name, value.content))
        else:
            graph.input.append(_info(name, value))
    given = {each.name: each for each in (*function.attribute_proto, *call.attribute)}
    for node in function.node:
        graph.node.append(_with_attributes(node, given))
    model = ModelProto(ir_version=caller.ir_version, graph=graph)
    model.opset_import.extend(function.opset_import)
    model.functions.extend(caller.functions)
    return model


def _named_tensor(name: str, content: TensorProto | Array) -> TensorProto:
    if not isinstance(content, TensorProto):
        return numpy_helper.from_array(content, name)
    tensor = TensorProto()
    tensor.CopyFrom(content)
    tensor.name = name
    return tensor


def _info(name: str, value: Value) -> ValueInfoProto:
    info = ValueInfoProto(name=name)
    if value.dtype is not None:
        number = helper.np_dtype_to_tensor_dtype(value.dtype)
        info.type.CopyFrom(helper.make_tensor_type_proto(number, value.shape))
    return info


def _with_attributes(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    """Return a node of a function with the attributes of the call in their places."""
    copy = NodeProto()
    copy.CopyFrom(node)
    kept: list[AttributeProto] = []
    for attribute in copy.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                value = AttributeProto()
                value.CopyFrom(given[attribute.ref_attr_name])
                value.name = attribute.name
                kept.append(value)
            continue
        if attribute.type == AttributeProto.GRAPH:
            nodes = [_with_attributes(inner, given) for inner in attribute.g.node]
            del attribute.g.node[:]
            attribute.g.node.extend(nodes)
        kept.append(attribute)
    kept = [AttributeProto.FromString(each.SerializeToString()) for each in kept]
    del copy.attribute[:]
    copy.attribute.extend(kept)
    return copy
