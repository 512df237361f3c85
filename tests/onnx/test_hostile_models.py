"""Models from strangers: no file outside the model's folder is read, no memory without bound."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import AttributeProto, ModelProto, TensorProto, helper
from onnx.parser import parse_model

import sowreap
from sowreap._cli.app import cli
from sowreap.onnx import InferenceSession

SECRET = 0xEE
SIZE = 8


def parsed(body: str, functions: str = "") -> ModelProto:
    head = '<ir_version: 10, opset_import: ["": 18, "own": 1]>'
    return parse_model(f"{head}\n{body}\n{functions}")


def external(location: str, **more: int) -> TensorProto:
    tensor = TensorProto(name="table", data_type=TensorProto.UINT8, dims=[SIZE])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    for key, value in more.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def in_initializer(tensor: TensorProto) -> ModelProto:
    model = parsed("main (int64[n] i) => (uint8[n] y) { y = Gather (table, i) }")
    model.graph.initializer.append(tensor)
    return model


def in_constant(tensor: TensorProto) -> ModelProto:
    model = parsed("main (int64[n] i) => (uint8[n] y) { y = Gather (table, i) }")
    model.graph.node.insert(0, helper.make_node("Constant", [], ["table"], value=tensor))
    return model


def in_branch(tensor: TensorProto) -> ModelProto:
    model = parsed(
        "main (int64[n] i) => (uint8[n] y) { c = Constant <value_int = 1> () d = Cast <to = 9> (c)"
        " y = If (d) <then_branch = t () => (uint8[n] a) { a = Gather(table, i) },"
        " else_branch = e () => (uint8[n] b) { b = Gather(table, i) }> }"
    )
    for attribute in model.graph.node[-1].attribute:
        attribute.g.initializer.append(tensor)
    return model


def in_function(tensor: TensorProto) -> ModelProto:
    model = parsed(
        "main (int64[n] i) => (uint8[n] y) { y = own.pick(i) }",
        '<domain: "own", opset_import: ["": 18]> pick (j) => (z) { z = Gather(table, j) }',
    )
    constant = helper.make_node("Constant", [], ["table"], value=tensor)
    model.functions[0].node.insert(0, constant)
    return model


def in_default(tensor: TensorProto) -> ModelProto:
    """The default of a function's attribute."""
    model = in_function(tensor)
    function = model.functions[0]
    default = AttributeProto(name="t", type=AttributeProto.TENSOR, t=tensor)
    function.attribute_proto.append(default)
    linked = function.node[0].attribute[0]
    linked.ClearField("t")
    linked.ref_attr_name = "t"
    return model


def in_sparse(tensor: TensorProto, place: str) -> onnx.SparseTensorProto:
    sparse = onnx.SparseTensorProto(dims=[SIZE])
    plain = TensorProto(
        name="table_indices", data_type=TensorProto.INT64, dims=[SIZE], int64_data=range(SIZE)
    )
    sparse.values.CopyFrom(tensor)
    sparse.indices.CopyFrom(plain)
    if place == "indices":
        sparse.indices.CopyFrom(tensor)
        sparse.indices.data_type = TensorProto.INT64
        sparse.indices.dims[:] = [1]
    return sparse


def in_sparse_initializer(tensor: TensorProto) -> ModelProto:
    model = parsed("main (int64[n] i) => (uint8[n] y) { y = Gather (table, i) }")
    model.graph.sparse_initializer.append(in_sparse(tensor, "values"))
    return model


def in_sparse_constant(tensor: TensorProto) -> ModelProto:
    model = parsed("main (int64[n] i) => (uint8[n] y) { y = Gather (table, i) }")
    node = helper.make_node("Constant", [], ["table"])
    attribute = node.attribute.add(name="sparse_value", type=AttributeProto.SPARSE_TENSOR)
    attribute.sparse_tensor.CopyFrom(in_sparse(tensor, "values"))
    model.graph.node.insert(0, node)
    return model


HIDDEN = [
    in_initializer,
    in_constant,
    in_branch,
    in_function,
    in_default,
    in_sparse_initializer,
    in_sparse_constant,
]


