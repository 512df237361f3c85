"""Models for onnxruntime with the family's nodes moved to the domain of sowreap's kernels.

A moved node keeps its operator, inputs and attributes. What it gains is read by
``bindings/onnxruntime``: an input ``indices_shape`` in place of an ``Expand`` in front of its
indices, and the attributes `visible` (its output may be memory of the user) and `threads`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx.defs
import onnx.inliner
import onnx.shape_inference
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
)

from sowreap._errors import ArgumentError
from sowreap.onnx._errors import node_name, note_node
from sowreap.onnx._loading import LONG_DOMAIN, check_calls, graphs_of, subgraphs, walk
from sowreap.onnx._schemas import (
    SCHEMAS,
    Schema,
    element_name,
    find_schema,
    known_dtype,
    node_value,
)
from sowreap.onnx._values import CONSTANT_INITIALIZERS_BEFORE_IR

DOMAIN = "sowreap"
DOMAIN_VERSION = 1
STANDARD_DOMAINS = ("", LONG_DOMAIN)
FAMILY = frozenset(schema.op_type for schema in SCHEMAS)
GATHERS = frozenset({"Gather", "GatherElements", "GatherND"})

# Operators that make sizes of sizes.
SIZE_SOURCES = frozenset({"Shape", "Size"})
SIZE_OPERATORS = frozenset(
    {"Add", "Cast", "Concat", "Div", "Gather", "GatherElements", "GatherND", "Identity", "Max"}
    | {"Min", "Mod", "Mul", "ReduceProd", "Slice", "Squeeze", "Sub", "Unsqueeze"}
)
LARGE = 1024  # bytes of a tensor
# Measured on onnxruntime 1.32 by benchmarks/gather_rules.py, where the kernels are equal.
LONG_ROW = 256  # bytes
TINY = 256  # bytes
PACKED = frozenset({"int4", "uint4", "float4e2m1"})
REDUCTIONS_OF_TEXT = ("none", "add")
RIGHT_WITH_TEXT = frozenset({"GatherElements", "GatherND", "Scatter", "ScatterElements"})

# The rules by which a node stays on onnxruntime.
STAYS_SIZES = (
    "its data are sizes of tensors: onnxruntime folds and fuses what is computed with those"
)
STAYS_CONSTANT = "all of its inputs are constant: onnxruntime computes it once, at loading"
STAYS_ROWS = (
    "its rows have {bytes} bytes: onnxruntime copies rows of 256 and more as fast, and may fuse it"
)
STAYS_TINY = "it moves {bytes} bytes: up to 256, calling onnxruntime's own kernel costs less"
STAYS_TEXT = (
    "each string is right there, and copied once: a custom operator has to copy them several times"
)
STAYS_PACKED = "items of {type} are packed two to a byte, which the kernels do not read"
STAYS_TYPE = "{schema} does not allow {type}: onnxruntime refuses it"
STAYS_REDUCTION = "reduction {reduction!r} is not defined for {type}: onnxruntime refuses it"
STAYS_NEWER = "the model imports opset {opset}, in which the operator has a newer version"
MOVES = "kernels of sowreap"
MOVES_FOLDED = "kernels of sowreap; its expanded indices are never built"


@dataclass(frozen=True)
class Placement:
    """Where a node of the family runs.

    Attributes
    ----------
    name : str
        The node; one without a name has that of its first output.
    op_type : str
        Its operator.
    graph : str
        What it belongs to: ``"main"``, a branch or body of a node, or a function.
    runs_on : str
        ``"sowreap"`` or ``"onnxruntime"``.
    reason : str
        Why.
    """

    name: str
    op_type: str
    graph: str
    runs_on: str
    reason: str


@dataclass
class _Scope:
    """What is known of the values that the nodes of a graph can see."""

    title: str
    opset: int
    types: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, list[int | None]] = field(default_factory=dict)
    sizes: set[str] = field(default_factory=set)
    constants: set[str] = field(default_factory=set)
    expands: dict[str, NodeProto] = field(default_factory=dict)

    def inner(self, title: str) -> _Scope:
        return _Scope(
            title,
            self.opset,
            dict(self.types),
            dict(self.shapes),
            set(self.sizes),
            set(self.constants),
            dict(self.expands),
        )

    def note(self, info: ValueInfoProto) -> None:
        """Note the type of a tensor and, where its rank is known, its shape."""
        if not info.type.HasField("tensor_type"):
            return
        tensor = info.type.tensor_type
        self.types[info.name] = tensor.elem_type
        if tensor.HasField("shape"):
            self.shapes[info.name] = [
                dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim
            ]

    def bytes_of(self, name: str, first_axis: int = 0) -> int | None:
        """Return how many bytes the axes of a tensor from `first_axis` on hold, None if unknown."""
        if name not in self.shapes or name not in self.types:
            return None
        dtype = known_dtype(self.types[name])
        if dtype is None:
            return None
        count = dtype.itemsize
        for size in self.shapes[name][first_axis:]:
            if size is None:
                return None
            count *= size
        return count


def has_family(model: ModelProto) -> bool:
    """Return whether a node of the family occurs anywhere in the model."""
    bodies = (model.graph, *model.functions)
    return any(_is_family(node) for body in bodies for node in walk(body.node))


def rewrite(model: ModelProto, threads: int = 0) -> list[Placement]:
    """Move the family's nodes of a model to the domain ``sowreap``, in place.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, which is changed. External data stays outside.
    threads : int, optional
        Size of the pool that will run the model; 0 where it is not known.

    Returns
    -------
    list of Placement
        One for each node of the family.

    Raises
    ------
    ArgumentError
        If a node breaks the schema of its version.
    ModelError
        If functions call each other without bound.
    """
    check_calls(model, "model")
    _inline_functions(model)
    return _Rewriter(model, threads).run()


def name_nodes(model: ModelProto) -> None:
    """Give nodes without a name that of their first output, as sowreap calls them everywhere."""
    for body in (model.graph, *model.functions):
        for node in walk(body.node):
            node.name = node_name(node)


class _Rewriter:
    def __init__(self, model: ModelProto, threads: int) -> None:
        self.model = model
        self.threads = threads
        self.placements: list[Placement] = []
        bodies = (model.graph, *model.functions)
        self.names = {node.name for body in bodies for node in walk(body.node)}
        self.folded: set[str] = set()  # outputs of Expand that a moved node no longer reads

    def run(self) -> list[Placement]:
        model = self.model
        inferred = _inferred(model)
        moved = self._graph(model.graph, inferred, _Scope("main", _opset(model)))
        _tell_types(model, inferred)
        for function in model.functions:
            title = f"function {function.name}"
            if self._nodes(function, None, list(function.output), _Scope(title, _opset(function))):
                _import_domain(function)
                moved = True
        if moved:
            _import_domain(model)
        return self.placements

    def _graph(self, graph: GraphProto, inferred: GraphProto | None, scope: _Scope) -> bool:
        """Rewrite a graph; return whether a node of it moved."""
        overridable = {info.name for info in graph.input}
        if self.model.ir_version < CONSTANT_INITIALIZERS_BEFORE_IR:
            overridable = set()
        for tensor in graph.initializer:
            scope.types[tensor.name] = tensor.data_type
            scope.shapes[tensor.name] = list(tensor.dims)
            if tensor.name not in overridable:
                scope.constants.add(tensor.name)
        known = graph if inferred is None else inferred
        for info in (*known.input, *known.value_info, *known.output):
            scope.note(info)
        return self._nodes(graph, inferred, [info.name for info in graph.output], scope)

    def _nodes(
        self,
        body: GraphProto | FunctionProto,
        inferred: GraphProto | None,
        outputs: list[str],
        scope: _Scope,
    ) -> bool:
        expands = {node.output[0]: node for node in body.node if _is_whole_expand(node)}
        scope.expands = _not_hidden(scope.expands, body) | expands
        moved = False
        for position, node in enumerate(body.node):
            twin = None if inferred is None else inferred.node[position]
            moved |= self._inner_graphs(node, twin, scope)
            if _is_family(node):
                is_output = any(name in outputs for name in node.output)
                self._place(node, is_output, scope)
                moved |= node.domain == DOMAIN
            _note_outputs(node, scope)
        folded = self.folded & expands.keys()
        unused = folded - _used(body, outputs) if folded else folded
        for position in reversed(range(len(body.node))):
            node = body.node[position]
            if _is_whole_expand(node) and node.output[0] in unused:
                del body.node[position]
        return moved

    def _place(self, node: NodeProto, is_output: bool, scope: _Scope) -> None:
        """Move a node, without the Expand in front of its indices, or let it stay."""
        name, expand = node_name(node), None
        if node.op_type != "TensorScatter" and node.domain != DOMAIN and len(node.input) > 1:
            expand = scope.expands.get(node.input[1])
        reason = self._reason_to_stay(node, expand is not None, scope)
        if reason is not None:
            expand = None
        else:
            self._move(node, is_output, expand)
        if expand is not None:
            self.folded.add(expand.output[0])
        runs_on = DOMAIN if reason is None else "onnxruntime"
        reason = reason or (MOVES if expand is None else MOVES_FOLDED)
        self.placements.append(Placement(name, node.op_type, scope.title, runs_on, reason))

    def _inner_graphs(self, node: NodeProto, twin: NodeProto | None, scope: _Scope) -> bool:
        moved = False
        twins = iter([] if twin is None else list(subgraphs(twin)))
        for title, graph in _titled_subgraphs(node):
            inner = scope.inner(f"{title} of {node_name(node)!r} in {scope.title}")
            moved |= self._graph(graph, next(twins, None), inner)
        return moved

    def _reason_to_stay(self, node: NodeProto, expanded: bool, scope: _Scope) -> str | None:
        """Return by which rule a node stays on onnxruntime, None for one that moves."""
        if node.domain == DOMAIN:
            return None
        schema = _checked_schema(node, scope.opset)
        if _is_newer(schema, scope.opset):
            return STAYS_NEWER.format(opset=scope.opset)
        number = scope.types.get(node.input[0], TensorProto.UNDEFINED)
        data_type = element_name(number) if number else None
        if data_type in PACKED:
            return STAYS_PACKED.format(type=data_type)
        if data_type is not None and data_type not in schema.data_types:
            return STAYS_TYPE.format(schema=schema, type=data_type)
        reduction = _attribute(node, "reduction", "none")
        if data_type == "string" and reduction not in REDUCTIONS_OF_TEXT:
            return STAYS_REDUCTION.format(reduction=reduction, type=data_type)
        if data_type == "string":
            return None if expanded or not _does_text_rightly(node, scope) else STAYS_TEXT
        if node.op_type not in GATHERS or data_type is None:
            return None
        return _reason_of_gather(node, expanded, scope)

    def _move(self, node: NodeProto, is_output: bool, expand: NodeProto | None) -> None:
        node.domain = DOMAIN
        if not node.name and node_name(node) not in self.names:
            node.name = node_name(node)
            self.names.add(node.name)
        while node.input and not node.input[-1]:
            node.input.pop()
        if expand is not None:
            node.input[1] = expand.input[0]
            node.input.append(expand.input[1])
        for name, value in (("visible", int(is_output)), ("threads", self.threads)):
            if value and not any(attribute.name == name for attribute in node.attribute):
                node.attribute.append(helper.make_attribute(name, value))


def _is_standard(node: NodeProto, op_type: str) -> bool:
    return node.op_type == op_type and node.domain in STANDARD_DOMAINS


def _is_whole_expand(node: NodeProto) -> bool:
    """Whether a node is an Expand with all that it needs, which broken models need not give."""
    is_whole = len(node.input) == 2 and len(node.output) == 1 and all((*node.input, *node.output))
    return _is_standard(node, "Expand") and is_whole


def _is_family(node: NodeProto) -> bool:
    return node.op_type in FAMILY and node.domain in (*STANDARD_DOMAINS, DOMAIN)


def _titled_subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    for attribute in node.attribute:
        for graph in graphs_of(attribute):
            yield attribute.name, graph


def _checked_schema(node: NodeProto, opset: int) -> Schema:
    """Return the version of the node, once its inputs and attributes are checked against it."""
    try:
        schema = find_schema(node.op_type, opset)
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                schema.attribute(attribute.name)
            else:
                schema.check_value(attribute.name, node_value(attribute))
        for position, name in enumerate(schema.mandatory):
            if position >= len(node.input) or not node.input[position]:
                raise ArgumentError(
                    f"{schema}: input {name!r} is missing; the inputs are "
                    f"{', '.join(schema.inputs)}.",
                    operator=node.op_type,
                    argument=name,
                )
        if len(node.output) != 1:
            raise ArgumentError(
                f"{schema}: the node has {len(node.output)} outputs; the operator has one.",
                operator=node.op_type,
                argument="output",
            )
    except ArgumentError as error:
        note_node(error, node)
        raise
    return schema


def _does_text_rightly(node: NodeProto, scope: _Scope) -> bool:
    """Return whether onnxruntime is certain to move strings as it should.

    It empties all but the first string of what one index of Gather addresses, and its ScatterND
    leaves to its threads which of several updates of a cell is the last.
    """
    if node.op_type != "Gather":
        return node.op_type in RIGHT_WITH_TEXT
    shape = scope.shapes.get(node.input[0])
    if not shape:
        return False
    return all(size == 1 for size in shape[int(_attribute(node, "axis", 0)) % len(shape) + 1 :])


def _reason_of_gather(node: NodeProto, expanded: bool, scope: _Scope) -> str | None:
    """Return why a gather stays, whose result is right on onnxruntime too."""
    if node.input[0] in scope.sizes:
        return STAYS_SIZES
    if all(name in scope.constants for name in node.input):
        return STAYS_CONSTANT
    moved = scope.bytes_of(node.output[0])
    if moved is not None and moved <= TINY:
        return STAYS_TINY.format(bytes=moved)
    data = scope.shapes.get(node.input[0])
    if node.op_type == "Gather" and data and not expanded:
        axis = int(_attribute(node, "axis", 0)) % len(data)
        row = scope.bytes_of(node.input[0], axis + 1)
        if row is not None and row >= LONG_ROW:
            return STAYS_ROWS.format(bytes=row)
    return None


def _is_newer(schema: Schema, opset: int) -> bool:
    """Return whether ONNX has a version at `opset` that is not in our table."""
    try:
        known = onnx.defs.get_schema(schema.op_type, max_inclusive_version=opset)
    except onnx.defs.SchemaError:
        return False
    return bool(known.since_version > schema.since_version)


def _not_hidden(
    expands: dict[str, NodeProto], body: GraphProto | FunctionProto
) -> dict[str, NodeProto]:
    """Return the nodes around a body whose names mean the same inside it."""
    own = {name for node in body.node for name in node.output}
    if isinstance(body, GraphProto):
        own.update(item.name for item in (*body.input, *body.initializer))
    return {name: node for name, node in expands.items() if own.isdisjoint((name, *node.input))}


def _used(body: GraphProto | FunctionProto, outputs: list[str]) -> set[str]:
    """Return the names that the nodes of a body, its subgraphs and its outputs read."""
    used = set(outputs)
    for node in walk(body.node):
        used.update(node.input)
        for graph in subgraphs(node):
            used.update(info.name for info in graph.output)
    return used


def _attribute(node: NodeProto, name: str, default: Any) -> Any:
    for attribute in node.attribute:
        if attribute.name == name:
            return node_value(attribute)
    return default


def _note_outputs(node: NodeProto, scope: _Scope) -> None:
    """Note which outputs of a node are sizes or constant."""
    if node.domain not in STANDARD_DOMAINS:
        return
    if node.op_type == "Constant":
        scope.constants.update(node.output)
    elif node.op_type in SIZE_SOURCES:
        scope.sizes.update(node.output)
    elif node.op_type in SIZE_OPERATORS:
        given = [name for name in node.input if name]
        if all(name in scope.sizes or name in scope.constants for name in given) and any(
            name in scope.sizes for name in given
        ):
            scope.sizes.update(node.output)


def _opset(owner: ModelProto | FunctionProto) -> int:
    versions = [each.version for each in owner.opset_import if each.domain in STANDARD_DOMAINS]
    return max(versions, default=1)


def _import_domain(owner: ModelProto | FunctionProto) -> None:
    if not any(entry.domain == DOMAIN for entry in owner.opset_import):
        owner.opset_import.append(helper.make_opsetid(DOMAIN, DOMAIN_VERSION))


def _inline_functions(model: ModelProto) -> None:
    """Put the bodies of functions with nodes of the family in the place of their calls.

    Onnxruntime does so too, but first infers types through a function's body, where it knows the
    operators of the standard alone.
    """
    imports = {entry.domain: entry.version for entry in model.opset_import}
    fitting = [  # others cannot be put among nodes of the model's opsets
        function
        for function in model.functions
        if all(
            imports.setdefault(entry.domain, entry.version) == entry.version
            for entry in function.opset_import
        )
    ]
    concerned = {
        (function.domain, function.name)
        for function in fitting
        if any(_is_family(node) for node in walk(function.node))
    }
    if not concerned:
        return
    while (
        callers := {
            (function.domain, function.name)
            for function in model.functions
            if any((node.domain, node.op_type) in concerned for node in walk(function.node))
        }
        - concerned
    ):
        concerned |= callers
    held = {}
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > LARGE:
            held[tensor.name] = tensor.raw_data
            tensor.ClearField("raw_data")
    try:
        model.CopyFrom(onnx.inliner.inline_selected_functions(model, sorted(concerned)))
    except Exception:  # broken functions, which onnxruntime refuses; the class is not public
        pass
    finally:
        for tensor in model.graph.initializer:
            if tensor.name in held:
                tensor.raw_data = held[tensor.name]


def _tell_types(model: ModelProto, inferred: GraphProto | None) -> None:
    """Tell the types of what functions return, for those that could not be inlined."""
    if inferred is None or not model.functions:
        return
    known = {info.name for info in (*model.graph.value_info, *model.graph.output)}
    called = {(function.domain, function.name) for function in model.functions}
    results = {
        name
        for node in model.graph.node
        if (node.domain, node.op_type) in called
        for name in node.output
    }
    for info in inferred.value_info:
        if info.name in results - known:
            model.graph.value_info.append(info)


def _inferred(model: ModelProto) -> GraphProto | None:
    """Return the graph with the types that ONNX can infer, None for a model that breaks its rules.

    Types do not depend on the contents of large tensors, so those are taken out meanwhile.
    """
    held = []
    for tensor in _large_tensors(model):
        held.append((tensor, tensor.raw_data))
        tensor.ClearField("raw_data")
    try:
        return onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # what broken models can make it raise has no common class
        return None
    finally:
        for tensor, content in held:
            tensor.raw_data = content


def _large_tensors(model: ModelProto) -> Iterator[TensorProto]:
    def of(tensors: Sequence[TensorProto]) -> Iterator[TensorProto]:
        return (tensor for tensor in tensors if len(tensor.raw_data) > LARGE)

    yield from of(model.graph.initializer)
    for body in (model.graph, *model.functions):
        for node in walk(body.node):
            for graph in subgraphs(node):
                yield from of(graph.initializer)
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR:
                    yield from of([attribute.t])
