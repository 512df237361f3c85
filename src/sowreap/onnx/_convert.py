"""Models for onnxruntime in any language."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
from onnx import ModelProto

from sowreap import _core
from sowreap.onnx._errors import ModelError
from sowreap.onnx._loading import is_external, load_external_data, settle_locations
from sowreap.onnx._onnxruntime_engine import read_model
from sowreap.onnx._rewrite import Placement, rewrite


def custom_ops_library() -> str:
    """Return the path of the library that onnxruntime loads to run converted models.

    It is a plain shared library with nothing of Python in it. Programs in any language register it
    with the options of a session: ``RegisterCustomOpsLibrary_V2`` in C,
    ``register_custom_ops_library`` in Python, ``RegisterCustomOpLibrary`` in C#.

    Returns
    -------
    str

    Examples
    --------
    >>> import os, sowreap.onnx
    >>> os.path.isfile(sowreap.onnx.custom_ops_library())
    True
    """
    folder = Path(_core.__file__).parent / "onnx"
    return str(next(folder.glob("*sowreap_onnxruntime.*")))


def convert(
    model: str | os.PathLike[str] | bytes | ModelProto, path: str | os.PathLike[str]
) -> list[Placement]:
    """Write a model whose gathers and scatters run on sowreap's kernels in any onnxruntime.

    A session of the converted model needs the library :func:`custom_ops_library` registered with
    its options.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        The model; it is not changed.
    path : path
        Where to write. External data goes into one file beside it, called like it with ``.data``
        at the end.

    Returns
    -------
    list of Placement
        Where each gather and scatter will run, and why.

    Raises
    ------
    ModelError
        If the model cannot be read.
    ArgumentError
        If a gather or scatter node breaks its schema.

    See Also
    --------
    InferenceSession : does all of this by itself.
    """
    proto = read_model(model)
    if proto is None:
        name = f"file {os.fspath(model)!r}" if isinstance(model, str | os.PathLike) else "bytes"
        raise ModelError(f"model: {name} cannot be read as an ONNX model.", argument="model")
    external = is_external(proto)
    if external:
        _load_external(proto, model)
    placements = rewrite(proto)
    target = Path(path)
    if not external:
        onnx.save_model(proto, target)
        return placements
    data = target.with_name(f"{target.name}.data")
    data.unlink(missing_ok=True)  # what exists would be appended to
    onnx.save_model(proto, target, save_as_external_data=True, location=data.name)
    return placements


def _load_external(proto: ModelProto, model: object) -> None:
    if not isinstance(model, str | os.PathLike):
        raise ModelError(
            "model has external data, which only the path of a model tells where to find. "
            "Give the path.",
            argument="model",
        )
    path = Path(model)
    folder = settle_locations(proto, path.parent, "model", path.resolve().parent)
    load_external_data(proto, folder, "model")