@pytest.fixture(params=["reference", "onnxruntime"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="the engine is optional")
    return request.param


def is_refusal(error: Exception) -> bool:
    """Whether it is an error of ours or one that onnxruntime has classes for."""
    is_own = isinstance(error, sowreap.SowreapError)
    return is_own or type(error).__module__.startswith("onnxruntime.")


def refused_or_blind(open_session: Callable[[], InferenceSession]) -> None:
    """An error, or a result without the secret."""
    try:
        (got,) = open_session().run(None, {"i": np.arange(SIZE)})
    except Exception as error:
        if not is_refusal(error):
            raise
        return
    assert SECRET not in got


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model; the secret lies beside it, and links in it lead there."""
    inside = tmp_path / "model"
    inside.mkdir()
    (tmp_path / "secret").write_bytes(bytes([SECRET]) * SIZE)
    os.symlink(tmp_path / "secret", inside / "link")
    os.symlink(tmp_path, inside / "out")
    return inside


WAYS_OUT = [
    "secret",
    "../secret",
    "{host}/secret",
    "link",
    "out/secret",
    "./../secret",
    "x/../../secret",
]


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda make: make.__name__)
@pytest.mark.parametrize("location", WAYS_OUT)
def test_no_file_outside_the_folder_is_read(hidden, location, engine, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    path = folder / "model.onnx"
    tensor = external(location.format(host=folder.parent))
    path.write_bytes(hidden(tensor).SerializeToString())
    refused_or_blind(lambda: InferenceSession(path, engine=engine))


COMMANDS = {
    "run": "run {model} --inputs {inputs} --engine reference --outputs {made}/outputs.npz",
    "run on onnxruntime": "run {model} --inputs {inputs} --engine onnxruntime"
    " --outputs {made}/outputs.npz",
    "compare": "run {model} --inputs {inputs} --compare onnx --outputs {made}/outputs.npz",
    "check": "check {model} --inputs {inputs} --json",
    "convert": "convert {model} -o {made}/model.onnx",
    "export": "export {model} -o {made}/script.py",
    "explain": "explain {model} --node pick --inputs {inputs}",
}


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, ModelProto], Result]:
    """Give a model to a command, which may write into the folder `made`."""
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("COLUMNS", "200")
    inputs, made, path = folder.parent / "i.npz", folder.parent / "made", folder / "model.onnx"
    np.savez(inputs, i=np.arange(SIZE))
    made.mkdir()

    def run(name: str, model: ModelProto) -> Result:
        if "onnxruntime" in name:
            pytest.importorskip("onnxruntime", reason="the engine is optional")
        for node in (*model.graph.node, *(n for f in model.functions for n in f.node)):
            node.name = "pick" if node.op_type == "Gather" else node.name
        path.write_bytes(model.SerializeToString())
        words = COMMANDS[name].split()
        return CliRunner().invoke(
            cli, [word.format(model=path, inputs=inputs, made=made) for word in words]
        )

    return run


def tells_secret(result: Result, made: Path) -> bool:
    """Whether what a command printed or wrote holds the bytes of the file."""
    written = b"".join(each.read_bytes() for each in made.iterdir())
    return bytes([SECRET]) * SIZE in written or str(SECRET) in result.output + str(written)


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_reads_a_file_outside_the_folder(name, hidden, call, folder):
    for location in WAYS_OUT:
        result = call(name, hidden(external(location.format(host=folder.parent))))
        assert result.exit_code in (0, 1, 2), result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert not tells_secret(result, folder.parent / "made"), location


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "check"])
def test_commands_tell_what_lies_in_the_folder(name, call, folder):
    """Without which the test above would not know."""
    (folder / "inside").write_bytes(bytes([SECRET]) * SIZE)
    result = call(name, in_initializer(external("inside")))
    assert result.exit_code == 0, result.output
    assert tells_secret(result, folder.parent / "made")


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda make: make.__name__)
def test_bytes_read_no_file_at_all(hidden, engine, folder, monkeypatch):
    """Without a path there is no folder; the working directory is none of the model's business."""
    monkeypatch.chdir(folder.parent)
    model = hidden(external("secret"))
    refused_or_blind(lambda: InferenceSession(model, engine=engine))
    refused_or_blind(lambda: InferenceSession(model.SerializeToString(), engine=engine))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_not_waited_for(engine, folder):
    os.mkfifo(folder / "pipe")
    (folder / "model.onnx").write_bytes(in_initializer(external("pipe")).SerializeToString())
    code = """
import sys
from sowreap.onnx import InferenceSession
try:
    InferenceSession(sys.argv[1], engine=sys.argv[2])
except Exception as error:
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", code, folder / "model.onnx", engine],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "refused\n"


@pytest.mark.parametrize("length", [2**40, 2**62, -1, 10**30])
@pytest.mark.parametrize("key", ["length", "offset"])
def test_external_data_of_any_length(key, length, engine, folder):
    (folder / "table").write_bytes(bytes(SIZE))
    path = folder / "model.onnx"
    path.write_bytes(in_initializer(external("table", **{key: length})).SerializeToString())
    with pytest.raises(Exception) as caught:  # noqa: PT011
        InferenceSession(path, engine=engine)
    assert is_refusal(caught.value)


def without_outputs(model: ModelProto) -> None:
    del model.graph.node[1].output[:]


def without_shape(model: ModelProto) -> None:
    del model.graph.node[0].input[1:]


def nameless_without_outputs(model: ModelProto) -> None:
    model.graph.node[1].domain = "sowreap"
    without_outputs(model)


def with_graphs_of_another_type(model: ModelProto) -> None:
    attribute = model.graph.node[1].attribute.add(name="axis", type=AttributeProto.GRAPH)
    attribute.graphs.add()


def with_two_functions_of_one_name(model: ModelProto) -> None:
    function = model.functions.add(domain="own", name="F", input=["x"], output=["y"])
    function.node.append(helper.make_node("Gather", ["x", "x"], ["y"]))
    function.opset_import.append(helper.make_opsetid("", 18))
    model.functions.append(function)


def with_an_element_type_of_its_own(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = 2**31 - 1


BROKEN = (
    without_outputs,
    without_shape,
    nameless_without_outputs,
    with_graphs_of_another_type,
    with_two_functions_of_one_name,
    with_an_element_type_of_its_own,
)


@pytest.mark.parametrize("breaks", BROKEN, ids=lambda breaks: breaks.__name__)
def test_broken_nodes_are_refused_by_onnxruntime_or_by_name(breaks):
    """What reads a model before onnxruntime does must not stumble over what it would refuse."""
    ort = pytest.importorskip("onnxruntime", reason="the engine is optional")
    model = parsed(
        "main (float[n, k] data, int64[m] i, int64[1] shape) => (float[p, k] y)"
        " { e = Expand (i, shape) y = Gather (data, e) }"
    )
    breaks(model)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception) as caught:  # noqa: PT011
        InferenceSession(model, options, engine="onnxruntime")
    assert is_refusal(caught.value)


def misspelt(model: ModelProto, word: str) -> ModelProto:
    """The model with a byte in the word that begins no character of UTF-8."""
    content, name = model.SerializeToString(), word.encode()
    assert name in content
    return ModelProto.FromString(content.replace(name, name[:-1] + b"\xee"))


def with_words() -> ModelProto:
    """A model whose every string is a word of its own."""
    model = parsed(
        "graph (uint8[DIM] x, int64[n] i) => (uint8[n] OUT)"
        " { INNER = own.FUNCTION <ATTRIBUTE = 1> (x, i) OUT = Identity (INNER) }",
        '<domain: "own", opset_import: ["": 18]> FUNCTION <ATTRIBUTE> (a, FORMAL) => (b)'
        " { b = Gather (a, FORMAL) }",
    )
    model.graph.node[0].name = "NODE"
    model.graph.initializer.append(external("LOCATION"))
    model.doc_string, model.producer_name, model.graph.doc_string = "PROSE1", "PROSE2", "PROSE3"
    model.metadata_props.add(key="PROSE4", value="PROSE5")
    return model


NAMES = ("DIM", "OUT", "INNER", "NODE", "FUNCTION", "ATTRIBUTE", "FORMAL", "LOCATION", "Identity")


@pytest.mark.parametrize("word", [*NAMES, "own", "graph"])
def test_names_that_are_no_text_are_refused(word, engine, folder):
    model = misspelt(with_words(), word)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    for form, name in ((path, "model file '.*'"), (model, "model"), (path.read_bytes(), "model")):
        with pytest.raises(
            sowreap.onnx.ModelError, match=rf"{name} is broken: \w+\.\w+ is b'.*UTF-8"
        ):
            InferenceSession(form, engine=engine)


@pytest.mark.parametrize("word", ["PROSE1", "PROSE2", "PROSE3", "PROSE4", "PROSE5"])
def test_prose_in_any_encoding_does_not_keep_a_model_from_running(word, engine, folder):
    (folder / "LOCATION").write_bytes(bytes(SIZE))
    path = folder / "model.onnx"
    path.write_bytes(misspelt(with_words(), word).SerializeToString())
    x, i = np.arange(3, dtype=np.uint8), np.array([2, 0])
    (found,) = InferenceSession(path, engine=engine).run(None, {"x": x, "i": i})
    np.testing.assert_array_equal(found, x[i])


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_refuse_names_that_are_no_text(name, call):
    result = call(name, misspelt(with_words(), "INNER"))
    assert result.exit_code == 2, result.output
    assert "which is not UTF-8" in result.output


@pytest.mark.parametrize("number", [2**31 - 1, -1, 99])
def test_an_unknown_element_type_is_named(number):
    model = parsed("main (float[n] x) => (float[n] y) { y = Identity (x) }")
    model.graph.input[0].type.tensor_type.elem_type = number
    with pytest.raises(sowreap.onnx.ModelError, match=f"element type {number}"):
        InferenceSession(model, engine="reference").run(None, {"x": np.zeros(2, np.float32)})
    with pytest.raises(sowreap.onnx.ModelError, match=f"element type {number}"):
        sowreap.onnx.to_python(model)


def test_a_constant_without_a_value_is_refused_by_name():
    model = parsed("main (float[n] x) => (float[n] y) { c = Constant () y = Add (x, c) }")
    with pytest.raises(sowreap.onnx.ModelError, match=r"0 attributes|broken"):
        sowreap.onnx.to_python(model)


def test_the_check_reads_a_constant_whose_value_its_caller_gives():
    model = parsed(
        "main (float[n] x) => (float[n] y) { y = own.F (x) }",
        '<domain: "own", opset_import: ["": 18]> F <v> (x) => (y)'
        " { i = Constant <value_ints: ints = @v> () y = Gather (x, i) }",
    )
    assert sowreap.onnx.check(model) is not None


def doubling(levels: int) -> ModelProto:
    """Each function calls the next one twice."""
    head = '<domain: "own", opset_import: ["": 18, "own": 1]>'
    functions = [
        f"{head} F{i} (d, i) => (o) {{ a = own.F{i + 1} (d, i) o = own.F{i + 1} (a, i) }}"
        for i in range(levels)
    ]
    functions.append(
        f'{head} F{levels} (d, i) => (o) {{ o = ScatterElements <reduction = "add"> (d, i, d) }}'
    )
    main = "main (float[n] d, int64[n] i) => (float[n] o) { o = own.F0 (d, i) }"
    return parsed(main, "\n".join(functions))


def mutual(count: int) -> ModelProto:
    """Each function calls all others."""
    head = '<domain: "own", opset_import: ["": 18, "own": 1]>'
    functions = []
    for i in range(count):
        calls = " ".join(f"a{j} = own.F{j} (d, i)" for j in range(count) if j != i)
        end = 'o = ScatterElements <reduction = "add"> (d, i, d)'
        functions.append(f"{head} F{i} (d, i) => (o) {{ {calls} {end} }}")
    main = "main (float[n] d, int64[n] i) => (float[n] o) { o = own.F0 (d, i) }"
    return parsed(main, "\n".join(functions))


@pytest.mark.parametrize(
    ("model", "message"),
    [(doubling(60), "60|61"), (doubling(200), "levels"), (mutual(14), "recursive")],
    ids=["doubling", "deep", "mutual"],
)
def test_functions_are_not_written_out_without_bound(model, message, engine, tmp_path):
    readers = [
        sowreap.onnx.check,
        sowreap.onnx.to_python,
        lambda model: sowreap.onnx.convert(model, tmp_path / "converted.onnx"),
        lambda model: InferenceSession(model, engine=engine),
    ]
    for read in readers:
        with pytest.raises(sowreap.onnx.ModelError, match=message):
            read(model)


def test_functions_that_call_each_other_often_enough_are_read():
    model = doubling(5)
    feeds = {"d": np.ones(2, np.float32), "i": np.array([1, 1])}
    (found,) = InferenceSession(model, engine="reference").run(None, feeds)
    assert found[0] == 1
    assert not [each for each in sowreap.onnx.check(model) if each.severity.name == "ERROR"]


LONG_VECTORS = """
import resource
from onnx.parser import parse_model
from sowreap.onnx import check

resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
for kind, length in (("int64", 2**62), ("string", 2**31 - 1)):
    check(parse_model(
        '<ir_version: 10, opset_import: ["": 18]>'
        f"main ({kind}[{length}] t, int64[n] i) => ({kind}[m] y) {{ y = Gather (t, i) }}"
    ))
print("checked")
"""


def test_the_check_does_not_describe_each_item_of_a_vector_that_is_merely_claimed():
    done = subprocess.run(
        [sys.executable, "-c", LONG_VECTORS], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "checked\n"
