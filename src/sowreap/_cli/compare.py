"""Results against expected ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sowreap._cli import files
from sowreap._cli.errors import InputError

Array = NDArray[Any]


class Expected:
    """The arrays of a file that results are to be compared with; read at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content = files.read_any(path)

    def named(self, results: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arrays by the names of `results`, as their types where the file has bytes."""
        names = ", ".join(results)
        arrays = self._content
        if not isinstance(arrays, dict):
            if len(results) != 1:
                raise InputError(
                    f"{self._path}: is one array, but the outputs are {names}; give an .npz file"
                )
            arrays = dict.fromkeys(results, arrays)
        for name in arrays:
            if name not in results:
                raise InputError(
                    f"{self._path}: {name} is not an output of the model; those are {names}"
                )
        if not arrays:
            raise InputError(f"{self._path}: holds no array to compare with")
        return {
            name: files.with_dtype(array, results[name].dtype) for name, array in arrays.items()
        }


class Difference(NamedTuple):
    """How far a result is from what was expected.

    Attributes
    ----------
    agrees : bool
        Whether dtype and shape are equal and no value is further off than the tolerance.
    text : str
        The largest difference and its position, or what else differs.
    """

    agrees: bool
    text: str


def compare(found: Array, expected: Array, tolerance: float) -> Difference:
    """Compare two arrays; the tolerance is absolute, NaN equals NaN, strings must be equal.

    Examples
    --------
    >>> compare(np.array([1.0, 2.0]), np.array([1.0, 2.25]), 0.5)
    Difference(agrees=True, text='largest difference 0.25 at [1]')
    >>> compare(np.zeros(3), np.zeros(2), 0.5)
    Difference(agrees=False, text='shape (3,), expected (2,)')
    """
    if found.dtype.kind in "OUT" and expected.dtype.kind in "OUT":
        found, expected = found.astype(np.str_), expected.astype(np.str_)
    elif found.dtype != expected.dtype:
        return Difference(False, f"dtype {found.dtype}, expected {expected.dtype}")
    if found.shape != expected.shape:
        return Difference(False, f"shape {found.shape}, expected {expected.shape}")
    if found.size == 0:
        return Difference(True, "no values")
    if found.dtype.type in (np.str_, np.bytes_, np.void):
        return _count(found != expected)
    distance = _distance(found.ravel(), expected.ravel())
    first = int(np.argmax(distance))
    largest = distance[first]
    at = [int(index) for index in np.unravel_index(first, found.shape)]
    where = f" at {at}" if largest else ""
    return Difference(bool(largest <= tolerance), f"largest difference {largest:.3g}{where}")


def rounding(found: Array, other: Array) -> float:
    """Return the difference that rounding may make: a quarter of the digits of the largest value.

    0 for types that do not round.

    Examples
    --------
    >>> f"{rounding(np.array([1.0, -8.0]), np.array([1.0, 2.0])):.2g}"
    '1.5e-11'
    >>> rounding(np.array([1, 2]), np.array([1, 2]))
    0.0
    """
    if found.dtype != other.dtype or not _rounds(found.dtype):
        return 0.0
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    magnitudes = np.abs(np.concatenate([found.ravel(), other.ravel()]).astype(wide))
    largest = magnitudes[np.isfinite(magnitudes)].max(initial=0)
    return float(largest * float(_epsilon(found.dtype)) ** 0.75)


def _rounds(dtype: np.dtype[Any]) -> bool:
    is_small_float = dtype.isbuiltin == files.USER_DEFINED and "float" in dtype.name
    return dtype.kind in "fc" or is_small_float


def _epsilon(dtype: np.dtype[Any]) -> Any:
    if dtype.isbuiltin != files.USER_DEFINED:
        return np.finfo(dtype).eps
    import ml_dtypes

    return ml_dtypes.finfo(dtype).eps  # type: ignore[no-untyped-call]


def _count(differs: Array) -> Difference:
    number = int(np.count_nonzero(differs))
    return Difference(number == 0, f"{number} of {differs.size} values differ")


def _distance(found: Array, expected: Array) -> Array:
    """Return absolute differences: 0 where both are NaN or equal, infinite where one is NaN."""
    if found.dtype.kind in "biu":
        if found.dtype.kind == "b":
            found, expected = found.astype(np.uint8), expected.astype(np.uint8)
        # Modulo 2**64 the difference of the larger and the smaller is exact.
        larger, smaller = np.maximum(found, expected), np.minimum(found, expected)
        return np.subtract(larger.astype(np.uint64), smaller.astype(np.uint64))
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    a, b = found.astype(wide), expected.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        distance: Array = np.abs(a - b)
    distance[(a == b) | (np.isnan(a) & np.isnan(b))] = 0
    distance[np.isnan(distance)] = np.inf
    return distance
