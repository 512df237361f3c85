"""``sowreap check``."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from command_line import error_line

from sowreap._cli.app import cli

HEAD = '<ir_version: 10, opset_import: ["": 18]> g '
SIGNATURE = "(float[n] data, int64[m] indices, float[m] updates) => (float[n] out) "


def text(reduction: str) -> str:
    body = f'out = ScatterElements <reduction = "{reduction}"> (data, indices, updates)'
    return f"{HEAD}{SIGNATURE}{{ {body} }}"


@pytest.fixture
def inputs(tmp_path):
    path = tmp_path / "inputs.npz"
    np.savez(
        path,
        data=np.array([1, 2, 3], np.float32),
        indices=np.array([0, 2, 0]),
        updates=np.array([7, 8, 9], np.float32),
    )
    return path


@pytest.fixture
def good(save_model):
    return save_model(text("none"), "good.onnx")


@pytest.fixture
def bad(save_model):
    return save_model(text("sum"), "bad.onnx")


def test_nothing_found(command, good):
    result = command("check", good)
    assert (result.exit_code, result.stdout) == (0, "Nothing found.\n")


def test_notes_alone_leave_the_status(command, save_model):
    result = command("check", save_model(text("add")))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "note directml  out (ScatterElements)",
        "  DirectML has no descriptor for it at feature level 6_4: DirectML's scatters have no "
        "reduction, and it has 'add'.",
        "  What to do: Nothing, unless the model must run on DirectML alone.",
        "",
        "1 note",
    ]


def test_equal_notes_stand_together(command, save_model):
    body = """a = ScatterElements <reduction = "add"> (data, indices, updates)
        out = ScatterElements <reduction = "add"> (a, indices, updates)"""
    result = command("check", save_model(f"{HEAD}{SIGNATURE}{{ {body} }}"))
    assert result.stdout.startswith("note directml  a (ScatterElements), out (ScatterElements)\n")
    assert result.stdout.endswith("\n2 notes\n")


def test_error(command, bad):
    result = command("check", bad)
    assert result.exit_code == 1
    assert result.stderr == ""
    first, what, *_ = result.stdout.splitlines()
    assert first == "error reduction-unknown  out (ScatterElements)"
    assert "reduction='sum'" in what
    assert "  onnxruntime (CPU) 1.32.0 takes an unknown reduction for none" in result.stdout
    assert result.stdout.endswith("\n1 error\n")


def test_warning_with_inputs(command, good, inputs):
    result = command("check", good, "--inputs", inputs)
    assert result.exit_code == 1
    assert result.stdout.startswith("warning repeated-none  out (ScatterElements)\n")
    assert "indices[2] addresses the place that indices[0] does" in result.stdout


def test_nodes_of_subgraphs_name_those_around_them(command, save_model):
    body = """out = If (c) <
        then_branch = t () => (float[2] a) { a = Gather <axis = 1> (data, indices) },
        else_branch = e () => (float[2] b) { b = Gather (data, indices) }>"""
    signature = "(bool c, float[3] data, int64[2] indices) => (float[2] out) "
    result = command("check", save_model(f"{HEAD}{signature}{{ {body} }}"))
    assert result.stdout.startswith("error axis  a (Gather) in out\n")


def test_json(command, bad):
    result = command("check", bad, "--json")
    assert result.exit_code == 1
    content = json.loads(result.stdout)
    runtimes = content["findings"][0].pop("runtimes")
    assert [each["id"] for each in runtimes] == ["ort-reduction-unknown", "ref-reduction-unknown"]
    assert set(runtimes[0]) == {"id", "runtime", "version", "does"}
    assert content == {
        "format": 1,
        "model": str(bad),
        "inputs": None,
        "counts": {"error": 1, "warning": 0, "note": 0},
        "findings": [
            {
                "rule": "reduction-unknown",
                "severity": "error",
                "path": [],
                "node": "out",
                "operator": "ScatterElements",
                "argument": "reduction",
                "position": None,
                "value": "sum",
                "message": "ScatterElements (opset 18): reduction='sum' is not one of 'none', "
                "'add', 'mul', 'max', 'min'.",
                "advice": "Use one of none, add, mul, max, min.",
            }
        ],
    }


def test_json_of_a_run(command, good, inputs):
    content = json.loads(command("check", good, "--inputs", inputs, "--json").stdout)
    assert content["inputs"] == str(inputs)
    (finding,) = content["findings"]
    assert (finding["position"], finding["value"]) == ([2], 0)


def test_json_has_no_nan(command, save_model, inputs, tmp_path):
    path = tmp_path / "nan.npz"
    np.savez(path, **{**np.load(inputs), "data": np.array([np.nan, 1, 2], np.float32)})
    result = command("check", save_model(text("max")), "--inputs", path, "--json")
    content = json.loads(result.stdout, parse_constant=pytest.fail)
    assert "nan" in [finding["value"] for finding in content["findings"]]


def test_bfloat16_from_a_file(command, save_model, tmp_path):
    model = save_model(text("none").replace("float[", "bfloat16["))
    raw = np.zeros(3, "V2")
    path = tmp_path / "raw.npz"
    np.savez(path, data=raw, indices=np.array([0, 1, 7]), updates=raw)
    result = command("check", model, "--inputs", path)
    assert "indices[2] is 7" in result.stdout


def test_feature_level(command, save_model):
    model = save_model(
        f"{HEAD}(double[3] data, int64[2] i) => (double[2] o) {{ o = Gather (data, i) }}"
    )
    assert command("check", model).stdout == "Nothing found.\n"
    assert "note directml" in command("check", model, "--feature-level", "1_0").stdout
    assert "9_9" in error_line(command("check", model, "--feature-level", "9_9"))


class TestBadInput:
    def test_no_file(self, command, tmp_path):
        assert error_line(command("check", tmp_path / "x.onnx")).endswith("no such file")

    def test_no_model(self, command, inputs):
        assert "no ONNX model" in error_line(command("check", inputs))

    def test_truncated_model(self, command, good):
        good.write_bytes(good.read_bytes()[:-9])
        assert str(good) in error_line(command("check", good))

    def test_broken_model(self, command, good):
        model = onnx.load(good)
        model.graph.node[0].op_type = "Nothing"
        onnx.save(model, good)
        assert "Nothing" in error_line(command("check", good))

    def test_missing_external_data(self, command, good):
        model = onnx.load(good)
        tensor = model.graph.initializer.add(name="w", data_type=1, dims=[3])
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="nowhere.bin")
        onnx.save(model, good)
        assert "external data" in error_line(command("check", good))

    def test_inputs_that_are_not_the_models(self, command, good, inputs):
        np.savez(inputs, data=np.zeros(3, np.float32))
        assert "no array for indices, updates" in error_line(
            command("check", good, "--inputs", inputs)
        )
        np.savez(inputs, other=np.zeros(3))
        assert "other is not an input" in error_line(command("check", good, "--inputs", inputs))

    def test_inputs_of_a_wrong_type(self, command, good, inputs):
        np.savez(inputs, **{**np.load(inputs), "data": np.zeros(3)})
        assert "float64" in error_line(command("check", good, "--inputs", inputs))

    def test_inputs_that_are_no_file_of_arrays(self, command, good, bad):
        for model in (good, bad):
            assert "neither" in error_line(command("check", model, "--inputs", good))


def test_help_lists_it():
    assert "check" in cli.commands
