"""The command, called in this process, and small models to run it on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from command_line import SCATTER
from onnx.parser import parse_model

from sowreap._cli.app import cli

ONE_OUTPUT = """<ir_version: 10, opset_import: ["": 18]>
graph (float[n] data, int64[m] indices) => (float[m] picked) {
    picked = Gather (data, indices)
}"""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call the command with arguments; returns exit_code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [str(a) for a in arguments], prog_name="sowreap")

    return call


@pytest.fixture
def save_model(tmp_path: Path) -> Callable[..., Path]:
    """Write a model, given as text, to a file."""

    def save(text: str, name: str = "model.onnx") -> Path:
        path = tmp_path / name
        onnx.save(parse_model(text), path)
        return path

    return save


@pytest.fixture
def scatter_model(save_model: Callable[..., Path]) -> Path:
    """A model with three inputs and two outputs."""
    return save_model(SCATTER)


@pytest.fixture
def gather_model(save_model: Callable[..., Path]) -> Path:
    """A model with one output."""
    return save_model(ONE_OUTPUT, "gather.onnx")


@pytest.fixture
def scatter_inputs(tmp_path: Path) -> Path:
    """Inputs of the scatter model; two updates meet in row 1."""
    path = tmp_path / "inputs.npz"
    np.savez(
        path,
        data=np.zeros((4, 3), np.float32),
        indices=np.array([[1], [1], [-1]]),
        updates=np.arange(9, dtype=np.float32).reshape(3, 3),
    )
    return path


@pytest.fixture
def scatter_outputs() -> dict[str, np.ndarray]:
    """What the scatter model gives for these inputs."""
    summed = np.zeros((4, 3), np.float32)
    summed[1] = [3, 5, 7]
    summed[3] = [6, 7, 8]
    return {"summed": summed, "doubled": 2 * summed}
