# mypy: allow-untyped-defs, allow-untyped-calls
"""Functions that a script gets a copy of when it calls them.

Each stands alone but for NumPy, :mod:`math` and other functions of this module, and does what the
operator of ONNX does that it is written for.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["HELPERS", "called_helpers", "source_of"]


def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    exp_x = np.exp(x)
    return np.where(x > 0, 1 / (1 + np.exp(-x)), exp_x / (1 + exp_x)).astype(x.dtype)


def softmax(x, axis):
    """Return exp(x) divided by its sum along `axis`."""
    if x.size == 0:
        return x
    exp_x = np.exp(x - x.max(axis=axis, keepdims=True))
    return (exp_x / exp_x.sum(axis=axis, keepdims=True)).astype(x.dtype)


def flat_softmax(x, axis):
    """Return the softmax over all axes from `axis` on, as before opset 13."""
    rows = math.prod(x.shape[:axis])
    return softmax(x.reshape(rows, -1), 1).reshape(x.shape)


def erf(x):
    """Return the error function of each item."""
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def layer_norm(x, scale, bias, axis, epsilon):
    """Return x with mean 0 and variance 1 over the axes from `axis` on, then scaled."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    size = math.prod(x.shape[axes[0] :])
    difference = x - np.sum(x, axis=axes, keepdims=True) / size
    variance = np.sum(difference * difference, axis=axes, keepdims=True) / size
    result = difference * np.reciprocal(np.sqrt(variance + epsilon)) * scale
    return (result if bias is None else result + bias).astype(x.dtype)


def divide(a, b):
    """Return a / b; of integers, rounded towards zero."""
    if not np.issubdtype(a.dtype, np.integer):
        return np.divide(a, b).astype(a.dtype)
    quotient = np.floor_divide(a, b)
    inexact = np.remainder(a, b) != 0
    return quotient + (inexact & ((a < 0) != (b < 0))).astype(quotient.dtype)


def reshape(x, shape):
    """Return x in `shape`, where 0 stands for the size that x has there."""
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(shape)])


def slice_axes(x, starts, ends, axes=None, steps=None):
    """Return x from `starts` to `ends` on each of `axes`."""
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    cut = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        cut[axis] = slice(start, end, step)
    return x[tuple(cut)]


def split(x, parts, axis):
    """Return x in `parts` pieces along `axis`; the last may be shorter."""
    size = -(-x.shape[axis] // parts)
    return np.split(x, range(size, size * parts, size), axis)


def expand(x, shape):
    """Return x repeated along axes of size 1 and new axes in front, as broadcasting does."""
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape)))


def insert(sequence, value, position):
    """Return the sequence with `value` inserted."""
    return [*sequence[:position], value, *sequence[position:]]


def stack(values, shape, dtype, axis=0):
    """Return the values of all rounds of a loop as one array."""
    return np.stack(values, axis) if values else np.empty(shape, dtype)


HELPERS = {
    function.__name__: function
    for function in (
        sigmoid,
        softmax,
        flat_softmax,
        erf,
        layer_norm,
        divide,
        reshape,
        slice_axes,
        split,
        expand,
        insert,
        stack,
    )
}


@functools.cache
def source_of(name: str) -> str:
    """Return the source of a helper."""
    return inspect.getsource(HELPERS[name]).rstrip()


def called_helpers(sources: Iterable[str]) -> list[str]:
    """Return the helpers that `sources` call, directly or through others, in their order here."""
    found: set[str] = set()
    pending = list(sources)
    while pending:
        for name in _called(pending.pop()) - found:
            found.add(name)
            pending.append(source_of(name))
    return [name for name in HELPERS if name in found]


def _called(source: str) -> set[str]:
    calls: list[Any] = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)} & HELPERS.keys()
