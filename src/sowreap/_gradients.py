"""The gradients of the operators, by the operators, for whatever library records them.

Ties in min and max share the gradient evenly, and a zero in mul gets the product of the others, as
``torch.scatter_reduce`` defines them. With reduction "none" the update that stays, the last, gets
the gradient, and the others none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
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

    def may_hold(self, marks: Any) -> bool:
        """Whether an item may be True: a traced array does not say."""
        return True


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


@dataclass(slots=True)
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

    def by_tuple(self) -> tuple[Scatter, int]:
        """The same call with one item for each slice, and how many dimensions slices have."""
        if not self.nd:
            return self, 0
        length = self.indices.shape[-1]
        slice_rank = len(self.data_shape) - length
        narrow = replace(
            self, data_shape=self.data_shape[:length], updates_shape=self.indices.shape[:-1]
        )
        return narrow, slice_rank

    def run(self, data: Any, updates: Any) -> Any:
        """The call with other data and updates; None is zeros."""
        zeros = self.lib.full((), 0, updates if data is None else data)
        data = self.lib.broadcast(zeros, self.data_shape) if data is None else data
        updates = self.lib.broadcast(zeros, self.updates_shape) if updates is None else updates
        end = (self.reduction, self.include_self, self.mode)
        if self.nd:
            return self.lib.scatter_nd(data, self.indices, updates, *end)
        return self.lib.scatter_elements(data, self.indices, updates, self.axis, *end)


def _spread(array: Any, rank: int) -> Any:
    """The array with `rank` more dimensions of length 1 at its end."""
    return array.reshape(*array.shape, *(1,) * rank) if rank else array


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
    narrow, slice_rank = call.by_tuple()
    size = 1
    for length in narrow.updates_shape:
        size *= length
    numbers = call.lib.arange(size, call.indices).reshape(narrow.updates_shape)
    last = narrow.put(call.lib.full(narrow.data_shape, -1, numbers), numbers, "none")
    is_last = _spread(narrow.take(last) == numbers, slice_rank)
    return for_data, call.lib.where(is_last, call.take(grad), call.lib.full((), 0, grad))


def _add(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    return grad, call.take(grad) if of_updates else None


def _mean(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    narrow, slice_rank = call.by_tuple()
    sizes = narrow.count(call.lib.full(narrow.updates_shape, 1, grad))
    one = call.lib.full((), 1, grad)
    sizes = sizes + one if call.include_self else call.lib.where(sizes == 0, one, sizes)
    shared = grad / _spread(sizes, slice_rank)
    return shared, call.take(shared) if of_updates else None


@dataclass
class _Factors:
    """What the updates of a product were multiplied by."""

    divisor: Any  # the updates, but 1 for 0: the others are the product divided by it,
    is_only: Any = None  # but where an update is the only zero,
    rest: Any = None  # they are the product without it; both None if none is zero


def _factors(call: Scatter) -> _Factors:
    lib, updates = call.lib, call.updates
    is_zero = updates == 0
    if not lib.may_hold(is_zero):
        return _Factors(updates)
    start = call.data if call.include_self else call.replaced(call.data, 1)
    zeros = call.take(call.count(lib.cast(is_zero, lib.arange(0, call.indices))))
    is_only = is_zero & (zeros == 1)
    one = lib.full((), 1, updates)
    rest = call.put(start, lib.where(is_only, one, updates), "mul")
    return _Factors(lib.where(is_zero, one, updates), is_only, rest)


def _product_of_updates(call: Scatter) -> Any:
    """What data was multiplied by."""
    if not call.lib.may_hold(call.data == 0):
        return call.output / call.data
    return call.put(call.lib.full(call.data_shape, 1, call.updates), call.updates, "mul")


def _mul(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    lib = call.lib
    for_data = for_updates = None
    if of_data:
        for_data = grad * lib.conjugate(_product_of_updates(call))
    if of_updates:
        found = _factors(call)
        for_updates = call.take(grad * lib.conjugate(call.output)) / lib.conjugate(found.divisor)
        if found.rest is not None:
            alone = call.take(grad * lib.conjugate(found.rest))
            for_updates = lib.where(found.is_only, alone, for_updates)
    return for_data, for_updates


def _winners(call: Scatter, like: Any) -> tuple[Any, Any, Any]:
    """With 1 where it is: which items of data are the extreme, which updates, and how many."""
    is_data = call.lib.cast(call.data == call.output, like)
    if not call.include_self:
        is_data = call.replaced(is_data, 0)
    is_update = call.lib.cast(call.updates == call.take(call.output), like)
    # Places without updates and without self are those that keep their data: is_data is 1 there.
    return is_data, is_update, call.put(is_data, is_update, "add")


def _extreme(call: Scatter, grad: Any, of_data: bool, of_updates: bool) -> tuple[Any, Any]:
    is_data, is_update, sharing = _winners(call, grad)
    shared = grad / sharing
    return (
        is_data * shared if of_data else None,
        is_update * call.take(shared) if of_updates else None,
    )


_REDUCTIONS = {
    "none": _none,
    "add": _add,
    "mul": _mul,
    "min": _extreme,
    "max": _extreme,
    "mean": _mean,
}


def change(call: Scatter, of_data: Any, of_updates: Any) -> Any:
    """The change of the result for changes of data and of updates; None is no change."""
    lib = call.lib
    if not needs_values(call.reduction):
        return call.run(of_data, of_updates)
    zeros = lib.full(call.data_shape, 0, call.output)
    if call.reduction == "mul":
        total, found = zeros, _factors(call)
        if of_data is not None:
            total = of_data * _product_of_updates(call)
            total = total if call.include_self else call.replaced(total, 0)
        if of_updates is not None:
            others = call.take(call.output) / found.divisor
            if found.rest is not None:
                others = lib.where(found.is_only, call.take(found.rest), others)
            total = call.put(total, others * of_updates, "add")
        return total
    is_data, is_update, sharing = _winners(call, call.output)
    total = zeros if of_data is None else is_data * of_data
    if of_updates is not None:
        total = call.put(total, is_update * of_updates, "add")
    return total / sharing


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
