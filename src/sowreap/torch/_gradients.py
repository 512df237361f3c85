"""The gradients as ``torch.library.register_autograd`` asks for them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sowreap import _gradients

ops = torch.ops.sowreap
Grads = tuple[Tensor | None, ...]


class _Torch(_gradients.Library):
    def __init__(self) -> None:
        for name in (
            "gather_elements",
            "gather_nd",
            "scatter_elements",
            "scatter_nd",
            "tensor_scatter",
        ):
            setattr(self, name, getattr(ops, name).default)
        self.where = torch.where

    def full(self, shape: Any, value: float, like: Tensor) -> Tensor:
        return like.new_full((), value).expand(shape)

    def arange(self, size: int, like: Tensor) -> Tensor:
        return torch.arange(size, device=like.device)

    def broadcast(self, array: Tensor, shape: Any) -> Tensor:
        return array.expand(shape)

    def concatenate(self, arrays: list[Tensor]) -> Tensor:
        return torch.cat([array.to(torch.int64) for array in arrays], dim=-1)

    def cast(self, array: Tensor, like: Tensor) -> Tensor:
        return array.to(like.dtype)

    def conjugate(self, array: Tensor) -> Tensor:
        return array.conj().resolve_conj() if array.is_complex() else array


_torch: _Torch | None = None


def _library() -> _Torch:
    """Made once the operators are registered."""
    global _torch
    if _torch is None:
        _torch = _Torch()
    return _torch


def gather_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Keep what the three gathers need: for gather_nd, `axis` is batch_dims."""
    data, indices, ctx.axis, ctx.mode, _ = inputs
    ctx.data_shape = data.shape
    ctx.save_for_backward(indices)


def _gather(rule: Any, ctx: Any, grad: Tensor) -> Grads:
    if not ctx.needs_input_grad[0]:
        return (None,) * 5
    (indices,) = ctx.saved_tensors
    of_data = rule(_library(), grad, ctx.data_shape, indices, ctx.axis, ctx.mode)
    return (of_data, None, None, None, None)


def gather_backward(ctx: Any, grad: Tensor) -> Grads:
    """Of ``gather``."""
    return _gather(_gradients.gather, ctx, grad)


def gather_elements_backward(ctx: Any, grad: Tensor) -> Grads:
    """Of ``gather_elements``."""
    return _gather(_gradients.gather_elements, ctx, grad)


def gather_nd_backward(ctx: Any, grad: Tensor) -> Grads:
    """Of ``gather_nd``."""
    return _gather(_gradients.gather_nd, ctx, grad)


def scatter_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Of ``scatter``."""
    data, indices, updates, axis, mode = inputs
    _keep(ctx, data, indices, updates, output, (False, axis, "none", True, mode))


def scatter_elements_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Of ``scatter_elements``."""
    data, indices, updates, *attributes = inputs
    _keep(ctx, data, indices, updates, output, (False, *attributes))


def scatter_nd_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Of ``scatter_nd``."""
    data, indices, updates, *attributes = inputs
    _keep(ctx, data, indices, updates, output, (True, 0, *attributes))


def _keep(
    ctx: Any,
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    output: Tensor,
    attributes: tuple[Any, ...],
) -> None:
    ctx.attributes = attributes  # nd, axis, reduction, include_self, mode
    ctx.shapes = data.shape, updates.shape
    values = (data, updates, output) if _gradients.needs_values(attributes[2]) else ()
    ctx.save_for_backward(indices, *values)


def scatter_backward(ctx: Any, grad: Tensor) -> Grads:
    """Of all scatters."""
    indices, *values = ctx.saved_tensors
    nd, *attributes = ctx.attributes
    call = _gradients.Scatter(_library(), nd, indices, *attributes, *ctx.shapes, *values)
    needs = ctx.needs_input_grad
    of_data, of_updates = _gradients.scatter(call, grad, needs[0], needs[2])
    return (of_data, None, of_updates, *(None,) * (len(needs) - 3))


def tensor_scatter_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Of ``tensor_scatter``."""
    _, update, write_indices, ctx.axis, ctx.mode = inputs
    ctx.update_shape = update.shape
    ctx.save_for_backward(*(() if write_indices is None else (write_indices,)))


def tensor_scatter_backward(ctx: Any, grad: Tensor) -> Grads:
    """Of ``tensor_scatter``."""
    starts = ctx.saved_tensors[0] if ctx.saved_tensors else None
    gradients = _gradients.tensor_scatter(
        _library(), grad, ctx.update_shape, starts, ctx.axis, ctx.mode, *ctx.needs_input_grad[:2]
    )
    return (*gradients, None, None, None)
