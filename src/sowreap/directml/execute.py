"""Descriptors run on the CPU, by the functions of sowreap."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sowreap import _ops
from sowreap._errors import ArgumentError, OutOfRangeError
from sowreap.directml import schema, structs
from sowreap.directml._buffers import Array, bound_views, check_apart
from sowreap.directml.descriptor import IDENTITY, OperatorDesc, operator_row
from sowreap.directml.validate import validate

GATHER_OUT_OF_RANGE = ("clamp", "raise")
SCATTER_OUT_OF_RANGE = ("raise", "skip", "clamp")
DUPLICATES = ("last", "first", "shuffle", "raise")

MOST_REPEATED = 1 << 24
"""Most elements of a scatter's indices or updates where they are more than their bytes hold."""

_SHUFFLE_SEED = 0


@dataclass(frozen=True)
class Report:
    """What an execution met that DirectML leaves open.

    Positions are those in IndicesTensor, in the dimensions of the descriptor.

    Attributes
    ----------
    out_of_range : int
        How many values of the indices were out of range.
    first_out_of_range, first_value : tuple of int or None, int or None
        The first of them in row-major order, and where it is.
    duplicates : int
        How many writes went to a place that an earlier one had reached.
    first_duplicate : tuple of int or None
        The first of those; for tuples the position of the tuple.
    """

    out_of_range: int = 0
    first_out_of_range: tuple[int, ...] | None = None
    first_value: int | None = None
    duplicates: int = 0
    first_duplicate: tuple[int, ...] | None = None

    def __str__(self) -> str:
        parts = []
        if self.out_of_range:
            parts.append(
                f"{self.out_of_range} indices out of range, the first {self.first_value} at"
                f" {list(self.first_out_of_range or ())}"
            )
        if self.duplicates:
            parts.append(
                f"{self.duplicates} repeated targets, the first at"
                f" {list(self.first_duplicate or ())}"
            )
        return "; ".join(parts) or "nothing that DirectML leaves open"


@dataclass(frozen=True)
class Switches:
    """How to go on where DirectML leaves the result open."""

    out_of_range: str
    duplicates: str

    @classmethod
    def checked(
        cls, row: schema.Operator, out_of_range: str | None, duplicates: str | None
    ) -> Switches:
        """Fill in the defaults of an operator."""
        is_scatter = "UpdatesTensor" in row.inputs
        choices = SCATTER_OUT_OF_RANGE if is_scatter else GATHER_OUT_OF_RANGE
        return cls(
            _choice(row, "out_of_range", out_of_range, choices),
            _choice(row, "duplicates", duplicates, DUPLICATES),
        )


def execute(
    desc: OperatorDesc | structs.Descriptor,
    inputs: Any,
    outputs: Any,
    *,
    feature_level: str | int = "6_4",
    out_of_range: str | None = None,
    duplicates: str | None = None,
    strict: bool = True,
) -> Report:
    """Validate a descriptor, and do on the CPU what it describes.

    Elements move bit by bit. Outputs are written where the strides of their tensor lead, and
    nowhere else; when an error is raised they are as they were. The time is bounded by the bytes
    that are bound: strides of a scatter's indices and updates may repeat elements, but make no
    more than 16777216 (``MOST_REPEATED``) of fewer.

    Parameters
    ----------
    desc : OperatorDesc or structs.Descriptor
    inputs, outputs : mapping of str to buffer, sequence of buffers, or one buffer
        By tensor field, or in binding order. A buffer is anything with Python's buffer interface,
        or a :class:`Binding` of one with offset and size; of an array it is the memory from its
        first element to its last. Tensors that are OWNED_BY_DML are bound here, too.
    feature_level : str or int, default "6_4"
    out_of_range : str, optional
        What an index outside of [-n, n-1] does; unsigned values are never negative. For gathers
        "clamp" (default; negative values count from the end once, then the nearest is used) or
        "raise"; for scatters "raise" (default), "skip" the write, or "clamp".
    duplicates : {"last", "first", "shuffle", "raise"}, optional
        Which of several writes to one place stands, in row-major order; by default the last.
        "shuffle" takes them in an order that is mixed the same way each time, to find callers that
        rely on one.
    strict : bool, default True
        As for :func:`validate`.

    Returns
    -------
    Report
        How many indices were out of range or repeated, and where.

    Raises
    ------
    DescriptorError (a ValueError)
        If the descriptor or a buffer breaks a rule.
    OutOfRangeError (an IndexError)
        If an index is out of range and `out_of_range` is "raise".
    ArgumentError (a ValueError)
        If a switch has no such choice, if a target is repeated and `duplicates` is "raise", or if
        the strides of a scatter's indices or updates repeat too many elements.

    Examples
    --------
    >>> from sowreap.directml import OperatorDesc, execute
    >>> data, picks = np.array([1, 2, 3], np.float32), np.array([2, 0, 7], np.uint32)
    >>> output = bytearray(12)
    >>> desc = OperatorDesc(
    ...     "GATHER_ELEMENTS",
    ...     {
    ...         "InputTensor": ("FLOAT32", (3,)),
    ...         "IndicesTensor": ("UINT32", (3,)),
    ...         "OutputTensor": ("FLOAT32", (3,)),
    ...     },
    ...     {"Axis": 0},
    ... )
    >>> print(execute(desc, [data, picks], output))
    1 indices out of range, the first 7 at [2]
    >>> np.frombuffer(output, np.float32)
    array([3., 1., 3.], dtype=float32)
    """
    if isinstance(desc, structs.Descriptor):
        desc = OperatorDesc.from_struct(desc)
    validate(desc, feature_level, strict)
    row = operator_row(desc.operator)
    assert row is not None  # validated
    switches = Switches.checked(row, out_of_range, duplicates)
    tensors = {name: tensor for name, tensor in desc.tensors.items() if tensor is not None}
    sources = bound_views(desc.struct, tensors, row.inputs, inputs, writable=False)
    targets = bound_views(desc.struct, tensors, (row.output,), outputs, writable=True)
    check_apart(desc.struct, tensors, sources, targets)
    if "UpdatesTensor" in row.inputs:
        _check_repeats(desc.struct, tensors)
    return move(desc, {**sources, **targets}, switches)


