"""The operators as nodes of ONNX, for ``torch.onnx.export``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import ops

from sowreap._errors import ArgumentError

_INT64 = 7  # onnx.TensorProto.INT64


def onnx_translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """What ``torch.onnx.export`` needs as its ``custom_translation_table``.

    Each operator becomes the one node of ONNX that it is. Modes other than "raise", a reduction
    that is not ONNX's, and ``include_self=False`` are refused, since ONNX has none of them.
    Needs the package onnxscript, as the exporter does.

    Returns
    -------
    dict
        From ``torch.ops.sowreap.gather.default`` and the other six to functions that build nodes.

    Examples
    --------
    >>> import sowreap.torch as st
    >>> table = st.onnx_translations()  # doctest: +SKIP
    >>> torch.onnx.export(
    ...     model, inputs, dynamo=True, opset_version=18, custom_translation_table=table
    ... )  # doctest: +SKIP
    """
    import onnxscript

    new, newer = onnxscript.opset18, onnxscript.values.Opset("", 24)

    def int64(indices: Any) -> Any:
        return new.Cast(indices, to=_INT64)

    def gather(data, indices, axis=0, mode="raise", fill_value=0):  # type: ignore[no-untyped-def]
        _check_modes("Gather", mode=mode)
        return new.Gather(data, int64(indices), axis=axis)

    def gather_elements(data, indices, axis=0, mode="raise", fill_value=0):  # type: ignore[no-untyped-def]
        _check_modes("GatherElements", mode=mode)
        return new.GatherElements(data, int64(indices), axis=axis)

    def gather_nd(data, indices, batch_dims=0, mode="raise", fill_value=0):  # type: ignore[no-untyped-def]
        _check_modes("GatherND", mode=mode)
        return new.GatherND(data, int64(indices), batch_dims=batch_dims)

    def scatter(data, indices, updates, axis=0, mode="raise"):  # type: ignore[no-untyped-def]
        _check_modes("ScatterElements", mode=mode)
        return new.ScatterElements(data, int64(indices), updates, axis=axis)

    def scatter_elements(  # type: ignore[no-untyped-def]
        data, indices, updates, axis=0, reduction="none", include_self=True, mode="raise"
    ):
        _check_modes("ScatterElements", mode=mode, reduction=reduction, include_self=include_self)
        return new.ScatterElements(data, int64(indices), updates, axis=axis, reduction=reduction)

    def scatter_nd(  # type: ignore[no-untyped-def]
        data, indices, updates, reduction="none", include_self=True, mode="raise"
    ):
        _check_modes("ScatterND", mode=mode, reduction=reduction, include_self=include_self)
        return new.ScatterND(data, int64(indices), updates, reduction=reduction)

    def tensor_scatter(past_cache, update, write_indices=None, axis=-2, mode="linear"):  # type: ignore[no-untyped-def]
        starts = () if write_indices is None else (int64(write_indices),)
        return newer.TensorScatter(past_cache, update, *starts, axis=axis, mode=mode)

    builders = (
        gather,
        gather_elements,
        gather_nd,
        scatter,
        scatter_elements,
        scatter_nd,
        tensor_scatter,
    )
    return {getattr(ops.sowreap, build.__name__).default: build for build in builders}


def _check_modes(
    node: str, *, mode: str, reduction: str = "none", include_self: bool = True
) -> None:
    if mode != "raise":
        name, value = "mode", mode
    elif reduction == "mean":
        name, value = "reduction", reduction
    elif not include_self:
        name, value = "include_self", "False"
    else:
        return
    raise ArgumentError(
        f"{node}: {name} = {value!r} has no counterpart in ONNX and cannot be exported.",
        operator=node,
        argument=name,
        value=value,
    )
