"""Literals and lines of the written source. Nothing here takes text of a model as code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

WIDTH = 88  # the default of the usual formatters
INDENT = "    "
_OPEN, _CLOSE = "([{", ")]}"
_DEFAULT_KINDS = {np.dtype(np.int64), np.dtype(np.float64), np.dtype(bool)}


def quoted(text: str) -> str:
    r"""Return a literal of `text`, in double quotes where that needs no more escapes.

    Examples
    --------
    >>> print(quoted("it's"), quoted('a"b'), quoted("two\nlines"))
    "it's" 'a"b' "two\nlines"
    """
    literal = repr(text)
    return literal if '"' in literal else f'"{literal[1:-1]}"'


def dtype_text(dtype: np.dtype[Any]) -> str:
    """Return the expression of a dtype.

    Examples
    --------
    >>> dtype_text(np.dtype("float32")), dtype_text(np.dtype(object))
    ('np.float32', 'object')
    """
    if dtype.kind in "OUST":
        return "object"
    if dtype == np.bool_:
        return "bool"
    return f"np.{dtype.name}" if dtype.type.__module__ == "numpy" else f"ml_dtypes.{dtype.name}"


def number(value: Any) -> str:
    """Return a Python number or text that is `value`, the shortest that its dtype reads as such.

    Examples
    --------
    >>> number(np.float32(0.1)), number(np.int64(-3)), number(np.float64("-inf"))
    ('0.1', '-3', '-np.inf')
    """
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes):
        return repr(value)
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return str(value)
    if isinstance(value, complex | np.complexfloating):
        return f"complex({number(value.real)}, {number(value.imag)})"
    if not np.isfinite(value):
        return "np.nan" if np.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    text = str(value)  # of a NumPy scalar: the digits that its own width needs
    return text if any(mark in text for mark in ".e") else f"{text}.0"


def array_text(array: Array) -> str:
    """Return an expression of an array.

    Examples
    --------
    >>> array_text(np.array([1, 2])), array_text(np.array(0.5, np.float32))
    ('np.array([1, 2])', 'np.float32(0.5)')
    >>> array_text(np.zeros((0, 2), np.int64))
    'np.empty((0, 2), np.int64)'
    """
    dtype = dtype_text(array.dtype)
    if array.size == 0:
        return f"np.empty({array.shape}, {dtype})"
    if array.ndim == 0 and dtype not in ("object", "bool"):
        return f"{dtype}({number(array[()])})"
    if array.ndim == 0 and dtype == "bool":
        return f"np.bool_({array})"
    content = _nested(array)
    # What has no digits at all, NaN say, is read as the wrong dtype nowhere: it is a float64.
    return f"np.array({content})" if _reads_back(array) else f"np.array({content}, {dtype})"


def list_text(array: Array) -> str:
    """Return an array as nested lists of Python values, and one of rank 0 as the value."""
    return _nested(array)


def _nested(array: Array) -> str:
    if array.ndim == 0:
        return number(array[()])
    return f"[{', '.join(_nested(np.asarray(item, array.dtype)) for item in array)}]"


def _reads_back(array: Array) -> bool:
    return array.dtype in _DEFAULT_KINDS


def tuple_text(parts: Sequence[str]) -> str:
    """Return a tuple of expressions, without brackets."""
    return f"{parts[0]}," if len(parts) == 1 else ", ".join(parts)


def wrapped(line: str, depth: int) -> list[str]:
    """Return a statement as lines of at most `WIDTH` where brackets allow, as formatters do.

    Examples
    --------
    >>> for line in wrapped(f"y = f({'a' * 40}, {'b' * 50})", 1):
    ...     print(line)
        y = f(
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,
            bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,
        )
    """
    margin = INDENT * depth
    if len(margin) + len(line) <= WIDTH:
        return [margin + line]
    several = _targets(line)
    if several is not None and len(margin) + line.index("(") >= WIDTH:
        first, targets, rest = several
        lines = [f"{margin}{first}(", *(f"{margin}{INDENT}{name}," for name in targets)]
        return lines + wrapped(f"){rest}", depth)
    if line.startswith("return ") and len(values := _split(line[7:])) > 1:
        return [f"{margin}return (", *(f"{margin}{INDENT}{each}," for each in values), f"{margin})"]
    bracket = _last_bracket(line, WIDTH - len(margin))
    if bracket is None:
        return _in_brackets(line, depth)
    start, end = bracket
    head, body, tail = line[: start + 1], line[start + 1 : end], line[end:]
    inner = margin + INDENT
    if not body:
        return [margin + line]
    if _is_call(line, start) and len(inner) + len(body) <= WIDTH:
        return [margin + head, inner + body, margin + tail]
    parts = _split(body)
    has_comma = len(parts) > 1 or body.endswith(",") or head[-1] != "(" or _is_keyword(body)
    lines = [margin + head]
    for part in parts:
        lines += wrapped(part + ("," if has_comma else ""), depth + 1)
    return [*lines, margin + tail]


def _last_bracket(line: str, room: int) -> tuple[int, int] | None:
    """Return where the bracket opens and closes at which a line is best broken, if it ends so."""
    end = len(line.rstrip(",:")) - 1
    if end < 0 or line[end] not in _CLOSE:
        return None
    start = _opening(line, end)
    if start is None or _is_subscript(line, start):
        return None
    method = re.search(r"\)\.[a-z]+$", line[:start])
    if method is not None and start >= room:  # f(...).astype(x) is broken inside f
        inner_start = _opening(line, method.start())
        if inner_start is not None and _is_call(line, inner_start):
            return inner_start, method.start()
    return start, end


def _is_subscript(line: str, start: int) -> bool:
    return line[start] == "[" and re.search(r"[\w\])]$", line[:start]) is not None


def _is_call(line: str, start: int) -> bool:
    """Return whether the bracket at `start` holds arguments, and not a tuple or an operand."""
    return line[start] == "(" and re.search(r"[\w\])]$", line[:start]) is not None


def _targets(line: str) -> tuple[str, list[str], str] | None:
    """Return what is before, in and behind the targets where a statement sets several."""
    match = re.match(r"(for |)(\w+(?:, \w+)+)( = | in )", line)
    if match is None:
        return None
    return match[1], match[2].split(", "), line[match.start(3) :]


def _is_keyword(part: str) -> bool:
    name, equals, _ = part.partition("=")
    return bool(equals) and name.isidentifier()


def _in_brackets(line: str, depth: int) -> list[str]:
    """Return an assignment with its right side in brackets, broken at sums if it must be."""
    margin = INDENT * depth
    target, equals, value = line.partition(" = ")
    if not equals or not target.isidentifier():
        return [margin + line]
    inner = margin + INDENT
    if len(inner) + len(value) <= WIDTH:
        return [f"{margin}{target} = (", inner + value, f"{margin})"]
    terms = _terms(value, " + ") or _terms(value, " @ ")
    return [f"{margin}{target} = (", *(inner + term for term in terms), f"{margin})"]


def _terms(value: str, operator: str) -> list[str]:
    """Return the lines of a sum: each but the first begins with the operator."""
    starts, depth = [0], 0
    for position, character in _code(value):
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth == 0 and value.startswith(operator, position):
            starts.append(position + 1)
    ends = [*starts[1:], len(value) + 1]
    terms = [value[start : end - 1].strip() for start, end in zip(starts, ends, strict=True)]
    return terms if len(terms) > 1 or operator == " @ " else []


def _opening(line: str, closing: int) -> int | None:
    """Return where the bracket opens that closes at `closing`."""
    stack: list[int] = []
    for position, character in _code(line):
        if character in _OPEN:
            stack.append(position)
        elif character in _CLOSE:
            start = stack.pop() if stack else None
            if position == closing:
                return start
    return None


def _split(body: str) -> list[str]:
    """Return what stands between the commas of `body` that no bracket holds."""
    parts, depth, start = [], 0, 0
    for position, character in _code(body):
        depth += (character in _OPEN) - (character in _CLOSE)
        if character == "," and depth == 0:
            parts.append(body[start:position].strip())
            start = position + 1
    return [part for part in [*parts, body[start:].strip()] if part]


def _code(line: str) -> list[tuple[int, str]]:
    """Return the characters outside of text literals, with their positions."""
    found, quote, position = [], "", 0
    while position < len(line):
        character = line[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        else:
            found.append((position, character))
        position += 1
    return found
