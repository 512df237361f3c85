"""The gradients of the operators, in the operators themselves.

Each function takes the context of ``torch.library.register_autograd`` and the gradient of the
result. Where torch has the operation (``torch.scatter_reduce``), ties in min and max share the
gradient evenly and zeros in mul get the product of the others, as there. With reduction none the
update that stays, the last, gets the gradient, and the others none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

ops = torch.ops.sowreap

# What a scatter writes nowhere, its gradient reads as zero; and the other way round.
READ_MODE = {"drop": "fill"}
WRITE_MODE = {"fill": "drop"}


def _zeros(like: Tensor, shape: torch.Size | tuple[int, ...]) -> Tensor:
    return like.new_zeros(()).expand(shape)


@dataclass
class _Places:
    """The places of a scatter: where its updates go."""

    nd: bool
    indices: Tensor
    axis: int
    mode: str

    def take(self, data: Tensor) -> Tensor:
        """What lies there."""
        mode = READ_MODE.get(self.mode, self.mode)
        op = ops.gather_nd.default if self.nd else ops.gather_elements.default
        # gather_nd has batches where gather_elements has an axis
        return op(data, self.indices, 0 if self.nd else self.axis, mode, 0)

    def put(self, data: Tensor, updates: Tensor, reduction: str) -> Tensor:
        """`data` with the updates there."""
        if self.nd:
            return ops.scatter_nd.default(data, self.indices, updates, reduction, True, self.mode)
        return ops.scatter_elements.default(
            data, self.indices, updates, self.axis, reduction, True, self.mode
        )

    def count(self, like: Tensor, marks: Tensor) -> Tensor:
        """How many of the updates that are marked meet at each place."""
        return self.put(_zeros(like, like.shape), marks.to(like.dtype), "add")

    def without(self, data: Tensor, updates_shape: torch.Size) -> Tensor:
        """`data` with zeros there."""
        return self.put(data, _zeros(data, updates_shape), "none")

    def stays(self, data_shape: torch.Size, updates_shape: torch.Size) -> Tensor:
        """Whether an update is the last at its place."""
        size = torch.Size(updates_shape).numel()
        numbers = torch.arange(size, device=self.indices.device).reshape(updates_shape)
        last = self.put(numbers.new_full((), -1).expand(data_shape), numbers, "none")
        return self.take(last) == numbers


# --- gathers ------------------------------------------------------------------------------------


def gather_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Keep what the three gathers need: for all of them `axis` is the third input."""
    data, indices, ctx.axis, mode, _ = inputs
    ctx.mode = WRITE_MODE.get(mode, mode)
    ctx.data_shape = data.shape
    ctx.save_for_backward(indices)


def gather_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Add up the slices where they came from."""
    (indices,) = ctx.saved_tensors
    if not ctx.needs_input_grad[0]:
        return (None,) * 5
    shape = ctx.data_shape
    axis = ctx.axis % len(shape)
    picks = (*shape[:axis], indices.numel(), *shape[axis + 1 :])
    column = indices.reshape(-1, *(1,) * (len(shape) - axis - 1)).expand(picks)
    return _added(ops.scatter_elements.default, shape, column, grad.reshape(picks), axis, ctx.mode)


def gather_elements_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Add up the items where they came from."""
    (indices,) = ctx.saved_tensors
    if not ctx.needs_input_grad[0]:
        return (None,) * 5
    elements = ops.scatter_elements.default
    return _added(elements, ctx.data_shape, indices, grad, ctx.axis, ctx.mode)


def gather_nd_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Add up the slices where they came from; batches become components of the tuples."""
    (indices,) = ctx.saved_tensors
    if not ctx.needs_input_grad[0]:
        return (None,) * 5
    tuples = indices.to(torch.int64) if ctx.axis else indices
    for d in reversed(range(ctx.axis)):
        steps = torch.arange(indices.shape[d], device=indices.device)
        steps = steps.reshape(-1, *(1,) * (indices.dim() - d - 1))
        tuples = torch.cat((steps.expand(*indices.shape[:-1], 1), tuples), dim=-1)
    zeros = _zeros(grad, ctx.data_shape)
    return ops.scatter_nd.default(zeros, tuples, grad, "add", True, ctx.mode), *(None,) * 4


def _added(
    op: Any, shape: torch.Size, indices: Tensor, grad: Tensor, axis: int, mode: str
) -> tuple[Tensor | None, ...]:
    return op(_zeros(grad, shape), indices, grad, axis, "add", True, mode), *(None,) * 4


# --- scatters -----------------------------------------------------------------------------------


def scatter_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """``scatter``: one without a reduction."""
    data, indices, updates, axis, mode = inputs
    _keep(ctx, data, indices, updates, output, "none", True)
    ctx.places = (False, axis, mode)


def scatter_elements_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """``scatter_elements``."""
    data, indices, updates, axis, reduction, include_self, mode = inputs
    _keep(ctx, data, indices, updates, output, reduction, include_self)
    ctx.places = (False, axis, mode)


def scatter_nd_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """``scatter_nd``."""
    data, indices, updates, reduction, include_self, mode = inputs
    _keep(ctx, data, indices, updates, output, reduction, include_self)
    ctx.places = (True, 0, mode)


def _keep(
    ctx: Any,
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    output: Tensor,
    reduction: str,
    include_self: bool,
) -> None:
    ctx.reduction, ctx.include_self = reduction, include_self
    ctx.data_shape, ctx.updates_shape = data.shape, updates.shape
    values = (data, updates, output) if reduction in ("mul", "min", "max") else ()
    ctx.save_for_backward(indices, *values)


def scatter_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients of data and updates of all scatters."""
    indices, *values = ctx.saved_tensors
    nd, axis, mode = ctx.places
    places = _Places(nd, indices, axis, mode)
    of_data, of_updates = _REDUCTIONS[ctx.reduction](ctx, places, grad, *values)
    if ctx.needs_input_grad[0] and not ctx.include_self and ctx.reduction != "none":
        of_data = places.without(of_data, ctx.updates_shape)
    results = (
        of_data if ctx.needs_input_grad[0] else None,
        None,
        of_updates if ctx.needs_input_grad[2] else None,
    )
    return *results, *(None,) * (len(ctx.needs_input_grad) - 3)


