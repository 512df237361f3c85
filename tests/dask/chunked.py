"""Calls on arrays cut into random chunks."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from hypothesis import strategies as st

import sowreap as sr
import sowreap.dask


@st.composite
def cuts(draw, length: int) -> tuple[int, ...]:
    """Any chunks of a dimension; now and then an empty one among them."""
    if length == 0:
        return (0,)
    ends = sorted(draw(st.sets(st.integers(1, length - 1), max_size=3))) if length > 1 else []
    sizes = np.diff([0, *ends, length]).tolist()
    if draw(st.integers(0, 9)) == 0:
        sizes.insert(draw(st.integers(0, len(sizes))), 0)
    return tuple(sizes)


@st.composite
def chunked(draw, array: np.ndarray) -> Any:
    """The array as it is, or as a Dask array in any chunks."""
    if draw(st.integers(0, 4)) == 0:
        return array
    chunks = tuple(draw(cuts(n)) for n in array.shape)
    return da.from_array(array, chunks=chunks, name=False)


def compute(array: Any) -> Any:
    """What is lazy, in this thread."""
    with dask.config.set(scheduler="synchronous"):
        return array.compute()


def call_dask(operator: str, inputs: dict[str, Any], attributes: dict[str, Any]) -> np.ndarray:
    """Call the function of ``sowreap.dask`` and compute what it returns."""
    result = getattr(sowreap.dask, operator)(*inputs.values(), **attributes)
    check_promises(result)
    got = compute(result)
    assert got.dtype == result.dtype
    assert got.shape == result.shape
    return got


def check_promises(result: Any) -> None:
    """What a Dask array says of itself agrees with what each of its blocks is."""
    assert isinstance(result, da.Array)
    assert type(result._meta) is np.ndarray
    assert result._meta.dtype == result.dtype
    assert result._meta.shape == (0,) * result.ndim
    assert result.shape == tuple(map(sum, result.chunks))


def outcome(function, *arguments):
    """The result of a call, or its refusal with all facts and the text."""
    try:
        return function(*arguments)
    except sr.SowreapError as error:
        facts = (error.operator, error.argument, error.position, error.value)
        return (type(error), str(error), *facts, error.axis, error.length)
