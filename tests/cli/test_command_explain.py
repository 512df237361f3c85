"""``sowreap explain``: pictures of operators on files and of nodes of models."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from command_line import SCATTER, error_line

from sowreap import explain

ARRAYS = {
    "data": np.zeros((4, 3), np.float32),
    "indices": np.array([[1], [1], [-1]]),
    "updates": np.arange(9, dtype=np.float32).reshape(3, 3),
}
BRANCHES = """<ir_version: 10, opset_import: ["": 18, "own": 1]>
graph (float[4, 3] x, int64[n, 1] indices, float[n, 3] updates, bool sum) => (float[4, 3] y) {
    data = Mul (x, x)
    y = If (sum) <
        then_branch = summing () => (float[4, 3] summed) {
            summed = ScatterND <reduction = "add"> (data, indices, updates)
        },
        else_branch = setting () => (float[4, 3] set) {
            set = own.Set <how = "max"> (data, indices, updates)
        }
    >
}
<domain: "own", opset_import: ["": 18]> Set <how> (d, i, u) => (r) {
    r = ScatterND <reduction: string = @how> (d, i, u)
}"""


@pytest.fixture
def saved(tmp_path):
    """The three files of a scatter."""
    paths = []
    for name, array in ARRAYS.items():
        paths.append(tmp_path / f"{name}.npy")
        np.save(paths[-1], array)
    return paths


@pytest.fixture
def branches(save_model, tmp_path):
    """A model with scatters inside a branch and inside a function, and its inputs."""

    def inputs(takes_sum: bool):
        path = tmp_path / "branches.npz"
        x = np.full((4, 3), 2, np.float32)
        rest = {name: ARRAYS[name] for name in ("indices", "updates")}
        np.savez(path, x=x, sum=np.array(takes_sum), **rest)
        return path

    return save_model(BRANCHES), inputs


def picture(**keywords):
    return explain.scatter_nd(*ARRAYS.values(), **keywords)


def test_text_is_that_of_the_library(command, saved):
    result = command("explain", "scatter_nd", *saved, "--reduction", "add")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == picture(reduction="add").text(80) + "\n"


@pytest.mark.parametrize("suffix", ["html", "svg", "txt"])
def test_file_is_that_of_the_library(command, saved, tmp_path, suffix):
    path = tmp_path / f"out.{suffix}"
    result = command("explain", "scatter_nd", *saved, "-o", path)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    method = {"html": "html", "svg": "svg", "txt": "text"}[suffix]
    assert path.read_text("utf-8") == getattr(picture(), method)() + "\n"


def test_page_on_standard_output(command, saved):
    result = command("explain", "scatter_nd", *saved, "-o", "-")
    assert result.stdout == picture().html() + "\n"


def test_other_suffix_is_refused_before_the_files_are_read(command, saved, tmp_path):
    line = error_line(command("explain", "scatter_nd", *saved, "-o", tmp_path / "out.png"))
    assert line.endswith("the name must end in .html, .svg, .txt, or be -")


def test_bad_index_is_drawn_and_no_failure(command, saved, tmp_path):
    np.save(saved[1], np.array([[1], [9], [0]]))
    path = tmp_path / "bad.svg"
    result = command("explain", "scatter_nd", *saved, "-o", path)
    assert (result.exit_code, result.stderr) == (0, "")
    drawn = "".join(ET.parse(path).getroot().itertext())
    assert "OutOfRangeError" in drawn
    assert "indices[1][0] = 9; the index is outside its axis" in drawn


@pytest.mark.parametrize("name", [n for n in explain.__all__ if n != "Explanation"])
def test_options_are_those_of_op(command, name):
    def options(*words: str) -> set[str]:
        lines = command(*words, name, "--help").stdout.splitlines()
        return {line.split()[0] for line in lines if line.strip().startswith("--")}

    assert options("explain") == options("op")


def test_node_of_a_model(command, scatter_model, scatter_inputs):
    result = command("explain", scatter_model, "--node", "summed", "--inputs", scatter_inputs)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == picture(reduction="add").text(80) + "\n"


def test_node_by_number(command, scatter_model, scatter_inputs):
    by_name, by_number = (
        command("explain", scatter_model, "--node", node, "--inputs", scatter_inputs)
        for node in ("summed", "0")
    )
    assert by_number.exit_code == 0
    assert by_number.stdout == by_name.stdout


def test_node_inside_a_branch(command, branches):
    model, inputs = branches
    result = command("explain", model, "--node", "summed", "--inputs", inputs(True))
    data = np.full((4, 3), 4, np.float32)
    expected = explain.scatter_nd(data, ARRAYS["indices"], ARRAYS["updates"], "add")
    assert result.stdout == expected.text(80) + "\n"


def test_node_inside_a_function(command, branches):
    model, inputs = branches
    result = command("explain", model, "--node", "r", "--inputs", inputs(False))
    data = np.full((4, 3), 4, np.float32)
    expected = explain.scatter_nd(data, ARRAYS["indices"], ARRAYS["updates"], "max")
    assert result.stdout == expected.text(80) + "\n"


def test_node_of_a_branch_not_taken(command, branches):
    model, inputs = branches
    line = error_line(command("explain", model, "--node", "summed", "--inputs", inputs(False)))
    assert line.startswith("node 'summed' does not run with these inputs")


def test_node_after_a_failure_is_not_reached(command, save_model, tmp_path):
    """What stops the run before the node is told as it is."""
    text = SCATTER.replace("summed = ", "data2 = Reshape (data, indices)\n    summed = ")
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, **ARRAYS)
    model = save_model(text)
    line = error_line(command("explain", model, "--node", "summed", "--inputs", inputs))
    assert "Reshape" in line


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("doubled", "node 'doubled' is of type Add; its gathers and scatters are 'summed'."),
        ("nothing", "node 'nothing' is not in the model; its gathers and scatters are 'summed'."),
        ("7", "node '7' is not in the model; its gathers and scatters are 'summed'."),
    ],
)
def test_other_node_is_refused(command, scatter_model, scatter_inputs, node, message):
    result = command("explain", scatter_model, "--node", node, "--inputs", scatter_inputs)
    assert error_line(result) == message


def test_random_inputs(command, gather_model):
    result = command("explain", gather_model, "--node", "picked", "--random", "--seed", "3")
    assert result.exit_code == 0
    assert result.stdout.startswith("gather(data, indices, axis=0)\n")


def test_missing_input_is_named(command, scatter_model):
    assert "no array for data, indices" in error_line(
        command("explain", scatter_model, "--node", "summed")
    )


def test_neither_operator_nor_model(command):
    assert error_line(command("explain", "gahter", "--node", "x")) == "gahter: no such file"
