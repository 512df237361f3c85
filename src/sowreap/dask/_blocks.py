"""What runs inside tasks: blocks are NumPy arrays, and every one of them fits into memory.

No function changes its arguments: a block may be read by other tasks, and a task may run twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sowreap
from sowreap._errors import OutOfRangeError

Array = NDArray[Any]
Shape = tuple[int, ...]


# --- where the picks of a block of indices lead ---------------------------------------------------


@dataclass(frozen=True)
class Follows:
    """A dimension of data that a dimension of the picks runs along, block by block."""

    pick_dim: int
    size: int  # of the block of data


@dataclass(frozen=True)
class Names:
    """A dimension of data that a component of the picks names a place on."""

    component: int
    sizes: tuple[int, ...]  # of the chunks of data


@dataclass(frozen=True)
class Targets:
    """The blocks of data that one block of indices may address: one for each cell dimension."""

    dims: tuple[Follows | Names, ...]
    tuples: bool
    mode: str


class Sorted(NamedTuple):
    """The picks of a block in the order of their target blocks, and within one in their own.

    (Tuples of arrays, because Dask measures and spills those by what they hold.)
    """

    order: NDArray[np.unsignedinteger[Any]]  # which pick
    cells: NDArray[np.unsignedinteger[Any]]  # its cell, within the target block
    bounds: NDArray[np.int64]  # where each target block begins

    def part(self, target: int) -> slice:
        """The picks of one target block."""
        return slice(int(self.bounds[target]), int(self.bounds[target + 1]))


class Piece(NamedTuple):
    """What one block of updates has for one block of data."""

    cells: NDArray[np.unsignedinteger[Any]]
    values: Array


def resolve(values: Array, length: int, mode: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Places on an axis, and which of them exist; where one does not its place is 0."""
    if mode in ("wrap", "clip") and length > 0:
        if values.dtype == np.uint64:
            last = np.uint64(length - 1)
            within = values % np.uint64(length) if mode == "wrap" else np.minimum(values, last)
            places = within.astype(np.int64)
        else:
            places = values.astype(np.int64)
            places = places % length if mode == "wrap" else places.clip(0, length - 1)
        return places, np.ones(values.shape, np.bool_)
    present = (values >= -length) & (values < length)
    places = np.where(present, values, values.dtype.type(0)).astype(np.int64)
    places[places < 0] += length
    return places, present


def locate(indices: Array, targets: Targets) -> tuple[Array, Array, Array]:
    """The picks that lead somewhere, the target block of each and the cell in it."""
    shape = indices.shape[:-1] if targets.tuples else indices.shape
    components = indices.shape[-1] if targets.tuples else 1
    picks = indices.reshape(prod(shape), components)
    present = np.ones(len(picks), np.bool_)
    block = np.zeros(len(picks), np.int64)
    cell = np.zeros(len(picks), np.int64)
    for dim in targets.dims:
        if isinstance(dim, Follows):
            along = np.arange(shape[dim.pick_dim])
            along = along.reshape([-1 if d == dim.pick_dim else 1 for d in range(len(shape))])
            cell = cell * dim.size + np.broadcast_to(along, shape).reshape(-1)
            continue
        sizes = np.array(dim.sizes, np.int64)
        starts = np.cumsum(sizes) - sizes
        places, exist = resolve(picks[:, dim.component], int(sizes.sum()), targets.mode)
        chunk = np.searchsorted(starts, places, side="right") - 1
        block = block * len(sizes) + chunk
        cell = cell * sizes[chunk] + (places - starts[chunk])
        present &= exist
    kept = np.flatnonzero(present)
    return kept, block[kept], cell[kept]


def target_count(targets: Targets) -> int:
    """How many blocks of data the picks of one block may address."""
    return prod(len(dim.sizes) for dim in targets.dims if isinstance(dim, Names))


def sort(indices: Array, targets: Targets) -> Sorted:
    """The picks of a block of indices by target block, stable."""
    picks, blocks, cells = locate(indices, targets)
    count = target_count(targets)
    # A radix sort, in the narrow types that NumPy has one for.
    order = np.argsort(blocks.astype(np.min_scalar_type(count)), kind="stable")
    bounds = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(blocks, minlength=count), out=bounds[1:])
    return Sorted(_narrow(picks[order]), _narrow(cells[order]), bounds)


def _narrow(values: Array) -> NDArray[np.unsignedinteger[Any]]:
    """Whole numbers from 0 on in 32 bits where those do: what travels is half as long."""
    fits = values.size == 0 or values.max() < 2**32
    return values.astype(np.uint32 if fits else np.uint64)


# --- indices out of range -----------------------------------------------------------------------


