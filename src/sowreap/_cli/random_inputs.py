"""Random arrays for the declared inputs of a model.

One size stands for one symbol. Numbers are standard normal, booleans fair. What an integer means
the model does not say, but most often it indexes: integers lie in [0, N), where N is the smallest
size above 0 of any axis of any input, which is in range along each of them. ``--below`` sets
another N for one input.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sowreap._cli.errors import InputError
from sowreap._cli.model import Declared

Array = NDArray[Any]

DEFAULT_SIZE = 8


def fill(
    declared: Sequence[Declared],
    given: Mapping[str, Array],
    sizes: Mapping[str, int],
    below: Mapping[str, int],
    seed: int,
) -> dict[str, Array]:
    """Return `given` and random arrays for all other inputs.

    Parameters
    ----------
    declared : sequence of Declared
        The inputs of the model.
    given : mapping
        Arrays that are there already; their shapes set symbols too.
    sizes : mapping
        Size of a symbol; symbols that are in neither have ``DEFAULT_SIZE``.
    below : mapping
        Integers of this input lie in [0, value).
    seed : int
        The same seed gives the same arrays.
    """
    _check_names("--size", sizes, {s for d in declared for s in d.shape if isinstance(s, str)})
    _check_names("--below", below, {d.name for d in declared})
    if 0 in below.values():
        raise InputError("--below: there is no integer in [0, 0); give a number above 0")
    known = {**_symbols(declared, given), **sizes}
    shapes = {
        d.name: given[d.name].shape if d.name in given else _shape(d, known) for d in declared
    }
    limit = min((n for shape in shapes.values() for n in shape if n > 0), default=DEFAULT_SIZE)
    generator = np.random.default_rng(seed)
    arrays = dict(given)
    for d in declared:
        if d.name not in given:
            try:
                arrays[d.name] = _draw(generator, d, shapes[d.name], below.get(d.name, limit))
            except (ValueError, OverflowError):
                raise InputError(f"input {d.name}: shape {shapes[d.name]} is too large") from None
    return arrays


def _check_names(option: str, given: Mapping[str, int], known: set[str]) -> None:
    for name in given:
        if name not in known:
            has = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise InputError(f"{option} {name}: the model has no such name; {has}")


def _symbols(declared: Sequence[Declared], given: Mapping[str, Array]) -> dict[str, int]:
    return {
        symbol: length
        for d in declared
        if d.name in given
        for symbol, length in zip(d.shape, given[d.name].shape, strict=False)
        if isinstance(symbol, str)
    }


def _shape(declared: Declared, known: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(
        n if isinstance(n, int) else known.get(n or "", DEFAULT_SIZE) for n in declared.shape
    )


def _draw(
    generator: np.random.Generator, declared: Declared, shape: tuple[int, ...], below: int
) -> Array:
    dtype = declared.dtype
    if dtype.kind in "OUT":
        return np.asarray(np.asarray(generator.integers(0, below, shape), np.str_), object)
    if dtype.kind == "b":
        return np.asarray(generator.integers(0, 2, shape), dtype)
    greatest = _greatest_integer(dtype)
    if greatest is not None:
        return np.asarray(generator.integers(0, min(below, greatest + 1, 2**63), shape), dtype)
    if dtype.kind == "c":
        real, imaginary = generator.standard_normal((2, *shape))
        return np.asarray(real + 1j * imaginary, dtype)
    return np.asarray(generator.standard_normal(shape), dtype)


def _greatest_integer(dtype: np.dtype[Any]) -> int | None:
    """Return the greatest value of an integer type, those of ml_dtypes included, else None.

    Examples
    --------
    >>> _greatest_integer(np.dtype("int8")), _greatest_integer(np.dtype("float32"))
    (127, None)
    """
    integer = re.fullmatch(r"(u?)int(\d+)", dtype.name)
    if integer is None:
        return None
    unsigned, bits = integer[1] == "u", int(integer[2])
    return (1 << (bits if unsigned else bits - 1)) - 1
