"""The gradients as ``torch.library`` and ``torch.autograd.Function`` ask for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from sowreap import _core, _gradients
from sowreap.torch import _batches

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
            setattr(self, name, partial(call, name))
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

    def may_hold(self, marks: Tensor) -> bool:
        # Only a plain tensor has values to look at.
        if torch.compiler.is_compiling() or type(marks) is not Tensor or _is_transformed():
            return True
        return bool(marks.any())


def gather_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Keep what the three gathers need: for gather_nd, `axis` is batch_dims."""
    data, indices, ctx.axis, ctx.mode, _ = inputs
    ctx.data_shape = data.shape
    ctx.save_for_backward(indices)


def _gather(rule: Any, ctx: Any, grad: Tensor) -> Grads:
    if not ctx.needs_input_grad[0]:
        return (None,) * 5
    (indices,) = ctx.saved_tensors
    of_data = rule(_torch, grad, ctx.data_shape, indices, ctx.axis, ctx.mode)
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
    needs = ctx.needs_input_grad
    of_data, of_updates = _gradients.scatter(_scatter_of(ctx), grad, needs[0], needs[2])
    return (of_data, None, of_updates, *(None,) * (len(needs) - 3))


def _scatter_of(ctx: Any) -> _gradients.Scatter:
    indices, *values = ctx.saved_tensors
    nd, *attributes = ctx.attributes
    return _gradients.Scatter(_torch, nd, indices, *attributes, *ctx.shapes, *values)


