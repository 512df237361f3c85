"""Statements of a graph: a line for each node, control flow for If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, helper, numpy_helper

from sowreap.onnx._errors import ModelError, node_name
from sowreap.onnx._export import operators, types
from sowreap.onnx._export.call import MISSING, Call, Value
from sowreap.onnx._export.text import dtype_text, number, quoted, tuple_text, wrapped
from sowreap.onnx._loading import subgraphs

if TYPE_CHECKING:
    from sowreap.onnx._export.module import Module

MAX_DEPTH = 18  # CPython takes 20 nested loops
_CONSTANT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "value": lambda value: value,
    "value_int": lambda value: np.array(value, np.int64),
    "value_ints": lambda value: np.array(value, np.int64),
    "value_float": lambda value: np.array(value, np.float32),
    "value_floats": lambda value: np.array(value, np.float32),
    "value_string": lambda value: np.array(value, object),
    "value_strings": lambda value: np.array(value, object),
}


class Scope:
    """Values by the names of the model; a subgraph sees those of the graphs around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self._outer = outer
        self._values: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name in self._values:
            return self._values[name]
        if self._outer is None:
            raise ModelError(f"the model uses {name!r} before it is computed.", argument="model")
        return self._outer[name]

    def __setitem__(self, name: str, value: Value) -> None:
        self._values[name] = value


