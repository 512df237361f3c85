"""Whether a result is the standard's, at positions drawn from it.

The loop of the standard is followed for those positions alone, with every rounding of the dtype:
the same meaning as `sowreap._reference`, affordable for results of any size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sowreap._bench.workload import Array, Arrays, Workload

SAMPLES = 40
Place = tuple[int, ...]


class Wanted(NamedTuple):
    """What a place holds at the end of the loop, and what the standard leaves open to be there."""

    value: Any
    others: tuple[Any, ...] = ()


_UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _fold(reduction: str, base: Any, values: Array) -> Any:
    """The loop over the updates of one cell: accumulate rounds after every step."""
    if len(values) == 0:
        return base
    if reduction == "none":
        return values[-1]
    steps = np.concatenate([np.array([base], values.dtype), values])
    with np.errstate(over="ignore"):
        return _UFUNCS[reduction].accumulate(steps, dtype=steps.dtype)[-1]


def _gathered(workload: Workload, arrays: Arrays, at: Place) -> Any:
    data, indices = arrays
    axis = workload.options.get("axis", 0) % data.ndim
    if workload.operator == "gather":
        place = (*at[:axis], int(indices[at[axis]]), *at[axis + 1 :])
    elif workload.operator == "gather_elements":
        place = (*at[:axis], int(indices[at]), *at[axis + 1 :])
    else:
        batch = workload.options.get("batch_dims", 0)
        index = indices[at[: indices.ndim - 1]]
        place = (*at[:batch], *map(int, index), *at[indices.ndim - 1 :])
    return data[place]


def _scattered(workload: Workload, arrays: Arrays, at: Place, base: Any) -> Wanted:
    data, indices, updates = arrays
    if workload.operator == "scatter_nd":
        k = indices.shape[-1]
        hits = np.flatnonzero((indices == np.array(at[:k])).all(axis=-1))
        values = updates[(hits, *at[k:])]
    else:
        axis = workload.options.get("axis", 0) % data.ndim
        sizes = enumerate(indices.shape)
        if any(at[d] >= n for d, n in sizes if d != axis):
            return Wanted(base)
        line = tuple(slice(None) if d == axis else i for d, i in enumerate(at))
        values = updates[line][indices[line] == at[axis]]
    result = _fold(workload.reduction, base, values)
    return Wanted(result, tuple(values) if workload.reduction == "none" else ())


def expected(workload: Workload, arrays: Arrays) -> dict[Place, Wanted]:
    """Values of the standard's result, by position; of one call on the arrays as they are."""
    rng = np.random.default_rng(7)
    data = arrays[0]
    if workload.operator == "tensor_scatter":
        position = int(arrays[2][0])
        return {
            (0, 3, position, 5): Wanted(arrays[1][0, 3, 0, 5]),
            (0, 3, 0, 5): Wanted(data[0, 3, 0, 5]),
        }
    if workload.operator == "gather":
        axis = workload.options.get("axis", 0) % data.ndim
        shape = (*data.shape[:axis], *arrays[1].shape, *data.shape[axis + 1 :])
    elif workload.operator == "gather_elements":
        shape = arrays[1].shape
    elif workload.operator == "gather_nd":
        k = arrays[1].shape[-1] + workload.options.get("batch_dims", 0)
        shape = (*arrays[1].shape[:-1], *data.shape[k:])
    else:
        shape = data.shape
    places = [tuple(int(rng.integers(0, n)) for n in shape) for _ in range(SAMPLES)]
    if workload.operator.startswith("gather"):
        return {at: Wanted(_gathered(workload, arrays, at)) for at in places}
    if workload.operator == "scatter_nd":  # some that are hit
        places += [
            (*map(int, arrays[1][i]), *map(int, rng.integers(0, data.shape[arrays[1].shape[-1] :])))
            for i in rng.integers(0, len(arrays[1]), SAMPLES)
        ]
    return {at: _scattered(workload, arrays, at, data[at]) for at in places}


def verdict(result: Any, wanted: dict[Place, Wanted]) -> str:
    """Say how a result agrees with the loop.

    "same"; "close" (sums rounded in another order); "open" (another of several updates of a cell
    won, which the standard leaves open and sowreap does not); or "wrong".
    """
    array = as_numpy(result)
    worst = 0
    for at, (value, others) in wanted.items():
        got = array[at]
        if got == value or (got != got and value != value):
            continue
        if any(got == other for other in others):
            worst = max(worst, 2)
            continue
        coarse = 2e-2 if array.dtype.itemsize == 2 else 1e-3
        if array.dtype.kind in "iub" or not np.isclose(float(got), float(value), rtol=coarse):
            return "wrong"
        worst = max(worst, 1)
    return ("same", "close", "open")[worst]


def as_numpy(result: Any) -> Array:
    """Return what an engine returned as an array of NumPy."""
    if type(result).__module__.startswith("torch") and str(result.dtype) == "torch.bfloat16":
        import ml_dtypes
        import torch

        result = result.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    elif not isinstance(result, np.ndarray) and hasattr(result, "numpy"):
        result = result.numpy()
    array: Array = np.asarray(result)
    return array
