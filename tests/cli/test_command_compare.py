"""``sowreap run --compare``: times, differences, and which side is right."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest
from command_line import error_line

import sowreap
from sowreap._cli import peers
from sowreap.onnx._check.runtimes import ORT_VERSION

MAX = """<ir_version: 10, opset_import: ["": 18]>
g (float[n] data, int64[m] indices, float[m] updates) => (float[n] out, float[n] twice) {
    out = ScatterElements <reduction = "max"> (data, indices, updates)
    twice = Add (data, data)
}"""


@pytest.fixture
def model(save_model):
    return save_model(MAX)


@pytest.fixture
def inputs(tmp_path):
    path = tmp_path / "inputs.npz"
    np.savez(
        path,
        data=np.array([1, 2, 3], np.float32),
        indices=np.array([0, 2]),
        updates=np.array([9, 1], np.float32),
    )
    return path


@pytest.fixture
def nan_inputs(inputs):
    np.savez(inputs, **{**np.load(inputs), "data": np.array([np.nan, 2, 3], np.float32)})
    return inputs


@pytest.fixture
def call(command, model):
    def call(path, peer, *more):
        return command(
            "run", model, "--inputs", path, "--engine", "reference", "--compare", peer, *more
        )

    return call


def rows(text):
    return [line.split() for line in text.splitlines()]


@pytest.fixture
def fake(monkeypatch):
    """Make `outputs` those of a peer called onnx; a function gives those of each run."""

    def install(outputs):
        def load(path):
            return outputs if callable(outputs) else lambda feeds: outputs

        monkeypatch.setitem(peers.PEERS, "onnx", lambda: ("a peer 1.0", load))

    return install


OUT, TWICE = np.array([9, 2, 3], np.float32), np.array([2, 4, 6], np.float32)


def test_onnx_evaluator_agrees(call, inputs):
    result = call(inputs, "onnx")
    assert result.exit_code == 0
    assert ["out", "agrees", "largest", "difference", "0"] in rows(result.stdout)
    version = importlib.metadata.version("onnx")
    assert f"onnx {version}, reference evaluator" in result.stdout
    assert "times as fast" in result.stdout


def test_onnxruntime_agrees(call, inputs):
    pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
    result = call(inputs, "onnxruntime", "--repeat", 2)
    assert result.exit_code == 0
    assert f"{sowreap.get_num_threads()} threads each" in result.stdout
    assert ["out", "agrees", "largest", "difference", "0"] in rows(result.stdout)


def test_onnxruntime_drops_a_nan_and_sowreap_is_right(call, nan_inputs):
    onnxruntime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
    if onnxruntime.__version__ != ORT_VERSION:
        pytest.skip(f"seen on onnxruntime {ORT_VERSION}")
    result = call(nan_inputs, "onnxruntime")
    assert result.exit_code == 1
    assert ["out", "DIFFERS"] in [row[:2] for row in rows(result.stdout)]
    assert "largest difference inf at [0]" in result.stdout
    assert result.stdout.endswith("\nout: sowreap is right.\n")


def test_a_peer_that_is_wrong(call, inputs, fake):
    fake([OUT + np.float32([0, 1, 0]), TWICE])
    result = call(inputs, "onnx")
    assert result.exit_code == 1
    assert "\nout: sowreap is right" in result.stdout
    assert "largest difference 1 at [1]" in result.stdout


def test_sowreap_that_is_wrong(call, inputs, fake, monkeypatch):
    fake([OUT, TWICE])
    monkeypatch.setattr(sowreap, "scatter_elements", lambda data, *rest, **more: data + 1)
    result = call(inputs, "onnx")
    assert result.exit_code == 1
    assert "\nout: a peer 1.0 is right" in result.stdout


def test_both_wrong(call, inputs, fake, monkeypatch):
    fake([OUT + 7, TWICE])
    monkeypatch.setattr(sowreap, "scatter_elements", lambda data, *rest, **more: data + 1)
    assert "\nout: neither is what the loops of the standard give" in call(inputs, "onnx").stdout


def test_rounding_is_no_difference(call, inputs, fake):
    fake([np.nextafter(OUT, 10), TWICE])
    result = call(inputs, "onnx")
    assert result.exit_code == 0
    assert ["out", "agrees"] in [row[:2] for row in rows(result.stdout)]
    fake([OUT * np.float32(1.001), TWICE])
    assert call(inputs, "onnx").exit_code == 1


def test_another_shape_is_a_difference(call, inputs, fake):
    fake([OUT[:2], TWICE])
    result = call(inputs, "onnx")
    assert result.exit_code == 1
    assert "shape (3,), expected (2,)" in result.stdout


def test_runs_that_differ_from_each_other(call, inputs, fake):
    count = iter(range(100))
    fake(lambda feeds: [OUT + np.float32(next(count) == 3), TWICE])
    result = call(inputs, "onnx", "--repeat", 5)
    assert result.exit_code == 1
    assert "a peer 1.0 gave other outputs in another run." in result.stdout
    assert "\nout: sowreap is right" in result.stdout


def test_a_peer_that_cannot_run_it(call, inputs, fake):
    def refuse(feeds):
        raise NotImplementedError("no such kernel\nat all")

    fake(refuse)
    result = call(inputs, "onnx")
    assert result.exit_code == 1
    assert "a peer 1.0 cannot run the model: no such kernel\n" in result.stdout


def test_too_large_for_the_oracle(call, inputs, fake, monkeypatch):
    from sowreap.onnx import _oracle

    monkeypatch.setattr(_oracle, "MAX_STEPS", 1)
    fake([OUT + 1, TWICE])
    result = call(inputs, "onnx")
    assert result.exit_code == 1
    assert "\nout: undecided, ScatterElements: the loops" in result.stdout


def test_expectation_and_comparison_both_count(call, inputs, tmp_path):
    expected = tmp_path / "expected.npz"
    np.savez(expected, out=OUT + 1)
    assert call(inputs, "onnx", "--expect", expected).exit_code == 1
    np.savez(expected, out=OUT)
    assert call(inputs, "onnx", "--expect", expected).exit_code == 0


def test_reference_with_itself(call, inputs):
    assert "that is the engine already" in error_line(call(inputs, "reference"))


def test_unknown_peer(call, inputs):
    assert "'nothing' is not one of" in error_line(call(inputs, "nothing"))


def test_missing_package(call, inputs, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    assert 'pip install "sowreap[ort]"' in error_line(call(inputs, "onnxruntime"))
