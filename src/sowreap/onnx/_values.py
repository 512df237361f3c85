"""Types, shapes and values of a model's inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, TypeProto, ValueInfoProto

from sowreap._errors import ArgumentError, DtypeError, ShapeError
from sowreap.onnx._schemas import element_name, element_type, numpy_dtype

CONSTANT_INITIALIZERS_BEFORE_IR = 4


@dataclass(frozen=True)
class NodeArg:
    """An input or output of a model, described as onnxruntime does.

    Attributes
    ----------
    name : str
        Name in the graph.
    type : str
        For example ``tensor(float)`` or ``seq(tensor(int64))``.
    shape : list of int, str or None
        Lengths, names of symbolic dimensions, None for an unnamed unknown length. Empty for a
        scalar, and where the model does not tell a rank.
    """

    name: str
    type: str
    shape: list[int | str | None]

    @classmethod
    def of(cls, info: ValueInfoProto) -> NodeArg:
        """Describe an entry of a graph's inputs or outputs."""
        return cls(info.name, type_text(info.type), shape(info.type) or [])


def type_text(value_type: TypeProto) -> str:
    """Return the type as text, in the spelling of ONNX.

    Examples
    --------
    >>> from onnx import helper
    >>> type_text(helper.make_tensor_type_proto(1, [2, "n"]))
    'tensor(float)'
    """
    kind = value_type.WhichOneof("value")
    if kind == "tensor_type":
        return f"tensor({element_name(value_type.tensor_type.elem_type)})"
    if kind == "sparse_tensor_type":
        return f"sparse_tensor({element_name(value_type.sparse_tensor_type.elem_type)})"
    if kind == "sequence_type":
        return f"seq({type_text(value_type.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(value_type.optional_type.elem_type)})"
    if kind == "map_type":
        key = element_name(value_type.map_type.key_type)
        return f"map({key},{type_text(value_type.map_type.value_type)})"
    return "undefined"


def shape(value_type: TypeProto) -> list[int | str | None] | None:
    """Return the shape of a tensor type, None if its rank is unknown or it is no tensor."""
    if value_type.WhichOneof("value") != "tensor_type":
        return None
    if not value_type.tensor_type.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
        for dim in value_type.tensor_type.shape.dim
    ]


