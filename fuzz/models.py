#!/usr/bin/env python3
"""An atheris target: mutated ONNX models, and external data that tries to leave its folder.

A model runs, or is refused by an error of ours or of the engine. Data of the host beside the folder
of a model is never read.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import atheris
import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.parser import parse_model

import sowreap
from instrument import instrument
from sowreap.onnx import InferenceSession

MOST_ITEMS = 4096  # of an input that the model declares
SECRET = 0xEE
ENGINES = ("reference", "onnxruntime")
ONNXRUNTIME = str(Path(onnxruntime.__file__).parent)
onnxruntime.set_default_logger_severity(4)

HEAD = '<ir_version: 10, opset_import: ["": {opset}, "own": 1]>\n'
GRAPHS = (
    (18, "g (float[n, 3] x, int64[m] i) => (float[m, 3] y) { y = Gather <axis = 0> (x, i) }"),
    (13, "g (float[2, 3] x, int32[2, 3] i) => (float[2, 3] y) { y = GatherElements(x, i) }"),
    (
        13,
        "g (int64[2, 3] x, int64[2, 1] i) => (int64[2] y) { y = GatherND <batch_dims = 1> (x, i) }",
    ),
    (10, "g (float[4] x, int64[2] i, float[2] u) => (float[4] y) { y = Scatter(x, i, u) }"),
    (
        18,
        "g (float16[4, 2] x, int64[4, 2] i) => (float16[4, 2] y)"
        ' { y = ScatterElements <axis = 1, reduction = "add"> (x, i, x) }',
    ),
    (
        18,
        "g (double[4, 2] x, int64[3, 1] i, double[3, 2] u) => (double[4, 2] y)"
        ' { a = ScatterND <reduction = "max"> (x, i, u) y = Identity(a) }',
    ),
    (
        24,
        "g (float[2, 4, 1] x, float[2, 2, 1] u, int64[2] w) => (float[2, 4, 1] y)"
        ' { y = TensorScatter <mode = "circular"> (x, u, w) }',
    ),
    (
        18,
        "g (bool c, float[3] x, int64[2] i) => (float[2] y) { y = If (c) <then_branch = t"
        " () => (float[2] a) { a = Gather(x, i) }, else_branch = e () => (float[2] b)"
        " { b = GatherElements(x, i) }> }",
    ),
    (
        18,
        "g (float[3] x, int64[2] i) => (float[2] y) { y = own.pick(x, i) }\n"
        '<domain: "own", opset_import: ["": 18]> pick (a, b) => (c) { c = Gather(a, b) }',
    ),
)
PIECES = ("..", "/", "secret", "link", "inside", "sub", ".", "\\", "\0", "%2e", "é", "fifo", "//")


def seeds() -> list[bytes]:
    """Return valid models, one for each operator and way to nest one."""
    texts = [HEAD.format(opset=opset) + text for opset, text in GRAPHS]
    return [parse_model(text).SerializeToString() for text in texts]


MODELS = seeds()


def host_folder() -> Path:
    """Make a folder with a secret, and in it one for the model with links that lead out."""
    host = Path(tempfile.mkdtemp(prefix="sowreap-fuzz-"))
    atexit.register(shutil.rmtree, host, ignore_errors=True)
    (host / "secret").write_bytes(bytes([SECRET]) * 64)
    folder = host / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "inside").write_bytes(bytes(64))
    (folder / "sub" / "inside").write_bytes(bytes(64))
    (folder / "link").symlink_to(host / "secret")
    (folder / "sub" / "link").symlink_to(host)
    os.mkfifo(folder / "fifo")
    return folder


FOLDER = host_folder()


def mutated(content: bytes, source: atheris.FuzzedDataProvider) -> bytes:
    """Change, drop or repeat some bytes."""
    block = bytearray(content)
    for _ in range(source.ConsumeIntInRange(0, 6)):
        at, kind = source.ConsumeIntInRange(0, len(block) - 1), source.ConsumeIntInRange(0, 3)
        if kind == 0:
            block[at] = source.ConsumeIntInRange(0, 255)
        elif kind == 1:
            block[at] ^= 1 << source.ConsumeIntInRange(0, 7)
        elif kind == 2:
            del block[at : at + source.ConsumeIntInRange(1, 4)]
        else:
            block[at:at] = block[at : at + source.ConsumeIntInRange(1, 4)]
        if not block:
            break
    return bytes(block)


def feed(argument, source: atheris.FuzzedDataProvider):
    """Return an array as declared, with small whole numbers, or None where that cannot be."""
    shape = [n if isinstance(n, int) else source.ConsumeIntInRange(0, 4) for n in argument.shape]
    if not argument.type.startswith("tensor(") or np.prod(shape, dtype=float) > MOST_ITEMS:
        return None
    try:
        kind = TensorProto.DataType.Value(argument.type[7:-1].upper())
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        flat = [source.ConsumeIntInRange(0, 3) for _ in range(min(int(np.prod(shape)), 32))]
        return np.resize(np.array(flat, np.int64), shape).astype(dtype)
    except (ValueError, KeyError, TypeError):
        return None


def opened(model: bytes | Path, source: atheris.FuzzedDataProvider) -> InferenceSession:
    """Open a model on one of the engines."""
    if ENGINES[source.ConsumeIntInRange(0, 1)] == "reference":
        return InferenceSession(model, engine="reference")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return InferenceSession(model, options)


def is_refusal(error: Exception) -> bool:
    """Return whether an error is one of ours, or was raised by onnxruntime itself."""
    if isinstance(error, sowreap.SowreapError | MemoryError):
        return True
    return traceback.extract_tb(error.__traceback__)[-1].filename.startswith(ONNXRUNTIME)


def fuzz_model(source: atheris.FuzzedDataProvider) -> None:
    """Open and run a mutated model."""
    model = mutated(MODELS[source.ConsumeIntInRange(0, len(MODELS) - 1)], source)
    try:
        session = opened(model, source)
        feeds = {each.name: feed(each, source) for each in session.get_inputs()}
        if all(value is not None for value in feeds.values()):
            session.run(None, feeds)
    except Exception as error:
        if not is_refusal(error):
            raise


def fuzz_location(source: atheris.FuzzedDataProvider) -> None:
    """Open a model whose weights lie somewhere."""
    words = [PIECES[source.ConsumeIntInRange(0, len(PIECES) - 1)] for _ in range(6)]
    count = source.ConsumeIntInRange(1, 6)
    join = "/" if source.ConsumeBool() else ""
    location = join.join(words[:count])
    if source.ConsumeIntInRange(0, 7) == 0:
        location = f"{FOLDER.parent}/{location}"
    tensor = TensorProto(name="table", data_type=TensorProto.UINT8, dims=[8])
    tensor.data_location = TensorProto.EXTERNAL
    try:
        tensor.external_data.add(key="location", value=location)
    except ValueError:
        return
    for key in ("offset", "length"):
        if source.ConsumeBool():
            number = (0, 8, 56, 64, -1, 2**31, 2**63)[source.ConsumeIntInRange(0, 6)]
            tensor.external_data.add(key=key, value=str(number))
    graph = parse_model(
        HEAD.format(opset=18) + "g (int64[m] i) => (uint8[m] y) { y = Gather(table, i) }"
    )
    graph.graph.initializer.append(tensor)
    path = FOLDER / "model.onnx"
    path.write_bytes(graph.SerializeToString())
    try:
        (got,) = opened(path, source).run(None, {"i": np.arange(8)})
    except Exception as error:
        if not is_refusal(error):
            raise
        return
    assert SECRET not in got, f"read {location!r}"


def fuzz(data: bytes) -> None:
    """Choose one of the two."""
    source = atheris.FuzzedDataProvider(data)
    (fuzz_location if source.ConsumeIntInRange(0, 3) == 0 else fuzz_model)(source)


if __name__ == "__main__":
    instrument("sowreap", "__main__")
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
