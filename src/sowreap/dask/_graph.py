"""Graphs: which tasks there are, and what each of them needs.

For every block of indices there are ``check`` and ``sort``, and after all checks one ``ok``, for
which everything waits that leads to a result. For every pair of a block of indices and a block of
data that may meet, a scatter has a ``take`` and a gather an ``ask`` and a ``read``. For every block
of its result a scatter has one ``apply`` (or a chain of them, where its updates may be too many to
be held at once), a gather one ``merge``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product
from math import prod
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.task_spec import Alias, Task, TaskRef
from numpy.typing import NDArray

from sowreap.dask import _blocks
from sowreap.dask._arguments import block_limit
from sowreap.dask._keys import Block, Graph, batches, layers, reduced, refs, region
from sowreap.dask._layout import Layout

# Updates that an owner holds at once, in blocks of Dask's own chunk size: those that wait, and the
# next ones.
WAITING_BLOCKS, STEP_BLOCKS = 2, 6


@dataclass
class Call:
    """A call in the one form: all chunks agree."""

    operator: str
    layout: Layout
    data: da.Array
    indices: da.Array
    checked: da.Array  # what `rule` is about: the indices as given
    rule: _blocks.Rule | None  # None if no index can be wrong, or all were looked at
    mode: str
    known: NDArray[Any] | None  # all indices, where they are in memory
    meta: NDArray[Any]  # of the result

    @cached_property
    def token(self) -> str:
        """What tells the keys of this call from those of others."""
        parts = (self.operator, self.layout, self.data.name, self.indices.name, self.mode)
        return str(tokenize(*parts, self.meta.dtype))

    def key(self, task: str, *number: int) -> Any:
        """The key of a task of this call."""
        return (f"{self.operator}-{task}-{self.token}", *number)

    @cached_property
    def pick_blocks(self) -> list[Block]:
        """The blocks of indices, in row-major order."""
        return list(np.ndindex(self.indices.numblocks[: len(self.layout.aligned)]))

    @cached_property
    def free_blocks(self) -> list[Block]:
        """The parts that slices of data are in."""
        return list(np.ndindex(*(self.data.numblocks[d] for d in self.layout.free)))

    @cached_property
    def targets(self) -> list[Block]:
        """The blocks of data along the dimensions that indices address."""
        return list(np.ndindex(*(self.data.numblocks[d] for d in self.layout.addressed)))

    def index_block(self, picks: Block) -> Block:
        """The block of indices that holds these picks, with all components."""
        return (*picks, 0) if self.layout.tuples else picks

    def data_block(self, picks: Block, target: Block, free: Block) -> Block:
        """The block of data that a target is for these picks."""
        place = dict(zip(self.layout.addressed, target, strict=True))
        place |= zip(self.layout.free, free, strict=True)
        place |= {d: n for d, n in zip(self.layout.aligned, picks, strict=True) if d is not None}
        return tuple(place[d] for d in range(self.data.ndim))

    def other_block(self, picks: Block, free: Block) -> Block:
        """The block of updates, or of the result of a gather."""
        place = dict(zip(self.layout.pick_dims, picks, strict=True))
        place |= zip(self.layout.free_dims, free, strict=True)
        return tuple(place[d] for d in range(len(place)))

    def rule_of(self, picks: Block) -> _blocks.Targets:
        """How a block of indices is sorted."""
        aligned = {d: n for n, d in enumerate(self.layout.aligned) if d is not None}
        dims: list[_blocks.Follows | _blocks.Names] = []
        for d in self.layout.cells:
            sizes = self.data.chunks[d]
            if d in aligned:
                dims.append(_blocks.Follows(aligned[d], sizes[picks[aligned[d]]]))
            else:
                dims.append(_blocks.Names(self.layout.addressed.index(d), sizes))
        return _blocks.Targets(tuple(dims), self.layout.tuples, self.mode)

    def met(self, picks: Block) -> Sequence[int]:
        """Numbers of the targets that these picks meet; all, if nobody has looked at them."""
        if self.known is None:
            return range(len(self.targets))
        block = self.known[region(self.indices.chunks, self.index_block(picks))]
        found: list[int] = np.unique(_blocks.locate(block, self.rule_of(picks))[1]).tolist()
        return found


def _prepare(call: Call) -> tuple[Graph, Any]:
    """The tasks on indices alone, and the key of the ``ok`` that follows them."""
    graph: Graph = {}
    starts = [[0, *accumulate(sizes)] for sizes in call.checked.chunks]
    checks = []
    for block in np.ndindex(call.checked.numblocks):
        source = TaskRef((call.checked.name, *block))
        offset = tuple(ends[n] for ends, n in zip(starts, block, strict=True))
        key = call.key("check", *block)
        graph[key] = Task(key, _blocks.check, source, offset, call.rule)
        checks.append(key)
    for picks in call.pick_blocks:
        source = TaskRef((call.indices.name, *call.index_block(picks)))
        key = call.key("sort", *picks)
        graph[key] = Task(key, _blocks.sort, source, call.rule_of(picks))
    tops = reduced(graph, call.key("checks")[0], checks, _blocks.first_error)
    ok = call.key("ok")[0]
    graph[ok] = Task(ok, _blocks.confirm, refs(tops))
    return graph, ok


# --- scatter ------------------------------------------------------------------------------------


def scatter(call: Call, updates: da.Array, reduction: str, include_self: bool) -> da.Array:
    """`call.data` with the updates in it."""
    graph, ok = _prepare(call)
    name = call.key(f"apply-{tokenize(updates.name, reduction, include_self)}")[0]
    pieces: defaultdict[Block, list[Any]] = defaultdict(list)
    # In row-major order of the blocks of indices, which is the order of pieces for each owner.
    for picks in call.pick_blocks:
        order = TaskRef(call.key("sort", *picks))
        for number, free in product(call.met(picks), call.free_blocks):
            key = (name.replace("-apply-", "-take-"), *picks, *free, number)
            source = TaskRef((updates.name, *call.other_block(picks, free)))
            graph[key] = Task(key, _blocks.take, order, source, number, call.layout.pick_dims)
            pieces[call.data_block(picks, call.targets[number], free)].append(key)
    room = WAITING_BLOCKS * block_limit()
    rule = _blocks.Apply(call.layout.cells, call.meta.dtype, reduction, include_self, room)
    step = _step(updates) if rule.in_steps else len(call.pick_blocks)
    for block in np.ndindex(call.data.numblocks):
        graph.update(_apply(call, name, ok, block, pieces[block], step, rule))
    dsk = layers(name, graph, call.data, call.indices, call.checked, updates)
    return da.Array(dsk, name, call.data.chunks, meta=call.meta)


def _step(updates: da.Array) -> int:
    """How many blocks of updates an owner can hold, should all of each be its own."""
    largest: int = prod(map(max, updates.chunks)) * int(updates.dtype.itemsize)
    return max(1, STEP_BLOCKS * block_limit() // max(1, largest))


def _apply(
    call: Call, name: str, ok: Any, block: Block, pieces: list[Any], step: int, rule: _blocks.Apply
) -> Iterator[tuple[Any, Any]]:
    """The tasks of one owner."""
    state: Any = (call.data.name, *block)
    last: Any = (name, *block)
    if not pieces and rule.dtype == call.data.dtype:
        yield last, Alias(last, state)
        return
    parts = batches(pieces, step) or [()]
    for number, part in enumerate(parts[:-1]):
        key = (name.replace("-apply-", "-step-"), number, *block)
        yield key, Task(key, _blocks.hold, TaskRef(ok), TaskRef(state), refs(part), rule)
        state = key
    yield last, Task(last, _blocks.apply, TaskRef(ok), TaskRef(state), refs(parts[-1]), rule)


def untouched(result: da.Array) -> set[Block]:
    """The blocks of a scatter's result that are those of data, because no index meets them."""
    graph = result.dask.layers[result.name]
    blocks = np.ndindex(*result.numblocks)
    return {block for block in blocks if isinstance(graph[(result.name, *block)], Alias)}


