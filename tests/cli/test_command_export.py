"""``sowreap export``: the files it writes, and what they do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import TIMEOUT, error_line

NUMBERS = ", ".join(f"{i}.25" for i in range(70))
WEIGHTED = f"""<ir_version: 10, opset_import: ["": 18]>
graph (float[n] data, int64[m] indices) => (float[m] picked)
<float[70] weight = {{{NUMBERS}}}> {{
    bias = Gather (weight, indices)
    taken = Gather (data, indices)
    picked = Add (taken, bias)
}}"""


def run(script: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


def test_script_gives_the_outputs_of_the_model(
    command, scatter_model, scatter_inputs, scatter_outputs, tmp_path
):
    script = tmp_path / "script.py"
    result = command("export", scatter_model, "-o", script)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "script.py:" in result.stdout
    assert not script.with_suffix(".npz").exists()
    outputs = tmp_path / "outputs.npz"
    done = run(script, scatter_inputs, "-o", outputs)
    assert (done.returncode, done.stderr) == (0, "")
    with np.load(outputs) as found:
        assert sorted(found) == sorted(scatter_outputs)
        for name, expected in scatter_outputs.items():
            np.testing.assert_array_equal(found[name], expected, strict=True)


def test_weights_lie_beside_the_script(command, save_model, tmp_path):
    script = tmp_path / "script.py"
    result = command("export", save_model(WEIGHTED), "-o", script)
    assert result.exit_code == 0
    assert "MB of weights" in result.stdout
    assert "0.25" not in script.read_text("utf-8")
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, data=np.arange(70, dtype=np.float32), indices=np.array([3, -1]))
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    script.rename(moved / "script.py")
    script.with_suffix(".npz").rename(moved / "script.npz")
    done = run(moved / "script.py", inputs, "-o", tmp_path / "out.npz")
    assert (done.returncode, done.stderr) == (0, "")
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_array_equal(found["picked"], np.float32([6.25, 138.25]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.onnx", "-o", "s.py"), "no such file"),
        (("{model}", "-o", "s.txt"), "must end in .py"),
        (("{model}", "-o", "absent/s.py"), "absent"),
        (("{broken}", "-o", "s.py"), "no ONNX model"),
    ],
)
def test_bad_input_is_one_line(command, gather_model, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\x08\x07not a model")
    places = {"model": gather_model, "broken": broken}
    line = error_line(command("export", *(each.format(**places) for each in arguments)))
    assert message in line
    assert not (tmp_path / "s.py").exists()
