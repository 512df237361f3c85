"""What the extension module asks of Python when an argument is not a plain ``numpy.ndarray``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sowreap import _core
from sowreap._errors import ArgumentError, DtypeError, ShapeError

_OVERLAP_WORK = 100_000  # steps that the exact test of shared memory may take


def as_array(operator: str, name: str, value: Any, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    """`value` as an ndarray, without a copy of one; lists and scalars take `dtype`."""
    if isinstance(value, np.ndarray):
        return _base_of(operator, name, value)
    if value is None:
        raise DtypeError(
            f"{operator}: {name} is None; an array is needed.", operator=operator, argument=name
        )
    try:
        array = np.asarray(value)
        if not hasattr(value, "dtype"):
            array = _converted(array, value, name, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise DtypeError(
            f"{operator}: {name} cannot be read as an array: {error}.",
            operator=operator,
            argument=name,
        ) from error
    return array


def _converted(
    array: NDArray[Any], value: Any, name: str, dtype: np.dtype[Any] | None
) -> NDArray[Any]:
    """A list or scalar in the dtype it is meant for: none of its own was chosen by the caller."""
    if dtype is None:
        # An empty list becomes float64, which as indices nobody means.
        return array.astype(np.int64) if array.size == 0 and name != "data" else array
    if array.dtype.kind in "US" and array.dtype.kind == dtype.kind:
        return array  # of its own width, so that nothing is cut
    if array.size == 0 or (array.dtype.kind in "biu" and dtype.kind in "iu"):
        return np.asarray(value, dtype=dtype)  # NumPy refuses integers that do not fit
    rule: Literal["same_kind", "safe"] = "same_kind" if array.dtype.kind in "biufc" else "safe"
    if not np.can_cast(array.dtype, dtype, rule):
        return array
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _base_of(operator: str, name: str, value: NDArray[Any]) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise DtypeError(
            f"{operator}: {name} is a masked array, whose mask would be lost. "
            f"Pass {name}.filled() or {name}.data.",
            operator=operator,
            argument=name,
        )
    return value.view(np.ndarray)


def as_fill(operator: str, value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`value` as an array of rank 0 in `dtype`. The int 0 is the zero of any dtype that has one."""
    if dtype.kind == "O":
        item = np.empty((), dtype)
        item[()] = value
        return item
    is_default = type(value) is int and value == 0
    if is_default and (_number_kind(dtype) is None or dtype.kind == "b"):
        return np.zeros((), dtype)
    try:
        array = np.asarray(value, dtype) if isinstance(value, tuple) else np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise _fill_error(operator, value, dtype, f"cannot be read: {error}", DtypeError) from error
    if array.ndim:
        raise _fill_error(operator, value, dtype, f"has shape {array.shape}", ArgumentError)
    if not _is_same_kind(value, array, dtype):
        problem = f"= {_shown(value)} is of another kind"
        raise _fill_error(operator, value, dtype, problem, DtypeError)
    try:
        with np.errstate(all="ignore"):
            item = array.astype(dtype)
            held = _holds(item, array)
    except OverflowError:
        held = False
    if not held:
        problem = f"= {_shown(value)} does not fit"
        raise _fill_error(operator, value, dtype, problem, ArgumentError)
    return item


def _fill_error(
    operator: str,
    value: Any,
    dtype: np.dtype[Any],
    problem: str,
    kind: type[ArgumentError | DtypeError],
) -> Exception:
    return kind(
        f"{operator}: fill_value {problem}; data has dtype {dtype}. Pass a scalar of that dtype.",
        operator=operator,
        argument="fill_value",
        value=value,
    )


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:
        return "(thousands of digits)"


_NUMBER_KINDS = "bifc"  # each can be cast to the later ones


def _number_kind(dtype: np.dtype[Any]) -> str | None:
    if dtype.kind in "biufc":
        return "i" if dtype.kind == "u" else dtype.kind
    if dtype.kind == "V" and not issubclass(dtype.type, np.void):  # of ml_dtypes
        return "i" if "int" in dtype.name else "f"
    return None


def _is_same_kind(value: Any, array: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """NumPy's casting rule of that name, but that integers of any sign may turn out to fit."""
    wanted = _number_kind(dtype)
    if wanted is not None:
        is_long = isinstance(value, int) and array.dtype.kind == "O"  # beyond 64 bits
        kind = "i" if is_long else _number_kind(array.dtype)
        return kind is not None and _NUMBER_KINDS.index(kind) <= _NUMBER_KINDS.index(wanted)
    if dtype.kind == "T":
        return isinstance(value, str) or value is getattr(dtype, "na_object", str)
    if dtype.kind in "USMm":
        return array.dtype.kind == dtype.kind and np.can_cast(array.dtype, dtype, "same_kind")
    return np.can_cast(array.dtype, dtype, "equiv")


def _holds(item: NDArray[Any], array: NDArray[Any]) -> bool:
    """Whether `item` is `array` but for rounding."""
    kind = _number_kind(item.dtype)
    if kind == "i":
        return int(item) == int(array)
    if item.dtype.kind in "US":
        return bool(item == array)
    if kind is None or kind == "b":
        return True
    wide, given = item.astype(np.clongdouble), array.astype(np.clongdouble)
    if item.dtype.kind == "V":
        # Some types have no infinity and stop at their largest number.
        largest = np.array(np.finfo(np.float64).max).astype(item.dtype).astype(np.longdouble)
        if np.isfinite(given) and np.isfinite(largest) and abs(given) > largest:
            return False
    return all(
        test(a) == test(b)
        for test in (np.isnan, np.isinf)
        for a, b in ((wide.real, given.real), (wide.imag, given.imag))
    )


def as_out(operator: str, value: Any) -> NDArray[Any]:
    """`out` as an ndarray of the same memory."""
    if not isinstance(value, np.ndarray):
        raise DtypeError(
            f"{operator}: out must be a numpy.ndarray, not {type(value).__name__}.",
            operator=operator,
            argument="out",
        )
    return _base_of(operator, "out", value)


def share_memory(out: NDArray[Any], array: NDArray[Any]) -> bool:
    """Whether the two have a byte in common; True where finding out would take too long."""
    try:
        # NumPy takes any bound, its annotation only two of them.
        return np.shares_memory(out, array, max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def check_result(
    operator: str,
    out: Any,
    result: NDArray[Any],
    inputs: Sequence[NDArray[Any]],
    base: NDArray[Any] | None,
) -> NDArray[Any]:
    """`out` checked against a result that is there already, for items that hold references.

    It may share no memory with `inputs`, but be `base`.
    """

    def problem(text: str, kind: type[ShapeError | ArgumentError | DtypeError]) -> Exception:
        return kind(f"{operator}: out {text}", operator=operator, argument="out")

    target = as_out(operator, out)
    if target.shape != result.shape:
        raise problem(f"has shape {target.shape} but the result {result.shape}.", ShapeError)
    if target.dtype != result.dtype:
        raise problem(f"has dtype {target.dtype} but the result {result.dtype}.", DtypeError)
    if not target.flags.writeable:
        raise problem("is read-only. Pass a writable array, such as out.copy().", ArgumentError)
    if _core.repeats_memory(target):
        raise problem("has strides by which several items share memory.", ArgumentError)
    for array in inputs:
        if array is base and _core.is_same_memory(target, array):
            continue
        if share_memory(target, array):
            raise problem("shares memory with an input. Pass another array.", ArgumentError)
    return target
