"""The module of a whole model: imports, constants, functions, command line."""

from __future__ import annotations

import base64
import io
import re
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, ValueInfoProto

from sowreap.onnx._export import command_line, types
from sowreap.onnx._export.call import MISSING, Array, Constant, Value
from sowreap.onnx._export.graph import FunctionBody, Scope
from sowreap.onnx._export.helpers import HELPERS, called_helpers, source_of
from sowreap.onnx._export.names import Names, identifier
from sowreap.onnx._export.text import array_text, dtype_text, quoted, tuple_text, wrapped
from sowreap.onnx._loading import subgraphs
from sowreap.onnx._values import shape as declared_shape

LITERAL_LENGTH = 72  # characters; what takes more is a weight
PLAIN_NAME = re.compile(r"(?!.*\.\.)\w[\w.:/-]{0,59}", re.ASCII)
USER_DEFINED = 2  # numpy.dtype.isbuiltin of the types of ml_dtypes

ONNX_OP = '''def onnx_op(op_type, opset, *inputs, _outputs=1, _domain="", **attributes):
    """Run an operator of ONNX that NumPy has no name for, with onnx's evaluator."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    attributes = {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in attributes.items()
    }
    results = [f"y{i}" for i in range(_outputs)]
    node = helper.make_node(op_type, names, results, domain=_domain, **attributes)
    feeds = [x for x in inputs if x is not None]
    found = backend.run_node(node, feeds, opset_version=opset)
    return found if _outputs > 1 else found[0]'''


