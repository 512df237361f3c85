"""Whether a result is the standard's, at positions drawn from it.

The loop of the standard is followed for those positions alone, in Python, with every rounding of
the dtype: the same meaning as `sowreap._reference`, affordable for results of any size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads import Arrays, Workload

SAMPLES = 40


def _combine(reduction: str, old: Any, new: Any) -> Any:
    if reduction == "none":
        return new
    if reduction == "add":
        return old + new
    if reduction == "mul":
        return old * new
    if np.isnan(old) or np.isnan(new):
        return old + new
    if reduction == "min":
        return new if new < old else old
    return new if new > old else old


def _gathered(workload: Workload, arrays: Arrays, at: tuple[int, ...]) -> Any:
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


def _scattered(workload: Workload, arrays: Arrays, at: tuple[int, ...], base: Any) -> Any:
    data, indices, updates = arrays
    if workload.operator == "scatter_nd":
        k = indices.shape[-1]
        hits = np.flatnonzero((indices == np.array(at[:k])).all(axis=-1))
        values = updates[(hits, *at[k:])]
    else:
        axis = workload.options.get("axis", 0) % data.ndim
        if any(
            i >= n for d, (i, n) in enumerate(zip(at, indices.shape, strict=False)) if d != axis
        ):
            return base
        line = tuple(slice(None) if d == axis else i for d, i in enumerate(at))
        values = updates[line][indices[line] == at[axis]]
    result = base
    with np.errstate(over="ignore"):
        for value in values:
            result = data.dtype.type(_combine(workload.reduction, result, value))
    return result


def expected(workload: Workload, arrays: Arrays) -> dict[tuple[int, ...], Any]:
    """Values of the standard's result, by position; of one call on the arrays as they are."""
    rng = np.random.default_rng(7)
    data = arrays[0]
    if workload.operator == "tensor_scatter":
        position = int(arrays[2][0])
        return {(0, 3, position, 5): arrays[1][0, 3, 0, 5], (0, 3, 0, 5): data[0, 3, 0, 5]}
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
        return {at: _gathered(workload, arrays, at) for at in places}
    if workload.operator == "scatter_nd":  # some that are hit
        places += [
            (*map(int, arrays[1][i]), *map(int, rng.integers(0, data.shape[arrays[1].shape[-1] :])))
            for i in rng.integers(0, len(arrays[1]), SAMPLES)
        ]
    return {at: _scattered(workload, arrays, at, data[at]) for at in places}


def verdict(result: Any, wanted: dict[tuple[int, ...], Any]) -> str:
    """Say "same", "close" (rounding of another order) or "wrong"."""
    array = as_numpy(result)
    exact = True
    for at, value in wanted.items():
        got = array[at]
        if got == value or (got != got and value != value):
            continue
        exact = False
        coarse = 2e-2 if array.dtype.itemsize == 2 else 1e-3
        if array.dtype.kind in "iub" or not np.isclose(float(got), float(value), rtol=coarse):
            return "wrong"
    return "same" if exact else "close"


def as_numpy(result: Any) -> np.ndarray:
    if isinstance(result, np.ndarray):
        return result
    if type(result).__module__.startswith("torch"):
        if str(result.dtype) == "torch.bfloat16":
            import ml_dtypes

            return result.view(dtype=_torch_int16()).numpy().view(ml_dtypes.bfloat16)
        return result.numpy()
    if hasattr(result, "numpy"):
        return result.numpy()
    return np.asarray(result)


def _torch_int16() -> Any:
    import torch

    return torch.int16
