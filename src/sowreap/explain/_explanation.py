"""The public functions, and the object that they return."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

import sowreap
from sowreap._errors import ArgumentError, SowreapError
from sowreap.explain import _html, _svg, _text
from sowreap.explain._picture import Picture
from sowreap.explain._trace import trace

Array = NDArray[Any]


class Explanation:
    """One call of an operator, run and ready to be looked at.

    What is drawn is copied when the object is made; arrays may change afterwards. Of large arrays
    the part around the elements that move is shown, with the number of the others.

    Attributes
    ----------
    operator : str
        Name of the function.
    result : numpy.ndarray or None
        What the function returned; None if it raised.
    error : SowreapError or None
        What the function raised. An index out of range is drawn in its place; of shapes or types
        that do not fit, the shapes and the rule that fails are.
    formula : str
        The loop body of the call, such as ``output[indices[i]] += updates[i]``; empty if shapes do
        not agree.

    Examples
    --------
    >>> import numpy as np
    >>> from sowreap import explain
    >>> picture = explain.gather(np.array([10, 20, 30]), [2, -2])
    >>> picture.result
    array([30, 20])
    >>> print(picture)
    gather(data, indices, axis=0)
    output[i] = data[indices[i]]
    2 indices read from data: 1 negative.
    <BLANKLINE>
    data          indices       output
    (3,) int64    (2,) int64    (2,) int64
    0  10         0       2     0  30
    1  20         1  -2→1 ↶     1  20
    2  30
    <BLANKLINE>
    1  indices[0] = 2
       data[2] → output[0]    = 30
    2  indices[1] = -2 → 1 on axis 0 (a negative index counts from the end)
       data[1] → output[1]    = 20
    """

    def __init__(self, operator: str, arguments: Mapping[str, Any]) -> None:
        shown = {
            name: value
            for name, value in arguments.items()
            if name == "axis" or not _is_default(operator, name, value)
        }
        self._trace = trace(operator, arguments, shown)
        self.operator = operator
        self.result: Array | None = self._trace.result
        self.error: SowreapError | None = self._trace.error
        self.formula = self._trace.formula

    @cached_property
    def _picture(self) -> Picture:
        return Picture(self._trace)

    def svg(self) -> str:
        """Return the picture as SVG: cells, colours, and arrows for a few of the moves.

        It needs nothing beside it, and follows the light or dark scheme of where it is shown.
        """
        return _svg.render(self._picture)

    def html(self) -> str:
        """Return a page that needs nothing beside it, to be explored by mouse, touch or keys.

        A cell under the pointer or with the focus lights what it came from and where it went. Steps
        follow the loop in order; after each the output is as the loop would have left it.
        """
        return _html.page(self._picture)

    def text(self, width: int = 80, *, color: bool = False, max_steps: int = 12) -> str:
        """Return the picture for a terminal.

        Parameters
        ----------
        width : int, default 80
            Characters in a line, at least 40.
        color : bool, default False
            Colour cells by escape sequences of ANSI terminals.
        max_steps : int, default 12
            How many index tuples are written out; the others are counted.
        """
        return _text.render(self._picture, width, color=color, max_steps=max_steps)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file; its suffix, .html, .svg or .txt, tells the form."""
        forms = {".html": self.html, ".svg": self.svg, ".txt": self.text}
        path = Path(path)
        if path.suffix not in forms:
            raise ArgumentError(
                f"explain: path ends in {path.suffix!r}; use one of {', '.join(forms)}.",
                operator="explain",
                argument="path",
                value=str(path),
            )
        path.write_text(forms[path.suffix]() + "\n", encoding="utf-8")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        state = "no result" if self.result is None else f"result {self.result.shape}"
        return f"<Explanation of {self._picture.title}: {state}>"

    def _repr_html_(self) -> str:
        return _html.fragment(self._picture)


def _is_default(operator: str, name: str, value: object) -> bool:
    default = inspect.signature(getattr(sowreap, operator)).parameters[name].default
    return type(value) is type(default) and value == default


def gather(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Explanation:
    """Run :func:`sowreap.gather` and show which slice of `data` each index reads.

    Examples
    --------
    >>> gather([10, 20, 30], [0, 3]).error.position
    (1,)
    """
    return Explanation("gather", locals())


def gather_elements(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Explanation:
    """Run :func:`sowreap.gather_elements` and show which item of `data` each index reads.

    Examples
    --------
    >>> gather_elements([[1, 2], [3, 4]], [[0, 0], [1, 0]], axis=1).formula
    'output[i][j] = data[i][indices[i][j]]'
    """
    return Explanation("gather_elements", locals())


def gather_nd(
    data: Any,
    indices: Any,
    batch_dims: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Explanation:
    """Run :func:`sowreap.gather_nd` and show which slice of `data` each index tuple reads.

    Examples
    --------
    >>> gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).formula
    'output[i] = data[indices[i][0]][indices[i][1]]'
    """
    return Explanation("gather_nd", locals())


def scatter(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    out: Any = None,
) -> Explanation:
    """Run :func:`sowreap.scatter` and show where each update goes.

    Examples
    --------
    >>> scatter([0, 0, 0], [2, 0], [7, 8]).result
    array([8, 0, 7])
    """
    return Explanation("scatter", locals())


def scatter_elements(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
    out: Any = None,
) -> Explanation:
    """Run :func:`sowreap.scatter_elements` and show where each update goes and what it does there.

    Examples
    --------
    >>> scatter_elements([[0, 0], [0, 0]], [[1, 1]], [[7, 8]], axis=1, reduction="add").formula
    'output[i][indices[i][j]] += updates[i][j]'
    """
    return Explanation("scatter_elements", locals())


def scatter_nd(
    data: Any,
    indices: Any,
    updates: Any,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
    out: Any = None,
) -> Explanation:
    """Run :func:`sowreap.scatter_nd` and show where each slice of updates goes.

    Examples
    --------
    >>> scatter_nd([0, 0, 0], [[2], [2]], [7, 8], reduction="add")
    <Explanation of scatter_nd(data, indices, updates, reduction='add'): result (3,)>
    """
    return Explanation("scatter_nd", locals())


def tensor_scatter(
    past_cache: Any,
    update: Any,
    write_indices: Any = None,
    axis: int = -2,
    mode: str = "linear",
    *,
    out: Any = None,
) -> Explanation:
    """Run :func:`sowreap.tensor_scatter` and show where each new step of the cache goes.

    Examples
    --------
    >>> import numpy as np
    >>> tensor_scatter(np.zeros((1, 4, 2)), np.ones((1, 1, 2)), [2]).formula
    'output[i][write_indices[i] + j][k] = update[i][j][k]'
    """
    return Explanation("tensor_scatter", locals())
