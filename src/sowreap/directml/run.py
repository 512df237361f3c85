"""The short way: arrays in, the output array back."""

from __future__ import annotations

import operator as python_operator
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from sowreap._errors import ArgumentError, DtypeError, ShapeError
from sowreap.directml import schema
from sowreap.directml._buffers import Array
from sowreap.directml._errors import DescriptorError, IndexWarning
from sowreap.directml._padding import padded_desc
from sowreap.directml._shapes import fit, result_sizes
from sowreap.directml.execute import Switches, move
from sowreap.directml.validate import validate

_COUNTED = {
    "IndexDimensions": "IndicesTensor",
    "InputDimensionCount": "InputTensor",
    "IndicesDimensionCount": "IndicesTensor",
}


def run(
    operator: str,
    *,
    feature_level: str | int = "6_4",
    out_of_range: str | None = None,
    duplicates: str | None = None,
    strict: bool = True,
    **fields: Any,
) -> Any:
    """Describe arrays, validate the descriptor, execute it.

    Parameters
    ----------
    operator : str
        With or without ``DML_OPERATOR_``.
    feature_level, out_of_range, duplicates, strict
        As for :func:`execute`. Where one of the two in the middle is not given and DirectML leaves
        the result open, an :class:`IndexWarning` says so.
    **fields
        By the names of the struct. Tensor fields take arrays, which are described as packed and
        padded to a common rank with ones; any strides will do. ``OutputTensor`` may be left out.
        ``Axis`` (default 0) counts the dimensions of InputTensor as given; ``IndexDimensions``,
        ``InputDimensionCount`` and ``IndicesDimensionCount`` are by default the ranks of the
        arrays, ``BatchDimensionCount`` is 0.

    Returns
    -------
    numpy.ndarray
        The output: OutputTensor if given, else new memory. Of GATHER and the ND gathers it has the
        rank that the operator's formula gives, as the ONNX operators have. When dimension counts
        are given and all arrays have one rank, they are DirectML's own tensors, padding included,
        and so is the output.

    Raises
    ------
    DescriptorError, OutOfRangeError, ArgumentError
        As :func:`execute`.
    DtypeError (a TypeError)
        If DirectML has no such data type.

    Examples
    --------
    >>> from sowreap.directml import run
    >>> data, picks = np.zeros((2, 3), np.float32), np.array([[2], [-1]])
    >>> run("SCATTER", InputTensor=data, IndicesTensor=picks, UpdatesTensor=data[:, :1] + 7, Axis=1)
    array([[0., 0., 7.],
           [0., 0., 7.]], dtype=float32)
    >>> run("GATHER", InputTensor=np.array([10, 20, 30]), IndicesTensor=np.array([[2, -3]]))
    array([[30, 10]])
    """
    row = schema.operator_of(operator)
    level = schema.feature_level(feature_level)
    switches = Switches.checked(row, out_of_range, duplicates)
    target = fields.pop("OutputTensor", None)
    arrays, given = _split(row, fields)
    attributes = _with_defaults(row, arrays, given)
    sizes = _output_sizes(row, arrays, attributes, bool(_COUNTED.keys() & given.keys()))
    output = _output(row, arrays, sizes, target)
    arrays[row.output] = output
    tensors = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    desc = padded_desc(row.short_name, tensors, attributes, level)
    validate(desc, level, strict)
    views = {}
    for name, array in arrays.items():
        tensor = desc.tensors[name]
        assert tensor is not None
        views[name] = array[(None,) * (len(tensor.sizes) - array.ndim) + (...,)]
    report = move(desc, views, switches)
    if (report.out_of_range and out_of_range is None) or (report.duplicates and duplicates is None):
        warnings.warn(
            f"{row.name}: {report}. DirectML promises no result for these; correct them, or choose"
            " with out_of_range and duplicates.",
            IndexWarning,
            stacklevel=2,
        )
    return output


def _split(
    row: schema.Operator, fields: Mapping[str, Any]
) -> tuple[dict[str, Array], dict[str, int]]:
    known = (*row.inputs, row.output, *row.attributes)
    for name in fields:
        if name not in known:
            raise schema.unknown(row.name, "field", name, known)
    for name in row.inputs:
        if name not in fields:
            raise ArgumentError(
                f"{row.name}: {name} is missing; give {', '.join(row.inputs)}.",
                operator=row.name,
                argument=name,
            )
    arrays = {name: _array(row, name, fields[name]) for name in row.inputs}
    return arrays, {
        name: _integer(row, name, fields[name]) for name in row.attributes if name in fields
    }