class FunctionBody:
    """The statements of one function of the script.

    Parameters
    ----------
    module : Module
        Where constants and functions go that the statements use.
    opsets : dict of str to int
        Versions by domain.
    """

    def __init__(self, module: Module, opsets: dict[str, int]) -> None:
        self.module = module
        self.opsets = opsets
        self.names = module.new_names()
        self.lines: list[str] = []
        self._used: set[str] = set()
        self._depth = 1

    def add(self, line: str) -> None:
        """Add a statement."""
        self.lines += wrapped(line, self._depth)

    def write(
        self,
        nodes: Sequence[NodeProto],
        outputs: Sequence[str],
        scope: Scope,
        wanted: dict[str, str] | None = None,
    ) -> None:
        """Write those nodes that `outputs` need; `wanted` gives names for values of these nodes."""
        if self._depth > MAX_DEPTH:
            raise ModelError(
                f"graphs lie more than {MAX_DEPTH} deep inside each other; Python has no blocks "
                "that deep.",
                argument="model",
            )
        needed, used = _needed(nodes, outputs)
        self._used |= used
        for node in needed:
            try:
                self._node(node, scope, wanted or {})
            except KeyError as error:
                raise ModelError(
                    f"node {node_name(node)!r} ({node.op_type}) lacks attribute {error}.",
                    argument="model",
                ) from error

    def hold_initializers(self, graph: GraphProto, scope: Scope) -> None:
        """Make the initializers of a graph known."""
        for tensor in graph.initializer:
            scope[tensor.name] = self.module.constant(tensor.name, numpy_helper.to_array(tensor))
        if graph.sparse_initializer:
            raise ModelError(
                "the model holds sparse initializers, which have no form in NumPy.",
                argument="model",
            )

    def text(self, value: Value) -> str:
        """Return the expression of a value."""
        return self._call("", {}, [value], 1, 0).arg(0)

    def variable(self, name: str, fallback: str) -> str:
        """Return a new variable."""
        return self.names.variable(name, fallback)

    def _call(
        self,
        op_type: str,
        attributes: dict[str, Any],
        inputs: list[Value | None],
        output_count: int,
        version: int,
    ) -> Call:
        return Call(op_type, version, attributes, inputs, output_count, self.module.define)

    def _node(self, node: NodeProto, scope: Scope, wanted: dict[str, str]) -> None:
        domain = node.domain
        found = [scope[name] if name else MISSING for name in node.input]
        inputs = [None if value is MISSING else value for value in found]
        while inputs and inputs[-1] is None:
            inputs.pop()
        control = _CONTROL.get(node.op_type) if domain == "" else None
        key = self.module.function_key(node)
        if key is not None:
            self._function_call(node, inputs, scope, wanted)
        elif control is not None:
            control(self, node, inputs, scope)
        elif node.op_type == "Constant" and domain == "":
            self._constant(node, scope)
        else:
            self._expression(node, inputs, scope, wanted)

    def _constant(self, node: NodeProto, scope: Scope) -> None:
        if len(node.attribute) != 1:
            raise ModelError(
                f"node {node_name(node)!r} (Constant) has {len(node.attribute)} attributes; it "
                "must have one, which is its value.",
                argument="model",
            )
        attribute = node.attribute[0]
        convert = _CONSTANT_ATTRIBUTES.get(attribute.name)
        if convert is None:
            raise ModelError(
                f"node {node_name(node)!r} (Constant) holds {attribute.name}, which has no form "
                "in NumPy.",
                argument="model",
            )
        name = node.output[0]
        scope[name] = self.module.constant(name, convert(_attribute_value(attribute)))

    def _expression(
        self, node: NodeProto, inputs: list[Value | None], scope: Scope, wanted: dict[str, str]
    ) -> None:
        attributes = {each.name: _attribute_value(each) for each in node.attribute}
        outputs = self._outputs(node)
        version = self.opsets.get(node.domain, 1)
        call = self._call(node.op_type, attributes, inputs, len(outputs), version)
        text = operators.expression(call) if node.domain == "" else None
        is_unpacked = node.op_type in operators.UNPACKED and node.domain == ""
        if text is None:
            text = self._by_evaluator(node, call, attributes)
            is_unpacked = len(outputs) > 1
        for value in inputs:
            if value is not None and value.text == text:
                scope[outputs[0]] = value  # what hands on its input needs no line
                return
        sequence = types.gives_sequence(call, node.domain)
        targets = []
        for position, name in enumerate(outputs):
            target = self._target(name, node, wanted)
            targets.append(target)
            if name:
                dtype = types.output_dtype(call, node.domain, position)
                scope[name] = Value(target, dtype, None, sequence)
        left = tuple_text(targets) if is_unpacked else targets[0]
        self.add(f"{f'({left})' if left.endswith(',') else left} = {text}")

    def _outputs(self, node: NodeProto) -> list[str]:
        """Return the names of the outputs, "" for each that is not used, up to the last that is.

        Those of Split all count: they say how many pieces there are.
        """
        outputs = [name if name in self._used else "" for name in node.output]
        while len(outputs) > 1 and not outputs[-1] and node.op_type != "Split":
            outputs.pop()
        return outputs

    def _target(self, name: str, node: NodeProto, wanted: dict[str, str]) -> str:
        if not name:
            return "_"
        return wanted.get(name) or self.variable(name, node.op_type.lower())

    def _by_evaluator(self, node: NodeProto, call: Call, attributes: dict[str, Any]) -> str:
        arguments = [quoted(node.op_type), str(call.version), *call.args()]
        for name, value in attributes.items():
            arguments.append(_keyword(name, self._attribute_text(node, name, value)))
        if call.output_count > 1:
            arguments.append(f"_outputs={call.output_count}")
        if node.domain:
            arguments.append(f"_domain={quoted(node.domain)}")
        return f"onnx_op({', '.join(arguments)})"

    def _attribute_text(self, node: NodeProto, name: str, value: Any) -> str:
        if isinstance(value, list):
            return f"[{', '.join(self._attribute_text(node, name, item) for item in value)}]"
        if isinstance(value, str | int | np.floating):
            return number(value)
        if isinstance(value, np.ndarray):
            constant = self.module.constant(f"{node_name(node)}_{name}", value)
            return self.text(constant)
        if isinstance(value, GraphProto) and not _free_names(value):
            return f"GraphProto.FromString({value.SerializeToString()!r})"
        raise ModelError(
            f"node {node_name(node)!r} ({node.op_type}) cannot be written as Python: its attribute "
            f"{name!r} is neither a number, a text, a tensor nor a graph of its own.",
            argument="model",
        )

    def _function_call(
        self, node: NodeProto, inputs: list[Value | None], scope: Scope, wanted: dict[str, str]
    ) -> None:
        name, dtypes = self.module.function(node, inputs)
        outputs = self._outputs(node)
        arguments = [self.text(value) for value in inputs if value is not None]
        targets = [self._target(each, node, wanted) for each in outputs]
        targets += ["_"] * (len(dtypes) - len(targets))
        for each, target, dtype in zip(outputs, targets, dtypes, strict=False):
            if each:
                scope[each] = Value(target, dtype)
        self.add(f"{', '.join(targets)} = {name}({', '.join(arguments)})")

    def _assign(self, targets: Sequence[str], values: Sequence[str]) -> None:
        """Assign all at once, but nothing to itself."""
        pairs = [pair for pair in zip(targets, values, strict=True) if pair[0] != pair[1]]
        if pairs:
            lefts, rights = zip(*pairs, strict=True)
            self.add(f"{', '.join(lefts)} = {', '.join(rights)}")

    def _if(self, node: NodeProto, inputs: list[Value | None], scope: Scope) -> None:
        condition = inputs[0]
        assert condition is not None
        branches = {each.name: each.g for each in node.attribute}
        outputs = self._outputs(node)
        targets = [self.variable(name, "if") if name else "" for name in outputs]
        found: list[list[Value]] = []
        for keyword, name in (("if", "then_branch"), ("else", "else_branch")):
            self.add(f"if {self.text(condition)}:" if keyword == "if" else "else:")
            found.append(self._branch(branches[name], targets, scope))
        for name, target, value, other in zip(outputs, targets, *found, strict=False):
            if name:
                dtype = value.dtype if value.dtype == other.dtype else None
                scope[name] = Value(target, dtype, None, value.is_sequence)

    def _branch(self, graph: GraphProto, targets: list[str], scope: Scope) -> list[Value]:
        inner, names = Scope(scope), [info.name for info in graph.output]
        wanted = {
            name: target
            for name, target in zip(names, targets, strict=False)
            if target and names.count(name) == 1
        }
        before = len(self.lines)
        self._depth += 1
        self.hold_initializers(graph, inner)
        named = list(zip(names, targets, strict=False))
        self.write(graph.node, [name for name, target in named if target], inner, wanted)
        values = [inner[name] if target else MISSING for name, target in named]
        for value, target in zip(values, targets, strict=False):
            if target and self.text(value) != target:
                self.add(f"{target} = {self.text(value)}")
        if len(self.lines) == before:
            self.add("pass")
        self._depth -= 1
        return values

    def _loop(self, node: NodeProto, inputs: list[Value | None], scope: Scope) -> None:
        body = _graph_attribute(node, "body")
        limit, condition, *initial = [*inputs, None, None][: max(2, len(inputs))]
        step, keep_name, *carried = [info.name for info in body.input]
        keep_out, *results = [info.name for info in body.output]
        inner, outputs = Scope(scope), [*self._outputs(node), *[""] * len(results)]
        self.hold_initializers(body, inner)
        targets = []
        for name, output, value in zip(carried, outputs, initial, strict=False):
            assert value is not None
            target = self.variable(output or name, "carried")
            targets.append(target)
            inner[name] = Value(target, value.dtype, None, value.is_sequence)
            self._assign([target], [self.text(value)])
        lists = self._empty_lists(results[len(carried) :], outputs[len(carried) :])
        counter = self.variable(step, "step") if _uses(body, step) else ""
        inner[step] = Value(counter, np.dtype(np.int64))
        keep = self._condition(body, condition, keep_name, keep_out, inner)
        self._loop_head(limit, keep, counter)
        self._depth += 1
        before = len(self.lines)
        if keep and limit is not None:
            self.add(f"if not {keep}:")
            self._depth += 1
            self.add("break")
            self._depth -= 1
        if counter:
            self.add(f"{counter} = np.int64({counter}_)")
        kept = _kept(results[len(carried) :], lists)
        wanted = [*results[: len(carried)], *kept]
        self.write(body.node, [keep_out, *wanted] if keep else wanted, inner)
        self._append(filter(None, lists), [inner[name] for name in kept])
        updates = [self.text(inner[name]) for name in results[: len(carried)]]
        flags = ([keep], [self.text(inner[keep_out])]) if keep else ([], [])
        self._assign([*targets, *flags[0]], [*updates, *flags[1]])
        if len(self.lines) == before:
            self.add("pass")
        self._depth -= 1
        for output, target, value in zip(outputs, targets, initial, strict=False):
            assert value is not None
            if output:
                scope[output] = Value(target, value.dtype, None, value.is_sequence)
        self._stacked(lists, body, len(carried) + 1, scope, outputs[len(carried) :])

    def _condition(
        self,
        body: GraphProto,
        condition: Value | None,
        keep_name: str,
        keep_out: str,
        inner: Scope,
    ) -> str:
        """Return the variable that says whether the loop goes on, "" if it always does."""
        starts = condition is None or _is_true(condition)
        if starts and _stays_true(body, keep_out, keep_name):
            inner[keep_name] = self.module.constant(keep_name, np.array(True))
            return ""
        keep = self.variable(keep_name, "keep_going")
        first = "True" if condition is None else self.text(condition)
        self.add(f"{keep} = {first}")
        inner[keep_name] = Value(keep, np.dtype(bool))
        return keep

    def _loop_head(self, limit: Value | None, keep: str, counter: str) -> None:
        variable = f"{counter}_" if counter else "_"
        if limit is not None:
            constant = limit.constant
            count = (
                str(constant.array.item()) if constant is not None else f"{self.text(limit)}.item()"
            )
            self.add(f"for {variable} in range({count}):")
        elif counter:
            self.add(f"for {variable} in itertools.count():")
        else:
            self.add(f"while {keep or 'True'}:")

    def _empty_lists(self, names: Sequence[str], outputs: Sequence[str]) -> list[str]:
        lists = []
        for name, output in zip(names, outputs, strict=False):
            lists.append(self.variable(f"{name}_list", "values") if output else "")
            if output:
                self.add(f"{lists[-1]} = []")
        return lists

    def _append(self, lists: Iterable[str], values: Sequence[Value]) -> None:
        for name, value in zip(lists, values, strict=True):
            self.add(f"{name}.append({self.text(value)})")

    def _stacked(
        self,
        lists: Sequence[str],
        body: GraphProto,
        first: int,
        scope: Scope,
        outputs: Sequence[str],
        axes: Sequence[int] = (),
        directions: Sequence[int] = (),
    ) -> None:
        """Write the arrays of what each round of a loop gave."""
        for position, (values, output) in enumerate(zip(lists, outputs, strict=False)):
            if not values:
                continue
            declared = body.output[first + position].type
            dtype = types.dtype_of(declared)
            axis = axes[position] if position < len(axes) else 0
            if position < len(directions) and directions[position]:
                values = f"{values}[::-1]"
            target = self.variable(output, "stacked")
            sizes = [dim.dim_value for dim in declared.tensor_type.shape.dim]
            if dtype is not None:
                sizes.insert(axis if axis >= 0 else len(sizes) + 1 + axis, 0)
                shape = f"({tuple_text([str(size) for size in sizes])})"
                rest = f", {axis}" if axis else ""
                self.add(f"{target} = stack({values}, {shape}, {dtype_text(dtype)}{rest})")
            else:
                self.add(f"{target} = np.stack({values}, axis={axis})")
            scope[output] = Value(target, dtype)

    def _scan(self, node: NodeProto, inputs: list[Value | None], scope: Scope) -> None:
        if self.opsets.get("", 1) < 9:
            raise ModelError(
                f"node {node_name(node)!r} (Scan) is of opset 8, which nothing here runs. "
                "Convert the model to opset 9 or later.",
                argument="model",
            )
        body = _graph_attribute(node, "body")
        options = {
            each.name: _attribute_value(each) for each in node.attribute if each.name != "body"
        }
        state_count = len(inputs) - options["num_scan_inputs"]
        names, results = [info.name for info in body.input], [info.name for info in body.output]
        inner, outputs = Scope(scope), [*self._outputs(node), *[""] * len(results)]
        self.hold_initializers(body, inner)
        targets = []
        for name, output, value in zip(names, outputs, inputs[:state_count], strict=False):
            assert value is not None
            targets.append(self.variable(output or name, "state"))
            inner[name] = Value(targets[-1], value.dtype)
            self._assign([targets[-1]], [self.text(value)])
        lists = self._empty_lists(results[state_count:], outputs[state_count:])
        self._scan_head(inputs[state_count:], names[state_count:], options, inner)
        self._depth += 1
        before = len(self.lines)
        kept = _kept(results[state_count:], lists)
        self.write(body.node, [*results[:state_count], *kept], inner)
        self._append(filter(None, lists), [inner[name] for name in kept])
        self._assign(targets, [self.text(inner[name]) for name in results[:state_count]])
        if len(self.lines) == before:
            self.add("pass")
        self._depth -= 1
        for output, target, value in zip(outputs, targets, inputs, strict=False):
            if output and value is not None:
                scope[output] = Value(target, value.dtype)
        self._stacked(
            lists,
            body,
            state_count,
            scope,
            outputs[state_count:],
            options.get("scan_output_axes", ()),
            options.get("scan_output_directions", ()),
        )

    def _scan_head(
        self,
        scanned: Sequence[Value | None],
        names: Sequence[str],
        options: dict[str, Any],
        inner: Scope,
    ) -> None:
        axes, directions = (
            [*options.get(f"scan_input_{what}", []), *[0] * len(names)]
            for what in ("axes", "directions")
        )
        variables, sources = [], []
        for value, name, axis, direction in zip(scanned, names, axes, directions, strict=False):
            assert value is not None
            text = self.text(value)
            text = f"np.moveaxis({text}, {axis}, 0)" if axis else text
            sources.append(f"{text}[::-1]" if direction else text)
            variables.append(self.variable(name, "item"))
            inner[name] = Value(variables[-1], value.dtype)
        if len(sources) == 1:
            self.add(f"for {variables[0]} in {sources[0]}:")
        else:
            self.add(f"for {', '.join(variables)} in zip({', '.join(sources)}, strict=True):")

    def _sequence_map(self, node: NodeProto, inputs: list[Value | None], scope: Scope) -> None:
        body = _graph_attribute(node, "body")
        inner, variables, sources = Scope(scope), [], []
        self.hold_initializers(body, inner)
        for position, (value, info) in enumerate(zip(inputs, body.input, strict=True)):
            assert value is not None
            if position and not value.is_sequence:
                inner[info.name] = value
                continue
            variables.append(self.variable(info.name, "item"))
            sources.append(self.text(value))
            inner[info.name] = Value(variables[-1], types.dtype_of(info.type))
        results = [info.name for info in body.output]
        outputs = self._outputs(node)
        lists = self._empty_lists(results, outputs)
        if len(sources) == 1:
            self.add(f"for {variables[0]} in {sources[0]}:")
        else:
            self.add(f"for {', '.join(variables)} in zip({', '.join(sources)}, strict=True):")
        self._depth += 1
        kept = _kept(results, lists)
        self.write(body.node, kept, inner)
        self._append(filter(None, lists), [inner[name] for name in kept])
        self._depth -= 1
        for name, output in zip(lists, outputs, strict=False):
            if output:
                scope[output] = Value(name, is_sequence=True)


