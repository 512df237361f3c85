"""What is timed: one call with arrays that are drawn for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = tuple[Array, ...]


@dataclass(frozen=True)
class Workload:
    """One call: `operator` of sowreap with the arrays that `make` draws, and `options`."""

    name: str
    operator: str
    make: Callable[[np.random.Generator], Arrays]
    options: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    family: str = "reports"
    in_place: bool = False

    @property
    def reduction(self) -> str:
        """The reduction of a scatter; "none" for gathers."""
        return str(self.options.get("reduction", "none"))


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Values in [1, 2) or small integers: sums of many stay finite."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    values = rng.random(shape, dtype=np.float32)
    values += 1
    return values.astype(dtype, copy=False)


def picks(rng: np.random.Generator, shape: tuple[int, ...], cells: int, kind: str) -> Array:
    """Indices into `cells` cells: "random", "sorted" along the first axis, or all "equal"."""
    if kind == "random":
        return rng.integers(0, cells, shape)
    if kind == "sorted":
        return np.sort(rng.integers(0, cells, shape), axis=0)
    if kind == "equal":
        return np.full(shape, cells // 2)
    raise ValueError(kind)
