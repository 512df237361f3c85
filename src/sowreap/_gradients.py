"""The gradients of the operators, by the operators, for whatever library records them.

Ties in min and max share the gradient evenly, and a zero in mul gets the product of the others, as
``torch.scatter_reduce`` defines them. With reduction "none" the update that stays, the last, gets
the gradient, and the others none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# What a scatter drops, its gradient reads as zero; and the other way round.
_READ_MODE = {"drop": "fill"}
_WRITE_MODE = {"fill": "drop"}


class Library(ABC):
    """What the formulas need of a library of arrays, its operators included."""

    gather_elements: Callable[..., Any]  # (data, indices, axis, mode, fill_value)
    gather_nd: Callable[..., Any]  # (data, indices, batch_dims, mode, fill_value)
    scatter_elements: Callable[..., Any]  # (..., axis, reduction, include_self, mode)
    scatter_nd: Callable[..., Any]  # (..., reduction, include_self, mode)
    tensor_scatter: Callable[..., Any]
    where: Callable[[Any, Any, Any], Any]

    @abstractmethod
    def full(self, shape: Any, value: float, like: Any) -> Any:
        """A constant array of the dtype of `like`."""

    @abstractmethod
    def arange(self, size: int, like: Any) -> Any:
        """The int64 numbers from 0 on."""

    @abstractmethod
    def broadcast(self, array: Any, shape: Any) -> Any:
        """The array with its items repeated."""

    @abstractmethod
    def concatenate(self, arrays: Any) -> Any:
        """The arrays joined along their last axis, in int64."""

    @abstractmethod
    def cast(self, array: Any, like: Any) -> Any:
        """The items in the dtype of `like`."""

    @abstractmethod
    def conjugate(self, array: Any) -> Any:
        """The conjugate of complex items, others as they are."""


def gather(lib: Library, grad: Any, shape: Any, indices: Any, axis: int, mode: str) -> Any:
    """The gradient of `data` of a shape: slices are added up where they came from."""
    axis %= len(shape)
    count = 1
    for size in indices.shape:
        count *= size
    picks = (*shape[:axis], count, *shape[axis + 1 :])
    column = lib.broadcast(indices.reshape(-1, *(1,) * (len(shape) - axis - 1)), picks)
    return gather_elements(lib, grad.reshape(picks), shape, column, axis, mode)


def gather_elements(lib: Library, grad: Any, shape: Any, indices: Any, axis: int, mode: str) -> Any:
    """The same, of items."""
    zeros = lib.full(shape, 0, grad)
    mode = _WRITE_MODE.get(mode, mode)
    return lib.scatter_elements(zeros, indices, grad, axis, "add", True, mode)


def gather_nd(lib: Library, grad: Any, shape: Any, indices: Any, batch_dims: int, mode: str) -> Any:
    """The same; the batches become components of the tuples."""
    parts = [indices]
    for d in reversed(range(batch_dims)):
        steps = lib.arange(indices.shape[d], indices)
        steps = steps.reshape(-1, *(1,) * (len(indices.shape) - d - 1))
        parts.insert(0, lib.broadcast(steps, (*indices.shape[:-1], 1)))
    tuples = lib.concatenate(parts) if batch_dims else indices
    zeros = lib.full(shape, 0, grad)
    return lib.scatter_nd(zeros, tuples, grad, "add", True, _WRITE_MODE.get(mode, mode))


@dataclass
class Scatter:
    """A scatter that was, with what its reduction makes worth keeping."""

    lib: Library
    nd: bool
    indices: Any
    axis: int
    reduction: str
    include_self: bool
    mode: str
    data_shape: Any
    updates_shape: Any
    data: Any = None  # these three where needs_values(reduction)
    updates: Any = None
    output: Any = None

    def take(self, array: Any) -> Any:
        """What lies where the updates went."""
        mode = _READ_MODE.get(self.mode, self.mode)
        if self.nd:
            return self.lib.gather_nd(array, self.indices, 0, mode, 0)
        return self.lib.gather_elements(array, self.indices, self.axis, mode, 0)

    def put(self, array: Any, updates: Any, reduction: str) -> Any:
        """Other updates to the same places of another array."""
        if self.nd:
            return self.lib.scatter_nd(array, self.indices, updates, reduction, True, self.mode)
        return self.lib.scatter_elements(
            array, self.indices, updates, self.axis, reduction, True, self.mode
        )

    def replaced(self, array: Any, value: float) -> Any:
        """The array with a constant where the updates went."""
        return self.put(array, self.lib.full(self.updates_shape, value, array), "none")

    def count(self, marks: Any) -> Any:
        """How many of the updates that are marked with 1 meet at each place."""
        return self.put(self.lib.full(self.data_shape, 0, marks), marks, "add")


def needs_values(reduction: str) -> bool:
    """Whether the gradients depend on the values of data and updates."""
    return reduction in ("mul", "min", "max")


def scatter(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    """The gradients of data and of updates, each None unless it is asked for."""
    for_data, for_updates = _REDUCTIONS[call.reduction](call, grad, of_data, of_updates)
    if of_data and not call.include_self and call.reduction != "none":
        for_data = call.replaced(for_data, 0)
    return (for_data if of_data else None), (for_updates if of_updates else None)


def _none(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    for_data = call.replaced(grad, 0) if of_data else None
    if not of_updates:
        return for_data, None
    size = 1
    for length in call.updates_shape:
        size *= length
    numbers = call.lib.arange(size, call.indices).reshape(call.updates_shape)
    last = call.put(call.lib.full(call.data_shape, -1, numbers), numbers, "none")
    taken = call.take(grad)
    zeros = call.lib.full(call.updates_shape, 0, grad)
    return for_data, call.lib.where(call.take(last) == numbers, taken, zeros)


def _add(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    return grad, call.take(grad) if of_updates else None


def _mean(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    ones = call.lib.full(call.updates_shape, 1, grad)
    sizes = call.count(ones) + int(call.include_self)
    shared = grad / call.lib.where(sizes == 0, call.lib.full(call.data_shape, 1, grad), sizes)
    return shared, call.take(shared) if of_updates else None


def _mul(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    lib, updates = call.lib, call.updates
    for_data = for_updates = None
    if of_data:
        others = call.put(lib.full(call.data_shape, 1, updates), updates, "mul")
        for_data = grad * lib.conjugate(others)
    if of_updates:
        # The product of the others is a quotient, but where the update itself is zero.
        start = call.data if call.include_self else call.replaced(call.data, 1)
        is_zero = updates == 0
        zeros = call.take(call.count(lib.cast(is_zero, lib.arange(0, call.indices))))
        is_only = is_zero & (zeros == 1)
        ones = lib.full(call.updates_shape, 1, updates)
        rest = call.put(start, lib.where(is_only, ones, updates), "mul")
        divisor = lib.conjugate(lib.where(is_zero, ones, updates))
        quotient = call.take(grad * lib.conjugate(call.output)) / divisor
        for_updates = lib.where(is_only, call.take(grad * lib.conjugate(rest)), quotient)
    return for_data, for_updates


def _extreme(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    lib = call.lib
    is_updates = lib.cast(call.updates == call.take(call.output), grad)
    is_data = lib.cast(call.data == call.output, grad)
    if not call.include_self:
        is_data = call.replaced(is_data, 0)
    # Places without updates and without self are those that keep their data: is_data is 1 there.
    shared = grad / call.put(is_data, is_updates, "add")
    return is_data * shared, is_updates * call.take(shared) if of_updates else None


_REDUCTIONS = {
    "none": _none,
    "add": _add,
    "mul": _mul,
    "min": _extreme,
    "max": _extreme,
    "mean": _mean,
}


def tensor_scatter(
    lib: Library,
    grad: Any,
    update_shape: Any,
    write_indices: Any,
    axis: int,
    mode: str,
    of_cache: bool,
    of_update: bool,
) -> tuple[Any, Any]:
    """The cache has zeros where it was written over; the update reads there."""
    rank = len(grad.shape)
    axis %= rank
    for_cache = for_update = None
    if of_cache:
        zeros = lib.full(update_shape, 0, grad)
        for_cache = lib.tensor_scatter(grad, zeros, write_indices, axis, mode)
    if of_update:
        steps = lib.arange(update_shape[axis], grad).reshape(-1, *(1,) * (rank - axis - 1))
        if write_indices is not None:
            steps = steps + lib.cast(write_indices, steps).reshape(-1, *(1,) * (rank - 1))
        if mode == "circular":
            steps = steps % grad.shape[axis]
        places = lib.broadcast(steps, update_shape)
        for_update = lib.gather_elements(grad, places, axis, "raise", 0)
    return for_cache, for_update
