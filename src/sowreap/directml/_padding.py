"""Tensors of different ranks brought to the one rank that a descriptor has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sowreap.directml import schema
from sowreap.directml._shapes import fit
from sowreap.directml.descriptor import OperatorDesc

# the only number of dimensions below this level, and more than enough for a scalar above it
_FREE_RANK = schema.FEATURE_LEVELS["3_0"]
_FIXED_RANK = 4


def padded_desc(
    operator: str,
    tensors: Mapping[str, tuple[Any, Sequence[int]]],
    attributes: Mapping[str, int],
    level: int,
) -> OperatorDesc:
    """Describe packed tensors, with ones put before the sizes of those that have too few.

    `Axis` counts the dimensions of InputTensor as given.
    """
    least = 1 if level >= _FREE_RANK else _FIXED_RANK
    dimensions = max(least, *(len(sizes) for _, sizes in tensors.values()))
    attributes = dict(attributes)
    if "Axis" in attributes:
        attributes["Axis"] += dimensions - len(tensors["InputTensor"][1])
    padded = {name: (kind, fit(sizes, dimensions)) for name, (kind, sizes) in tensors.items()}
    return OperatorDesc(operator, padded, attributes)
