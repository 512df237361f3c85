"""Shapes of outputs from shapes of inputs, symbolic sizes included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto
from onnx.reference.op_run import RefAttrName

from sowreap import _core
from sowreap._errors import ArgumentError, DtypeError, ShapeError, SowreapError
from sowreap.onnx import operators
from sowreap.onnx._errors import note_node

Size = int | str | None
Shape = tuple[Size, ...]

_CLASSES = {each.__name__: each for each in operators.reference_ops()}
_TUPLES = {"gather_nd", "scatter_nd"}  # the last size of indices is the length of index tuples


def infer_shapes(
    node: NodeProto,
    shapes: Mapping[str, Sequence[Size] | None] | Sequence[Sequence[Size] | None],
    *,
    opset: int | None = None,
) -> list[Shape | None]:
    """Return the shapes of the outputs of a gather or scatter node.

    The rules are those that a call of the operator checks first, in the same code.

    Parameters
    ----------
    node : onnx.NodeProto
        Of one of the seven operators.
    shapes : mapping of str to shape, or sequence of shapes
        Of the node's inputs, by name or in their order. A size is a number, a symbol that stands
        for one number wherever it is used, or None; a shape of unknown rank is None or missing.
    opset : int, optional
        Version of the default domain; the newest without it.

    Returns
    -------
    list of tuple, or of None
        One shape for each output, None if not even its rank is known. A size is a number where
        that is certain, else a symbol that it is certain to equal, else None.

    Raises
    ------
    ShapeError, ArgumentError
        As when the node runs, where shapes or attributes are certain not to fit; also where a
        symbol would have to stand for two numbers.

    Examples
    --------
    >>> from onnx.helper import make_node
    >>> node = make_node("Gather", ["x", "i"], ["y"], axis=1)
    >>> infer_shapes(node, {"x": ("batch", 5, None), "i": (2, "picks")})
    [('batch', 2, 'picks', None)]
    >>> node = make_node("ScatterND", ["x", "i", "u"], ["y"])
    >>> infer_shapes(node, [(None, "n"), ("m", 1), ("m", 64)])
    [(None, 64)]
    >>> infer_shapes(node, [(8, 3), ("m", 1), ("m", 4)])  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    sowreap.ShapeError: scatter_nd: updates has shape (m, 4) but needs shape (m, 3)...
    """
    operator = _operator(node, opset)
    given = _given_shapes(operator, node, shapes)
    try:
        return [_Inference(operator, given).output()]
    except SowreapError as error:
        note_node(error, node)
        raise


def _operator(node: NodeProto, opset: int | None) -> operators.FamilyOp:
    kind = _CLASSES.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if kind is None:
        raise ArgumentError(
            f"infer_shapes: the node is a {node.op_type!r}; it must be one of "
            f"{', '.join(_CLASSES)}.",
            operator="infer_shapes",
            argument="node",
            value=node.op_type,
        )
    options: dict[str, Any] = {} if opset is None else {"opset": opset}
    operator = kind(node, **options)
    for name, value in operator.atts_value.items():
        if isinstance(value, RefAttrName):
            raise ArgumentError(
                f"{operator.version}: {name} is linked to attribute {value.name!r} of the "
                "enclosing function; give the node its value first.",
                operator=node.op_type,
                argument=name,
            )
    return operator


def _given_shapes(operator: operators.FamilyOp, node: NodeProto, shapes: Any) -> list[Shape | None]:
    """Return a shape for each input that the node has, in the operator's order."""
    names = list(node.input)
    while names and not names[-1]:
        names.pop()
    if isinstance(shapes, Mapping):
        values = [shapes.get(name) for name in names]
    else:
        values = list(shapes)
        if len(values) != len(names):
            raise ArgumentError(
                f"{operator.version}: {len(values)} shapes for {len(names)} inputs: "
                f"{', '.join(map(repr, names))}.",
                operator=operator.op_type,
                argument="shapes",
                value=len(values),
            )
    operator._check_inputs([name or None for name in names])
    return [_checked(name, value) for name, value in zip(names, values, strict=True)]


def _checked(name: str, shape: Any) -> Shape | None:
    if shape is None:
        return None
    if isinstance(shape, str) or not isinstance(shape, Sequence | np.ndarray):
        raise DtypeError(
            f"infer_shapes: the shape of {name!r} is a {type(shape).__name__}; it must be a "
            "sequence of sizes, or None.",
            argument=name,
            value=shape,
        )
    sizes: list[Size] = []
    for position, size in enumerate(shape):
        is_number = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if is_number and 0 <= size < 2**63:
            sizes.append(int(size))
        elif size is None or isinstance(size, str):
            sizes.append(size or None)
        else:
            raise ShapeError(
                f"infer_shapes: the shape of {name!r} has {size!r} at position {position}; a size "
                "is an integer of at least 0, the name of one, or None.",
                argument=name,
                position=(position,),
                value=size,
            )
    return tuple(sizes)


