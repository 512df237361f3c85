"""The operators in torch's registry: schema, computation, shapes, gradients, batching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sowreap import _core
from sowreap.torch import _batches, _gradients

library = torch.library.Library("sowreap", "DEF")

_GATHER_END = 'str mode="raise", Scalar fill_value=0) -> Tensor'
_SCATTER = "(Tensor data, Tensor indices, Tensor updates, "
_REDUCED = 'str reduction="none", bool include_self=True, str mode="raise") -> Tensor'
SCHEMAS = {
    "gather": f"(Tensor data, Tensor indices, int axis=0, {_GATHER_END}",
    "gather_elements": f"(Tensor data, Tensor indices, int axis=0, {_GATHER_END}",
    "gather_nd": f"(Tensor data, Tensor indices, int batch_dims=0, {_GATHER_END}",
    "scatter": f'{_SCATTER}int axis=0, str mode="raise") -> Tensor',
    "scatter_elements": f"{_SCATTER}int axis=0, {_REDUCED}",
    "scatter_nd": f"{_SCATTER}{_REDUCED}",
    "tensor_scatter": (
        "(Tensor past_cache, Tensor update, Tensor? write_indices=None, int axis=-2, "
        'str mode="linear") -> Tensor'
    ),
}


def _kernel(name: str) -> Callable[..., Tensor]:
    """The function of the core on tensors of whatever device: it refuses all but the CPU's."""
    function, defaults = getattr(_core, name), _defaults(name)

    def kernel(*arguments: Any) -> Tensor:
        # Autograd has been dealt with by now; its marks would be refused.
        plain = [a.detach() if isinstance(a, Tensor) else a for a in arguments]
        result: Tensor = function(*plain, *defaults[len(plain) :], None)
        return result

    return kernel


def _defaults(name: str) -> list[Any]:
    """Of all arguments: the dispatcher leaves out what is the default."""
    schema = getattr(torch.ops.sowreap, name).default._schema
    return [argument.default_value for argument in schema.arguments]


# --- shapes -------------------------------------------------------------------------------------


def _check(condition: bool, text: str) -> None:
    torch._check(condition, lambda: text)


def _check_indices(operator: str, indices: Tensor, name: str = "indices") -> None:
    integral = not (indices.dtype.is_floating_point or indices.dtype.is_complex)
    _check(
        integral and indices.dtype != torch.bool,
        f"{operator}: {name} has dtype {indices.dtype}; an integer dtype is needed.",
    )


def _axis(operator: str, axis: int, data: Tensor) -> int:
    rank = data.dim()
    _check(
        -rank <= axis < rank,
        f"{operator}: axis = {axis} is out of range [{-rank}, {rank - 1}] of data's rank {rank}.",
    )
    return int(axis % rank)


def _check_same_rank(operator: str, data: Tensor, indices: Tensor) -> None:
    _check(
        data.dim() == indices.dim(),
        f"{operator}: indices has rank {indices.dim()} but data has rank {data.dim()}.",
    )


def _check_updates(operator: str, data: Tensor, updates: Tensor, shape: Any) -> None:
    _check(
        updates.dtype == data.dtype,
        f"{operator}: updates has dtype {updates.dtype} but data has dtype {data.dtype}.",
    )
    _check(
        updates.dim() == len(shape),
        f"{operator}: updates has rank {updates.dim()}; {len(shape)} is needed.",
    )
    for axis, (found, needed) in enumerate(zip(updates.shape, shape, strict=True)):
        _check(
            found == needed,
            f"{operator}: updates and what indices and data need differ at axis {axis}.",
        )


def _fake_gather(
    data: Tensor, indices: Tensor, axis: int = 0, mode: str = "raise", fill_value: Any = 0
) -> Tensor:
    _check_indices("gather", indices)
    axis = _axis("gather", axis, data)
    return data.new_empty((*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]))


def _fake_gather_elements(
    data: Tensor, indices: Tensor, axis: int = 0, mode: str = "raise", fill_value: Any = 0
) -> Tensor:
    _check_indices("gather_elements", indices)
    _axis("gather_elements", axis, data)
    _check_same_rank("gather_elements", data, indices)
    return data.new_empty(indices.shape)


