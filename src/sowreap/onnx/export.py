"""A whole model as Python source."""

from __future__ import annotations

import os
from pathlib import Path

from onnx import ModelProto

from sowreap.onnx._export.module import Module, archive
from sowreap.onnx._loading import load_model
from sowreap.onnx.session import InferenceSession


def to_python(
    model: str | os.PathLike[str] | bytes | ModelProto,
    *,
    weights: str | os.PathLike[str] | None = None,
) -> str:
    """Return a Python script that computes what a model computes.

    The script needs NumPy and sowreap, and for operators that neither spells, onnx's reference
    evaluator. It holds a function for the graph and for each local function, with a line for each
    node and with loops and branches for Loop, Scan and If. Run as a command it takes an ``.npz``
    file of inputs and writes one of outputs.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        The model. Nothing in it becomes code but the meaning of its nodes.
    weights : path, optional
        File for arrays that do not fit on a line; the script looks for it, by its name, in its own
        folder. It is written only if there are such arrays. Without it they are in the script.

    Returns
    -------
    str
        The source.

    Raises
    ------
    ModelError
        If the model is broken, or has an operator that onnx's evaluator lacks or that has no form
        in Python.

    Examples
    --------
    >>> from onnx.parser import parse_model
    >>> source = to_python(parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ... messages (float[n, 8] nodes, int64[m] sources) => (float[m, 8] active) {
    ...     sent = Gather (nodes, sources)
    ...     active = Relu (sent)
    ... }'''))
    >>> print(source[source.index("    sent =") : source.index("INPUTS")].strip())
    sent = sr.gather(nodes, sources)
        active = np.maximum(sent, 0)
        return active
    """
    file = None if weights is None else Path(weights)
    source, arrays = _script(model, file)
    if file is not None and arrays:
        file.write_bytes(arrays)
    return source


def write_script(
    model: str | os.PathLike[str] | bytes | ModelProto, path: str | os.PathLike[str]
) -> Path | None:
    """Write the script of a model to `path`, and its weights to an ``.npz`` file beside it.

    Returns
    -------
    pathlib.Path or None
        The file of weights, if there are any.
    """
    script = Path(path)
    weights = script.with_suffix(".npz")
    source, arrays = _script(model, weights)
    if arrays:
        weights.write_bytes(arrays)
    script.write_text(source, encoding="utf-8")
    return weights if arrays else None


def _script(
    model: str | os.PathLike[str] | bytes | ModelProto, weights: Path | None
) -> tuple[str, bytes]:
    """Return the source, and what the file of weights holds: nothing if it needs none."""
    proto = load_model(model)
    module = Module(proto)
    source = module.source(weights)
    if module.needs_evaluator:
        InferenceSession(proto, engine="reference")  # refuses operators that it lacks
    return source, archive(module.weights) if module.weights else b""