@dataclass(frozen=True)
class IndexRule:
    """What a block of indices is held against."""

    operator: str
    gather: str  # the operator that meets the same indices and writes nothing
    attributes: tuple[tuple[str, Any], ...]
    data_shape: Shape
    free: tuple[int, ...]
    shape: Shape  # of all indices
    tuples: bool

    def find(self, indices: Array, offset: Shape) -> OutOfRangeError | None:
        """The error about this block, at its place among all indices."""
        attributes = dict(self.attributes)
        # Without the free dimensions, so that nothing is read; and batches are as many as here.
        ghost = tuple(0 if d in self.free else n for d, n in enumerate(self.data_shape))
        batch_dims = attributes.get("batch_dims", 0)
        ghost = indices.shape[:batch_dims] + ghost[batch_dims:]
        data = np.broadcast_to(np.zeros((), np.uint8), ghost)
        try:
            getattr(sowreap, self.gather)(data, indices, **attributes)
        except OutOfRangeError as error:
            found = error.position or ()
            count = len(found) - self.tuples
            local, component = found[:count], found[count:]
            place = tuple(a + b for a, b in zip(local, offset, strict=False))
            shapes = f"data has shape {self.data_shape}, indices {self.shape}"
            return _restated(
                error,
                self.operator,
                place + component,
                (f"{self.gather}: ", f"{self.operator}: "),
                (f"indices{_brackets(local)} = ", f"indices{_brackets(place)} = "),
                (f"data has shape {ghost}, indices {indices.shape}", shapes),
            )
        return None


@dataclass(frozen=True)
class WriteIndexRule:
    """What a block of the write indices of ``tensor_scatter`` is held against."""

    cache_shape: Shape
    update_shape: Shape
    axis: int
    mode: str

    def find(self, indices: Array, offset: Shape) -> OutOfRangeError | None:
        """The error about this block, at its place among all write indices."""
        cache, update = (
            tuple(
                len(indices) if d == 0 else n if d == self.axis else 0 for d, n in enumerate(shape)
            )
            for shape in (self.cache_shape, self.update_shape)
        )
        data, steps = (np.broadcast_to(np.zeros((), np.uint8), shape) for shape in (cache, update))
        try:
            sowreap.tensor_scatter(data, steps, indices, self.axis, self.mode)
        except OutOfRangeError as error:
            found = error.position or ()
            place = (found[0] + offset[0],)
            name = "write_indices"
            shapes = f"past_cache has shape {self.cache_shape}, update {self.update_shape}"
            return _restated(
                error,
                "tensor_scatter",
                place,
                (f"{name}{_brackets(found)} = ", f"{name}{_brackets(place)} = "),
                (f"past_cache has shape {cache}, update {update}", shapes),
            )
        return None


Rule = IndexRule | WriteIndexRule


def _restated(
    error: OutOfRangeError, operator: str, position: Shape, *changes: tuple[str, str]
) -> OutOfRangeError:
    """An error about one block as an error about the whole."""
    text = str(error)
    for old, new in changes:
        text = text.replace(old, new, 1)
    return OutOfRangeError(
        text,
        operator=operator,
        argument=error.argument,
        position=position,
        value=error.value,
        axis=error.axis,
        length=error.length,
    )


def _brackets(position: Shape) -> str:
    return f"[{', '.join(map(str, position))}]" if position else ""


def check(indices: Array, offset: Shape, rule: Rule | None) -> OutOfRangeError | None:
    """The error that the operator raises about this block of its indices, if any."""
    return rule.find(indices, offset) if rule else None


def first_error(errors: Sequence[OutOfRangeError | None]) -> OutOfRangeError | None:
    """The one that comes first in row-major order."""
    found = [error for error in errors if error is not None]
    return min(found, key=lambda error: error.position or ()) if found else None


def confirm(errors: Sequence[OutOfRangeError | None]) -> bool:
    """True, or the first of the errors."""
    error = first_error(errors)
    if error is not None:
        raise error
    return True


def starts(write_indices: Array, length: int, is_circular: bool) -> NDArray[np.int64]:
    """Write indices as places on an axis; `length` stands for any that is beyond it."""
    mode = "wrap" if is_circular else "clip"
    return resolve(write_indices, max(1, length + (not is_circular)), mode)[0]


# --- scatter ------------------------------------------------------------------------------------


def _cells(block: Array, dims: Shape) -> tuple[Array, Shape]:
    """A view of a block with its cells in front, and the shape of their numbers.

    The cells are one dimension where memory allows that, else a dimension each.
    """
    if not dims:
        return block[None], (1,)
    moved = np.moveaxis(block, dims, range(len(dims)))
    shape, rest = moved.shape[: len(dims)], moved.shape[len(dims) :]
    if moved.flags.c_contiguous:
        return moved.reshape(prod(shape), *rest), (prod(shape),)
    return moved, shape