def tensor_scatter_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Of ``tensor_scatter``."""
    cache, update, write_indices, ctx.axis, ctx.mode = inputs
    ctx.cache_shape, ctx.update_shape = cache.shape, update.shape
    ctx.save_for_backward(*(() if write_indices is None else (write_indices,)))


def tensor_scatter_backward(ctx: Any, grad: Tensor) -> Grads:
    """Of ``tensor_scatter``."""
    starts = ctx.saved_tensors[0] if ctx.saved_tensors else None
    gradients = _gradients.tensor_scatter(
        _torch, grad, ctx.update_shape, starts, ctx.axis, ctx.mode, *ctx.needs_input_grad[:2]
    )
    return (*gradients, None, None, None)


# --- torch.func, and gradients forward ----------------------------------------------------------
#
# Neither knows operators whose gradients are registered through torch.library; both know a
# torch.autograd.Function.


def _gather_change(name: str, ctx: Any, change: Tensor, *_: None) -> Tensor:
    (indices,) = ctx.saved_tensors
    return call(name, change, indices, ctx.axis, ctx.mode, 0)


def _scatter_change(ctx: Any, of_data: Any, _: None, of_updates: Any, *__: None) -> Tensor:
    result: Tensor = _gradients.change(_scatter_of(ctx), of_data, of_updates)
    return result


def _tensor_scatter_change(ctx: Any, of_cache: Any, of_update: Any, *_: None) -> Tensor:
    starts = ctx.saved_tensors[0] if ctx.saved_tensors else None
    if of_cache is None:
        of_cache = _torch.full(ctx.cache_shape, 0, of_update)
    if of_update is None:
        of_update = _torch.full(ctx.update_shape, 0, of_cache)
    return call("tensor_scatter", of_cache, of_update, starts, ctx.axis, ctx.mode)


def _function(
    name: str, setup: Callable[..., None], backward: Callable[..., Grads], change: Any
) -> type[torch.autograd.Function]:
    def forward(*arguments: Any) -> Tensor:
        return _operator(name, arguments)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        setup(ctx, inputs, output)
        ctx.save_for_forward(*ctx.to_save)

    def vmap(info: Any, in_dims: _batches.Dims, *arguments: Any) -> tuple[Tensor, int]:
        return _batches.RULES[name](call, info.batch_size, in_dims, *arguments)

    members = (forward, setup_context, backward, vmap, change)
    names = ("forward", "setup_context", "backward", "vmap", "jvp")
    methods = {key: staticmethod(member) for key, member in zip(names, members, strict=True)}
    return type(name, (torch.autograd.Function,), methods)


FUNCTIONS = {
    "gather": _function("gather", gather_setup, gather_backward, partial(_gather_change, "gather")),
    "gather_elements": _function(
        "gather_elements",
        gather_setup,
        gather_elements_backward,
        partial(_gather_change, "gather_elements"),
    ),
    "gather_nd": _function(
        "gather_nd", gather_setup, gather_nd_backward, partial(_gather_change, "gather_nd")
    ),
    "scatter": _function("scatter", scatter_setup, scatter_backward, _scatter_change),
    "scatter_elements": _function(
        "scatter_elements", scatter_elements_setup, scatter_backward, _scatter_change
    ),
    "scatter_nd": _function("scatter_nd", scatter_nd_setup, scatter_backward, _scatter_change),
    "tensor_scatter": _function(
        "tensor_scatter", tensor_scatter_setup, tensor_scatter_backward, _tensor_scatter_change
    ),
}


# --- calls --------------------------------------------------------------------------------------
#
# An operator that nobody sees needs neither the dispatcher nor what torch.library puts around it,
# which cost many times as much as a small call: it is computed at once, and recorded by a Function.


def _recorded(
    name: str, setup: Callable[..., None], backward: Callable[..., Grads]
) -> type[torch.autograd.Function]:
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        result = _compute(name, arguments)
        setup(ctx, arguments, result)
        return result

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), methods)


_RECORDED = {
    "gather": _recorded("gather", gather_setup, gather_backward),
    "gather_elements": _recorded("gather_elements", gather_setup, gather_elements_backward),
    "gather_nd": _recorded("gather_nd", gather_setup, gather_nd_backward),
    "scatter": _recorded("scatter", scatter_setup, scatter_backward),
    "scatter_elements": _recorded("scatter_elements", scatter_elements_setup, scatter_backward),
    "scatter_nd": _recorded("scatter_nd", scatter_nd_setup, scatter_backward),
    "tensor_scatter": _recorded("tensor_scatter", tensor_scatter_setup, tensor_scatter_backward),
}


def _operator(name: str, arguments: tuple[Any, ...]) -> Tensor:
    result: Tensor = getattr(torch.ops.sowreap, name).default(*arguments)
    return result


_CORE = {name: getattr(_core, name) for name in _RECORDED}


def _compute(name: str, arguments: tuple[Any, ...]) -> Tensor:
    """The function of the core, which refuses the marks of autograd."""
    if torch._C._any_requires_grad(*arguments):
        arguments = tuple(a.detach() if isinstance(a, Tensor) else a for a in arguments)
    result: Tensor = _CORE[name](*arguments, None)
    return result


def _is_transformed() -> bool:
    is_forward: bool = forward_ad._current_level >= 0
    return is_forward or torch._C._are_functorch_transforms_active()


def _is_seen() -> bool:
    """Whether somebody looks at operators: a mode, a trace, a profiler."""
    return (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._is_torch_function_mode_enabled()
        or torch._C._get_tracing_state() is not None
        or torch._C._autograd._profiler_enabled()
    )


_PLAIN_TENSORS = (Tensor, torch.nn.Parameter)
_PLAIN_VALUES = (str, int, bool, float, complex, type(None))


def _are_plain(arguments: tuple[Any, ...]) -> bool:
    """Whether the core takes the arguments as they are; the dispatcher sees to others."""
    data, indices, *others = arguments
    for argument in (data, indices):
        if type(argument) not in _PLAIN_TENSORS or not argument.is_cpu:
            return False
    for argument in others:
        kind = type(argument)
        if kind in _PLAIN_TENSORS:
            if not argument.is_cpu:
                return False
        elif kind not in _PLAIN_VALUES:
            return False
    return True


def call(name: str, *arguments: Any) -> Tensor:
    """An operator by name, with all its arguments by position."""
    if torch.compiler.is_compiling():  # which traces operators, and has a vmap of its own for them
        return _operator(name, arguments)
    if _is_transformed():
        result: Tensor = FUNCTIONS[name].apply(*arguments)
        return result
    if _is_seen() or not _are_plain(arguments):
        return _operator(name, arguments)
    if torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments):
        recorded: Tensor = _RECORDED[name].apply(*arguments)
        return recorded
    return _compute(name, arguments)


_torch = _Torch()
