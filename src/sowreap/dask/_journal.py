"""Results into Zarr arrays: applied once, whole, whatever happens to workers on the way.

A task may run twice: when its worker dies after it wrote, when the worker that held its result
dies, or when a worker that was given up is still at work. Adding into an array in place must not be
done twice, and a call that fails must leave the array as it was. So every call has a journal beside
the array, whose state only moves forward:

``open``      blocks of the result are written into the journal; the array is as it was;
``complete``  the journal holds the whole result; its blocks are copied into the array;
``done``      the array holds the whole result; the blocks are gone, the journal's name stays.

What runs again looks at the state first. While it is ``open`` the sources are untouched, so that a
block comes out the same; afterwards nothing that is computed from them is used any more, and a copy
writes what it wrote before; in the end there is nothing left to do.

A state is a group in the journal that exists or does not, so that no late writer can take it back.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.task_spec import Task, TaskRef
from numpy.typing import NDArray

from sowreap._errors import ArgumentError
from sowreap.dask._arguments import rechunk
from sowreap.dask._keys import Block, Graph, layers, reduced, refs, region
from sowreap.dask._storage import to_grid, write_grid

if TYPE_CHECKING:
    from zarr.abc.store import Store

    from sowreap.dask._storage import ZarrArray

Region = tuple[slice, ...]

MARK = ".sowreap-"
_BLOCKS, _REGIONS = "blocks", "regions"
_STATES = ("complete", "done")  # "open" is neither


@dataclass(frozen=True)
class Journal:
    """The way of one result into one array."""

    out: ZarrArray
    store: Store
    path: str
    process: int | None  # the only one that sees the store, if that is in memory

    @property
    def token(self) -> str:
        """What tells this call from others."""
        return self.name.rpartition(MARK)[2]

    @property
    def name(self) -> str:
        """Where the journal lies."""
        return f"{self.store}/{self.path}".rstrip("/")

    def state(self) -> str:
        """``open``, ``complete`` or ``done``."""
        if self.process not in (None, os.getpid()):
            raise ArgumentError(
                "out lies in the memory of another process. Use a store that all workers reach, "
                "such as a directory.",
                argument="out",
            )
        reached = [state for state in _STATES if self._has_group(self._inside(state))]
        return reached[-1] if reached else "open"

    def mark(self, state: str) -> None:
        """Move forward to a state."""
        self._make_group(self._inside(state))

    def keep(self, regions: Sequence[Region]) -> None:
        """Note which regions of the array the blocks are."""
        plain = [[[part.start, part.stop] for part in region] for region in regions]
        self._make_group(self._inside(_REGIONS), {_REGIONS: plain})

    def regions(self) -> list[Region]:
        """The regions that `keep` noted."""
        import zarr

        group = zarr.open_group(self.store, path=self._inside(_REGIONS), mode="r")
        plain: Any = group.attrs[_REGIONS]
        return [tuple(slice(*part) for part in region) for region in plain]

    def make_blocks(self) -> None:
        """Make the array of blocks, if it is not there."""
        import zarr

        path = self._inside(_BLOCKS)
        try:
            zarr.open_array(self.store, path=path, mode="r")
        except FileNotFoundError:
            self._make_group(self.path)
            # Another worker may be faster.
            with suppress(zarr.errors.ContainsArrayError):
                zarr.from_array(self.store, name=path, data=self.out, write_data=False)

    def blocks(self) -> ZarrArray:
        """The array of blocks."""
        import zarr

        return zarr.open_array(self.store, path=self._inside(_BLOCKS), mode="r+")

    def remove(self, *inside: str) -> None:
        """Take away the journal, or what is named in it."""
        import zarr

        path = "/".join(filter(None, (self.path, *inside)))
        parent, _, name = path.rpartition("/")
        if not path:
            shutil.rmtree(self.store.root)  # type: ignore[attr-defined]  # see `beside`
        else:
            with suppress(KeyError):  # it is gone
                del zarr.open_group(self.store, path=parent, mode="r+")[name]

    def _inside(self, name: str) -> str:
        return f"{self.path}/{name}".lstrip("/")

    def _make_group(self, path: str, attributes: dict[str, Any] | None = None) -> None:
        import zarr

        zarr_format = self.out.metadata.zarr_format
        # Another worker may be faster.
        with suppress(zarr.errors.ContainsGroupError):
            zarr.open_group(
                self.store, path=path, mode="a", zarr_format=zarr_format, attributes=attributes
            )

    def _has_group(self, path: str) -> bool:
        import zarr

        try:
            zarr.open_group(self.store, path=path, mode="r")
        except FileNotFoundError:
            return False
        return True


def beside(operator: str, out: ZarrArray, token: str) -> Journal:
    """A new journal, a sibling of `out`: in the same group, or in the same folder."""
    from zarr.storage import LocalStore, MemoryStore

    process = os.getpid() if isinstance(out.store, MemoryStore) else None
    if out.path:
        return Journal(out, out.store, f"{out.path}{MARK}{token}", process)
    if not isinstance(out.store, LocalStore):
        raise ArgumentError(
            f"{operator}: out is the root of its store, {out.store}, so that nothing can be kept "
            "beside it while it is written. Put it into a group, under a name.",
            operator=operator,
            argument="out",
        )
    root = out.store.root
    return Journal(out, LocalStore(root.with_name(f"{root.name}{MARK}{token}")), "", process)


def journals(out: ZarrArray) -> list[Journal]:
    """The journals of `out` that exist."""
    import zarr
    from zarr.storage import LocalStore

    parent, _, name = out.path.rpartition("/")
    if out.path:
        try:
            names = list(zarr.open_group(out.store, path=parent, mode="r").group_keys())
        except FileNotFoundError:  # made without a group around it
            names = []
    elif isinstance(out.store, LocalStore):
        name = out.store.root.name
        names = [path.name for path in out.store.root.parent.glob(f"*{MARK}*")]
    else:
        names = []
    tokens = [found.removeprefix(name + MARK) for found in names if found.startswith(name + MARK)]
    return [beside("recover", out, token) for token in sorted(tokens)]


# --- tasks --------------------------------------------------------------------------------------


def stage(journal: Journal, block: NDArray[Any], region: Region) -> bool:
    """Keep a block of the result in the journal."""
    if journal.state() == "open":
        journal.make_blocks()
        journal.blocks()[region] = block
    return True


def complete(journal: Journal, regions: Sequence[Region], staged: Sequence[bool]) -> bool:
    """The journal holds the whole result."""
    assert all(staged)
    if journal.state() == "open":
        journal.keep(regions)
        journal.mark("complete")
    return True


def copy(journal: Journal, region: Region, is_complete: bool) -> bool:
    """A block of the result from the journal into the array."""
    assert is_complete
    if journal.state() == "done":
        return True
    block = None
    with suppress(FileNotFoundError):
        block = journal.blocks()[region]
    # Once more, because the blocks may just have been removed, and missing ones read as zeros.
    if journal.state() != "done":
        assert block is not None
        journal.out[region] = block
    return True


def finish(journal: Journal, copied: Sequence[bool]) -> ZarrArray:
    """The array holds the whole result."""
    assert all(copied)
    journal.mark("done")
    journal.remove(_BLOCKS)
    return journal.out


# --- calls --------------------------------------------------------------------------------------


def store(operator: str, result: da.Array, out: ZarrArray, same: set[Block]) -> Delayed:
    """What fills `out` with `result` when it is computed, and is `out` then.

    `same` are blocks of the result that `out` holds already.
    """
    for journal in journals(out):
        if journal.state() == "complete":
            raise ArgumentError(
                f"{operator}: out is half written, by a call that did not finish; its result is in "
                f"{journal.name}. Call sowreap.dask.recover(out) first.",
                operator=operator,
                argument="out",
            )
    chunks = to_grid(result.chunks, write_grid(out))
    same = same if chunks == result.chunks else set()
    result = rechunk(result, chunks)
    journal = beside(operator, out, uuid4().hex)
    prefix = f"{operator}-%s-{journal.token}"
    blocks = [block for block in np.ndindex(*result.numblocks) if block not in same]
    graph: Graph = {}

    staged = [(prefix % "stage", *block) for block in blocks]
    copied = [(prefix % "copy", *block) for block in blocks]
    is_complete, done = prefix % "complete", prefix % "store"
    regions = [region(result.chunks, block) for block in blocks]
    for block, place, stage_key, copy_key in zip(blocks, regions, staged, copied, strict=True):
        source = TaskRef((result.name, *block))
        graph[stage_key] = Task(stage_key, stage, journal, source, place)
        graph[copy_key] = Task(copy_key, copy, journal, place, TaskRef(is_complete))
    tops = reduced(graph, prefix % "staged", staged, all)
    graph[is_complete] = Task(is_complete, complete, journal, regions, refs(tops))
    tops = reduced(graph, prefix % "copied", copied, all)
    graph[done] = Task(done, finish, journal, refs(tops))
    return Delayed(done, layers(done, graph, result))


def recover(out: ZarrArray) -> int:
    """Finish the calls that began to write `out`, and remove what they left beside it.

    A call with ``out=`` first keeps its result beside the array and then copies it there. If the
    copying was interrupted for good (all workers lost, no room left), the array is half written and
    the whole result still there: this copies it. A call that was interrupted before leaves the
    array as it was, and what it kept is removed.

    Parameters
    ----------
    out : zarr.Array
        The array that was passed as ``out=``. No call that fills it may be at work.

    Returns
    -------
    int
        How many calls were finished; 0 if the array was whole.
    """
    finished = 0
    for journal in journals(out):
        if journal.state() == "complete":
            for place in journal.regions():
                copy(journal, place, True)
            journal.mark("done")
            finished += 1
        journal.remove()
    return finished
