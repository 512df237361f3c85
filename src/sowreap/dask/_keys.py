"""Pieces of graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import List, Task, TaskRef

Block = tuple[int, ...]  # number of a block along each dimension
Graph = dict[Any, Any]

FAN_IN = 64  # of trees


def batches(keys: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """`keys` in order, so many at a time."""
    return [keys[n : n + size] for n in range(0, len(keys), size)]


def refs(keys: Sequence[Any]) -> List:
    """A list of the results of other tasks."""
    return List(*map(TaskRef, keys))


def reduced(
    graph: Graph, name: str, keys: Sequence[Any], function: Callable[[Any], Any]
) -> Sequence[Any]:
    """Add a tree over `keys` and return the few keys at its top."""
    level = 0
    while len(keys) > FAN_IN:
        parts = batches(keys, FAN_IN)
        keys = [(f"{name}-{level}", n) for n in range(len(parts))]
        graph.update(
            (key, Task(key, function, refs(p))) for key, p in zip(keys, parts, strict=True)
        )
        level += 1
    return keys


def layers(name: str, graph: Graph, *sources: Any) -> HighLevelGraph:
    """The tasks of `graph` as a layer over those of the sources."""
    return HighLevelGraph.from_collections(name, graph, dependencies=sources)


def region(chunks: Sequence[Sequence[int]], block: Block) -> tuple[slice, ...]:
    """Where a block lies in its array."""
    places = []
    for sizes, n in zip(chunks, block, strict=True):
        start = sum(sizes[:n])
        places.append(slice(start, start + sizes[n]))
    return tuple(places)
