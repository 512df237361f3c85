"""The public functions, their calls back and their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import sowreap
from sowreap import _gradients

Array = Any  # jax.Array, or what jnp.asarray takes


@jax.tree_util.register_static
@dataclass(frozen=True)
class _Shape:
    """A shape to keep for the way back, without an array of it."""

    sizes: tuple[int, ...]


def _call(name: str, shape: tuple[int, ...], arrays: tuple[Any, ...], *attributes: Any) -> Any:
    """A function of `sowreap`, by name, on arrays that may be traced."""

    def run(*values: Any) -> Any:
        return _FUNCTIONS[name](*map(np.asarray, values), *attributes)

    if not any(isinstance(array, jax.core.Tracer) for array in arrays):
        return jnp.asarray(run(*arrays))
    result = jax.ShapeDtypeStruct(shape, arrays[0].dtype)
    return jax.pure_callback(run, result, *arrays, vmap_method="sequential")


_FUNCTIONS: dict[str, Any] = {
    "gather": lambda d, i, axis, mode, fill: sowreap.gather(d, i, axis, mode=mode, fill_value=fill),
    "gather_elements": lambda d, i, axis, mode, fill: sowreap.gather_elements(
        d, i, axis, mode=mode, fill_value=fill
    ),
    "gather_nd": lambda d, i, batch_dims, mode, fill: sowreap.gather_nd(
        d, i, batch_dims, mode=mode, fill_value=fill
    ),
    "scatter": lambda d, i, u, axis, mode: sowreap.scatter(d, i, u, axis, mode=mode),
    "scatter_elements": lambda d, i, u, axis, reduction, include_self, mode: (
        sowreap.scatter_elements(d, i, u, axis, reduction, include_self=include_self, mode=mode)
    ),
    "scatter_nd": lambda d, i, u, reduction, include_self, mode: sowreap.scatter_nd(
        d, i, u, reduction, include_self=include_self, mode=mode
    ),
    "tensor_scatter": lambda c, u, i, axis, mode: sowreap.tensor_scatter(c, u, i, axis, mode),
    "first_steps": lambda c, u, axis, mode: sowreap.tensor_scatter(c, u, None, axis, mode),
}


class _Jax(_gradients.Library):
    def __init__(self) -> None:
        self.gather_elements, self.gather_nd = _gather_elements, _gather_nd
        self.scatter_elements, self.scatter_nd = _scatter_elements, _scatter_nd
        self.tensor_scatter = tensor_scatter
        self.where = jnp.where

    def full(self, shape: Any, value: float, like: Any) -> Any:
        return jnp.full(shape, value, like.dtype)

    def arange(self, size: int, like: Any) -> Any:
        return jnp.arange(size)

    def broadcast(self, array: Any, shape: Any) -> Any:
        return jnp.broadcast_to(array, shape)

    def concatenate(self, arrays: Any) -> Any:
        steps = jnp.arange(0)
        return jnp.concatenate([array.astype(steps.dtype) for array in arrays], axis=-1)

    def cast(self, array: Any, like: Any) -> Any:
        return array.astype(like.dtype)

    def conjugate(self, array: Any) -> Any:
        return jnp.conj(array)


# --- gathers ------------------------------------------------------------------------------------


def _slices_shape(data: Any, indices: Any, axis: int) -> tuple[int, ...]:
    axis %= max(data.ndim, 1)
    return (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])


def _tuples_shape(data: Any, indices: Any, batch_dims: int) -> tuple[int, ...]:
    length = indices.shape[-1] if indices.ndim else 0
    return (*indices.shape[:-1], *data.shape[batch_dims + length :])


_GATHERS: dict[str, tuple[Any, Any]] = {
    "gather": (_slices_shape, _gradients.gather),
    "gather_elements": (lambda data, indices, axis: indices.shape, _gradients.gather_elements),
    "gather_nd": (_tuples_shape, _gradients.gather_nd),
}


@partial(jax.custom_vjp, nondiff_argnums=(0, 3, 4, 5))
def _gather_any(name: str, data: Any, indices: Any, axis: int, mode: str, fill: Any) -> Any:
    shape = _GATHERS[name][0](data, indices, axis)
    return _call(name, shape, (data, indices), axis, mode, fill)


def _gather_forward(
    name: str, data: Any, indices: Any, axis: int, mode: str, fill: Any
) -> tuple[Any, Any]:
    return _gather_any(name, data, indices, axis, mode, fill), (
        _Shape(data.shape),
        indices,
    )


def _gather_backward(
    name: str, axis: int, mode: str, fill: Any, kept: Any, grad: Any
) -> tuple[Any, None]:
    shape, indices = kept
    return _GATHERS[name][1](_Jax(), grad, shape.sizes, indices, axis, mode), None


_gather_any.defvjp(_gather_forward, _gather_backward)


def _gather_elements(data: Any, indices: Any, axis: int, mode: str, fill: Any) -> Any:
    return _gather_any("gather_elements", data, indices, axis, mode, fill)


def _gather_nd(data: Any, indices: Any, batch_dims: int, mode: str, fill: Any) -> Any:
    return _gather_any("gather_nd", data, indices, batch_dims, mode, fill)


def gather(
    data: Array, indices: Array, axis: int = 0, *, mode: str = "raise", fill_value: complex = 0
) -> jax.Array:
    """``sowreap.gather`` with the gradient of `data`.

    Examples
    --------
    >>> import jax.numpy as jnp, sowreap.jax as sj
    >>> sj.gather(jnp.array([10, 20, 30]), jnp.array([2, -3])).tolist()
    [30, 10]
    """
    data, indices = jnp.asarray(data), jnp.asarray(indices)
    return _gather_any("gather", data, indices, axis, mode, fill_value)


def gather_elements(
    data: Array, indices: Array, axis: int = 0, *, mode: str = "raise", fill_value: complex = 0
) -> jax.Array:
    """``sowreap.gather_elements`` with the gradient of `data`.

    Examples
    --------
    >>> import jax.numpy as jnp, sowreap.jax as sj
    >>> data, indices = jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 0], [1, 0]])
    >>> sj.gather_elements(data, indices, axis=1).tolist()
    [[1, 1], [4, 3]]
    """
    return _gather_elements(jnp.asarray(data), jnp.asarray(indices), axis, mode, fill_value)


def gather_nd(
    data: Array,
    indices: Array,
    batch_dims: int = 0,
    *,
    mode: str = "raise",
    fill_value: complex = 0,
) -> jax.Array:
    """``sowreap.gather_nd`` with the gradient of `data`.

    Examples
    --------
    >>> import jax.numpy as jnp, sowreap.jax as sj
    >>> sj.gather_nd(jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 1], [1, 0]])).tolist()
    [2, 3]
    """
    return _gather_nd(jnp.asarray(data), jnp.asarray(indices), batch_dims, mode, fill_value)


# --- scatters -----------------------------------------------------------------------------------


@partial(jax.custom_vjp, nondiff_argnums=(0, 4, 5, 6, 7))
def _scatter_any(
    name: str,
    data: Any,
    indices: Any,
    updates: Any,
    axis: int,
    reduction: str,
    include_self: bool,
    mode: str,
) -> Any:
    attributes: dict[str, tuple[Any, ...]] = {
        "scatter": (axis, mode),
        "scatter_elements": (axis, reduction, include_self, mode),
        "scatter_nd": (reduction, include_self, mode),
    }
    return _call(name, data.shape, (data, indices, updates), *attributes[name])


def _scatter_forward(name: str, data: Any, indices: Any, updates: Any, *attributes: Any) -> Any:
    output = _scatter_any(name, data, indices, updates, *attributes)
    _, reduction, _, _ = attributes
    values = (data, updates, output) if _gradients.needs_values(reduction) else ()
    return output, (indices, _Shape(updates.shape), values)


def _scatter_backward(
    name: str, axis: int, reduction: str, include_self: bool, mode: str, kept: Any, grad: Any
) -> tuple[Any, None, Any]:
    indices, updates_shape, values = kept
    call = _gradients.Scatter(
        _Jax(),
        name == "scatter_nd",
        indices,
        axis,
        reduction,
        include_self,
        mode,
        grad.shape,
        updates_shape.sizes,
        *values,
    )
    of_data, of_updates = _gradients.scatter(call, grad, True, True)
    return of_data, None, of_updates


_scatter_any.defvjp(_scatter_forward, _scatter_backward)


def _scatter_elements(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int,
    reduction: str,
    include_self: bool,
    mode: str,
) -> Any:
    return _scatter_any(
        "scatter_elements", data, indices, updates, axis, reduction, include_self, mode
    )


def _scatter_nd(
    data: Any, indices: Any, updates: Any, reduction: str, include_self: bool, mode: str
) -> Any:
    return _scatter_any("scatter_nd", data, indices, updates, 0, reduction, include_self, mode)


def scatter(
    data: Array, indices: Array, updates: Array, axis: int = 0, *, mode: str = "raise"
) -> jax.Array:
    """``sowreap.scatter`` with the gradients of `data` and `updates`.

    Examples
    --------
    >>> import jax.numpy as jnp, sowreap.jax as sj
    >>> sj.scatter(jnp.zeros(4), jnp.array([1, 3]), jnp.array([5.0, 6.0])).tolist()
    [0.0, 5.0, 0.0, 6.0]
    """
    data, indices, updates = map(jnp.asarray, (data, indices, updates))
    return _scatter_any("scatter", data, indices, updates, axis, "none", True, mode)


def scatter_elements(
    data: Array,
    indices: Array,
    updates: Array,
    axis: int = 0,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
) -> jax.Array:
    """``sowreap.scatter_elements`` with the gradients of `data` and `updates`.

    With "none" the gradient goes to the update that stays, the last one; values that tie for "min"
    or "max" share it evenly.

    Examples
    --------
    >>> import jax.numpy as jnp, sowreap.jax as sj
    >>> updates = jnp.array([3.0, 4.0])
    >>> sj.scatter_elements(jnp.zeros(3), jnp.array([2, 2]), updates, reduction="add").tolist()
    [0.0, 0.0, 7.0]
    """
    data, indices, updates = map(jnp.asarray, (data, indices, updates))
    return _scatter_elements(data, indices, updates, axis, reduction, include_self, mode)


def scatter_nd(
    data: Array,
    indices: Array,
    updates: Array,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
) -> jax.Array:
    """``sowreap.scatter_nd`` with the gradients of `data` and `updates`.

    Examples
    --------
    >>> import jax.numpy as jnp, sowreap.jax as sj
    >>> updates = jnp.array([[2.0, 3.0], [4.0, 5.0]])
    >>> sj.scatter_nd(jnp.ones((2, 2)), jnp.array([[1], [1]]), updates, "mul").tolist()
    [[1.0, 1.0], [8.0, 15.0]]
    """
    data, indices, updates = map(jnp.asarray, (data, indices, updates))
    return _scatter_nd(data, indices, updates, reduction, include_self, mode)


# --- caches -------------------------------------------------------------------------------------


@partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _tensor_scatter(cache: Any, update: Any, starts: Any, axis: int, mode: str) -> Any:
    if starts is None:
        return _call("first_steps", cache.shape, (cache, update), axis, mode)
    return _call("tensor_scatter", cache.shape, (cache, update, starts), axis, mode)


def _cache_forward(
    cache: Any, update: Any, starts: Any, axis: int, mode: str
) -> tuple[Any, tuple[Any, Any]]:
    return _tensor_scatter(cache, update, starts, axis, mode), (
        _Shape(update.shape),
        starts,
    )


def _cache_backward(axis: int, mode: str, kept: Any, grad: Any) -> tuple[Any, Any, None]:
    update_shape, starts = kept
    gradients = _gradients.tensor_scatter(
        _Jax(), grad, update_shape.sizes, starts, axis, mode, True, True
    )
    return (*gradients, None)


_tensor_scatter.defvjp(_cache_forward, _cache_backward)


def tensor_scatter(
    past_cache: Array,
    update: Array,
    write_indices: Array | None = None,
    axis: int = -2,
    mode: str = "linear",
) -> jax.Array:
    """``sowreap.tensor_scatter`` with the gradients of `past_cache` and `update`.

    Examples
    --------
    >>> import jax.numpy as jnp, sowreap.jax as sj
    >>> cache, step = jnp.zeros((1, 3, 1)), jnp.ones((1, 1, 1))
    >>> sj.tensor_scatter(cache, step, jnp.array([2])).ravel().tolist()
    [0.0, 0.0, 1.0]
    """
    starts = None if write_indices is None else jnp.asarray(write_indices)
    return _tensor_scatter(jnp.asarray(past_cache), jnp.asarray(update), starts, axis, mode)
