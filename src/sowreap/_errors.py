"""Exception classes.

Each derives from :class:`SowreapError` and from the built-in that fits, so that callers may catch
either, and carries the facts of its message as attributes.
"""

from __future__ import annotations

from typing import Any


class SowreapError(Exception):
    """Base of all errors that sowreap raises.

    Attributes
    ----------
    operator : str
        Name of the function or ONNX operator that was called.
    argument : str
        Name of the argument at fault.
    position : tuple of int or None
        Where the value sits inside `argument`.
    value : object
        What was found.
    axis, length : int or None
        For an index: the axis that it addresses and the length of that axis.
    """

    operator: str
    argument: str
    position: tuple[int, ...] | None
    value: Any
    axis: int | None
    length: int | None

    def __init__(
        self,
        message: str,
        *,
        operator: str = "",
        argument: str = "",
        position: tuple[int, ...] | None = None,
        value: Any = None,
        axis: int | None = None,
        length: int | None = None,
    ) -> None:
        super().__init__(message)
        self.operator = operator
        self.argument = argument
        self.position = position
        self.value = value
        self.axis = axis
        self.length = length


class OutOfRangeError(SowreapError, IndexError):
    """A value of ``indices`` lies outside its axis."""


class ShapeError(SowreapError, ValueError):
    """Ranks or shapes do not agree."""


class ArgumentError(SowreapError, ValueError):
    """An attribute (axis, batch_dims, reduction, mode) or ``out`` cannot be used."""


class ResultTooLargeError(SowreapError, MemoryError):
    """A new result would have more bytes than ``SOWREAP_MAX_RESULT_BYTES``."""


class DtypeError(SowreapError, TypeError):
    """A dtype or a kind of object is not accepted."""
