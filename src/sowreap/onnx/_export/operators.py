"""The expression of each operator that NumPy or sowreap spells.

A writer takes a :class:`Call` and returns an expression, or None where this node is better left to
onnx's reference evaluator. Meanings are those of the opset (https://onnx.ai/onnx/operators/).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sowreap.onnx._export.call import Call
from sowreap.onnx._export.text import dtype_text, list_text, number, quoted, tuple_text
from sowreap.onnx._schemas import find_schema, numpy_dtype

Writer = Callable[[Call], str | None]

MANY = 8  # operands; more make no line that one reads
SPREAD_FROM = 2**31 - 1  # an end of a slice from here on means "to the last"

_UNARY = {
    "Abs": "np.abs({})",
    "Acos": "np.arccos({})",
    "Acosh": "np.arccosh({})",
    "Asin": "np.arcsin({})",
    "Asinh": "np.arcsinh({})",
    "Atan": "np.arctan({})",
    "Atanh": "np.arctanh({})",
    "BitwiseNot": "np.bitwise_not({})",
    "Ceil": "np.ceil({})",
    "Cos": "np.cos({})",
    "Cosh": "np.cosh({})",
    "Exp": "np.exp({})",
    "Floor": "np.floor({})",
    "IsNaN": "np.isnan({})",
    "Log": "np.log({})",
    "Neg": "-{}",
    "Not": "np.logical_not({})",
    "Reciprocal": "np.reciprocal({})",
    "Round": "np.round({})",
    "Sign": "np.sign({})",
    "Sin": "np.sin({})",
    "Sinh": "np.sinh({})",
    "Sqrt": "np.sqrt({})",
    "Tan": "np.tan({})",
    "Tanh": "np.tanh({})",
}
_BINARY = {
    "Add": "{} + {}",
    "And": "np.logical_and({}, {})",
    "BitwiseAnd": "{} & {}",
    "BitwiseOr": "{} | {}",
    "BitwiseXor": "{} ^ {}",
    "Equal": "{} == {}",
    "Greater": "{} > {}",
    "GreaterOrEqual": "{} >= {}",
    "Less": "{} < {}",
    "LessOrEqual": "{} <= {}",
    "Mul": "{} * {}",
    "Or": "np.logical_or({}, {})",
    "Sub": "{} - {}",
    "Xor": "np.logical_xor({}, {})",
}
# Versions before these broadcast by other rules.
_SINCE = {
    **dict.fromkeys(("Add", "And", "Div", "Equal", "Greater", "Less"), 7),
    **dict.fromkeys(("Mul", "Or", "Pow", "Sub", "Xor"), 7),
    **dict.fromkeys(("Max", "Mean", "Min", "Sum"), 8),
    "Gemm": 7,
    "PRelu": 9,
}


def _unary(c: Call) -> str:
    return _UNARY[c.op_type].format(c.arg(0))


def _binary(c: Call) -> str:
    return _BINARY[c.op_type].format(c.operand(0, 1), c.operand(1, 0))


def _div(c: Call) -> str:
    if c.is_float(0) or c.is_float(1):
        return f"{c.operand(0, 1)} / {c.operand(1, 0)}"
    return f"divide({c.arg(0)}, {c.arg(1)})"


def _mod(c: Call) -> str:
    name = "np.fmod" if c.flag("fmod", 0) else "np.mod"
    return f"{name}({c.operand(0, 1)}, {c.operand(1, 0)})"


def _pow(c: Call) -> str:
    base, exponent = c.operand(0, 1), c.operand(1, 0)
    is_same = c.dtype(0) is not None and c.dtype(0) == c.dtype(1)
    text = f"np.power({base}, {exponent})"
    return text if is_same else f"{text}.astype({c.arg(0)}.dtype)"


def _extremum(c: Call) -> str | None:
    if len(c.inputs) > MANY:
        return None
    name = "np.maximum" if c.op_type == "Max" else "np.minimum"
    if len(c.inputs) == 2:
        return f"{name}({c.operand(0, 1)}, {c.operand(1, 0)})"
    text = c.arg(0)
    for position in range(1, len(c.inputs)):
        text = f"{name}({text}, {c.arg(position)})"
    return text


def _sum(c: Call) -> str | None:
    if len(c.inputs) > MANY:
        return None
    return " + ".join(c.args())


def _mean(c: Call) -> str | None:
    total = _sum(c)
    return f"({total}) / {len(c.inputs)}" if total and c.is_float() else None


def _relu(c: Call) -> str:
    text = f"np.maximum({c.arg(0)}, 0)"
    return text if c.is_float() else f"{text}.astype({c.arg(0)}.dtype)"


def _where_positive(c: Call, otherwise: str) -> str:
    x = c.arg(0)
    text = f"np.where({x} > 0, {x}, {otherwise})"
    return text if c.dtype() == np.float32 else f"{text}.astype({x}.dtype)"


def _leaky_relu(c: Call) -> str:
    return _where_positive(c, f"{c.float32('alpha', 0.01)} * {c.arg(0)}")


def _elu(c: Call) -> str:
    alpha = c.float32("alpha", 1.0)
    return _where_positive(c, f"{'' if alpha == '1.0' else f'{alpha} * '}np.expm1({c.arg(0)})")


def _prelu(c: Call) -> str | None:
    slope = c.constant(1)
    if slope is not None and slope.size > 1 and slope.ndim == 1:
        return None  # onnx's evaluator looks for the axis that it fits
    return _where_positive(c, f"{c.arg(0)} * {c.operand(1, 0)}")


def _helper(name: str) -> Writer:
    return lambda c: f"{name}({c.arg(0)})"


def _softmax(c: Call) -> str:
    name = "softmax" if c.version >= 13 else "flat_softmax"
    axis = c.attributes.get("axis", -1 if c.version >= 13 else 1)
    return f"{name}({c.arg(0)}, {axis})"


def _log_softmax(c: Call) -> str:
    return f"np.log({_softmax(c)})"


def _clip(c: Call) -> str | None:
    if c.version < 11:
        bounds = [
            c.float32(name, 0.0) if name in c.attributes else "None" for name in ("min", "max")
        ]
    else:
        bounds = [c.operand(position, 0) if c.has(position) else "None" for position in (1, 2)]
    if bounds == ["None", "None"]:
        return c.arg(0)
    text = f"np.clip({c.arg(0)}, {bounds[0]}, {bounds[1]})"
    return text if c.is_float() and c.version >= 11 else f"{text}.astype({c.arg(0)}.dtype)"


def _matmul(c: Call) -> str:
    text = f"{c.arg(0)} @ {c.arg(1)}"
    return text if c.dtype() is not None and c.is_float() else f"({text}).astype({c.arg(0)}.dtype)"


def _gemm(c: Call) -> str | None:
    if not c.is_float() and not c.is_float(1):
        return None
    a, b = (
        f"{c.arg(position)}.T" if c.flag(name, 0) else c.arg(position)
        for position, name in enumerate(("transA", "transB"))
    )
    alpha, beta = c.float32("alpha", 1.0), c.float32("beta", 1.0)
    is_one = {"1.0", "np.float32(1.0)"}
    text = f"{a} @ {b}" if alpha in is_one else f"{a} @ {b} * {alpha}"
    if c.has(2) and c.attributes.get("beta", 1.0) != 0:
        text += f" + {c.arg(2)}" if beta in is_one else f" + {c.arg(2)} * {beta}"
    return text if c.dtype() == np.float32 else f"({text}).astype({c.arg(0)}.dtype)"


def _einsum(c: Call) -> str | None:
    if c.dtype() is None or c.dtype().isbuiltin != 1:  # type: ignore[union-attr]
        return None
    return f"np.einsum({quoted(c.attributes['equation'])}, {', '.join(c.args())})"


def _concat(c: Call) -> str:
    return f"np.concatenate([{', '.join(c.args())}], axis={c.attributes.get('axis', 1)})"


def _transpose(c: Call) -> str:
    perm = c.attributes.get("perm")
    return f"{c.arg(0)}.transpose({', '.join(map(str, perm))})" if perm else f"{c.arg(0)}.T"


def _reshape(c: Call) -> str | None:
    shape = c.attributes.get("shape") if c.version < 5 else c.integers(1)
    is_literal = c.flag("allowzero", 0)
    if shape is None:
        name = "np.reshape" if is_literal else "reshape"
        return f"{name}({c.arg(0)}, {c.arg(1)})"
    if not shape:
        return f"{c.arg(0)}.reshape(())"
    sizes = [
        f"{c.arg(0)}.shape[{axis}]" if size == 0 and not is_literal else str(size)
        for axis, size in enumerate(shape)
    ]
    return f"{c.arg(0)}.reshape({', '.join(sizes)})"


def _flatten(c: Call) -> str:
    axis, x = c.attributes.get("axis", 1), c.arg(0)
    if axis == 0:
        return f"{x}.reshape(1, -1)"
    rows = f"{x}.shape[0]" if axis == 1 else f"math.prod({x}.shape[:{axis}])"
    return f"{x}.reshape({rows}, -1)"


def _axes(c: Call, since: int) -> list[int] | str | None:
    """Return the axes: a list, an expression, or None for all of them."""
    if c.version < since:
        axes: list[int] | None = c.attributes.get("axes")
        return axes
    if not c.has(1):
        return None
    constant = c.integers(1)
    return constant if constant is not None else f"tuple({c.arg(1)})"


def _axis_text(axes: list[int] | str) -> str:
    if isinstance(axes, str):
        return axes
    return str(axes[0]) if len(axes) == 1 else f"({tuple_text([str(axis) for axis in axes])})"


def _squeeze(c: Call) -> str:
    axes = _axes(c, 13)
    if axes is None or axes == []:
        return f"np.squeeze({c.arg(0)})"
    return f"np.squeeze({c.arg(0)}, {_axis_text(axes)})"


def _unsqueeze(c: Call) -> str | None:
    axes = _axes(c, 13)
    if axes is None:
        return None
    if axes == []:
        return c.arg(0)
    return f"np.expand_dims({c.arg(0)}, {_axis_text(axes)})"


def _shape(c: Call) -> str:
    start, end = c.attributes.get("start", 0), c.attributes.get("end")
    part = "" if start == 0 and end is None else f"[{start or ''}:{'' if end is None else end}]"
    return f"np.array({c.arg(0)}.shape{part}, np.int64)"


def _size(c: Call) -> str:
    return f"np.int64({c.arg(0)}.size)"


def _slice(c: Call) -> str:
    if c.version < 10:
        starts, ends = c.attributes["starts"], c.attributes["ends"]
        axes, steps = c.attributes.get("axes") or list(range(len(starts))), [1] * len(starts)
    else:
        parts = [c.integers(position) if c.has(position) else [] for position in range(1, 5)]
        if any(part is None for part in parts):
            return f"slice_axes({', '.join([c.arg(0), *map(c.indices, _given(c, 1))])})"
        starts, ends, axes, steps = ([*(part or [])] for part in parts)
        axes, steps = axes or list(range(len(starts))), steps or [1] * len(starts)
    cut = {
        axis: _range_text(*bounds)
        for axis, bounds in zip(axes, zip(starts, ends, steps, strict=True), strict=True)
    }
    if all(axis >= 0 for axis in cut):
        items = [cut.get(axis, ":") for axis in range(max(cut, default=-1) + 1)]
    elif all(axis < 0 for axis in cut):
        items = ["...", *(cut.get(axis, ":") for axis in range(min(cut), 0))]
    else:
        lists = [str(part) for part in (starts, ends, axes, steps)]
        return f"slice_axes({', '.join([c.arg(0), *lists])})"
    return f"{c.arg(0)}[{', '.join(items)}]" if items else c.arg(0)


def _given(c: Call, start: int) -> range:
    return range(start, len(c.inputs))


def _range_text(start: int, end: int, step: int) -> str:
    is_first = start == 0 if step > 0 else start >= SPREAD_FROM
    first = "" if is_first else str(start)
    is_open = end >= SPREAD_FROM if step > 0 else end <= -SPREAD_FROM
    text = f"{first}:{'' if is_open else end}"
    return text if step == 1 else f"{text}:{step}"


def _expand(c: Call) -> str:
    return f"expand({c.arg(0)}, {c.indices(1)})"


def _tile(c: Call) -> str | None:
    return f"np.tile({c.arg(0)}, {c.indices(1)})" if c.version >= 6 else None


def _pad(c: Call) -> str | None:
    pads = c.attributes.get("pads") if c.version < 11 else c.integers(1)
    mode = c.attributes.get("mode", "constant")
    if pads is None or min(pads, default=0) < 0 or mode != "constant" or c.has(3):
        return None
    if c.version < 11:
        filler = number(np.float32(c.attributes.get("value", 0.0)))
    else:
        filler = c.operand(2, 0) if c.has(2) else "0"
    half = len(pads) // 2
    widths = ", ".join(f"({before}, {after})" for before, after in zip(pads, pads[half:]))  # noqa: B905
    value = "" if filler in ("0", "0.0") else f", constant_values={filler}"
    return f"np.pad({c.arg(0)}, [{widths}]{value})"


def _cast(c: Call) -> str | None:
    to = c.attributes["to"]
    return f"{c.arg(0)}.astype({_cast_target(to)})" if _cast_target(to) else None


def _cast_target(to: int) -> str:
    """Return the dtype of a cast, "" where a cast is more than ``astype``."""
    dtype = numpy_dtype(to)
    if dtype.kind in "OUST":
        return "str"
    is_plain = dtype.type.__module__ == "numpy" or dtype.name == "bfloat16"
    return dtype_text(dtype) if is_plain else ""


def _cast_like(c: Call) -> str | None:
    dtype = c.dtype(1)
    if dtype is None or dtype.type.__module__ != "numpy" or dtype.kind in "OUST":
        return None
    return f"{c.arg(0)}.astype({dtype_text(dtype)})"


def _where(c: Call) -> str:
    return f"np.where({c.arg(0)}, {c.operand(1, 2)}, {c.operand(2, 1)})"


def _constant_of_shape(c: Call) -> str:
    filler = c.attributes.get("value", np.zeros(1, np.float32))
    dtype, value = dtype_text(filler.dtype), filler.ravel()[0]
    shape = c.indices(0)
    if filler.dtype.kind in "fiub" and value in (0, 1) and not np.signbit(float(value)):
        return f"np.{'ones' if value else 'zeros'}({shape}, {dtype})"
    return f"np.full({shape}, {number(value)}, {dtype})"


def _range(c: Call) -> str | None:
    parts = [_item(c, position) for position in range(3)]
    if c.dtype() == np.int64:
        parts = parts if parts[2] != "1" else parts[:2]
        return (
            f"np.arange({', '.join(parts[1:] if parts[0] == '0' and len(parts) == 2 else parts)})"
        )
    if c.dtype() not in (np.float32, np.float64, np.int32):
        return None
    return f"np.arange({', '.join(parts)}).astype({dtype_text(np.dtype(c.value(0).dtype))})"


def _item(c: Call, position: int) -> str:
    """Return an input of one item as a Python number."""
    array = c.constant(position)
    if array is None or array.size != 1:
        return f"{c.arg(position)}.item()"
    return number(array.astype(np.float64 if array.dtype.kind == "f" else np.int64).ravel()[0])


def _cumsum(c: Call) -> str | None:
    axis = c.integers(1)
    if axis is None or c.flag("exclusive", 0) or c.flag("reverse", 0):
        return None
    return f"np.cumsum({c.arg(0)}, axis={axis[0]}, dtype={c.arg(0)}.dtype)"


def _nonzero(c: Call) -> str:
    return f"np.array(np.nonzero({c.arg(0)}))"


def _arg_extremum(c: Call) -> str | None:
    if c.flag("select_last_index", 0):
        return None
    axis = c.attributes.get("axis", 0)
    keep = ", keepdims=True" if c.flag("keepdims", 1) else ""
    return f"np.{c.op_type.lower()}({c.arg(0)}, axis={axis}{keep})"


_AXES_SINCE = {"ReduceSum": 13}
_REDUCTIONS = {
    "ReduceL1": "np.sum(np.abs({x}){rest})",
    "ReduceL2": "np.sqrt(np.sum(np.square({x}){rest}))",
    "ReduceLogSum": "np.log(np.sum({x}{rest}))",
    "ReduceMax": "np.max({x}{rest})",
    "ReduceMean": "np.mean({x}{rest})",
    "ReduceMin": "np.min({x}{rest})",
    "ReduceProd": "np.prod({x}{rest})",
    "ReduceSum": "np.sum({x}{rest})",
    "ReduceSumSquare": "np.sum(np.square({x}){rest})",
}


def _reduce(c: Call) -> str | None:
    axes = _axes(c, _AXES_SINCE.get(c.op_type, 18))
    is_noop = c.flag("noop_with_empty_axes", 0)
    if axes is None or axes == []:
        axis = ", axis=()" if is_noop else ""
    elif isinstance(axes, str):
        axis = f", axis={axes}" if is_noop else f", axis={axes} or None"
    else:
        axis = f", axis={_axis_text(axes)}"
    rest = axis + (", keepdims=True" if c.flag("keepdims", 1) else "")
    if c.op_type in ("ReduceMax", "ReduceMin"):
        initial = _initial(c)
        if initial is None:
            return None
        rest += f", initial={initial}"
    elif c.op_type == "ReduceMean" and c.dtype() not in (np.float32, np.float64):
        rest += f", dtype={c.arg(0)}.dtype"
    elif not c.is_float():
        if c.op_type in ("ReduceL2", "ReduceLogSum"):
            return None
        if c.dtype() not in (np.int64, np.uint64):
            rest += f", dtype={c.arg(0)}.dtype"
    return _REDUCTIONS[c.op_type].format(x=c.arg(0), rest=rest)


def _initial(c: Call) -> str | None:
    """Return what the largest or smallest of no items is."""
    dtype, is_max = c.dtype(), c.op_type == "ReduceMax"
    if c.is_float():
        return "-np.inf" if is_max else "np.inf"
    if dtype is not None and dtype.kind in "iu":
        return f"np.iinfo({dtype_text(dtype)}).{'min' if is_max else 'max'}"
    return None


def _layer_norm(c: Call) -> str | None:
    if c.output_count > 1 or c.attributes.get("stash_type", 1) != 1:
        return None
    if c.dtype() not in (np.float32, np.float64):
        return None
    axis = c.attributes.get("axis", -1)
    epsilon = c.float32("epsilon", 1e-5)
    return f"layer_norm({c.arg(0)}, {c.arg(1)}, {c.arg(2)}, {axis}, {epsilon})"


def _dropout(c: Call) -> str | None:
    is_training = c.version >= 12 and c.has(2) and bool(np.any(c.constant(2) is None))
    if c.version >= 12 and c.has(2) and not is_training:
        is_training = bool(np.any(c.constant(2)))
    return None if is_training or c.output_count > 1 or c.version < 7 else c.arg(0)


def _has_element(c: Call) -> str:
    return f"np.bool_({c.arg(0)} is not None)" if c.has(0) else "np.bool_(False)"


def _sequence_at(c: Call) -> str:
    index = c.integers(1)
    return f"{c.arg(0)}[{index[0] if index else f'{c.arg(1)}.item()'}]"


def _sequence_insert(c: Call) -> str:
    if not c.has(2):
        return f"[*{c.arg(0)}, {c.arg(1)}]"
    position = c.integers(2)
    return f"insert({c.arg(0)}, {c.arg(1)}, {position[0] if position else f'{c.arg(2)}.item()'})"


def _concat_from_sequence(c: Call) -> str:
    name = "np.stack" if c.flag("new_axis", 0) else "np.concatenate"
    return f"{name}({c.arg(0)}, axis={c.attributes['axis']})"


def _family(c: Call) -> str:
    schema = find_schema(c.op_type, c.version)
    for name, value in c.attributes.items():
        schema.check_value(name, value)
    function = {"GatherND": "gather_nd", "ScatterND": "scatter_nd"}.get(
        c.op_type, "".join(f"_{a.lower()}" if a.isupper() else a for a in c.op_type)[1:]
    )
    arguments = [
        c.indices(position) if name == schema.index_input else c.arg(position)
        for position, name in enumerate(schema.inputs)
        if c.has(position)
    ]
    for attribute in schema.attributes:
        value = c.attributes.get(attribute.name, attribute.default)
        if value != attribute.default:
            arguments.append(f"{attribute.name}={number(value)}")
    return f"sr.{function}({', '.join(arguments)})"


FAMILY = (
    *("Gather", "GatherElements", "GatherND", "Scatter"),
    *("ScatterElements", "ScatterND", "TensorScatter"),
)
WRITERS: dict[str, Writer] = {
    **dict.fromkeys(_UNARY, _unary),
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(FAMILY, _family),
    "ArgMax": _arg_extremum,
    "ArgMin": _arg_extremum,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Clip": _clip,
    "Concat": _concat,
    "ConcatFromSequence": _concat_from_sequence,
    "ConstantOfShape": _constant_of_shape,
    "CumSum": _cumsum,
    "Div": _div,
    "Dropout": _dropout,
    "Einsum": _einsum,
    "Elu": _elu,
    "Erf": _helper("erf"),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "Identity": lambda c: c.arg(0),
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _leaky_relu,
    "LogSoftmax": _log_softmax,
    "MatMul": _matmul,
    "Max": _extremum,
    "Mean": _mean,
    "Min": _extremum,
    "Mod": _mod,
    "NonZero": _nonzero,
    "Optional": lambda c: c.arg(0),
    "OptionalGetElement": lambda c: c.arg(0),
    "OptionalHasElement": _has_element,
    "PRelu": _prelu,
    "Pad": _pad,
    "Pow": _pow,
    "Range": _range,
    "Relu": _relu,
    "Reshape": _reshape,
    "SequenceAt": _sequence_at,
    "SequenceConstruct": lambda c: f"[{', '.join(c.args())}]",
    "SequenceEmpty": lambda c: "[]",
    "SequenceInsert": _sequence_insert,
    "SequenceLength": lambda c: f"np.int64(len({c.arg(0)}))",
    "Shape": _shape,
    "Sigmoid": _helper("sigmoid"),
    "Size": _size,
    "Slice": _slice,
    "Softmax": _softmax,
    "Squeeze": _squeeze,
    "Sum": _sum,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}


def _split(c: Call) -> str | None:
    axis = c.attributes.get("axis", 0)
    sizes = c.attributes.get("split") if c.version < 13 else c.integers(1)
    if sizes is None and c.version >= 13 and c.has(1):
        return f"np.split({c.arg(0)}, np.cumsum({c.arg(1)})[:-1], axis={axis})"
    if sizes:
        ends = list_text(np.cumsum(sizes)[:-1])
        return f"np.split({c.arg(0)}, {ends}, axis={axis})"
    parts = c.attributes.get("num_outputs", c.output_count)
    if c.version >= 18:
        return f"split({c.arg(0)}, {parts}, {axis})"
    return f"np.split({c.arg(0)}, {parts}, axis={axis})"


# Expressions with all outputs in one sequence.
UNPACKED: dict[str, Writer] = {"Split": _split}


def expression(c: Call) -> str | None:
    """Return the expression of a node of the default domain, None to leave it to the evaluator."""
    writer = WRITERS.get(c.op_type) or UNPACKED.get(c.op_type)
    if writer is None or c.version < _SINCE.get(c.op_type, 1):
        return None
    return writer(c)
