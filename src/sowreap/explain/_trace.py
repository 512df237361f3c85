"""One call of an operator, and where each of the elements shown came from and went.

No rule about indices stands here. The coordinates of `data`, spread over its shape by strides of 0,
are gathered with the indices of the call; a gather reads exactly the places that a scatter writes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

import sowreap
from sowreap._arrays import as_array
from sowreap._errors import OutOfRangeError, SowreapError
from sowreap.explain._forms import NAMES, Form, form_of, formula

Array = NDArray[Any]
Coordinate = tuple[int, ...]

# How many positions are shown of each axis, by rank; up to which length an axis may be shown whole
# instead; and how many elements of an array are shown then.
_LIMITS = {0: (), 1: (12,), 2: (10, 8), 3: (3, 5, 6), 4: (2, 3, 5, 5)}
_LONGEST = 13
_MOST = 150
_ABSENT = -1
_GATHER_OF = {
    "scatter": "gather_elements",
    "scatter_elements": "gather_elements",
    "scatter_nd": "gather_nd",
}
# What happens to an index out of range, by mode.
_OUTSIDE_MARKS = {
    "raise": "out of range",
    "wrap": "wrapped",
    "clip": "clipped",
    "fill": "filled",
    "drop": "dropped",
}


@dataclass(frozen=True)
class Panel:
    """An array as far as it is shown.

    Attributes
    ----------
    name, shape, dtype
        Of the whole array.
    window : tuple of tuple of int
        The coordinates shown, in ascending order, for each axis.
    values : ndarray or None
        The values at these coordinates; None for an output that never came to be.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    window: tuple[tuple[int, ...], ...] = ()
    values: Array | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all of the array is shown."""
        return self.shape == tuple(map(len, self.window))

    @property
    def hidden(self) -> int:
        """Number of elements that are not shown."""
        return math.prod(self.shape) - math.prod(map(len, self.window))


class Step(NamedTuple):
    """One index tuple, in the order of the loop.

    Attributes
    ----------
    number : int
        Its place among all index tuples of the call, from 0.
    position : tuple of int
        Where it stands in `indices`, without the axis of components.
    given : tuple of int
        Its components.
    cell : tuple of int or None
        The place on the addressed axes; None where there is none.
    marks : frozenset of str
        Of "negative", "repeated", "wrapped", "clipped", "out of range", "filled", "dropped".
    bad : frozenset of int
        The components that are out of range.
    """

    number: int
    position: Coordinate
    given: Coordinate
    cell: Coordinate | None
    marks: frozenset[str]
    bad: frozenset[int]


class Pair(NamedTuple):
    """One element that moves in a step.

    `data` is its place in data (in a scatter: in the output), None where there is none; `moved`
    that in the output of a gather or the updates of a scatter. `before` and `after` are the values
    of a scatter's target around the step, None where steps that are not shown would matter.
    """

    step: int
    data: Coordinate | None
    moved: Coordinate
    value: Any = None
    before: Any = None
    after: Any = None


@dataclass
class Trace:
    """What is known of a call; `panels` are empty when shapes or types do not agree."""

    operator: str
    attributes: dict[str, Any]
    arrays: list[Panel]
    result: Array | None = None
    error: SowreapError | None = None
    formula: str = ""
    form: Form | None = None
    panels: dict[str, Panel] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    total_steps: int = 0
    is_prefix: bool = True

    @property
    def is_gather(self) -> bool:
        """Whether the operator reads."""
        return NAMES[self.operator].updates is None

    @property
    def extent(self) -> tuple[int, ...]:
        """Lengths of the axes that an index tuple addresses."""
        addressed = self.form.addressed if self.form is not None else ()
        return tuple(self.arrays[0].shape[d] for d in addressed)

    @property
    def moved_name(self) -> str:
        """Name of the array that is the output of a gather or the updates of a scatter."""
        names = NAMES[self.operator]
        return names.updates or names.output


def trace(operator: str, arguments: Mapping[str, Any], shown: Mapping[str, Any]) -> Trace:
    """Run `operator` with `arguments` and follow its elements.

    `shown` are the arguments to write down, without those that have their default.
    """
    names = NAMES[operator]
    inputs = [n for n in shown if n in (names.data, names.indices, names.updates)]
    attributes = {name: value for name, value in shown.items() if name not in (*inputs, "out")}
    found = Trace(operator, attributes, [])
    function = getattr(sowreap, operator)
    given = {name: value for name, value in arguments.items() if name != "out"}
    try:
        found.result = np.asarray(function(**given))
    except SowreapError as error:
        found.error = error
    arrays = _arrays(operator, given, inputs)
    found.arrays = [_whole(name, value) for name, value in arrays.items()]
    if found.error is None or isinstance(found.error, OutOfRangeError):
        _follow(found, arrays)
    if arguments.get("out") is not None:
        try:
            found.result = function(**arguments)
        except SowreapError as error:
            found.error = found.error or error
    return found


def _arrays(operator: str, given: Mapping[str, Any], inputs: list[str]) -> dict[str, Any]:
    """Return the inputs as arrays, or as they are where they cannot be that."""
    arrays: dict[str, Any] = {}
    dtype = None
    for name in inputs:
        try:
            is_like_data = name == NAMES[operator].updates
            arrays[name] = as_array(operator, name, given[name], dtype if is_like_data else None)
        except SowreapError:
            arrays[name] = given[name]
        if name == NAMES[operator].data:
            dtype = getattr(arrays[name], "dtype", None)
    return arrays


def _whole(name: str, value: Any) -> Panel:
    if isinstance(value, np.ndarray):
        return Panel(name, value.shape, str(value.dtype))
    return Panel(name, (), f"not an array: {type(value).__name__}")


def _follow(found: Trace, arrays: Mapping[str, Any]) -> None:
    names = NAMES[found.operator]
    data, indices = arrays[names.data], arrays.get(names.indices)
    if indices is None:
        indices = np.zeros(data.shape[0], np.int64)
    updates = arrays[names.updates] if names.updates else None
    form = found.form = form_of(found.operator, data, indices, found.attributes)
    found.formula = formula(found.operator, form, data.ndim, found.attributes)
    windows = _Windows(found, form, data, indices, updates)
    places, outside = _resolve(found, form, windows, data, indices)
    moved_window = windows.moved
    _add_steps(found, form, windows, indices, places, outside)
    data_window = _data_window(form, windows, data.shape, found.pairs)
    found.panels[names.data] = _panel(names.data, data, data_window)
    found.panels[names.indices] = _panel(names.indices, indices, windows.indices)
    if updates is not None:
        assert names.updates is not None
        found.panels[names.updates] = _panel(names.updates, updates, moved_window)
        _add_values(found, data, updates)
    output_window = moved_window if updates is None else data_window
    if found.result is not None:
        found.panels[names.output] = _panel(names.output, found.result, output_window)
    else:
        shape = windows.moved_shape if updates is None else data.shape
        found.panels[names.output] = Panel(names.output, shape, str(data.dtype), output_window)
    if found.is_gather and found.result is not None:
        found.pairs = [pair._replace(value=found.result[pair.moved]) for pair in found.pairs]


def _panel(name: str, array: Array, window: tuple[tuple[int, ...], ...]) -> Panel:
    values = _cut(array, window)
    return Panel(name, array.shape, str(array.dtype), window, values)


def _cut(array: Array, window: tuple[tuple[int, ...], ...]) -> Array:
    """Return a copy of the elements at the coordinates of a window.

    NumPy takes fewer index arrays than an array has axes: those of length 1 need none.
    """
    lengths = tuple(map(len, window))
    if 0 in lengths:
        return np.empty(lengths, array.dtype)
    singles = tuple(0 if length == 1 else slice(None) for length in array.shape)
    long = [axis for axis, length in zip(window, array.shape, strict=True) if length != 1]
    kept = array[(*singles, ...)]
    if long:
        kept = kept[np.ix_(*(np.array(axis, np.intp) for axis in long))]
    return np.array(kept).reshape(lengths)


def _at(array: Array, coordinates: Sequence[Coordinate]) -> Array:
    """Return the elements at some coordinates, one after the other."""
    found = np.empty(len(coordinates), array.dtype)
    for i, coordinate in enumerate(coordinates):
        found[i] = array[coordinate]
    return found


def _limits(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many positions to show of each axis, all of one that is not long if they fit."""
    lead = max(0, len(shape) - 4)
    limits = [*(1 for _ in range(lead)), *_LIMITS[len(shape) - lead]]
    for axis, length in reversed(list(enumerate(shape))):
        shown = [min(n, limit) for n, limit in zip(shape, limits, strict=True)]
        shown[axis] = length
        if limits[axis] < length <= _LONGEST and math.prod(shown) <= _MOST:
            limits[axis] = length
    return tuple(limits)