def _tuple_length(operator: str, data: Tensor, indices: Tensor, batch_dims: int) -> int:
    _check_indices(operator, indices)
    _check(indices.dim() > 0, f"{operator}: indices of rank 0; its last axis holds index tuples.")
    length = int(indices.shape[-1])
    _check(
        length <= data.dim() - batch_dims,
        f"{operator}: index tuples have length {length}, more than data has axes.",
    )
    return length


def _fake_gather_nd(
    data: Tensor, indices: Tensor, batch_dims: int = 0, mode: str = "raise", fill_value: Any = 0
) -> Tensor:
    limit = min(data.dim(), indices.dim())
    _check(
        0 <= batch_dims < limit,
        f"gather_nd: batch_dims = {batch_dims} is out of range [0, {limit - 1}].",
    )
    length = _tuple_length("gather_nd", data, indices, batch_dims)
    return data.new_empty((*indices.shape[:-1], *data.shape[batch_dims + length :]))


def _fake_scatter(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, *attributes: Any
) -> Tensor:
    _check_indices("scatter_elements", indices)
    _axis("scatter_elements", axis, data)
    _check_same_rank("scatter_elements", data, indices)
    _check_updates("scatter_elements", data, updates, indices.shape)
    return data.new_empty(data.shape)


def _fake_scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, *attributes: Any) -> Tensor:
    length = _tuple_length("scatter_nd", data, indices, 0)
    _check_updates("scatter_nd", data, updates, (*indices.shape[:-1], *data.shape[length:]))
    return data.new_empty(data.shape)


def _fake_tensor_scatter(
    past_cache: Tensor,
    update: Tensor,
    write_indices: Tensor | None = None,
    axis: int = -2,
    mode: str = "linear",
) -> Tensor:
    axis = _axis("tensor_scatter", axis, past_cache)
    _check(axis != 0, "tensor_scatter: axis = 0 is the batch, which has no positions.")
    if write_indices is not None:
        _check_indices("tensor_scatter", write_indices, "write_indices")
    shape = list(past_cache.shape)
    if update.dim() == len(shape):
        shape[axis] = update.shape[axis]
    _check_updates("tensor_scatter", past_cache, update, shape)
    return past_cache.new_empty(past_cache.shape)


# --- batches ------------------------------------------------------------------------------------


def _run(name: str, *arguments: Any) -> Tensor:
    result: Tensor = getattr(torch.ops.sowreap, name).default(*arguments)
    return result


def _batched(name: str) -> Callable[..., tuple[Tensor, int]]:
    defaults = _defaults(name)

    def rule(info: Any, in_dims: _batches.Dims, *arguments: Any) -> tuple[Tensor, int]:
        arguments += tuple(defaults[len(arguments) :])
        dims = in_dims + (None,) * (len(arguments) - len(in_dims))
        return _batches.RULES[name](_run, info.batch_size, dims, *arguments)

    return rule


_RULES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "gather": (_fake_gather, _gradients.gather_setup, _gradients.gather_backward),
    "gather_elements": (
        _fake_gather_elements,
        _gradients.gather_setup,
        _gradients.gather_elements_backward,
    ),
    "gather_nd": (_fake_gather_nd, _gradients.gather_setup, _gradients.gather_nd_backward),
    "scatter": (_fake_scatter, _gradients.scatter_setup, _gradients.scatter_backward),
    "scatter_elements": (
        _fake_scatter,
        _gradients.scatter_elements_setup,
        _gradients.scatter_backward,
    ),
    "scatter_nd": (_fake_scatter_nd, _gradients.scatter_nd_setup, _gradients.scatter_backward),
    "tensor_scatter": (
        _fake_tensor_scatter,
        _gradients.tensor_scatter_setup,
        _gradients.tensor_scatter_backward,
    ),
}


def _register() -> None:
    for name, schema in SCHEMAS.items():
        library.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))
        fake, setup, backward = _RULES[name]
        qualified = f"sowreap::{name}"
        library.impl(name, _kernel(name), "CompositeExplicitAutograd")
        torch.library.register_fake(qualified, fake, lib=library)
        torch.library.register_autograd(qualified, backward, setup_context=setup, lib=library)
        torch.library.register_vmap(qualified, _batched(name), lib=library)


_register()