class _Inference:
    """One question to the core, where sizes that are not known are numbers below 0."""

    def __init__(self, operator: operators.FamilyOp, shapes: list[Shape | None]) -> None:
        self.function = operator.function
        values = operator.atts_value
        self.axis = values.get("axis", values.get("batch_dims", 0))
        self.codes: dict[int, str | None] = {}
        self.by_symbol: dict[str, int] = {}
        self.shapes = [None if shape is None else list(map(self.code, shape)) for shape in shapes]
        self.equal_to: dict[int, int] = {}

    def code(self, size: Size) -> int:
        """Return a number for a size: the same for each use of a symbol."""
        if isinstance(size, int):
            return size
        if size is not None and size in self.by_symbol:
            return self.by_symbol[size]
        # Far from the numbers that a message may hold for other reasons.
        code = -(10**17) - len(self.codes)
        self.codes[code] = size
        if size is not None:
            self.by_symbol[size] = code
        return code

    def output(self) -> Shape | None:
        """Return the shape of the output."""
        self.find_tuple_length()
        if any(shape is None for shape in self.shapes) or self.has_unknown_tuples():
            sizes = self.from_one_input()
        else:
            sizes = self.ask()
        return None if sizes is None else tuple(self.size(code) for code in sizes)

    def has_unknown_tuples(self) -> bool:
        """Return whether the length of index tuples matters and is not known."""
        indices = self.shapes[1]
        if self.function not in _TUPLES or not indices:
            return False
        return self.root(indices[-1]) < 0

    def find_tuple_length(self) -> None:
        """Find the length of index tuples of a scatter, which the three ranks tell."""
        if self.function != "scatter_nd" or None in self.shapes or not self.shapes[1]:
            return
        data, indices, updates = (shape or [] for shape in self.shapes)
        length = len(indices) - 1 + len(data) - len(updates)
        if indices[-1] < 0 <= length:
            self.join(indices[-1], length)

    def from_one_input(self) -> list[int] | None:
        """Return what data or indices alone tell of the output."""
        data, indices = self.shapes[0], self.shapes[1]
        if self.function == "gather_elements":
            return indices if indices is not None or data is None else self.new_sizes(len(data))
        if self.function.startswith("gather"):
            return None
        if data is None and self.function == "tensor_scatter" and indices is not None:
            return self.new_sizes(len(indices))
        if data is None and self.function in ("scatter", "scatter_elements"):
            known = [shape for shape in self.shapes[1:] if shape is not None]
            return self.new_sizes(len(known[0])) if known else None
        return data

    def new_sizes(self, count: int) -> list[int]:
        return [self.code(None) for _ in range(count)]

    def ask(self) -> list[int]:
        """Return the shape that the rules of the core give, and learn which sizes are equal."""
        shapes = [[self.root(code) for code in shape or []] for shape in self.shapes]
        try:
            sizes, equalities = _core.infer_shape(self.function, shapes, self.axis)
        except SowreapError as error:
            error.args = (self.readable(str(error)),)
            raise
        for one, other in equalities:
            self.join(one, other)
        return list(sizes)

    def readable(self, text: str) -> str:
        """Return a message with symbols in place of their numbers."""
        for code, symbol in self.codes.items():
            text = text.replace(str(code), symbol or "?")
        return text

    def root(self, code: int) -> int:
        """Return the number or symbol that stands for all that equal it."""
        while code in self.equal_to:
            code = self.equal_to[code]
        return code

    def join(self, one: int, other: int) -> None:
        """Take two sizes as equal: a number stands for a symbol, a symbol for a nameless size."""
        first, second = sorted((self.root(one), self.root(other)), key=self.rank)
        if first == second:
            return
        if second >= 0:
            names = sorted(str(self.codes[code]) for code in (one, other) if code in self.codes)
            low, high = sorted((first, second))
            raise ShapeError(
                f"{self.function}: {' or '.join(names)} would have to be both {low} and {high}; "
                f"the shapes are {', '.join(map(self.shape_text, self.shapes))}.",
                operator=self.function,
                argument="shapes",
            )
        self.equal_to[second] = first

    def rank(self, code: int) -> int:
        """Return 0 for a number, 1 for a symbol, 2 for a size without a name."""
        return 0 if code >= 0 else 1 if self.codes[code] is not None else 2

    def shape_text(self, shape: list[int] | None) -> str:
        return "unknown" if shape is None else self.readable(str(tuple(shape)))

    def size(self, code: int) -> Size:
        """Return what is known of a size."""
        root = self.root(code)
        return root if root >= 0 else self.codes[root]
