"""The sizes that an operator's tensors must have; one place for descriptors, arrays and nodes.

`sizes` of input and indices come with or without padding: ones in front of the dimensions that
count. Source of the formulas: Microsoft's reference pages, with the slice of the input in the ND
operators as in DirectMLX (the pages' own examples contradict their formula).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Sizes = tuple[int, ...]


def result_sizes(
    operator: str, input_sizes: Sequence[int], indices: Sequence[int], attributes: Mapping[str, int]
) -> Sizes:
    """Return the sizes of what one gather reads, or of the updates that one scatter takes.

    There are as many as the formula gives, which may be more or fewer than the tensors have.
    Attributes are in range.
    """
    input_sizes, indices = tuple(input_sizes), tuple(indices)
    if operator in ("GATHER_ELEMENTS", "SCATTER"):
        return indices
    if operator == "GATHER":
        axis = attributes["Axis"]
        picks = last(indices, attributes["IndexDimensions"])
        return input_sizes[:axis] + picks + input_sizes[axis + 1 :]
    rows = last(indices, attributes["IndicesDimensionCount"])[:-1]
    batch = attributes.get("BatchDimensionCount", 0)
    return rows + last(input_sizes, attributes["InputDimensionCount"])[batch + indices[-1] :]


def last(sizes: Sequence[int], count: int) -> Sizes:
    """Return the last `count` sizes."""
    return tuple(sizes)[len(sizes) - count :]


def fit(sizes: Sequence[int], dimensions: int) -> Sizes | None:
    """Return `sizes` with ones put before them, or taken away; None where they are not ones."""
    sizes = tuple(sizes)
    excess = len(sizes) - dimensions
    if excess <= 0:
        return (1,) * -excess + sizes
    return sizes[excess:] if set(sizes[:excess]) == {1} else None