class Feeds:
    """What a run of a model has to be given, and may be given."""

    def __init__(self, model: ModelProto) -> None:
        initializers = {tensor.name for tensor in model.graph.initializer}
        fixed = model.ir_version < CONSTANT_INITIALIZERS_BEFORE_IR
        inputs = list(model.graph.input)
        self.required = [info for info in inputs if info.name not in initializers]
        self.overridable = [info for info in inputs if info.name in initializers and not fixed]
        self._types = {info.name: info.type for info in (*self.required, *self.overridable)}

    def checked(self, input_feed: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a run in the form that the evaluator takes.

        Raises
        ------
        ArgumentError, DtypeError, ShapeError
            If a name is unknown or missing, or a value does not fit its input.
        """
        if not isinstance(input_feed, Mapping):
            raise DtypeError(
                f"input_feed is a {type(input_feed).__name__}; wanted is a dict of values by name.",
                argument="input_feed",
                value=input_feed,
            )
        check_names(list(input_feed), list(self._types), "input")
        for required in self.required:
            if required.name not in input_feed:
                raise ArgumentError(
                    f"input {required.name!r} is missing; the model wants "
                    f"{', '.join(repr(each.name) for each in self.required)}.",
                    argument=required.name,
                )
        return {
            name: checked_feed(name, self._types[name], value) for name, value in input_feed.items()
        }


def checked_feed(name: str, value_type: TypeProto, value: Any) -> Any:
    """Return a value for input `name` in the form that the evaluator takes.

    Parameters
    ----------
    name : str
        Name of the input; elements of sequences extend it.
    value_type : onnx.TypeProto
        Type that the model declares.
    value : array, list, dict or None
        Array-likes for tensors, lists for sequences, None for an absent optional.

    Raises
    ------
    DtypeError, ShapeError
        If the value does not fit the type.
    """
    kind = value_type.WhichOneof("value")
    if kind == "tensor_type":
        return _checked_tensor(name, value_type, value)
    if kind == "optional_type":
        elements = value_type.optional_type.elem_type
        return None if value is None else checked_feed(name, elements, value)
    if kind == "sequence_type":
        if not isinstance(value, list | tuple):
            raise _wrong_kind(name, value_type, value, "a list")
        elements = value_type.sequence_type.elem_type
        return [checked_feed(f"{name}[{i}]", elements, item) for i, item in enumerate(value)]
    if kind == "map_type" and not isinstance(value, dict):
        raise _wrong_kind(name, value_type, value, "a dict")
    return value


def _checked_tensor(name: str, value_type: TypeProto, value: Any) -> np.ndarray[Any, Any]:
    if value is None:
        raise _wrong_kind(name, value_type, value, "an array")
    if isinstance(value, np.ma.MaskedArray):
        raise DtypeError(
            f"input {name!r} is a masked array, whose mask would be lost. "
            "Pass its filled() or its data.",
            argument=name,
        )
    expected = numpy_dtype(value_type.tensor_type.elem_type)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"input {name!r}: {error}", argument=name) from error
    if value_type.tensor_type.elem_type == TensorProto.STRING:
        array = _as_strings(name, array)
    elif element_type(array.dtype) != element_name(value_type.tensor_type.elem_type):
        is_plain = not hasattr(value, "dtype")
        if not (is_plain and np.can_cast(array.dtype, expected, "same_kind")):
            raise DtypeError(
                f"input {name!r} has dtype {array.dtype}; the model wants {expected} "
                f"({type_text(value_type)}). Convert it with astype.",
                argument=name,
                value=array.dtype,
            )
        array = _rounded(name, array, expected)
    _check_shape(name, value_type, array.shape)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _rounded(
    name: str, array: np.ndarray[Any, Any], expected: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """Return numbers of a list in the dtype of the model, which must have room for them."""
    with np.errstate(over="ignore"):
        rounded = array.astype(expected)
    if "int" in expected.name:
        lost = rounded.astype(array.dtype) != array
    else:
        lost = np.isfinite(array) & ~np.isfinite(rounded)
    if lost.any():
        position = tuple(int(i) for i in np.argwhere(lost)[0])
        value = array[position].item()
        raise ArgumentError(
            f"input {name!r} holds {value!r} at {position}, which {expected} has no room for. "
            "Give numbers that fit.",
            argument=name,
            position=position,
            value=value,
        )
    return rounded


def _as_strings(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return text as an object array of ``str``, the form in which ONNX tensors hold it."""
    if array.dtype.kind not in "OUST":
        raise DtypeError(
            f"input {name!r} has dtype {array.dtype}; the model wants strings (tensor(string)).",
            argument=name,
            value=array.dtype,
        )
    out = np.empty(array.shape, object)
    for position, item in np.ndenumerate(array):
        if not isinstance(item, str | bytes):
            raise DtypeError(
                f"input {name!r} holds a {type(item).__name__} at {position}; the model wants "
                "strings (tensor(string)).",
                argument=name,
                position=position,
                value=item,
            )
        try:
            out[position] = item.decode("utf-8") if isinstance(item, bytes) else str(item)
        except UnicodeDecodeError as error:
            raise DtypeError(
                f"input {name!r} holds {item!r} at {position}, which is not UTF-8; strings of ONNX "
                "are.",
                argument=name,
                position=position,
                value=item,
            ) from error
    return out


def _check_shape(name: str, value_type: TypeProto, found: tuple[int, ...]) -> None:
    expected = shape(value_type)
    if expected is None:
        return
    if len(expected) != len(found):
        raise ShapeError(
            f"input {name!r} has rank {len(found)}, shape {found}; the model wants rank "
            f"{len(expected)}, shape {_shape_text(expected)}.",
            argument=name,
            value=found,
        )
    for axis, (length, wanted) in enumerate(zip(found, expected, strict=True)):
        if isinstance(wanted, int) and length != wanted:
            raise ShapeError(
                f"input {name!r} has shape {found}; the model wants {_shape_text(expected)}, and "
                f"they first differ at axis {axis} ({length}, {wanted}).",
                argument=name,
                value=found,
                axis=axis,
                length=wanted,
            )


def _shape_text(expected: list[int | str | None]) -> str:
    return f"({', '.join('?' if length is None else str(length) for length in expected)})"


def _wrong_kind(name: str, value_type: TypeProto, value: Any, wanted: str) -> DtypeError:
    return DtypeError(
        f"input {name!r} is a {type(value).__name__}; the model wants {wanted} "
        f"({type_text(value_type)}).",
        argument=name,
        value=value,
    )


def check_names(given: list[str], known: list[str], what: str) -> None:
    """Check that every name of `given` is in `known`.

    Raises
    ------
    ArgumentError
        With the first name that is not, and all that are.
    """
    for name in given:
        if name not in known:
            raise ArgumentError(
                f"unknown {what} {name!r}; the model has {', '.join(map(repr, known)) or 'none'}.",
                argument=what,
                value=name,
            )