_CONTROL: dict[str, Any] = {
    "If": FunctionBody._if,
    "Loop": FunctionBody._loop,
    "Scan": FunctionBody._scan,
    "SequenceMap": FunctionBody._sequence_map,
}


def _needed(nodes: Sequence[NodeProto], outputs: Iterable[str]) -> tuple[list[NodeProto], set[str]]:
    """Return the nodes whose outputs are used, and all names that are."""
    used, kept = set(outputs), []
    for node in reversed(nodes):
        if used.intersection(filter(None, node.output)):
            kept.append(node)
            used |= _read(node)
    return kept[::-1], used


def _kept(results: Sequence[str], lists: Sequence[str]) -> list[str]:
    """Return the results of a round that go to a list."""
    return [result for result, name in zip(results, lists, strict=False) if name]


def _read(node: NodeProto) -> set[str]:
    """Return the names that a node or any graph inside it reads."""
    names = set(node.input)
    for graph in subgraphs(node):
        names.update(info.name for info in graph.output)
        for inner in graph.node:
            names |= _read(inner)
    return names


def _free_names(graph: GraphProto) -> set[str]:
    """Return the names that a graph takes from those around it."""
    known = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    free: set[str] = set()
    for node in graph.node:
        free |= set(node.input).union(*map(_free_names, subgraphs(node))) - known - {""}
        known.update(node.output)
    return free | {info.name for info in graph.output} - known


