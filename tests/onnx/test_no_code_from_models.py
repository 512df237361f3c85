"""Nothing in a model is run as code: not by sessions, not by the scripts that are made of it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import numpy as np
import pytest
from exported import call, namespace
from onnx import ModelProto, TensorProto, helper, numpy_helper

MARK = "SOWREAP_TEST_CODE_OF_A_MODEL"
CODE = f"__import__('os').environ.__setitem__('{MARK}', '1')"
# What ends a comment, a string or a line of Python, or a field of a format.
TEXTS = [
    CODE,
    f"\n{CODE}\n",
    f"\r{CODE}\r",
    f"\x0c\n{CODE}#",
    f"\u2028{CODE}\u2029",
    f'"""\n{CODE}\n"""',
    f"'''\n{CODE}\n'''",
    f"\\\n{CODE}",
    f'\\"""\n{CODE}\n#',
    f'"); {CODE}; ("',
    f"'); {CODE}; ('",
    "{" + CODE + "}",
    "{x.__class__}%s%(x)s",
    "$(touch owned)`touch owned`;touch owned",
    "import",
    "__import__",
    "np",
    "sr",
    "x\0y",
]


def hostile(text: str) -> ModelProto:
    """A model with `text` in every place that holds one, and which runs."""
    table = numpy_helper.from_array(np.arange(8, dtype=np.float32), f"{text} table")
    table.doc_string = text
    rows = helper.make_tensor_value_info(f"{text} rows", TensorProto.INT64, [text])
    result = helper.make_tensor_value_info(f"{text} result", TensorProto.FLOAT, [text])
    pick = helper.make_node("Gather", ["t", "r"], [f"{text} z"], name=text, doc_string=text)
    function = helper.make_function(
        "own", text, ["t", "r"], [f"{text} z"], [pick], [helper.make_opsetid("", 18)]
    )
    function.doc_string = text
    node = helper.make_node(
        text, [f"{text} table", f"{text} rows"], [f"{text} result"], name=text, domain="own"
    )
    graph = helper.make_graph([node], text, [rows], [result], [table], doc_string=text)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=10)
    model.producer_name = model.producer_version = model.domain = model.doc_string = text
    model.metadata_props.add(key=text, value=text)
    return model


# Code that is compiled, a program that is started or a library that is loaded is an event. The
# first model runs without the watch, since libraries are imported while it runs.
RUN = """
import sys
import numpy as np
from sowreap.onnx import InferenceSession

FORBIDDEN = ("compile", "exec", "import", "marshal.loads", "pickle.find_class", "ctypes.dlopen",
             "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")
events, outcomes = [], []
watching = False
sys.addaudithook(lambda event, _: events.append(event) if watching and event in FORBIDDEN else None)
for path in sys.argv[2:]:
    try:
        session = InferenceSession(path, engine=sys.argv[1])
        (name,) = (each.name for each in session.get_inputs())
        (got,) = session.run(None, {name: np.array([3, -1])})
        outcomes.append(got.tolist())
    except Exception as error:
        outcomes.append(type(error).__module__.split(".")[0])
    watching = True
print(outcomes)
print(events)
"""


@pytest.mark.parametrize("engine", ["reference", "onnxruntime"])
def test_sessions(engine, tmp_path, monkeypatch):
    if engine == "onnxruntime":
        pytest.importorskip("onnxruntime", reason="the engine is optional")
    monkeypatch.delenv(MARK, raising=False)
    paths = [tmp_path / f"{number}.onnx" for number in range(len(TEXTS) + 1)]
    for path, text in zip(paths, ["first", *TEXTS], strict=True):
        path.write_bytes(hostile(text).SerializeToString())
    done = subprocess.run(
        [sys.executable, "-c", RUN, engine, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        check=True,
    )
    outcomes, events = map(ast.literal_eval, done.stdout.splitlines())
    assert events == []
    assert outcomes[0] == [3.0, 7.0]
    assert outcomes.count([3.0, 7.0]) > len(TEXTS) // 2
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_exported_scripts(text, tmp_path, monkeypatch):
    monkeypatch.delenv(MARK, raising=False)
    monkeypatch.chdir(tmp_path)
    names = namespace(hostile(text))
    (got,) = call(names, {f"{text} rows": np.array([3, -1])})
    assert got.tolist() == [3.0, 7.0]
    assert MARK not in os.environ
    assert not list(tmp_path.iterdir())
