"""Converted models, in Python and in a process without it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.testing import assert_array_equal
from onnx import numpy_helper
from onnx.parser import parse_model

import sowreap
from sowreap.onnx import ModelError, convert, custom_ops_library

ort = pytest.importorskip("onnxruntime", reason="the engine is optional")

EXAMPLES = Path(__file__).parents[2] / "examples"
SUMS = """<ir_version: 10, opset_import: ["": 18]> main
  (float[n] data, int64[m, 1] indices, float[m] updates) => (float[n] output)
  { output = ScatterND <reduction = "add"> (data, indices, updates) }"""


def plain_session(path: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.register_custom_ops_library(custom_ops_library())
    return ort.InferenceSession(path, options)


@pytest.fixture
def converted(tmp_path) -> Path:
    convert(parse_model(SUMS), tmp_path / "converted.onnx")
    return tmp_path / "converted.onnx"


def test_converted_model_runs_with_the_plain_library(converted):
    feeds = {
        "data": np.zeros(3, np.float32),
        "indices": np.array([[1], [1], [-1]]),
        "updates": np.array([1, 2, 4], np.float32),
    }
    assert_array_equal(plain_session(converted).run(None, feeds)[0], [0, 3, 4])


def test_converted_model_runs_in_our_session(converted):
    session = sowreap.onnx.InferenceSession(converted)
    (placement,) = session.placement()
    assert placement.runs_on == "sowreap"
    feeds = {
        "data": np.zeros(3, np.float32),
        "indices": np.array([[1], [1]]),
        "updates": np.array([1, 2], np.float32),
    }
    assert_array_equal(session.run(None, feeds)[0], [0, 3, 0])


def test_external_data_moves_along(tmp_path):
    model = parse_model(SUMS)
    del model.graph.input[0]
    table = np.arange(500, dtype=np.float32)
    model.graph.initializer.append(numpy_helper.from_array(table, "data"))
    source, target = tmp_path / "a" / "model.onnx", tmp_path / "b" / "new.onnx"
    source.parent.mkdir()
    target.parent.mkdir()
    onnx.save_model(model, source, save_as_external_data=True, location="w.bin", size_threshold=0)
    for _ in range(2):
        convert(source, target)
    assert (target.parent / "new.onnx.data").stat().st_size == table.nbytes
    shutil.rmtree(source.parent)
    feeds = {"indices": np.array([[-1]]), "updates": np.array([1], np.float32)}
    assert_array_equal(plain_session(target).run(None, feeds)[0], [*table[:-1], 500])


def test_what_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(ModelError, match=r"absent\.onnx' cannot be read"):
        convert(tmp_path / "absent.onnx", tmp_path / "out.onnx")
    with pytest.raises(ModelError, match="bytes cannot be read"):
        convert(b"no model", tmp_path / "out.onnx")
    model = parse_model(SUMS)
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(9, np.float32), "data"))
    onnx.save_model(
        model, tmp_path / "m.onnx", save_as_external_data=True, location="w", size_threshold=0
    )
    with pytest.raises(ModelError, match="external data"):
        convert((tmp_path / "m.onnx").read_bytes(), tmp_path / "out.onnx")
    (tmp_path / "w").unlink()
    with pytest.raises(ModelError, match="external data cannot be read"):
        convert(tmp_path / "m.onnx", tmp_path / "out.onnx")
    assert not (tmp_path / "out.onnx").exists()


def tool(name: str) -> str:
    path = shutil.which(name)
    return path or pytest.skip(f"no {name} is installed")


def cpp_program(folder: Path) -> list[str]:
    """Compile the example in C++; return the command that runs it."""
    program, source = folder / "program", EXAMPLES / "onnxruntime_session.cpp"
    command = [tool("g++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", str(source), "-ldl"]
    subprocess.run([*command, "-o", str(program)], check=True)
    return [str(program)]


def csharp_program(folder: Path) -> list[str]:
    """Compile the example in C#; return the command that runs it."""
    program, source = folder / "program.exe", EXAMPLES / "onnxruntime_session.cs"
    command = [tool("mcs"), "-warnaserror+", "-warn:4", str(source), f"-out:{program}"]
    subprocess.run(command, check=True)
    return [tool("mono"), str(program)]


@pytest.mark.skipif(sys.platform != "linux", reason="the examples open libraries as Linux does")
@pytest.mark.parametrize("compiled", [cpp_program, csharp_program])
def test_the_example_of_a_program_without_python(compiled, converted, tmp_path):
    program = compiled(tmp_path)
    runtime = next(Path(ort.__file__).parent.glob("capi/libonnxruntime.so*"))

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [*program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    found = run(runtime, custom_ops_library(), converted)
    assert (found.returncode, found.stderr) == (0, "")
    first, *sums = found.stdout.splitlines()
    assert first == f"onnxruntime {ort.__version__}"
    assert sums == ["33334", "33333", "33333", "0"]
    assert run().returncode == 2
    failed = run(runtime, custom_ops_library(), tmp_path / "absent.onnx")
    assert failed.returncode == 1
    assert "absent.onnx" in failed.stderr
    no_kernels = run(runtime, tmp_path / "absent.so", converted)
    assert no_kernels.returncode == 1
    assert "absent.so" in no_kernels.stderr


def test_the_library_needs_nothing_of_python():
    library = ctypes.CDLL(custom_ops_library())
    assert library.RegisterCustomOps
    if shutil.which("ldd"):
        needed = subprocess.run(
            ["ldd", custom_ops_library()], capture_output=True, text=True, check=True
        ).stdout
        assert "python" not in needed
