"""Models from paths, bytes and protos: external data, broken files, unknown operators."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from family import reference_session
from numpy.testing import assert_array_equal
from onnx import TensorProto, helper, numpy_helper
from onnx.parser import parse_model

import sowreap
from sowreap.onnx import InferenceSession, ModelError

TABLE = np.arange(400, dtype=np.float32).reshape(100, 4)


def table_model() -> onnx.ModelProto:
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (int64[n] i) => (float[n, 4] y) { y = Gather (table, i) }"""
    )
    model.graph.initializer.append(numpy_helper.from_array(TABLE, "table"))
    return model


def external_model(location: str, *, length: int | None = None) -> onnx.ModelProto:
    """A model whose table lies in the file at `location`."""
    model = table_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    if length is not None:
        tensor.external_data.add(key="length", value=str(length))
    return model


def run(session: InferenceSession) -> np.ndarray:
    return session.run(None, {"i": np.array([99, -1, 3])})[0]


def test_path_bytes_and_proto(tmp_path: Path):
    path = tmp_path / "model.onnx"
    onnx.save(table_model(), path)
    content = path.read_bytes()
    for model in (path, str(path), content, bytearray(content), memoryview(content), table_model()):
        assert_array_equal(run(reference_session(model)), TABLE[[99, 99, 3]])


def test_external_data_beside_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "deep" / "model.onnx"
    path.parent.mkdir()
    onnx.save(
        table_model(), path, save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    assert (path.parent / "weights.bin").stat().st_size >= TABLE.nbytes
    assert_array_equal(run(reference_session(path)), TABLE[[99, 99, 3]])
    monkeypatch.chdir(path.parent)
    assert_array_equal(run(reference_session("model.onnx")), TABLE[[99, 99, 3]])


def test_external_data_in_a_subfolder_and_in_a_constant(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "table").write_bytes(TABLE.tobytes())
    model = external_model("data/table")
    constant = helper.make_node("Constant", [], ["table"], value=model.graph.initializer[0])
    del model.graph.initializer[:]
    model.graph.node.insert(0, constant)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    assert_array_equal(run(reference_session(tmp_path / "model.onnx")), TABLE[[99, 99, 3]])


@pytest.mark.parametrize("kind", ["parent", "absolute", "link", "folder link"])
def test_external_data_outside_the_folder_is_refused(tmp_path: Path, kind: str):
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    secret = outside / "secret"
    secret.write_bytes(TABLE.tobytes())
    location = {"parent": "../outside/secret", "absolute": str(secret)}.get(kind, "linked")
    if kind == "link":
        os.symlink(secret, inside / "linked")
    if kind == "folder link":
        os.symlink(outside, inside / "folder")
        location = "folder/secret"
    path = inside / "model.onnx"
    path.write_bytes(external_model(location).SerializeToString())
    with pytest.raises(
        ModelError, match=r"model\.onnx': external data of tensor 'table'.* outside"
    ):
        reference_session(path)


def test_external_data_that_is_missing_or_short_is_refused(tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(external_model("nowhere").SerializeToString())
    with pytest.raises(ModelError, match=r"external data cannot be read: .*nowhere"):
        reference_session(path)
    (tmp_path / "short").write_bytes(TABLE.tobytes()[:100])
    for length in (None, TABLE.nbytes, 100):
        path.write_bytes(external_model("short", length=length).SerializeToString())
        with pytest.raises(ModelError):
            reference_session(path)


def test_external_data_without_a_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "weights").write_bytes(TABLE.tobytes())
    monkeypatch.chdir(tmp_path)
    model = external_model("weights")
    for alone in (model, model.SerializeToString()):
        with pytest.raises(ModelError, match=r"tensor 'table' has external data.* Give the path"):
            reference_session(alone)


def test_missing_file_folder_and_other_objects_are_refused(tmp_path: Path):
    with pytest.raises(ModelError, match=r"'.*none\.onnx' cannot be read: it does not exist\."):
        reference_session(tmp_path / "none.onnx")
    with pytest.raises(ModelError, match="cannot be read: Is a directory"):
        reference_session(tmp_path)
    with pytest.raises(sowreap.DtypeError, match="model is a int; it must be a path, bytes"):
        reference_session(3)
    assert issubclass(ModelError, sowreap.SowreapError)
    assert issubclass(ModelError, ValueError)


def test_truncated_and_foreign_files_are_refused(tmp_path: Path):
    content = table_model().SerializeToString()
    path = tmp_path / "model.onnx"
    for keep in (0, 1, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:keep])
        with pytest.raises(ModelError, match=r"model\.onnx'"):
            reference_session(path)
        with pytest.raises(ModelError):
            reference_session(content[:keep])
    with pytest.raises(ModelError, match="9 bytes that are no ONNX model"):
        reference_session(b"PK\x03\x04\xff\xff\xff\xff\xff")


