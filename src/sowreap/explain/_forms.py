"""Which dimension of which array goes with which, for each operator; and its formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]


class Form(NamedTuple):
    """The dimensions of one call whose shapes agree.

    Three arrays take part: `data` (or the output, which a scatter makes in its image), `indices`,
    and the *moved* one: the output of a gather, the updates of a scatter.

    Attributes
    ----------
    addressed : tuple of int
        Axes of data that an index tuple addresses.
    tuples : bool
        Whether the last axis of indices holds the components of a tuple.
    moved : tuple of (str, int)
        For each axis of the moved array the array and axis whose coordinate it shares: "indices",
        "data", or "moved" for one of its own.
    tied : dict
        Axes of indices whose coordinate is also that of an axis of data.
    """

    addressed: tuple[int, ...]
    tuples: bool
    moved: tuple[tuple[str, int], ...]
    tied: dict[int, int]


class Names(NamedTuple):
    """What the arrays of an operator are called."""

    data: str
    indices: str
    updates: str | None
    output: str = "output"


NAMES = {
    "gather": Names("data", "indices", None),
    "gather_elements": Names("data", "indices", None),
    "gather_nd": Names("data", "indices", None),
    "scatter": Names("data", "indices", "updates"),
    "scatter_elements": Names("data", "indices", "updates"),
    "scatter_nd": Names("data", "indices", "updates"),
    "tensor_scatter": Names("past_cache", "write_indices", "update"),
}


def form_of(operator: str, data: Array, indices: Array, attributes: Mapping[str, Any]) -> Form:
    """Return the dimensions of a call; `indices` are those of `operator`, and shapes agree."""
    rank = data.ndim
    if operator in ("gather_nd", "scatter_nd"):
        batch = int(attributes.get("batch_dims", 0))
        inner = batch + indices.shape[-1]
        moved = [("indices", j) for j in range(indices.ndim - 1)]
        moved += [("data", d) for d in range(inner, rank)]
        addressed = tuple(range(batch, inner))
        return Form(addressed, True, tuple(moved), {j: j for j in range(batch)})
    if operator == "tensor_scatter":
        axis = int(attributes.get("axis", -2)) % rank
        moved = [("indices", 0), *(("data", d) for d in range(1, rank))]
        moved[axis] = ("moved", axis)
        return Form((axis,), False, tuple(moved), {0: 0})
    axis = int(attributes.get("axis", 0)) % rank
    if operator == "gather":
        moved = [("data", d) for d in range(axis)]
        moved += [("indices", j) for j in range(indices.ndim)]
        moved += [("data", d) for d in range(axis + 1, rank)]
        return Form((axis,), False, tuple(moved), {})
    moved = [("indices", j) for j in range(rank)]
    return Form((axis,), False, tuple(moved), {j: j for j in range(rank) if j != axis})


def place(name: str, coordinate: Sequence[object]) -> str:
    """Return a place as code.

    Examples
    --------
    >>> place("data", (2, 0)), place("output", ())
    ('data[2][0]', 'output')
    """
    return name + "".join(f"[{c}]" for c in coordinate)


def assignment(reduction: str, target: str, value: str) -> str:
    """Return the statement that a reduction stands for.

    Examples
    --------
    >>> assignment("add", "output[i]", "updates[i]")
    'output[i] += updates[i]'
    >>> assignment("max", "output[i]", "updates[i]")
    'output[i] = max(output[i], updates[i])'
    """
    if reduction in _SIGNS:
        return f"{target} {_SIGNS[reduction]} {value}"
    if reduction == "mean":
        return f"{target} += {value}  (then divided by the number of values)"
    return f"{target} = {reduction}({target}, {value})"


_SIGNS = {"none": "=", "add": "+=", "mul": "*="}


def formula(
    operator: str,
    form: Form,
    rank: int,
    attributes: Mapping[str, Any],
    at: Sequence[object] | None = None,
) -> str:
    """Return the loop body of a call, for a place of the moved array or with letters.

    Examples
    --------
    >>> import numpy as np
    >>> data, indices = np.zeros((3, 2)), np.zeros((2, 2), int)
    >>> keywords = {"axis": 0, "reduction": "add"}
    >>> form = form_of("scatter_elements", data, indices, keywords)
    >>> formula("scatter_elements", form, 2, keywords)
    'output[indices[i][j]][j] += updates[i][j]'
    >>> formula("scatter_elements", form, 2, keywords, at=(1, 0))
    'output[indices[1][0]][0] += updates[1][0]'
    """
    names = NAMES[operator]
    letters = _letters(len(form.moved)) if at is None else at
    cell = _cell(operator, form, rank, attributes, letters)
    if names.updates is None:
        return f"{place(names.output, letters)} = {place(names.data, cell)}"
    return assignment(
        attributes.get("reduction", "none"),
        place(names.output, cell),
        place(names.updates, letters),
    )


def _cell(
    operator: str, form: Form, rank: int, attributes: Mapping[str, Any], letters: Sequence[object]
) -> list[object]:
    """Return the subscripts of data that belong to those of the moved array."""
    index = {axis: letters[a] for a, (array, axis) in enumerate(form.moved) if array == "indices"}
    at = [index[axis] for axis in sorted(index)]
    name = NAMES[operator].indices
    addressed = [
        place(name, [*at, component] if form.tuples else at)
        for component in range(len(form.addressed))
    ]
    if operator == "tensor_scatter":
        addressed = [f"{addressed[0]} + {letters[form.addressed[0]]}"]
        if attributes.get("mode") == "circular":
            addressed = [f"({addressed[0]}) % N"]
    subscripts = {d: index[j] for j, d in form.tied.items()}
    subscripts |= {d: letters[a] for a, (array, d) in enumerate(form.moved) if array == "data"}
    subscripts |= dict(zip(form.addressed, addressed, strict=True))
    return [subscripts[d] for d in range(rank)]


def _letters(count: int) -> list[str]:
    alphabet = "ijklmnopqrstuvwxyzabcdefgh"
    return [alphabet[a] if a < len(alphabet) else f"i{a}" for a in range(count)]
