"""Rules of ranks and shapes, where sizes may be unknown: only what is certain is reported.

The full rule of each operator stands in ``core/src/shape.cpp``; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator

from sowreap.onnx._check.findings import Finding
from sowreap.onnx._check.sites import Shape, Site, Size


def check_shapes(site: Site) -> Iterator[Finding]:
    """Yield ranks, axes and sizes that cannot be right, whatever the unknown sizes are."""
    yield from {
        "Gather": _check_gather,
        "GatherElements": _check_elements,
        "GatherND": _check_tuples,
        "Scatter": _check_elements,
        "ScatterElements": _check_elements,
        "ScatterND": _check_tuples,
        "TensorScatter": _check_cache,
    }[site.operator](site)


def shape_text(shape: Shape) -> str:
    """Return a shape as text, an unknown size as ``?``.

    Examples
    --------
    >>> shape_text((2, "n", None)), shape_text((3,))
    ('(2, n, ?)', '(3,)')
    """
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def _check_gather(site: Site) -> Iterator[Finding]:
    yield from _check_not_scalar(site, "data") or _check_axis(site, "data")


def _check_elements(site: Site) -> Iterator[Finding]:
    scalars = [*_check_not_scalar(site, "data"), *_check_not_scalar(site, "indices")]
    yield from scalars
    if scalars:
        return
    yield from _check_axis(site, "data")
    data, indices = site.value("data").shape, site.value("indices").shape
    if data is not None and indices is not None:
        yield from _check_off_axis(site, data, indices)
    if indices is not None and "updates" in site.schema.inputs:
        yield from _check_updates(site, indices, "that of indices")


def _check_off_axis(site: Site, data: Shape, indices: Shape) -> Iterator[Finding]:
    if len(data) != len(indices):
        yield site.finding(
            "rank",
            f"indices has rank {len(indices)}, shape {shape_text(indices)}, and data rank "
            f"{len(data)}, shape {shape_text(data)}; they must be equal.",
            "Reshape or expand indices; to index whole rows use Gather or ScatterND.",
            argument="indices",
            value=len(indices),
        )
        return
    axis = site.attribute("axis")
    for dim, (found, limit) in enumerate(zip(indices, data, strict=True)):
        if dim != axis % len(data) and _exceeds(found, limit):
            yield site.finding(
                "shape",
                f"indices, shape {shape_text(indices)}, has size {found} in dimension {dim}, where "
                f"data, shape {shape_text(data)}, has {limit}; off axis {axis} it may be smaller, "
                "not larger.",
                "Correct the axis or the shape of indices.",
                argument="indices",
                position=(dim,),
                value=found,
            )


def _check_updates(site: Site, wanted: Shape, source: str) -> Iterator[Finding]:
    """Compare the shape of updates with `wanted`."""
    updates = site.value("updates").shape
    if updates is None:
        return
    same_rank = len(updates) == len(wanted)
    bad = [d for d, sizes in enumerate(zip(updates, wanted, strict=False)) if _differ(*sizes)]
    if same_rank and not bad:
        return
    yield site.finding(
        "shape",
        f"updates has shape {shape_text(updates)}, and {shape_text(wanted)} is needed: {source}.",
        "Reshape or expand updates; they never broadcast.",
        *_what_the_reference_does(site, updates, wanted),
        argument="updates",
        position=(bad[0],) if same_rank else None,
        value=updates[bad[0]] if same_rank else len(updates),
    )


def _what_the_reference_does(site: Site, updates: Shape, wanted: Shape) -> tuple[str, ...]:
    """Return the statement about onnx's evaluator with updates of a wrong shape, if there is one.

    Where shapes are not all known, or differ in another way, it fails.
    """
    if not all(isinstance(size, int) for size in (*updates, *wanted)):
        return ()
    if site.operator == "ScatterElements":
        too_many = len(updates) == len(wanted) and all(map(_covers, updates, wanted))
        return ("ref-updates-left-out",) if too_many else ()
    indices = site.value("indices").shape
    if site.operator != "ScatterND" or indices is None:
        return ()
    tuples = len(indices) - 1
    row, whole = updates[tuples:], wanted[tuples:]
    fits = updates[:tuples] == wanted[:tuples] and len(row) <= len(whole)
    spreads = all(size in (1, full) for size, full in zip(row[::-1], whole[::-1], strict=False))
    return ("ref-updates-broadcast",) if fits and spreads else ()


def _check_tuples(site: Site) -> Iterator[Finding]:
    batch = site.attribute("batch_dims") or 0
    bad = [
        *_check_not_scalar(site, "data"),
        *_check_not_scalar(site, "indices"),
    ] or [*_check_batch_dims(site, batch)]
    yield from bad
    data, indices = site.value("data").shape, site.value("indices").shape
    if bad or data is None or indices is None:
        return
    for dim in range(batch):
        if _differ(indices[dim], data[dim]):
            yield site.finding(
                "shape",
                f"indices, shape {shape_text(indices)}, has size {indices[dim]} in batch dimension "
                f"{dim}, and data, shape {shape_text(data)}, {data[dim]}; with batch_dims {batch} "
                "they must be equal.",
                "Correct batch_dims, or expand the smaller of the two.",
                argument="indices",
                position=(dim,),
                value=indices[dim],
            )
    yield from _check_tuple_length(site, batch, data, indices)


def _check_batch_dims(site: Site, batch: int) -> Iterator[Finding]:
    shapes = (site.value("data").shape, site.value("indices").shape)
    limit = min((len(shape) for shape in shapes if shape is not None), default=None)
    if batch < 0 or (limit is not None and batch >= limit):
        allowed = "at least 0" if limit is None else f"in [0, {limit - 1}]"
        yield site.finding(
            "batch-dims",
            f"batch_dims is {batch}; it must be {allowed}, below the ranks of data and indices.",
            "Correct batch_dims.",
            argument="batch_dims",
            value=batch,
        )


def _check_tuple_length(site: Site, batch: int, data: Shape, indices: Shape) -> Iterator[Finding]:
    length, limit = indices[-1], len(data) - batch
    if not isinstance(length, int):
        return
    if length > limit:
        beyond = f" beyond batch_dims {batch}" if batch else ""
        yield site.finding(
            "tuple-length",
            f"the last size of indices, shape {shape_text(indices)}, is {length}: index tuples "
            f"address {length} axes, but data, shape {shape_text(data)}, has {limit}{beyond}.",
            f"Give tuples of at most {limit} entries.",
            argument="indices",
            position=(len(indices) - 1,),
            value=length,
        )
    elif "updates" in site.schema.inputs:
        yield from _check_updates(
            site,
            indices[:-1] + data[length:],
            f"that of indices, {shape_text(indices)}, without the last size, and the sizes of "
            f"data, {shape_text(data)}, from axis {length} on",
        )


def _check_cache(site: Site) -> Iterator[Finding]:
    cache, update = site.value("past_cache").shape, site.value("update").shape
    bad = [*_check_not_scalar(site, "past_cache")] or [*_check_axis(site, "past_cache")]
    yield from bad
    if bad or cache is None:
        return
    axis = site.attribute("axis") % len(cache)
    if axis == 0:
        yield site.finding(
            "axis",
            f"axis {site.attribute('axis')} is the batch axis of past_cache, shape "
            f"{shape_text(cache)}.",
            "Give the axis of the sequence.",
            argument="axis",
            value=site.attribute("axis"),
        )
        return
    if update is not None:
        yield from _check_update(site, cache, update, axis)
    starts = site.value("write_indices").shape
    if starts is not None and (len(starts) != 1 or _differ(starts[0], cache[0])):
        yield site.finding(
            "shape",
            f"write_indices has shape {shape_text(starts)}; it needs one entry for each of the "
            f"{shape_text(cache[:1])} batch rows of past_cache.",
            "Correct the shape of write_indices.",
            argument="write_indices",
            value=list(starts),
        )


def _check_update(site: Site, cache: Shape, update: Shape, axis: int) -> Iterator[Finding]:
    both = f"update has shape {shape_text(update)}, and past_cache {shape_text(cache)}"
    if len(update) != len(cache):
        yield site.finding(
            "rank",
            f"{both}; the ranks must be equal.",
            "Reshape update.",
            argument="update",
            value=len(update),
        )
        return
    for dim, (found, limit) in enumerate(zip(update, cache, strict=True)):
        if _exceeds(found, limit) if dim == axis else _differ(found, limit):
            yield site.finding(
                "shape",
                f"{both}; they must be equal but for axis {axis}, where update may be shorter.",
                "Correct the shape of update, or the axis.",
                argument="update",
                position=(dim,),
                value=found,
            )


def _check_not_scalar(site: Site, name: str) -> list[Finding]:
    if site.value(name).shape != ():
        return []
    return [
        site.finding(
            "rank",
            f"{name} is a scalar, shape (); it needs at least one dimension.",
            "Reshape it to (1,).",
            argument=name,
            value=0,
        )
    ]


def _check_axis(site: Site, name: str) -> list[Finding]:
    shape, axis = site.value(name).shape, site.attribute("axis")
    if shape is None or -len(shape) <= axis < len(shape):
        return []
    return [
        site.finding(
            "axis",
            f"axis is {axis}; it must be in [{-len(shape)}, {len(shape) - 1}] for {name} of rank "
            f"{len(shape)}, shape {shape_text(shape)}.",
            "Correct the axis.",
            argument="axis",
            value=axis,
        )
    ]


def _differ(a: Size, b: Size) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a != b


def _exceeds(a: Size, b: Size) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a > b


def _covers(a: Size, b: Size) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a >= b
