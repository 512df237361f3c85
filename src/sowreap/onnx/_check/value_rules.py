"""Rules of the values of indices, data and updates, where they are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sowreap.onnx._check.findings import Finding, Severity
from sowreap.onnx._check.sites import Site

Array = NDArray[Any]


def check_values(site: Site) -> Iterator[Finding]:
    """Yield indices out of range, places that are written twice, and NaN where it matters.

    Shapes and types have been checked.
    """
    out_of_range = [*_check_range(site)]
    yield from out_of_range
    if site.operator.startswith("Scatter") and not out_of_range:
        yield from _check_repeats(site)
    yield from _check_nan(site)


class _Range(NamedTuple):
    """Where the allowed values of indices end; `component` of a tuple, if there are tuples."""

    indices: Array
    component: int | None
    axis: int
    low: int
    high: int


def _check_range(site: Site) -> Iterator[Finding]:
    name = site.schema.index_input
    outside = [each for part in _ranges(site) if (each := _outside(part)) is not None]
    if not outside:
        return
    first = min(outside, key=lambda each: each.position)
    part, total = first.part, sum(each.total for each in outside)
    allowed = f"[{part.low}, {part.high}]" if part.high >= part.low else "the empty range"
    more = f"; {total} entries are out of range" if total > 1 else ""
    yield site.finding(
        "index-range",
        f"{name}{list(first.position)} is {first.value}, which is not in {allowed} for axis "
        f"{part.axis} of {site.schema.inputs[0]}{more}.",
        "Correct the entry.",
        *_range_statements(site),
        argument=name,
        position=first.position,
        value=first.value,
    )


class _Outside(NamedTuple):
    """The first entry that is out of range, and how many are."""

    part: _Range
    position: tuple[int, ...]
    value: int
    total: int


def _outside(part: _Range) -> _Outside | None:
    bad = (part.indices < part.low) | (part.indices > part.high)
    total = int(np.count_nonzero(bad))
    if not total:
        return None
    at = _position(int(np.argmax(bad)), bad)
    position = at if part.component is None else (*at, part.component)
    return _Outside(part, position, int(part.indices[at]), total)


def _range_statements(site: Site) -> tuple[str, ...]:
    if site.operator == "TensorScatter":
        return ()
    reference = {
        "GatherElements": ("ref-index-wraps",),
        "Scatter": ("ref-scatter-missing",),
    }.get(site.operator, ("ref-index-range",))
    return ("ort-index-range", *reference)


def _ranges(site: Site) -> Iterator[_Range]:
    """Yield what each known part of the indices may be."""
    indices = site.value(site.schema.index_input).array
    data = site.value(site.schema.inputs[0]).shape
    if indices is None or data is None or indices.size == 0:
        return
    if site.operator == "TensorScatter":
        yield from _starts(site, indices, data)
    elif site.operator.endswith("ND"):
        batch = site.attribute("batch_dims") or 0
        for component in range(indices.shape[-1]):
            length = data[batch + component]
            if isinstance(length, int):
                part = indices[..., component]
                yield _Range(part, component, batch + component, -length, length - 1)
    else:
        axis = site.attribute("axis") % len(data)
        length = data[axis]
        if isinstance(length, int):
            yield _Range(indices, None, axis, -length, length - 1)


def _starts(site: Site, indices: Array, cache: Any) -> Iterator[_Range]:
    axis = site.attribute("axis") % len(cache)
    update = site.value("update").shape
    steps, length = None if update is None else update[axis], cache[axis]
    last = np.iinfo(np.int64).max
    if site.attribute("mode") == "linear" and steps and isinstance(length, int):
        # A step count that is a symbol is at least 0: only what is beyond the end is certain.
        last = length - (steps if isinstance(steps, int) else 0)
    yield _Range(indices, None, axis, 0, last)


def _check_repeats(site: Site) -> Iterator[Finding]:
    targets = _targets(site)
    if targets is None:
        return
    before, after = _repeats(targets)
    if after.size == 0:
        return
    again = int(after.min())
    first = int(np.argmax(targets.ravel() == targets.flat[again]))
    position, earlier = _position(again, targets), _position(first, targets)
    tuples = "tuples of indices" if site.operator.endswith("ND") else "entries of indices"
    facts = (
        f"indices{list(position)} addresses the place that indices{list(earlier)} does; "
        f"{after.size} of {targets.size} {tuples} address a place again"
    )
    common = {"argument": "indices", "position": position, "value": _entry(site, position)}
    if site.reduction == "none":
        yield _repeated_none(site, facts, common, _are_equal(site, targets, before, after))
    elif site.operator == "ScatterND":
        yield site.finding(
            "repeated-reduction",
            f"{facts}. The standard joins them all with reduction {site.reduction}.",
            "On onnxruntime use one thread, or sowreap.onnx.InferenceSession.",
            "ort-lost-updates",
            **common,
        )


def _repeated_none(site: Site, facts: str, common: dict[str, Any], are_equal: bool) -> Finding:
    if are_equal:
        finding = site.finding(
            "repeated-none",
            f"{facts}. Without a reduction the standard asks for each place once; the updates of a "
            "place are equal here, so that the result is the same whichever of them stays.",
            "Nothing, as long as they are equal.",
            **common,
        )
        return replace(finding, severity=Severity.NOTE)
    runtimes = {
        "ScatterND": ("ort-repeated-none", "ref-repeated"),
        "ScatterElements": ("ort-repeated-elements", "ref-repeated"),
    }.get(site.operator, ("ort-repeated-elements", "ref-scatter-missing"))
    return site.finding(
        "repeated-none",
        f"{facts}. Without a reduction the standard leaves open which of them stays.",
        "Give each place once, or set a reduction.",
        *runtimes,
        **common,
    )


def _entry(site: Site, position: tuple[int, ...]) -> Any:
    indices = site.value("indices").array
    return None if indices is None else indices[position].tolist()


def _targets(site: Site) -> Array | None:
    """Return a number for the place that each entry, or each tuple, addresses.

    Equal numbers stand for one place. None if indices or the sizes that they address are unknown.
    """
    indices, data = site.value("indices").array, site.value("data").shape
    if indices is None or data is None or indices.ndim == 0:
        return None
    if site.operator == "ScatterND":
        return _tuple_targets(indices, data)
    axis = site.attribute("axis") % len(data)
    length = data[axis]
    if not isinstance(length, int):
        length = _enough(indices)
    indices = _resolved(_without_equal_columns(indices, axis), length)
    targets = np.zeros(indices.shape, np.int64)
    for dim, size in enumerate(indices.shape):
        along = [1] * indices.ndim
        along[dim] = size
        place = indices if dim == axis else np.arange(size).reshape(along)
        targets = targets * (length if dim == axis else size) + place
    return targets


def _tuple_targets(indices: Array, data: Any) -> Array | None:
    targets = np.zeros(indices.shape[:-1], np.int64)
    for component in range(indices.shape[-1]):
        part, length = indices[..., component], data[component]
        if not isinstance(length, int):
            length = _enough(part)
        targets = targets * length + _resolved(part, length)
    return targets


def _enough(indices: Array) -> int:
    """Return a length that keeps indices apart from the front and those from the end."""
    if indices.size == 0:
        return 1
    return int(indices.max()) + 1 + max(0, -int(indices.min()))


def _resolved(indices: Array, length: int) -> Array:
    wide = indices.astype(np.int64)
    return np.where(wide < 0, wide + length, wide)


def _without_equal_columns(indices: Array, axis: int) -> Array:
    """Return one column where indices are the same in all: an expanded index needs no more."""
    column = indices[tuple(slice(None) if d == axis else slice(1) for d in range(indices.ndim))]
    return column if bool((indices == column).all()) else indices


def _repeats(targets: Array) -> tuple[Array, Array]:
    """Return flat positions: of what has a target again behind it, and of that which has."""
    flat = targets.ravel()
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    repeats = np.flatnonzero(ordered[1:] == ordered[:-1])
    return order[repeats], order[repeats + 1]


def _are_equal(site: Site, targets: Array, before: Array, after: Array) -> bool:
    """Return whether all updates of each place are known to be equal."""
    updates = site.value("updates").array
    if updates is None:
        return False
    if site.operator != "ScatterND" and targets.shape != updates.shape:
        updates = np.moveaxis(updates, site.attribute("axis"), 0)  # one column stands for all
    rows = updates.reshape(targets.size, -1)
    return bool((rows[before] == rows[after]).all())


def _position(flat: int, array: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, array.shape))


def _check_nan(site: Site) -> Iterator[Finding]:
    if site.reduction not in ("min", "max"):
        return
    for name in ("data", "updates"):
        array = site.value(name).array
        if array is None or site.element(name) not in ("float16", "bfloat16", "float", "double"):
            continue
        missing = array != array
        if missing.any():
            position = _position(int(np.argmax(missing)), missing)
            yield site.finding(
                "nan",
                f"{name}{list(position)} is NaN, and the standard does not say what "
                f"{site.reduction} makes of it; sowreap gives NaN.",
                "Remove NaN before the node, or test the result on the runtime that you use.",
                "ort-nan-dropped",
                *(("ref-nan-ignored",) if site.operator == "ScatterElements" else ()),
                argument=name,
                position=position,
                value=float(array[position]),
            )