def test_bytes_that_only_one_parser_of_protobuf_takes_are_refused():
    """A field of the number 0 in an unknown group: not checked when a model is read."""
    content = table_model().SerializeToString() + b"\x0b\x00\x00\x0c"
    with pytest.raises(ModelError, match=r"model is broken: .* malformed"):
        reference_session(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.graph.node[0].input.__setitem__(0, "nothing"), "nothing"),
        (lambda m: setattr(m.graph.node[0], "op_type", "Gahter"), "Gahter"),
        (lambda m: setattr(m.graph.node[0], "domain", "strange"), "strange"),
        (lambda m: m.ClearField("opset_import"), "opset_import"),
        (lambda m: m.graph.ClearField("input"), "'?i'?"),
        (lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 127), "'i' is unknown"),
        (lambda m: setattr(m, "ir_version", 9999), "ir_version|IR version"),
        (lambda m: setattr(m.graph.initializer[0], "raw_data", b"1234"), "table|size"),
    ],
    ids=["input", "operator", "domain", "opset", "graph input", "type", "IR", "tensor"],
)
def test_broken_model_is_refused_with_the_reason(change, message: str):
    model = table_model()
    change(model)
    with pytest.raises(ModelError, match=message) as caught:
        reference_session(model)
    assert "\n" not in str(caught.value)


def test_operator_that_the_engine_lacks_is_refused():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18, "com.microsoft": 1]>
        main (float[n] x) => (float[n] y) { y = com.microsoft.FastGelu (x) }"""
    )
    with pytest.raises(ModelError, match=r"reference engine cannot run the model: .*FastGelu"):
        reference_session(model)


def test_model_beyond_one_message_runs_unchecked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(onnx.checker, "MAXIMUM_PROTOBUF", TABLE.nbytes - 1)
    monkeypatch.setattr(onnx.checker, "check_model", None)
    assert_array_equal(run(reference_session(table_model())), TABLE[[99, 99, 3]])


def test_inputs_and_outputs_of_unknown_rank():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (float[n] x, int64[n] i) => (float[n] y, z) {
            y = Gather (x, i)
            z = Identity (y)
        }"""
    )
    for info in (*model.graph.input, model.graph.output[0]):
        info.type.tensor_type.ClearField("shape")
    session = reference_session(model)
    outputs = [(item.type, item.shape) for item in session.get_outputs()]
    assert outputs == [("tensor(float)", []), ("undefined", [])]
    for x in (np.zeros(3, np.float32), np.ones((2, 3), np.float32)):
        y, z = session.run(None, {"x": x, "i": np.array([[1]])})
        assert_array_equal(y, x[[[1]]])
        assert_array_equal(z, y)


def test_model_of_the_caller_stays_as_it_is():
    model = table_model()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    before = model.SerializeToString(deterministic=True)
    run(reference_session(model))
    assert model.SerializeToString(deterministic=True) == before
