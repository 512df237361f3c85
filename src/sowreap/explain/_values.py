"""Values as text: short enough for a cell, or whole for a tooltip."""

from __future__ import annotations

from typing import Any

import numpy as np

CELL_WIDTH = 7
FULL_WIDTH = 200


def full(value: Any) -> str:
    """Return `value` on one line; beyond 200 characters the rest is only counted.

    Examples
    --------
    >>> full(np.float32(0.1)), full(True)
    ('0.1', 'True')
    """
    text = _text(value)
    if len(text) <= FULL_WIDTH:
        return text
    return f"{text[:FULL_WIDTH]}… ({len(text)} characters)"


def short(value: Any, width: int = CELL_WIDTH) -> str:
    """Return `value` in at most `width` characters; an ellipsis stands for what was left out.

    Examples
    --------
    >>> short(3.14159265), short(1234567890), short("gather and scatter"), short(-2.0)
    ('3.142', '1234…90', "'gath…'", '-2')
    """
    if isinstance(value, float | np.floating) or _is_small_float(value):
        return _float(float(value), width)
    if isinstance(value, complex | np.complexfloating):
        return _cut(f"{value:.3g}", width)
    text = _text(value)
    if isinstance(value, str | bytes) and len(text) > width:
        return f"{text[: width - 2]}…{text[-1]}"
    return _cut(text, width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}…{text[-2:]}"


def _float(number: float, width: int) -> str:
    for digits in (4, 3, 2, 1):
        text = f"{number:.{digits}g}"
        if len(text) <= width:
            break
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def _is_small_float(value: Any) -> bool:
    kind = getattr(value, "dtype", None)
    return kind is not None and "float" in kind.name and kind.shape == ()


def _text(value: Any) -> str:
    if isinstance(value, np.generic) and value.dtype.isbuiltin != 2:
        value = value.item() if value.dtype.kind in "biuSU" else value
    try:
        text = repr(value) if isinstance(value, str | bytes | bool | np.void) else str(value)
    except Exception as error:  # an object of the caller's, whose methods may do anything
        text = f"<{type(value).__name__}: {type(error).__name__}>"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: 50 * FULL_WIDTH])
