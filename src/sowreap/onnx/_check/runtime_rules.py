"""What runtimes refuse or get wrong at a node that the standard allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from sowreap.directml import NoDescriptorError, from_onnx, schema
from sowreap.onnx._check.findings import Finding
from sowreap.onnx._check.sites import Site

_HALF = ("float16", "bfloat16")
_COMPLEX = ("complex64", "complex128")
_REFERENCE_CHOICES = 64  # NumPy's choose takes fewer arrays than this


def check_types(site: Site) -> Iterator[Finding]:
    """Yield element types for which a reduction is undefined, or which a runtime gets wrong."""
    data = site.schema.inputs[0]
    element, reduction = site.element(data), site.reduction
    if element is None:
        return
    undefined = _undefined(site.operator, element, reduction)
    if undefined:
        yield site.finding(
            "type-reduction",
            f"reduction {reduction} has no meaning for {data} of type {element}.",
            "Cast to a type of numbers, or use another reduction.",
            *undefined,
            argument="reduction",
            value=reduction,
        )
        return
    statement = _trouble(site, element, reduction)
    if statement:
        what = f"{data} is of type {element}"
        what += f" and reduction {reduction}" if reduction != "none" else ""
        yield site.finding(
            "type-runtime",
            f"{what}, which the standard allows and a runtime does not manage.",
            "Cast around the node, or use sowreap.onnx.InferenceSession.",
            statement,
            argument=data,
            value=element,
        )


def _undefined(operator: str, element: str, reduction: str) -> tuple[str, ...]:
    """Return statements about a reduction that the element type does not have."""
    if element == "string" and reduction in ("mul", "min", "max"):
        is_ordered = operator == "ScatterElements" and reduction != "mul"
        return ("ort-text-reduction", *(("ref-text-order",) if is_ordered else ()))
    if element in _COMPLEX and reduction in ("min", "max"):
        return ("ort-complex", "ref-complex-order")
    return ()


def _trouble(site: Site, element: str, reduction: str) -> str | None:
    """Return the id of the statement about a runtime that does not manage the element type."""
    if element in _COMPLEX:
        return "ort-complex"
    if element == "string":
        return "ort-text-gather" if site.operator == "Gather" and _has_slices(site) else None
    if element == "bool" and reduction in ("min", "max"):
        return "ort-bool-max"
    if element in _HALF and reduction in ("add", "mul"):
        return "ort-half-add"
    if element in _HALF and reduction in ("min", "max"):
        is_taken = site.operator == "ScatterElements" and element == "float16"
        return None if is_taken else "ort-half-max"
    return None


def _has_slices(site: Site) -> bool:
    """Return whether what one index of Gather addresses has more than one item, for certain."""
    shape = site.value("data").shape
    if not shape:
        return False
    inner = shape[site.attribute("axis") % len(shape) + 1 :]
    return 0 not in inner and any(isinstance(size, int) and size > 1 for size in inner)


def check_limits(site: Site) -> Iterator[Finding]:
    """Yield limits of onnx's reference evaluator that the node goes beyond."""
    if site.operator != "GatherElements":
        return
    data, indices = site.value("data").shape, site.value("indices").shape
    if data is None:
        return
    axis = site.attribute("axis") % len(data)
    length = data[axis]
    if isinstance(length, int) and length >= _REFERENCE_CHOICES:
        yield site.finding(
            "runtime-limit",
            f"axis {axis} of data has length {length}.",
            "Give sowreap.onnx.reference_ops() to the evaluator.",
            "ref-gather-elements-long",
            argument="data",
            position=(axis,),
            value=length,
        )
    for dim, (size, other) in enumerate(zip(indices or (), data, strict=False)):
        if dim != axis and isinstance(size, int) and isinstance(other, int) and size < other:
            yield site.finding(
                "runtime-limit",
                f"indices has size {size} in dimension {dim}, and data {other}.",
                "Give sowreap.onnx.reference_ops() to the evaluator.",
                "ref-gather-elements-small",
                argument="indices",
                position=(dim,),
                value=size,
            )
            return


def check_directml(site: Site, feature_level: str | int) -> Iterator[Finding]:
    """Yield the reason why DirectML has no descriptor for the node.

    Without all sizes only what depends on none of them counts: all are taken as 1, and so agree.
    """
    values = [site.value(name) for name in site.schema.inputs[: len(site.node.input)]]
    shapes = [(1,) if value.shape is None else value.shape for value in values]
    dtypes = [value.dtype for value in values]
    if any(value.dtype is None or value.shape is None for value in values):
        if site.reduction == "none":
            return
        dtypes = [np.dtype("float32")] * len(values)
    if any(not isinstance(size, int) for shape in shapes for size in shape):
        shapes = [(1,) * len(shape) for shape in shapes]
    try:
        from_onnx(site.node, cast(Any, shapes), dtypes, feature_level)
    except NoDescriptorError as error:
        level = schema.feature_level(feature_level)
        name = next(each for each, value in schema.FEATURE_LEVELS.items() if value == level)
        yield site.finding(
            "directml",
            f"DirectML has no descriptor for it at feature level {name}: {error.reason}.",
            "Nothing, unless the model must run on DirectML alone.",
            value=error.value if isinstance(error.value, str | int) else None,
        )