class Module:
    """Collects what the functions of a script need, and puts the script together.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, as :func:`sowreap.onnx._loading.load_model` returns it.
    """

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self._functions = {(f.domain, f.name): f for f in model.functions}
        self._main_name = identifier(model.graph.name, "graph")
        bases = {identifier(f.name, "function") for f in model.functions}
        self._bases = {*bases, self._main_name, *HELPERS}
        self._names = Names(set())
        for name in HELPERS:
            self._names.function(name)
        self._main_name = self._names.function(self._main_name)
        self._written: dict[tuple[Any, ...], tuple[str, list[np.dtype[Any] | None]]] = {}
        self._names_by_text: dict[str, str] = {}
        self._sources: list[str] = []
        self._literals: list[str] = []
        self.weights: dict[str, Array] = {}

    def new_names(self) -> Names:
        """Return a stock of names for the variables of one function."""
        return Names(self._bases)

    def constant(self, name: str, array: Array) -> Value:
        """Return a constant as a value."""
        return Value("", array.dtype, Constant(name, array))

    def define(self, constant: Constant) -> str:
        """Return the name of a constant, which the module defines from now on."""
        if not constant.text:
            array = constant.array
            is_short = array.size <= LITERAL_LENGTH and len(array_text(array)) <= LITERAL_LENGTH
            if is_short or array.dtype.kind in "OUST":
                constant.text = self._names.constant(constant.name)
                self._literals += wrapped(f"{constant.text} = {array_text(array)}", 0)
            else:
                name = self._weight_name(constant.name)
                self.weights[name] = array
                constant.text = f"W[{quoted(name)}]"
        return constant.text

    def _weight_name(self, name: str) -> str:
        """Return the name of a weight in its file: that in the model where it is plain."""
        base = name if PLAIN_NAME.fullmatch(name) else identifier(name, "weight")
        text, count = base, 1
        while text in self.weights:
            count += 1
            text = f"{base}.{count}"
        return text

    def function_key(self, node: NodeProto) -> tuple[str, str] | None:
        """Return the key of the local function that a node calls."""
        key = (node.domain, node.op_type)
        return key if key in self._functions else None

    def function(
        self, node: NodeProto, inputs: list[Value | None]
    ) -> tuple[str, list[np.dtype[Any] | None]]:
        """Return the name of the function that a node calls, and the dtypes of its outputs.

        A function with attributes, or with inputs that may be missing, is written once for each
        set of them that the model uses.
        """
        function = self._functions[node.domain, node.op_type]
        attributes = {each.name: each for each in node.attribute if each.name in function.attribute}
        given = tuple(value is not None for value in inputs)
        given_dtypes = tuple(None if value is None else value.dtype for value in inputs)
        values = tuple(sorted((n, a.SerializeToString()) for n, a in attributes.items()))
        key = (node.domain, node.op_type, values, given, given_dtypes)
        if key not in self._written:
            self._written[key] = self._write_function(function, attributes, inputs)
        return self._written[key]

    def _write_function(
        self,
        function: FunctionProto,
        attributes: dict[str, AttributeProto],
        inputs: list[Value | None],
    ) -> tuple[str, list[np.dtype[Any] | None]]:
        bound = FunctionProto()
        bound.CopyFrom(function)
        _bind(bound.node, attributes)
        body = FunctionBody(self, {entry.domain: entry.version for entry in bound.opset_import})
        scope, parameters = Scope(), []
        for position, name in enumerate(bound.input):
            value = inputs[position] if position < len(inputs) else None
            if value is None:
                scope[name] = MISSING
                continue
            parameters.append(body.variable(name, "x"))
            scope[name] = Value(parameters[-1], value.dtype, None, value.is_sequence)
        body.write(bound.node, bound.output, scope)
        outputs = [scope[name] for name in bound.output]
        body.add(f"return {', '.join(body.text(value) for value in outputs)}")
        text = "\n".join([function.domain, function.name, *parameters, *body.lines])
        if text not in self._names_by_text:
            name = self._names.function(function.name)
            self._names_by_text[text] = name
            head = wrapped(f"def {name}({', '.join(parameters)}):", 0)
            about = f'    """Compute the function {_plain(function.name)} of the model."""'
            self._sources.append("\n".join([*head, about, *body.lines]))
        return self._names_by_text[text], [value.dtype for value in outputs]

    def source(self, weights: Path | None) -> str:
        """Return the source of the script; large constants go to the file `weights`, if given."""
        graph = self.model.graph
        body = FunctionBody(
            self, {entry.domain: entry.version for entry in self.model.opset_import}
        )
        scope = Scope()
        body.hold_initializers(graph, scope)
        initial = {tensor.name for tensor in graph.initializer}
        fixed = self.model.ir_version < 4
        parameters: list[tuple[ValueInfoProto, str, str]] = []
        for info in sorted(graph.input, key=lambda info: info.name in initial):
            if info.name in initial and fixed:
                continue
            default = body.text(scope[info.name]) if info.name in initial else ""
            variable = body.variable(info.name, "x")
            parameters.append((info, variable, default))
            sequence = types.is_sequence(info.type)
            scope[info.name] = Value(variable, types.dtype_of(info.type), None, sequence)
        body.write(graph.node, [info.name for info in graph.output], scope)
        results = [body.text(scope[info.name]) for info in graph.output]
        body.add(f"return {', '.join(results)}")
        self._sources.append(self._main_function(parameters, body))
        return _Frame(self, parameters, weights).text()

    def _main_function(
        self, parameters: list[tuple[ValueInfoProto, str, str]], body: FunctionBody
    ) -> str:
        arguments = [f"{name}={default}" if default else name for _, name, default in parameters]
        lines = ['@np.errstate(all="ignore")']
        lines += wrapped(f"def {self._main_name}({', '.join(arguments)}):", 0)
        lines += ['    """Compute the outputs of the model.', ""]
        lines += _section("Parameters", [(name, info) for info, name, _ in parameters])
        outputs = [
            (identifier(info.name, f"output_{i}"), info)
            for i, info in enumerate(self.model.graph.output)
        ]
        lines += _section("Returns", outputs)
        lines[-1] = '    """'
        return "\n".join([*lines, *body.lines])

    @property
    def needs_evaluator(self) -> bool:
        """Whether a node is left to onnx's evaluator."""
        return any("onnx_op(" in source for source in self._sources)

    @property
    def main_name(self) -> str:
        """Name of the function of the main graph."""
        return self._main_name

    @property
    def parts(self) -> tuple[list[str], list[str]]:
        """Lines of small constants, and sources of functions in the order of their calls."""
        return self._literals, self._sources