def _interval(length: int, limit: int, focus: int = 0) -> tuple[int, ...]:
    """Return up to `limit` positions in a row, `focus` among them."""
    if length <= limit:
        return tuple(range(length))
    start = min(max(0, focus - limit // 2), length - limit)
    return tuple(range(start, start + limit))


class _Windows:
    """The coordinates shown of indices and of the moved array."""

    def __init__(
        self, found: Trace, form: Form, data: Array, indices: Array, updates: Array | None
    ) -> None:
        own = indices.ndim - form.tuples
        sizes = {"indices": indices.shape, "data": data.shape}
        if updates is not None:
            sizes["moved"] = updates.shape
        self.moved_shape = tuple(sizes[array][axis] for array, axis in form.moved)
        limits = {("data", d): limit for d, limit in enumerate(_limits(data.shape))}
        for j, limit in enumerate(_limits(indices.shape[:own])):
            limits["indices", j] = min(limit, limits.get(("data", form.tied.get(j, -1)), limit))
        focus = found.error.position if found.error is not None else None
        by_axis: dict[tuple[str, int], tuple[int, ...]] = {}
        for limit, origin, length in zip(
            _limits(self.moved_shape), form.moved, self.moved_shape, strict=True
        ):
            array, axis = origin
            center = focus[axis] if focus and array == "indices" else 0
            by_axis[origin] = _interval(length, min(limit, limits.get(origin, limit)), center)
        self.by_axis = by_axis
        self.moved = tuple(by_axis[origin] for origin in form.moved)
        self.steps = tuple(by_axis["indices", j] for j in range(own))
        tuple_axis = (tuple(range(indices.shape[-1])),) if form.tuples else ()
        self.indices = self.steps + tuple_axis
        self.step_shape = indices.shape[:own]


def _resolve(
    found: Trace, form: Form, windows: _Windows, data: Array, indices: Array
) -> tuple[Array, frozenset[Coordinate]]:
    """Return the place in data of each moved element, and where indices are out of range.

    The places have the shape of the moved window and a field for each coordinate; they are -1 where
    there is none. The positions are those within the window of indices.
    """
    shown = _cut(indices, windows.indices)
    axes = _coordinates(form, windows, data.shape)
    moved_shape = tuple(map(len, windows.moved))
    if found.operator == "tensor_scatter":
        return _resolve_cache(found, windows, axes, shown, data.shape[form.addressed[0]])
    if 0 in (data.shape[d] for d in form.addressed):
        return _no_places(moved_shape, data.ndim), frozenset(np.ndindex(shown.shape))
    lengths = tuple(map(len, axes))
    coordinates = [
        np.broadcast_to(axis.reshape([-1 if d == e else 1 for e in range(data.ndim)]), lengths)
        for d, axis in enumerate(axes)
    ]
    gather = _GATHER_OF.get(found.operator, found.operator)
    function = getattr(sowreap, gather)
    keywords = {k: v for k, v in found.attributes.items() if k in ("axis", "batch_dims")}
    mode = found.attributes.get("mode", "raise")
    within, outside = shown, frozenset[Coordinate]()
    if found.error is not None or mode != "raise":
        within, outside = _outside(lambda index: function(coordinates[0], index, **keywords), shown)
    if mode in ("wrap", "clip"):
        within, keywords["mode"] = shown, mode
    places = _no_places(moved_shape, data.ndim)
    for d, axis in enumerate(coordinates):
        places[str(d)] = function(axis, within, **keywords)
    if mode not in ("wrap", "clip"):
        for position in outside:
            places[_moved_at(form, position)] = _ABSENT
    return places, outside


def _no_places(shape: tuple[int, ...], rank: int) -> Array:
    """Return places that are none, with a field a coordinate: 64 axes leave no room for another."""
    return np.full(shape, _ABSENT, [(str(d), np.intp) for d in range(rank)])


def _coordinates(form: Form, windows: _Windows, shape: tuple[int, ...]) -> list[Array]:
    """Return the coordinates on each axis of data among which places are sought."""
    by_tie = {d: windows.steps[j] for j, d in form.tied.items()}
    return [
        np.arange(n, dtype=np.int32 if n <= np.iinfo(np.int32).max else np.int64)
        if d in form.addressed
        else np.array(by_tie[d] if d in by_tie else windows.by_axis["data", d], np.int64)
        for d, n in enumerate(shape)
    ]


def _outside(check: Callable[[Array], object], shown: Array) -> tuple[Array, frozenset[Coordinate]]:
    """Return `shown` with 0 at each position that `check` refuses, and these positions."""
    within, outside = shown.copy(), set[Coordinate]()
    while True:
        try:
            check(within)
            return within, frozenset(outside)
        except OutOfRangeError as error:
            position = cast(Coordinate, error.position)
        outside.add(position)
        within[position] = 0


def _moved_at(form: Form, position: Coordinate) -> tuple[Any, ...]:
    """Return where in the moved window the elements of an index tuple are."""
    return tuple(
        position[axis] if array == "indices" else slice(None) for array, axis in form.moved
    )


def _resolve_cache(
    found: Trace, windows: _Windows, axes: list[Array], shown: Array, length: int
) -> tuple[Array, frozenset[Coordinate]]:
    """Write the numbers of steps into an empty cache, and see where they are."""
    assert found.form is not None
    axis = found.form.addressed[0]
    total = windows.moved_shape[axis]
    batches = len(windows.steps[0])
    steps = np.arange(batches * total).reshape(batches, total)
    empty = np.full((batches, length), _ABSENT)
    mode = found.attributes.get("mode", "linear")

    def written(index: Array) -> Array:
        return np.asarray(sowreap.tensor_scatter(empty, steps, index, axis=1, mode=mode))

    outside = frozenset[Coordinate]()
    if found.error is not None:
        shown, outside = _outside(written, shown)
    cache = written(shown)
    cells = np.full(steps.size, _ABSENT)
    where = np.nonzero(cache != _ABSENT)
    cells[cache[where]] = where[1]
    cells = cells.reshape(steps.shape)[:, list(windows.moved[axis])]
    rank = len(windows.moved)
    places = _no_places(tuple(map(len, windows.moved)), rank)
    for d, window in enumerate(windows.moved):
        places[str(d)] = np.array(window).reshape([-1 if d == e else 1 for e in range(rank)])
    spread = [1] * rank
    spread[0], spread[axis] = batches, len(windows.moved[axis])
    places[str(axis)] = cells.reshape(spread)
    for position in outside:
        places[position] = _ABSENT
    return places, outside


def _add_steps(
    found: Trace,
    form: Form,
    windows: _Windows,
    indices: Array,
    places: Array,
    outside: frozenset[Coordinate],
) -> None:
    """Add the index tuples shown, in the order of the loop, and the elements that each moves."""
    loops, shape = [*windows.steps], [*windows.step_shape]
    own = len(loops)
    if found.operator == "tensor_scatter":  # one step for each position that an index starts
        loops.append(windows.moved[form.addressed[0]])
        shape.append(windows.moved_shape[form.addressed[0]])
    found.total_steps = math.prod(shape)
    grid = list(np.ndindex(*map(len, loops)))
    moves = _moves(form, windows, places)
    for at in grid:
        position = tuple(axis[i] for axis, i in zip(loops, at, strict=True))
        index = tuple(int(v) for v in np.atleast_1d(indices[position[:own]]))
        bad = frozenset(p[-1] if form.tuples else 0 for p in outside if p[:own] == at[:own])
        pairs = moves.get(at, [])
        cells = [tuple(data[d] for d in form.addressed) for data, _ in pairs if data is not None]
        cell = cells[0] if cells else None
        marks = _marks(found, index, cell, bad)
        number = 0
        for place, length in zip(position, shape, strict=True):
            number = number * length + place
        found.steps.append(Step(number, position[:own], index, cell, marks, bad))
        found.pairs += [Pair(len(found.steps) - 1, data, moved) for data, moved in pairs]
    found.is_prefix = [step.number for step in found.steps] == list(range(len(grid)))
    if not found.is_gather:
        _mark_repeated(found)


def _moves(
    form: Form, windows: _Windows, places: Array
) -> dict[Coordinate, list[tuple[Coordinate | None, Coordinate]]]:
    """Return where in data and where in the moved array each step of the window has elements."""
    moves: dict[Coordinate, list[tuple[Coordinate | None, Coordinate]]] = {}
    for at in np.ndindex(places.shape):
        data = places[at].tolist()
        moved = tuple(axis[i] for axis, i in zip(windows.moved, at, strict=True))
        found = moves.setdefault(_step_of(form, at), [])
        found.append((None if _ABSENT in data else data, moved))
    return moves


def _step_of(form: Form, at: Coordinate) -> Coordinate:
    """Return the step within the window that moves the element `at`: the index, then the rest."""
    own = {axis: at[a] for a, (array, axis) in enumerate(form.moved) if array == "indices"}
    rest = [at[a] for a, (array, _) in enumerate(form.moved) if array == "moved"]
    return (*(own[axis] for axis in sorted(own)), *rest)


def _marks(
    found: Trace, index: Coordinate, cell: Coordinate | None, bad: frozenset[int]
) -> frozenset[str]:
    mode = found.attributes.get("mode", "raise")
    if bad:
        return frozenset((_OUTSIDE_MARKS.get(mode, "out of range"),))
    if cell in (None, index):
        return frozenset()
    if found.operator == "tensor_scatter":  # a step is past its index, or round the end
        return frozenset(("wrapped",) if cell < index else ())
    return frozenset(("clipped" if mode == "clip" else "negative",))


def _mark_repeated(found: Trace) -> None:
    """Mark the steps that write to a place that another step writes to as well."""
    first: dict[int, Coordinate] = {}
    for pair in found.pairs:
        if pair.data is not None:
            first.setdefault(pair.step, pair.data)
    counts = Counter(first.values())
    for i, step in enumerate(found.steps):
        if i in first and counts[first[i]] > 1:
            found.steps[i] = step._replace(marks=step.marks | {"repeated"})


def _data_window(
    form: Form, windows: _Windows, shape: tuple[int, ...], pairs: list[Pair]
) -> tuple[tuple[int, ...], ...]:
    """Return what to show of data: the places that are read or written, and their neighbours."""
    by_tie = {d: windows.steps[j] for j, d in form.tied.items()}
    window = []
    for d, (length, limit) in enumerate(zip(shape, _limits(shape), strict=True)):
        touched = list(dict.fromkeys(pair.data[d] for pair in pairs if pair.data is not None))
        shown = windows.by_axis.get(("data", d), ())
        if d in form.addressed:
            shown = _around(length, limit, touched)
        elif d in by_tie:
            shown = _interval(length, limit, min(touched, default=0))
            shown = shown if set(touched) <= set(shown) else by_tie[d]
        window.append(shown)
    return tuple(window)


def _around(length: int, limit: int, touched: list[int]) -> tuple[int, ...]:
    """Return up to `limit` positions: the first ones touched, then neighbours, then ends."""
    if length <= limit:
        return tuple(range(length))
    shown = dict.fromkeys(touched[:limit])
    near = [p + by for p in touched for by in (1, -1)]
    for position in (*near, *range(limit)):
        if len(shown) == limit:
            break
        if 0 <= position < length:
            shown.setdefault(position)
    return tuple(sorted(shown))


def _add_values(found: Trace, data: Array, updates: Array) -> None:
    """Add to each pair of a scatter its update, and the target's value before and after.

    The value after the r-th update of a place is what the operator gives for r updates of it.
    """
    found.pairs = [pair._replace(value=updates[pair.moved]) for pair in found.pairs]
    written = [p for p, pair in enumerate(found.pairs) if pair.data is not None]
    if found.error is not None or not found.is_prefix or not written:
        return
    places: dict[Coordinate, int] = {}
    targets = np.array([places.setdefault(found.pairs[p].data or (), len(places)) for p in written])
    base = _at(data, list(places))
    values = _at(updates, [found.pairs[p].moved for p in written])
    seen: Counter[int] = Counter()
    rounds = []
    for target in targets.tolist():
        rounds.append(seen[target])
        seen[target] += 1
    keywords = {k: v for k, v in found.attributes.items() if k in ("reduction", "include_self")}
    before: list[Any] = list(base)
    for r in range(max(rounds) + 1):
        taken = np.array(rounds) <= r
        after = sowreap.scatter_nd(base, targets[taken, np.newaxis], values[taken], **keywords)
        for number in np.nonzero(np.array(rounds) == r)[0]:
            p, target = written[number], targets[number]
            found.pairs[p] = found.pairs[p]._replace(before=before[target], after=after[target])
        before = list(after)