def _tuples(cells: Array, shape: Shape) -> Array:
    """Numbers of cells as index tuples."""
    if len(shape) == 1:
        return cells[:, None]
    return np.stack(np.unravel_index(cells, shape), axis=-1)


def _rows(block: Array, pick_dims: Shape) -> Array:
    """A block of the other array with one row for each pick."""
    moved = np.moveaxis(block, pick_dims, range(len(pick_dims)))
    picks, rest = moved.shape[: len(pick_dims)], moved.shape[len(pick_dims) :]
    return moved.reshape(prod(picks), *rest)


def take(order: Sorted, updates: Array, target: int, pick_dims: Shape) -> Piece | None:
    """What a block of updates has for one block of data, in the order of the picks."""
    part = order.part(target)
    if part.start == part.stop:
        return None
    rows, picks = _rows(updates, pick_dims), order.order[part]
    values = np.empty((len(picks), *rows.shape[1:]), rows.dtype)
    sowreap.gather(rows, picks, out=values)  # not in the pool of results: a piece waits for long
    return Piece(order.cells[part].copy(), values)


@dataclass(frozen=True)
class Apply:
    """How an owner applies pieces to its block."""

    cells: tuple[int, ...]
    dtype: np.dtype[Any]
    reduction: str
    include_self: bool
    room: (
        int  # bytes of pieces that wait for more, so that one copy of the block serves all of them
    )

    @property
    def in_steps(self) -> bool:
        """Whether pieces may be applied one after the other, knowing nothing of the others."""
        return self.include_self and self.reduction != "mean"


class Waiting(NamedTuple):
    """A block of data, and pieces that are to be applied to it."""

    block: Array
    pieces: tuple[Piece, ...]


def _joined(state: Array | Waiting, pieces: Sequence[Piece | None]) -> Waiting:
    before = state if isinstance(state, Waiting) else Waiting(state, ())
    present = tuple(piece for piece in pieces if piece is not None)
    return Waiting(before.block, before.pieces + present)


def hold(
    ok: bool, state: Array | Waiting, pieces: Sequence[Piece | None], rule: Apply
) -> Array | Waiting:
    """A block of data and its next pieces, which are applied once there is no room for more."""
    waiting = _joined(state, pieces)
    if sum(piece.cells.nbytes + piece.values.nbytes for piece in waiting.pieces) <= rule.room:
        return waiting
    return apply(ok, waiting, (), rule)


def apply(ok: bool, state: Array | Waiting, pieces: Sequence[Piece | None], rule: Apply) -> Array:
    """A block of data after the pieces, which are in the order of the indices."""
    assert ok
    block, present = _joined(state, pieces)
    result = np.array(block, dtype=rule.dtype, order="C", copy=True)
    if len(present) > 1 and not rule.in_steps:
        cells, values = zip(*present, strict=True)
        present = (Piece(np.concatenate(cells), np.concatenate(values)),)
    view, shape = _cells(result, rule.cells)
    for piece in present:
        sowreap.scatter_nd(
            view,
            _tuples(piece.cells, shape),
            piece.values,
            rule.reduction,
            include_self=rule.include_self,
            out=view,
        )
    return result


# --- gather -------------------------------------------------------------------------------------


def ask(order: Sorted, target: int) -> Array | None:
    """The cells that a block of indices wants of one block of data."""
    part = order.part(target)
    return None if part.start == part.stop else order.cells[part].copy()


def read(ok: bool, block: Array, wanted: Array | None, cells: tuple[int, ...]) -> Array | None:
    """The wanted cells of a block of data."""
    assert ok
    if wanted is None:
        return None
    view, shape = _cells(block, cells)
    result = np.empty((len(wanted), *view.shape[len(shape) :]), block.dtype)
    sowreap.gather_nd(view, _tuples(wanted, shape), out=result)  # as in `take`
    return result


@dataclass(frozen=True)
class Merge:
    """How a block of the result of a gather is put together."""

    pick_dims: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: Array | None  # of rank 0: what a pick that leads nowhere gets


def merge(
    ok: bool,
    order: Sorted,
    targets: Sequence[int],
    values: Sequence[Array | None],
    shape: Shape,
    rule: Merge,
) -> Array:
    """A block of the result from what the blocks of data had, `values[n]` from ``targets[n]``."""
    assert ok
    first = rule.pick_dims[0] if rule.pick_dims else 0
    picks = [shape[d] for d in rule.pick_dims]
    result = np.empty(shape, rule.dtype)
    if len(order.order) < prod(picks):
        assert rule.fill is not None
        result[...] = rule.fill
    rows = result.reshape(*shape[:first], prod(picks), *shape[first + len(picks) :])
    rows = np.moveaxis(rows, first, 0)
    for target, part in zip(targets, values, strict=True):
        if part is not None:
            rows[order.order[order.part(target)]] = part
    return result