def _uses(graph: GraphProto, name: str) -> bool:
    outputs = {info.name for info in graph.output}
    return name in outputs or any(name in _read(node) for node in graph.node)


def _is_true(value: Value) -> bool:
    return value.constant is not None and bool(value.constant.array.all())


def _stays_true(body: GraphProto, keep_out: str, keep_name: str) -> bool:
    """Return whether a loop's body hands its condition on, or gives a constant that is true."""
    made_by = {name: node for node in body.node for name in node.output}
    while keep_out in made_by and made_by[keep_out].op_type == "Identity":
        keep_out = made_by[keep_out].input[0]
    if keep_out == keep_name:
        return True
    for tensor in body.initializer:
        if tensor.name == keep_out:
            return bool(numpy_helper.to_array(tensor).all())
    node = made_by.get(keep_out)
    if node is None or node.op_type != "Constant" or node.attribute[0].name != "value":
        return False
    return bool(numpy_helper.to_array(node.attribute[0].t).all())


def _graph_attribute(node: NodeProto, name: str) -> GraphProto:
    for attribute in node.attribute:
        if attribute.name == name:
            graph: GraphProto = attribute.g
            return graph
    raise KeyError(name)


def _attribute_value(attribute: AttributeProto) -> Any:
    """Return an attribute as Python or NumPy holds it; floats keep their width."""
    if attribute.type == AttributeProto.FLOAT:
        return np.float32(attribute.f)
    if attribute.type == AttributeProto.FLOATS:
        return [np.float32(item) for item in attribute.floats]
    if attribute.type == AttributeProto.STRING:
        return attribute.s.decode("utf-8", errors="replace")
    if attribute.type == AttributeProto.STRINGS:
        return [item.decode("utf-8", errors="replace") for item in attribute.strings]
    if attribute.type == AttributeProto.TENSOR:
        return numpy_helper.to_array(attribute.t)
    if attribute.type == AttributeProto.TENSORS:
        return [numpy_helper.to_array(item) for item in attribute.tensors]
    if attribute.type == AttributeProto.INTS:
        return [int(item) for item in attribute.ints]
    return helper.get_attribute_value(attribute)


def _keyword(name: str, text: str) -> str:
    return f"{name}={text}" if name.isidentifier() else f"**{{{quoted(name)}: {text}}}"