class _Frame:
    """What stands around the functions of a script."""

    def __init__(
        self,
        module: Module,
        parameters: list[tuple[ValueInfoProto, str, str]],
        weights: Path | None,
    ) -> None:
        self.module = module
        self.parameters = parameters
        self.weights = weights if module.weights else None

    def text(self) -> str:
        """Return the source of the whole script."""
        literals, functions = self.module.parts
        helpers = [source_of(name) for name in called_helpers(functions)]
        if self.module.needs_evaluator:
            helpers.append(ONNX_OP)
        loaded = self._weights()
        constants = [*loaded, *([""] if loaded and literals else []), *literals]
        main = self._main()
        blocks = ["\n".join(constants)] if constants else []
        blocks += [*helpers, *functions, *main]
        body = "\n\n\n".join(blocks)
        tail = '\n\n\nif __name__ == "__main__":\n    main()\n'
        return f"{self._docstring()}\n\n{self._imports(body)}\n\n{self._gap(body)}{body}{tail}"

    def _gap(self, body: str) -> str:
        return "\n" if body.startswith(("def ", "@")) else ""

    def _docstring(self) -> str:
        return (
            f'"""The ONNX model {_plain(self.module.model.graph.name)}, written with NumPy and '
            "sowreap.\n\nRun it on a file of inputs:\n\n"
            "    python SCRIPT.py inputs.npz -o outputs.npz\n"
            '"""'
        )

    def _imports(self, body: str) -> str:
        standard = [
            f"import {name}"
            for name in ("argparse", "base64", "io", "itertools", "math", "zipfile")
            if re.search(rf"\b{name}\.", body)
        ]
        if "Path(" in body:
            standard.append("from pathlib import Path")
        others = ["import ml_dtypes"] if "ml_dtypes." in body else []
        others.append("import numpy as np")
        if re.search(r"\bsr\.", body):
            others.append("import sowreap as sr")
        if self.module.needs_evaluator:
            graph = "GraphProto, " if "GraphProto." in body else ""
            others.append(f"from onnx import {graph}helper, numpy_helper")
            others.append("from sowreap.onnx import backend")
        return "\n".join([*standard, "", *others])

    def _weights(self) -> list[str]:
        arrays = self.module.weights
        if not arrays:
            return []
        if self.weights is None:
            text = base64.b64encode(archive(arrays)).decode("ascii")
            lines = ['WEIGHTS = """', *textwrap.wrap(text, 88), '"""', ""]
            opening = "with np.load(io.BytesIO(base64.b64decode(WEIGHTS))) as weights:"
        else:
            lines = []
            name = quoted(self.weights.name)
            opening = f"with np.load(Path(__file__).with_name({name})) as weights:"
        lines += [*wrapped(opening, 0), "    W = dict(weights)"]
        for name, array in arrays.items():
            if array.dtype.isbuiltin == USER_DEFINED:
                weight = f"W[{quoted(name)}]"
                lines += wrapped(f"{weight} = {weight}.view({dtype_text(array.dtype)})", 0)
        return lines

    def _main(self) -> list[str]:
        inputs = [
            command_line.Input(
                info.name,
                argument,
                types.dtype_of(info.type),
                bool(default),
                types.is_sequence(info.type),
            )
            for info, argument, default in self.parameters
        ]
        outputs = [
            command_line.Output(info.name, types.dtype_of(info.type))
            for info in self.module.model.graph.output
        ]
        return command_line.blocks(self.module.main_name, inputs, outputs)


def archive(arrays: dict[str, Array]) -> bytes:
    """Return an ``.npz`` file of arrays; those of ml_dtypes as raw bytes."""
    stored = {
        name: array.view(f"V{array.dtype.itemsize}")
        if array.dtype.isbuiltin == USER_DEFINED
        else array
        for name, array in arrays.items()
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:  # numpy.savez takes not every name
        for name, array in stored.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return buffer.getvalue()


def _bind(nodes: Any, attributes: dict[str, AttributeProto]) -> None:
    """Give attributes that link to those of the function their values; drop those without one."""
    for node in nodes:
        for position in reversed(range(len(node.attribute))):
            attribute = node.attribute[position]
            if not attribute.ref_attr_name:
                continue
            value = attributes.get(attribute.ref_attr_name)
            if value is None:
                del node.attribute[position]
            else:
                name = attribute.name
                attribute.CopyFrom(value)
                attribute.name = name
        for graph in subgraphs(node):
            _bind(graph.node, attributes)


def _section(title: str, entries: list[tuple[str, ValueInfoProto]]) -> list[str]:
    if not entries:
        return []
    lines = [f"    {title}", f"    {'-' * len(title)}"]
    lines += [f"    {name} : {_type_text(info)}" for name, info in entries]
    return [*lines, ""]


def _type_text(info: ValueInfoProto) -> str:
    dtype = types.dtype_of(info.type)
    if dtype is None:
        return "list of arrays" if types.is_sequence(info.type) else "array"
    sizes = declared_shape(info.type)
    name = "str" if dtype.kind in "OUST" else dtype.name
    if sizes is None:
        return f"{name} array"
    texts = [
        str(size) if isinstance(size, int) else identifier(size or "", "any") for size in sizes
    ]
    return f"{name} array, shape ({tuple_text(texts) if texts else ''})"


def _plain(text: str) -> str:
    """Return a name for prose: letters, digits and a few signs of it alone."""
    return re.sub(r"[^0-9A-Za-z_.-]+", " ", text).strip() or "without a name"