def _array(row: schema.Operator, name: str, given: Any) -> Array:
    array = np.asarray(given)
    try:
        schema.data_type(array.dtype)
    except (ArgumentError, TypeError):  # NumPy's own strings have no byte order to normalise
        known = ", ".join(kind.dtype.name for kind in schema.DATA_TYPES.values() if kind.dtype)
        raise DtypeError(
            f"{row.name}: {name} has dtype {array.dtype}; DirectML has {known}. Convert the array.",
            operator=row.name,
            argument=name,
            value=array.dtype,
        ) from None
    if name == "InputTensor" and array.ndim == 0:
        array = array.reshape(1)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _integer(row: schema.Operator, name: str, given: Any) -> int:
    try:
        return python_operator.index(given)
    except TypeError:
        raise DescriptorError(
            row.struct, name, repr(given), "range", "it must be an integer"
        ) from None


def _with_defaults(
    row: schema.Operator, arrays: Mapping[str, Array], given: Mapping[str, int]
) -> dict[str, int]:
    attributes = {}
    for name in row.attributes:
        default = arrays[_COUNTED[name]].ndim if name in _COUNTED else 0
        attributes[name] = given.get(name, default)
    rank = arrays["InputTensor"].ndim
    # told here, where the value is still the one given
    if not 0 <= attributes.get("Axis", 0) < rank:
        raise DescriptorError(
            row.struct, "Axis", attributes["Axis"], "attribute-range", f"it is in [0, {rank - 1}]"
        )
    return attributes


def _output_sizes(
    row: schema.Operator,
    arrays: Mapping[str, Array],
    attributes: Mapping[str, int],
    counts_given: bool,
) -> tuple[int, ...]:
    """Return the sizes of the output, padding that would only be put before them left out."""
    shapes: dict[str, tuple[int, ...]] = {name: array.shape for name, array in arrays.items()}
    data, indices = shapes["InputTensor"], shapes["IndicesTensor"]
    if "UpdatesTensor" in row.inputs:
        return data
    if row.short_name == "GATHER_ELEMENTS":
        return indices
    rank = max(len(data), len(indices))
    if any(not 0 <= attributes.get(name, 0) <= rank for name in _COUNTED):
        return data  # the attribute is refused before its sizes matter
    shift = rank - len(data)
    if "Axis" in attributes:
        attributes = {**attributes, "Axis": attributes["Axis"] + shift}
    data_sizes, indices_sizes = ((1,) * (rank - len(n)) + n for n in (data, indices))
    sizes = result_sizes(row.short_name, data_sizes, indices_sizes, attributes)
    if counts_given and len(data) == len(indices):
        return fit(sizes, rank) or sizes
    return sizes[shift:] if "Axis" in attributes else sizes


def _output(
    row: schema.Operator, arrays: Mapping[str, Array], sizes: tuple[int, ...], target: Any
) -> Array:
    dtype = arrays["InputTensor"].dtype
    if target is None:
        return np.empty(sizes, dtype)
    if not isinstance(target, np.ndarray) or not target.flags.writeable:
        raise ArgumentError(
            f"{row.name}: OutputTensor must be a writable NumPy array, and is not.",
            operator=row.name,
            argument=row.output,
        )
    if target.dtype != dtype:
        raise DtypeError(
            f"{row.name}: OutputTensor has dtype {target.dtype}; it must be {dtype}, that of"
            " InputTensor.",
            operator=row.name,
            argument=row.output,
            value=target.dtype,
        )
    if target.shape != sizes:
        raise ShapeError(
            f"{row.name}: OutputTensor has shape {target.shape}; it must be {sizes}.",
            operator=row.name,
            argument=row.output,
            value=target.shape,
        )
    for name, array in arrays.items():
        if np.may_share_memory(array, target):
            raise DescriptorError(
                row.struct,
                row.output,
                f"in the memory of {name}",
                "binding-overlap",
                "use another array",
            )
    return target
