"""The operators under ``torch.vmap``: all samples in one call, along a dimension before the others.

A rule is given what runs an operator by name, how many samples there are, along which dimension of
each argument they are (None: one for all), and the arguments; it returns the result and where the
samples are in it. What is wrong in every sample is left to the call of the first one, whose error
says so in the terms of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Run = Callable[..., Tensor]
Dims = tuple[int | None, ...]
Result = tuple[Tensor, int]


def _in_front(array: Tensor, dim: int | None, size: int) -> Tensor:
    return array.expand(size, *array.shape) if dim is None else array.movedim(dim, 0)


def _all_in_front(size: int, dims: Dims, arrays: Sequence[Tensor]) -> list[Tensor]:
    return [_in_front(array, dim, size) for array, dim in zip(arrays, dims, strict=False)]


def _first(name: str, run: Run, dims: Dims, arguments: Sequence[Any]) -> Result:
    sample = [
        argument if dim is None else argument.select(dim, 0)
        for argument, dim in zip(arguments, dims, strict=True)
    ]
    return run(name, *sample), 0


def _rank(array: Tensor, dim: int | None) -> int:
    return int(array.dim()) - (dim is not None)


def _is_index(array: Tensor) -> bool:
    others = array.dtype.is_floating_point or array.dtype.is_complex
    return not others and array.dtype != torch.bool


def _gather(run: Run, size: int, dims: Dims, *arguments: Any) -> Result:
    data, indices, axis, *rest = arguments
    rank = _rank(data, dims[0])
    if not -rank <= axis < rank:
        return _first("gather", run, dims, arguments)
    axis %= rank
    if dims[1] is None:
        return run("gather", data.movedim(dims[0], 0), indices, axis + 1, *rest), 0
    if dims[0] is None:
        return run("gather", data, indices.movedim(dims[1], 0), axis, *rest), axis
    data, indices = _all_in_front(size, dims, (data, indices))
    found = run("gather_nd", data.movedim(axis + 1, 1), indices.unsqueeze(-1), 1, *rest)
    picks = range(1, indices.dim())
    return found.movedim(tuple(picks), tuple(d + axis for d in picks)), 0


def _gather_nd(run: Run, size: int, dims: Dims, *arguments: Any) -> Result:
    data, indices, batch_dims, *rest = arguments
    if batch_dims < 0:
        return _first("gather_nd", run, dims, arguments)
    data, indices = _all_in_front(size, dims, (data, indices))
    return run("gather_nd", data, indices, batch_dims + 1, *rest), 0


def _elements(name: str, count: int) -> Callable[..., Result]:
    """Of the operators that take so many arrays of one rank."""

    def rule(run: Run, size: int, dims: Dims, *arguments: Any) -> Result:
        rank, axis = _rank(arguments[0], dims[0]), arguments[count]
        if not -rank <= axis < rank:
            return _first(name, run, dims, arguments)
        arrays = _all_in_front(size, dims, arguments[:count])
        return run(name, *arrays, axis % rank + 1, *arguments[count + 1 :]), 0

    return rule


def _scatter_nd(run: Run, size: int, dims: Dims, *arguments: Any) -> Result:
    data, indices, updates, *rest = arguments
    if _rank(indices, dims[1]) < 1 or not _is_index(indices):
        return _first("scatter_nd", run, dims, arguments)
    data, indices, updates = _all_in_front(size, dims, (data, indices, updates))
    sample = torch.arange(size, device=indices.device).reshape(-1, *(1,) * (indices.dim() - 1))
    sample = sample.expand(*indices.shape[:-1], 1)
    tuples = torch.cat([sample, indices.to(torch.int64)], dim=-1)
    return run("scatter_nd", data, tuples, updates, *rest), 0


def _tensor_scatter(run: Run, size: int, dims: Dims, *arguments: Any) -> Result:
    past_cache, update, write_indices, axis, mode = arguments
    rank = _rank(past_cache, dims[0])
    if not -rank <= axis < rank or _rank(update, dims[1]) != rank:
        return _first("tensor_scatter", run, dims, arguments)
    if write_indices is not None:
        if _rank(write_indices, dims[2]) < 1:
            return _first("tensor_scatter", run, dims, arguments)
        write_indices = _in_front(write_indices, dims[2], size).flatten(0, 1)
    past_cache, update = _all_in_front(size, dims, (past_cache, update))
    batches = past_cache.shape[:2]
    joined = [array.flatten(0, 1) for array in (past_cache, update)]
    result = run("tensor_scatter", *joined, write_indices, axis, mode)
    return result.unflatten(0, batches), 0


RULES: dict[str, Callable[..., Result]] = {
    "gather": _gather,
    "gather_elements": _elements("gather_elements", 2),
    "gather_nd": _gather_nd,
    "scatter": _elements("scatter", 3),
    "scatter_elements": _elements("scatter_elements", 3),
    "scatter_nd": _scatter_nd,
    "tensor_scatter": _tensor_scatter,
}
