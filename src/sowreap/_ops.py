"""The public functions."""

from __future__ import annotations

from typing import Any

from sowreap import _core


def gather(data: Any, indices: Any, axis: int = 0, *, mode: str = "raise", fill_value: Any = 0, out: Any = None) -> Any:
    """x."""
    return _core.gather(data, indices, axis, mode, fill_value, out)


def gather_elements(data: Any, indices: Any, axis: int = 0, *, mode: str = "raise", fill_value: Any = 0, out: Any = None) -> Any:
    """x."""
    return _core.gather_elements(data, indices, axis, mode, fill_value, out)


def gather_nd(data: Any, indices: Any, batch_dims: int = 0, *, mode: str = "raise", fill_value: Any = 0, out: Any = None) -> Any:
    """x."""
    return _core.gather_nd(data, indices, batch_dims, mode, fill_value, out)


def scatter(data: Any, indices: Any, updates: Any, axis: int = 0, *, mode: str = "raise", out: Any = None) -> Any:
    """x."""
    return _core.scatter(data, indices, updates, axis, mode, out)


def scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none", *, include_self: bool = True, mode: str = "raise", out: Any = None) -> Any:
    """x."""
    return _core.scatter_elements(data, indices, updates, axis, reduction, include_self, mode, out)


def scatter_nd(data: Any, indices: Any, updates: Any, reduction: str = "none", *, include_self: bool = True, mode: str = "raise", out: Any = None) -> Any:
    """x."""
    return _core.scatter_nd(data, indices, updates, reduction, include_self, mode, out)


def tensor_scatter(past_cache: Any, update: Any, write_indices: Any = None, axis: int = -2, mode: str = "linear", *, out: Any = None) -> Any:
    """x."""
    return _core.tensor_scatter(past_cache, update, write_indices, axis, mode, out)