def _check_repeats(struct: str, tensors: Mapping[str, structs.Tensor]) -> None:
    """Refuse work out of proportion to the buffers: a few bytes can describe 2^32 writes.

    (A gather does no more than its output has elements, and those share no memory.)
    """
    for name in ("IndicesTensor", "UpdatesTensor"):
        count, total_bytes = math.prod(tensors[name].sizes), tensors[name].total_bytes or 0
        dtype = schema.DATA_TYPES[tensors[name].data_type].dtype
        assert dtype is not None  # validated
        if count > max(MOST_REPEATED, total_bytes // dtype.itemsize):
            raise ArgumentError(
                f"{struct}: {name} has {count} elements in {total_bytes} bytes; where strides"
                f" repeat elements, at most {MOST_REPEATED} are executed on the CPU. Lay the tensor"
                " out without repetition, or split the execution.",
                operator=struct,
                argument=name,
                value=count,
            )


def move(desc: OperatorDesc, views: Mapping[str, Array], switches: Switches) -> Report:
    """Run a validated descriptor on arrays with the sizes of its tensors."""
    bits = {
        name: view if name == "IndicesTensor" else view.view(f"u{view.itemsize}")
        for name, view in views.items()
    }
    if desc.operator == IDENTITY.short_name:
        np.copyto(bits["OutputTensor"], bits["InputTensor"])
        return Report()
    work = _Tuples if "IndicesDimensionCount" in desc.attributes else _Axis
    return work(desc, bits, switches).run()


class _Work(ABC):
    """One execution: padding taken off, indices brought into range, one call of the core.

    Subclasses say how indices address the input. `extents` has for each component of an index
    tuple the length of its dimension, `components` the arrays of these components.
    """

    data: Array
    indices: Array
    extents: tuple[int, ...]

    def __init__(self, desc: OperatorDesc, views: Mapping[str, Array], switches: Switches) -> None:
        self.desc = desc
        self.views = views
        self.switches = switches
        self.take_off_padding()

    @abstractmethod
    def take_off_padding(self) -> None:
        """Set `data`, `indices` and `extents`."""

    @abstractmethod
    def components(self, indices: Array) -> list[Array]:
        """Return views of the components of all tuples."""

    @abstractmethod
    def axis_of(self, component: int) -> int:
        """Return the dimension of InputTensor that a component addresses."""

    @abstractmethod
    def gather(self, indices: Array) -> None:
        """Read."""

    @abstractmethod
    def scatter(self, indices: Array) -> None:
        """Write all updates in order."""

    @abstractmethod
    def cells(self, indices: Array) -> Array:
        """Return for each write of a scatter a number that only its target has."""

    @abstractmethod
    def cell_count(self) -> int:
        """Return how many targets there are."""

    @abstractmethod
    def scatter_cells(self, cells: Array, order: Array) -> None:
        """Do some of the writes, in the given order."""

    def run(self) -> Report:
        found, indices, bad = self.indices_in_range()
        if "UpdatesTensor" not in self.views:
            self.gather(indices)
            return found
        keep = None if bad is None or self.switches.out_of_range == "clamp" else ~bad.reshape(-1)
        cells = self.cells(indices)
        report = self.with_duplicates(found, cells, keep)
        if keep is None and (self.switches.duplicates == "last" or not report.duplicates):
            self.scatter(indices)
        else:
            self.scatter_cells(cells, self.order(cells.size, keep))
        return report

    def indices_in_range(self) -> tuple[Report, Array, Array | None]:
        """Return what was found, indices that are all good, and where tuples were bad, if any."""
        columns = self.components(self.indices)
        limits = list(zip(columns, self.extents, strict=True))
        if all(_all_in_range(column, n) for column, n in limits):
            return Report(), self.indices, None
        bad = [_out_of_range(column, n) for column, n in limits]
        marks = np.stack(bad, axis=-1)
        first = np.unravel_index(int(marks.argmax()), marks.shape)
        component = int(first[-1])
        at = tuple(map(int, first[:-1]))
        value = int(columns[component][at])
        position = self.position(at, component)
        if self.switches.out_of_range == "raise":
            raise self.out_of_range_error(position, value, component)
        good = np.empty(self.indices.shape, np.int64)
        for target, (column, n) in zip(self.components(good), limits, strict=True):
            target[...] = _clamped(column, n)
        found = Report(int(marks.sum()), position, value)
        return found, good, np.asarray(marks.any(axis=-1))

    def position(self, at: tuple[int, ...], component: int | None = None) -> tuple[int, ...]:
        """Return where in IndicesTensor, padding included, a tuple or its component stands."""
        rank = self.views["IndicesTensor"].ndim
        inner = at if len(at) == self.indices.ndim or component is None else (*at, component)
        return (0,) * (rank - self.indices.ndim) + inner

    def out_of_range_error(
        self, position: tuple[int, ...], value: int, component: int
    ) -> OutOfRangeError:
        n, axis = self.extents[component], self.axis_of(component)
        least = 0 if self.indices.dtype.kind == "u" else -n
        other = "'skip' or 'clamp'" if "UpdatesTensor" in self.views else "'clamp'"
        return OutOfRangeError(
            f"{self.desc.struct}: IndicesTensor{list(position)} = {value} is out of range: it is"
            f" not in [{least}, {n - 1}] for dimension {axis} of InputTensor, sizes"
            f" {self.views['InputTensor'].shape}. Correct the entry, or pass out_of_range={other}.",
            operator=self.desc.struct,
            argument="IndicesTensor",
            position=position,
            value=value,
            axis=axis,
            length=n,
        )

    def with_duplicates(self, found: Report, cells: Array, keep: Array | None) -> Report:
        written = cells if keep is None else cells[keep]
        reached = np.zeros(self.cell_count(), bool)
        reached[written] = True
        repeats = written.size - int(np.count_nonzero(reached))
        if not repeats:
            return found
        is_repeat = np.ones(written.size, bool)
        is_repeat[np.unique(written, return_index=True)[1]] = False
        nth = int(is_repeat.argmax())
        flat = nth if keep is None else int(np.flatnonzero(keep)[nth])
        shape = self.components(self.indices)[0].shape
        position = self.position(tuple(map(int, np.unravel_index(flat, shape))))
        if self.switches.duplicates == "raise":
            raise ArgumentError(
                f"{self.desc.struct}: IndicesTensor{list(position)} repeats a target, which"
                f" {repeats} writes do; DirectML does not say which write stands. Make the targets"
                " distinct, or pass duplicates='last' or 'first'.",
                operator=self.desc.struct,
                argument="IndicesTensor",
                position=position,
            )
        return Report(
            found.out_of_range, found.first_out_of_range, found.first_value, repeats, position
        )

    def order(self, size: int, keep: Array | None) -> Array:
        order = np.arange(size) if keep is None else np.flatnonzero(keep)
        if self.switches.duplicates == "first":
            return order[::-1]
        if self.switches.duplicates == "shuffle":
            return np.random.default_rng(_SHUFFLE_SEED).permutation(order)
        return order


class _Axis(_Work):
    """GATHER, GATHER_ELEMENTS and SCATTER: an index stands for a coordinate along Axis."""

    def take_off_padding(self) -> None:
        self.axis = self.desc.attributes["Axis"]
        self.data = self.views["InputTensor"]
        rank = self.data.ndim
        self.indices = _of_rank(
            self.views["IndicesTensor"], self.desc.attributes.get("IndexDimensions", rank)
        )
        self.extents = (self.data.shape[self.axis],)

    def components(self, indices: Array) -> list[Array]:
        return [indices]

    def axis_of(self, component: int) -> int:
        return self.axis

    def gather(self, indices: Array) -> None:
        output = self.views["OutputTensor"]
        if self.desc.operator == "GATHER":
            rank = self.data.ndim - 1 + indices.ndim
            _ops.gather(self.data, indices, self.axis, out=_of_rank(output, rank))
        else:
            _ops.gather_elements(self.data, indices, self.axis, out=output)

    def scatter(self, indices: Array) -> None:
        _ops.scatter_elements(
            self.data,
            indices,
            self.views["UpdatesTensor"],
            self.axis,
            out=self.views["OutputTensor"],
        )

    def cells(self, indices: Array) -> Array:
        n = self.extents[0]
        cells = np.zeros(indices.shape, np.int64)
        for d, grid in enumerate(np.ogrid[tuple(map(slice, indices.shape))]):
            step = math.prod(self.data.shape[d + 1 :])
            cells += (_folded(indices, n) if d == self.axis else grid) * step
        return cells.reshape(-1)

    def cell_count(self) -> int:
        return math.prod(self.data.shape)

    def scatter_cells(self, cells: Array, order: Array) -> None:
        tuples = np.stack(np.unravel_index(cells[order], self.data.shape), axis=-1)
        updates = self.views["UpdatesTensor"].reshape(-1)[order]
        _ops.scatter_nd(self.data, tuples, updates, out=self.views["OutputTensor"])


class _Tuples(_Work):
    """The ND operators: the last dimension of the indices is a tuple of coordinates."""

    def take_off_padding(self) -> None:
        attributes = self.desc.attributes
        self.batch = attributes.get("BatchDimensionCount", 0)
        rank = attributes["InputDimensionCount"]
        self.padding = self.views["InputTensor"].ndim - rank
        self.data = _of_rank(self.views["InputTensor"], rank)
        self.indices = _of_rank(self.views["IndicesTensor"], attributes["IndicesDimensionCount"])
        depth = self.indices.shape[-1]
        self.extents = self.data.shape[self.batch : self.batch + depth]
        self.result_rank = self.indices.ndim - 1 + rank - self.batch - depth

    def components(self, indices: Array) -> list[Array]:
        return [indices[..., j] for j in range(indices.shape[-1])]

    def axis_of(self, component: int) -> int:
        return self.padding + self.batch + component

    def gather(self, indices: Array) -> None:
        output = _of_rank(self.views["OutputTensor"], self.result_rank)
        _ops.gather_nd(self.data, indices, self.batch, out=output)

    def scatter(self, indices: Array) -> None:
        updates = _of_rank(self.views["UpdatesTensor"], self.result_rank)
        output = _of_rank(self.views["OutputTensor"], self.data.ndim)
        _ops.scatter_nd(self.data, indices, updates, out=output)

    def cells(self, indices: Array) -> Array:
        cells = np.zeros(indices.shape[:-1], np.int64)
        for column, n in zip(self.components(indices), self.extents, strict=True):
            cells = cells * n + _folded(column, n)
        return cells.reshape(-1)

    def cell_count(self) -> int:
        return math.prod(self.extents)

    def scatter_cells(self, cells: Array, order: Array) -> None:
        tuples = np.stack(np.unravel_index(cells[order], self.extents), axis=-1)
        slices = self.data.shape[len(self.extents) :]
        updates = self.views["UpdatesTensor"].reshape(cells.size, *slices)[order]
        output = _of_rank(self.views["OutputTensor"], self.data.ndim)
        _ops.scatter_nd(self.data, tuples, updates, out=output)


def _of_rank(view: Array, rank: int) -> Array:
    """Return the view without, or with more, leading dimensions; of several rows the first."""
    excess = view.ndim - rank
    return view[(0,) * excess + (...,)] if excess > 0 else view[(None,) * -excess + (...,)]


def _all_in_range(column: Array, n: int) -> bool:
    return int(column.max()) < n and int(column.min()) >= -n


def _out_of_range(column: Array, n: int) -> Array:
    # Python integers are compared by value, whatever the width of the column.
    return np.asarray((column >= n) | (column < -n))


def _folded(column: Array, n: int) -> Array:
    """Return good indices as int64 with negative ones counted from the front."""
    numbers = column.astype(np.int64)
    return np.where(numbers < 0, numbers + n, numbers)


def _clamped(column: Array, n: int) -> Array:
    if column.dtype.kind == "u":
        return np.minimum(column.astype(np.uint64), np.uint64(n - 1)).astype(np.int64)
    return np.clip(_folded(column, n), 0, n - 1)


def _choice(row: schema.Operator, argument: str, given: str | None, known: tuple[str, ...]) -> str:
    if given is None:
        return known[0]
    if given not in known:
        raise schema.unknown(row.name, argument, given, known)
    return given