Gradients = tuple[Any, Any]


def _none(ctx: Any, places: _Places, grad: Tensor) -> Gradients:
    of_data = of_updates = None
    if ctx.needs_input_grad[0]:
        of_data = places.without(grad, ctx.updates_shape)
    if ctx.needs_input_grad[2]:
        stays = places.stays(ctx.data_shape, ctx.updates_shape)
        of_updates = torch.where(stays, places.take(grad), 0)
    return of_data, of_updates


def _add(ctx: Any, places: _Places, grad: Tensor) -> Gradients:
    return grad, places.take(grad) if ctx.needs_input_grad[2] else None


def _mean(ctx: Any, places: _Places, grad: Tensor) -> Gradients:
    ones = grad.new_ones(()).expand(ctx.updates_shape)
    count = places.count(grad, ones) + (1 if ctx.include_self else 0)
    shared = grad / count.clamp(min=1) if not count.is_complex() else grad / count
    return shared, places.take(shared) if ctx.needs_input_grad[2] else None


def _conjugate(values: Tensor) -> Tensor:
    return values.conj().resolve_conj() if values.is_complex() else values


def _mul(
    ctx: Any, places: _Places, grad: Tensor, data: Tensor, updates: Tensor, output: Tensor
) -> Gradients:
    of_data = of_updates = None
    start = data if ctx.include_self else places.put(data, torch.ones_like(updates), "none")
    if ctx.needs_input_grad[0]:
        others = places.put(torch.ones_like(data), updates, "mul")
        of_data = grad * _conjugate(others)
    if ctx.needs_input_grad[2]:
        zero = updates == 0
        zeros = places.take(places.count(data.real, zero))
        only = zero & (zeros == 1)
        rest = places.put(start, torch.where(only, 1, updates), "mul")
        quotient = places.take(grad * _conjugate(output)) / _conjugate(
            torch.where(zero, 1, updates)
        )
        of_updates = torch.where(only, places.take(grad * _conjugate(rest)), quotient)
    return of_data, of_updates


def _extreme(
    ctx: Any, places: _Places, grad: Tensor, data: Tensor, updates: Tensor, output: Tensor
) -> Gradients:
    is_updates = (updates == places.take(output)).to(grad.dtype)
    is_data = (data == output).to(grad.dtype)
    if not ctx.include_self:
        is_data = places.put(is_data, _zeros(is_data, ctx.updates_shape), "none")
        # Places that no update meets keep their data.
    shared = grad / places.put(is_data, is_updates, "add")
    of_data = is_data * shared if ctx.needs_input_grad[0] else None
    of_updates = is_updates * places.take(shared) if ctx.needs_input_grad[2] else None
    return of_data, of_updates


_REDUCTIONS = {
    "none": _none,
    "add": _add,
    "mul": _mul,
    "min": _extreme,
    "max": _extreme,
    "mean": _mean,
}


def tensor_scatter_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """``tensor_scatter``."""
    cache, update, write_indices, ctx.axis, ctx.mode = inputs
    ctx.cache_shape, ctx.update_shape = cache.shape, update.shape
    ctx.has_starts = write_indices is not None
    ctx.save_for_backward(*((write_indices,) if ctx.has_starts else ()))


def tensor_scatter_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """The cache has zeros where it was written over; the update reads there."""
    starts = ctx.saved_tensors[0] if ctx.has_starts else None
    axis = ctx.axis % len(ctx.cache_shape)
    of_cache = of_update = None
    if ctx.needs_input_grad[0]:
        zeros = _zeros(grad, ctx.update_shape)
        of_cache = ops.tensor_scatter.default(grad, zeros, starts, ctx.axis, ctx.mode)
    if ctx.needs_input_grad[1]:
        steps = torch.arange(ctx.update_shape[axis], device=grad.device)
        steps = steps.reshape(-1, *(1,) * (len(ctx.cache_shape) - axis - 1))
        if starts is not None:
            steps = steps + starts.reshape(-1, *(1,) * (len(ctx.cache_shape) - 1)).to(torch.int64)
        if ctx.mode == "circular":
            steps = steps % ctx.cache_shape[axis]
        places = steps.expand(ctx.update_shape)
        of_update = ops.gather_elements.default(grad, places, axis, "raise", 0)
    return of_cache, of_update, None, None, None
