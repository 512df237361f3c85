"""
Kernels of gather and scatter. Use the functions of the package sowreap instead.
"""

from collections.abc import Sequence
from typing import Any

import numpy.typing


def repeats_memory(array: object) -> bool:
    """Whether two positions of an ndarray may be one place in memory."""

def is_same_memory(a: object, b: object) -> bool:
    """Whether two ndarrays show the same items at the same places."""

def to_dlpack(array: object, versioned: bool) -> object:
    """A DLPack capsule of the memory of an ndarray."""

def from_dlpack(capsule: object | None, writable: bool) -> numpy.typing.NDArray[Any]:
    """
    An ndarray of the memory of a DLPack capsule, which is used up. A capsule before DLPack 1.0 does not say whether the memory is writable; `writable` does.
    """

def gather(data: object | None, indices: object | None, axis: object | None, mode: object | None, fill_value: object | None, out: object | None) -> numpy.typing.NDArray[Any]: ...

def gather_elements(data: object | None, indices: object | None, axis: object | None, mode: object | None, fill_value: object | None, out: object | None) -> numpy.typing.NDArray[Any]: ...

def gather_nd(data: object | None, indices: object | None, batch_dims: object | None, mode: object | None, fill_value: object | None, out: object | None) -> numpy.typing.NDArray[Any]: ...

def scatter(data: object | None, indices: object | None, updates: object | None, axis: object | None, mode: object | None, out: object | None) -> numpy.typing.NDArray[Any]: ...

def scatter_elements(data: object | None, indices: object | None, updates: object | None, axis: object | None, reduction: object | None, include_self: object | None, mode: object | None, out: object | None) -> numpy.typing.NDArray[Any]: ...

def scatter_nd(data: object | None, indices: object | None, updates: object | None, reduction: object | None, include_self: object | None, mode: object | None, out: object | None) -> numpy.typing.NDArray[Any]: ...

def tensor_scatter(past_cache: object | None, update: object | None, write_indices: object | None, axis: object | None, mode: object | None, out: object | None) -> numpy.typing.NDArray[Any]: ...

def explain_plan(operator: str, data: object, indices: object, other: object, axis: int = 0, in_place: bool = False, reduction: object = 'none', include_self: object = True, mode: object = 'raise') -> str:
    """
    How a call would run, as text. `other` is the output of a gather, the updates of a scatter. No item is read.
    """

def pool_limit() -> int:
    """Unused bytes of results that are kept at most."""

def set_pool_limit(limit: int) -> None:
    """Keep at most `limit` unused bytes of results."""

def pool_held() -> int:
    """Unused bytes of results that are kept now."""

def infer_shape(operator: str, shapes: Sequence[Sequence[int]], axis: int) -> tuple[list[int], list[tuple[int, int]]]:
    """
    The shape of the result, and pairs of sizes that must be equal. A size below 0 stands for one that is not known.
    """

def isa() -> str:
    """The instruction set in use: 'baseline', 'avx2' or 'avx512'."""

def thread_count() -> int:
    """Threads that a call may use."""

def set_thread_count(n: int) -> None:
    """Let calls use up to n threads, n >= 1."""

def result_limit() -> int:
    """Most bytes that a new result may have."""

def set_result_limit(bytes: int) -> None:
    """Let new results have up to so many bytes."""
