"""One form for all operators: which dimensions of `data` an index names, and which it follows.

A *pick* is one index or index tuple. The dimensions of `data` fall in three kinds:

addressed   the components of a pick name a place along them;
aligned     picks run along them too (batches, the dimensions off the axis of the Elements family);
free        picks know nothing of them, so that each pick moves a whole slice.

Addressed and aligned ones together number the *cells* of a block. The array on the other side (the
updates of a scatter, the result of a gather) has the dimensions of the picks and the free ones.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """How the dimensions of one operator hang together."""

    aligned: tuple[int | None, ...]  # of each dimension of the picks: its dimension of data
    addressed: tuple[int, ...]  # of each component of a pick: its dimension of data
    free: tuple[int, ...]  # dimensions of data
    pick_dims: tuple[int, ...]  # where the dimensions of the picks lie in the other array
    free_dims: tuple[int, ...]  # where the free dimensions lie in it
    tuples: bool = False  # whether the last dimension of indices holds components

    @property
    def cells(self) -> tuple[int, ...]:
        """The dimensions of data that number its cells, in their order."""
        return tuple(sorted({*self.addressed, *(d for d in self.aligned if d is not None)}))


def slices(rank: int, index_rank: int, axis: int) -> Layout:
    """``gather``."""
    free = tuple(d for d in range(rank) if d != axis)
    pick_dims = tuple(range(axis, axis + index_rank))
    others = (*range(axis), *range(axis + index_rank, rank - 1 + index_rank))
    return Layout((None,) * index_rank, (axis,), free, pick_dims, others)


def elements(rank: int, axis: int) -> Layout:
    """``gather_elements``, ``scatter`` and ``scatter_elements``."""
    aligned = tuple(None if d == axis else d for d in range(rank))
    return Layout(aligned, (axis,), (), tuple(range(rank)), ())


def tuples(rank: int, index_rank: int, length: int, batch_dims: int) -> Layout:
    """``gather_nd`` and ``scatter_nd``, with tuples of `length` components."""
    picks = index_rank - 1
    first_free = batch_dims + length
    return Layout(
        aligned=(*range(batch_dims), *(None,) * (picks - batch_dims)),
        addressed=tuple(range(batch_dims, first_free)),
        free=tuple(range(first_free, rank)),
        pick_dims=tuple(range(picks)),
        free_dims=tuple(range(picks, picks + rank - first_free)),
        tuples=True,
    )


def cache(rank: int, axis: int) -> Layout:
    """``tensor_scatter``: picks have a batch and a step."""
    free = tuple(d for d in range(1, rank) if d != axis)
    return Layout((0, None), (axis,), free, (0, axis), free)