# --- gather -------------------------------------------------------------------------------------


def gather(call: Call, fill: NDArray[Any] | None) -> da.Array:
    """The cells of `call.data` that the picks name."""
    graph, ok = _prepare(call)
    name = call.key(f"merge-{tokenize(fill)}")[0]
    chunks = _result_chunks(call)
    rule = _blocks.Merge(call.layout.pick_dims, call.meta.dtype, fill)
    for picks in call.pick_blocks:
        order = TaskRef(call.key("sort", *picks))
        met = list(call.met(picks))
        for number in met:
            key = call.key("ask", *picks, number)
            graph[key] = Task(key, _blocks.ask, order, number)
        for free in call.free_blocks:
            parts = []
            for number in met:
                source = (call.data.name, *call.data_block(picks, call.targets[number], free))
                wanted = TaskRef(call.key("ask", *picks, number))
                key = call.key("read", *picks, *free, number)
                cells = call.layout.cells
                graph[key] = Task(key, _blocks.read, TaskRef(ok), TaskRef(source), wanted, cells)
                parts.append(key)
            block = call.other_block(picks, free)
            shape = tuple(sizes[n] for sizes, n in zip(chunks, block, strict=True))
            key = (name, *block)
            graph[key] = Task(key, _blocks.merge, TaskRef(ok), order, met, refs(parts), shape, rule)
    dsk = layers(name, graph, call.data, call.indices, call.checked)
    return da.Array(dsk, name, chunks, meta=call.meta)


def _result_chunks(call: Call) -> tuple[tuple[int, ...], ...]:
    place = dict(zip(call.layout.pick_dims, call.indices.chunks, strict=False))
    place |= {
        at: call.data.chunks[d]
        for at, d in zip(call.layout.free_dims, call.layout.free, strict=True)
    }
    return tuple(place[d] for d in range(len(place)))
