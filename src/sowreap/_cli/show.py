"""Tables and numbers for people: rich on a terminal, plain text elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from sowreap._cli.files import USER_DEFINED

Array = NDArray[Any]


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command group, which knows the status to end with."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints names and values as they are."""
    return _Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def table(
    out: Console, title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], *, numeric: str
) -> None:
    """Print a table.

    Parameters
    ----------
    out : Console
        Where to print.
    title : str
        Line above the table.
    columns, rows : iterable
        Headings and cells; a cell that is too long goes on in the next line, nothing is cut.
    numeric : str
        Headings, separated by spaces, of the columns to align on the right.
    """
    lines = Table(box=box.SIMPLE_HEAD if out.is_terminal else None, pad_edge=False)
    for column in columns:
        lines.add_column(
            column, justify="right" if column in numeric.split() else "left", overflow="fold"
        )
    for row in rows:
        lines.add_row(*row)
    out.print(title, style="bold")
    out.print(lines)
    out.print()


def tensors(out: Console, title: str, arrays: Mapping[str, Array]) -> None:
    """Print name, dtype, shape and range of arrays."""
    table(
        out,
        title,
        ("name", "dtype", "shape", "range"),
        (
            (name, str(array.dtype), str(array.shape), value_range(array))
            for name, array in arrays.items()
        ),
        numeric="",
    )


def value_range(array: Array) -> str:
    """Return the least and greatest value of `array` in words.

    Examples
    --------
    >>> value_range(np.array([0.5, np.nan, -2.0]))
    '-2 to 0.5, 1 NaN'
    >>> value_range(np.array(["b", "a", "b"]))
    '2 distinct strings'
    """
    if array.size == 0:
        return "empty"
    if array.dtype.isbuiltin == USER_DEFINED:
        array = array.astype(np.float32)
    if array.dtype.kind in "OSTU":
        return f"{len(set(array.ravel().tolist()))} distinct strings"
    if array.dtype.kind == "c":
        return f"magnitude {_span(np.abs(array))}"
    if array.dtype.kind == "V":
        return f"{array.dtype.itemsize} bytes each"
    return _span(array)


def _span(array: Array) -> str:
    if array.dtype.kind != "f":
        return f"{array.min()} to {array.max()}"
    missing = int(np.isnan(array).sum())
    if missing == array.size:
        return "all NaN"
    text = f"{np.nanmin(array):.6g} to {np.nanmax(array):.6g}"
    return f"{text}, {missing} NaN" if missing else text


def duration(seconds: float) -> str:
    """Return a time with three digits.

    Examples
    --------
    >>> duration(0.02345), duration(1.5), duration(3e-6)
    ('23.4 ms', '1.50 s', '3.00 us')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        value = seconds * scale
        if value >= 1 or unit == "us":
            break
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"


def share(part: float, whole: float) -> str:
    """Return `part` of `whole` in per cent.

    Examples
    --------
    >>> share(1, 8)
    '12.5 %'
    """
    return f"{100 * part / whole:.1f} %" if whole else "-"
