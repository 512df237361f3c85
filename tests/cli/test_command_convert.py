"""``sowreap convert``."""

from __future__ import annotations

import os

import numpy as np
import onnx
import pytest
from command_line import error_line

from sowreap.onnx import custom_ops_library


def test_converted_model_runs_with_the_library_that_is_named(
    command, scatter_model, scatter_inputs, scatter_outputs, tmp_path
):
    ort = pytest.importorskip("onnxruntime", reason="the engine is optional")
    output = tmp_path / "converted.onnx"
    result = command("convert", scatter_model, "-o", output)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "ScatterND" in result.stdout
    library = result.stdout.split("Register this library: ")[1].strip()
    assert library == custom_ops_library()
    assert os.path.isfile(library)
    assert {node.domain for node in onnx.load(output).graph.node} == {"", "sowreap"}
    options = ort.SessionOptions()
    options.register_custom_ops_library(library)
    session = ort.InferenceSession(output, options)
    with np.load(scatter_inputs) as feeds:
        found = session.run(["summed"], dict(feeds))
    np.testing.assert_array_equal(found[0], scatter_outputs["summed"])


def test_errors_are_one_line(command, scatter_model, tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    output = tmp_path / "out.onnx"
    assert "broken.onnx" in error_line(command("convert", broken, "-o", output))
    assert "no such file" in error_line(command("convert", tmp_path / "absent", "-o", output))
    assert "--output" in error_line(command("convert", scatter_model))
    assert "out" in error_line(command("convert", scatter_model, "-o", tmp_path / "no" / "out"))
    assert not output.exists()
