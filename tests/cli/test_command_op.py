"""``sowreap op``: each operator on files."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from command_line import error_line

import sowreap as sr


@pytest.fixture
def save(tmp_path):
    def save(name: str, array: object) -> Path:
        path = tmp_path / f"{name}.npy"
        np.save(path, array)
        return path

    return save


DATA = np.arange(12, dtype=np.float32).reshape(4, 3)
ROWS = np.array([[1], [1], [-1]], np.int16)
UPDATES = np.ones((3, 3), np.float32)
PICKS = np.array([[0, 2, 1], [3, -1, 0]])

CALLS = {
    "gather": ((DATA, PICKS[0]), ("--axis", "1"), {"axis": 1}),
    "gather_elements": ((DATA, PICKS), (), {}),
    "gather_nd": ((DATA, np.array([[0], [1], [2], [0]])), ("--batch-dims", "1"), {"batch_dims": 1}),
    "scatter": ((DATA, PICKS, UPDATES[:2]), ("--axis", "-2"), {"axis": -2}),
    "scatter_elements": (
        (DATA, PICKS, UPDATES[:2]),
        ("--reduction", "max", "--axis", "0"),
        {"reduction": "max"},
    ),
    "scatter_nd": ((DATA, ROWS, UPDATES), ("--reduction", "add"), {"reduction": "add"}),
    "tensor_scatter": (
        (DATA[np.newaxis], UPDATES[np.newaxis, :2], np.array([3])),
        ("--mode", "circular"),
        {"mode": "circular"},
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_result_is_that_of_the_function(command, save, tmp_path, name):
    arrays, options, keywords = CALLS[name]
    files = [save(f"in{i}", array) for i, array in enumerate(arrays)]
    output = tmp_path / "result"  # written under exactly this name
    result = command("op", name, *files, *options, "-o", output)
    assert (result.exit_code, result.stderr) == (0, "")
    expected = getattr(sr, name)(*arrays, **keywords)
    with output.open("rb") as file:
        found = np.load(file)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_optional_array_may_be_left_out(command, save):
    cache, update = save("cache", np.zeros((1, 3, 2))), save("update", np.ones((1, 1, 2)))
    result = command("op", "tensor_scatter", cache, update)
    assert result.exit_code == 0
    assert "[[[1. 1.]\n  [0. 0.]\n  [0. 0.]]]" in result.stdout


def test_result_is_printed_in_short(command, save):
    data, indices = save("data", np.arange(10_000)), save("indices", np.arange(10_000))
    result = command("op", "gather", data, indices)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["result", "int64", "(10000,)", "0", "to", "9999"] in lines
    assert "[   0    1    2 ... 9997 9998 9999]" in result.stdout


def test_help_lists_the_arguments_of_the_function(command):
    text = command("op", "gather_nd", "--help").stdout
    assert "Usage: sowreap op gather_nd [OPTIONS] DATA INDICES\n" in text
    assert "--batch-dims" in text
    assert "--axis" not in text
    assert "--reduction" not in text
    assert "WRITE_INDICES" in command("op", "tensor_scatter", "--help").stdout


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "int4"])
def test_types_that_files_hold_as_raw_bytes(command, save, tmp_path, dtype):
    kind = getattr(ml_dtypes, dtype)
    data, updates = DATA.astype(kind), UPDATES.astype(kind)
    raw = f"V{data.itemsize}"
    files = save("data", data.view(raw)), save("rows", ROWS), save("updates", updates.view(raw))
    output = tmp_path / "out.npy"
    result = command(
        "op", "scatter_nd", *files, "--reduction", "add", "--dtype", dtype, "-o", output
    )
    assert result.exit_code == 0
    assert dtype in result.stdout
    expected = sr.scatter_nd(data, ROWS, updates, "add")
    np.testing.assert_array_equal(np.load(output).view(kind), expected)


@pytest.mark.parametrize("dtype", ["float7", "finfo", "float32", "_finfo"])
def test_unknown_dtype(command, save, dtype):
    result = command("op", "gather", save("a", DATA), save("b", [0]), "--dtype", dtype)
    assert error_line(result) == f"--dtype {dtype}: ml_dtypes has no such type"


def test_strings_are_saved_without_pickling(command, save, tmp_path):
    data, rows = save("data", np.array(["a", "bc"])), save("rows", [[1], [1]])
    updates, output = save("updates", np.array(["d", "ef"])), tmp_path / "out.npy"
    result = command("op", "scatter_nd", data, rows, updates, "--reduction", "add", "-o", output)
    assert result.exit_code == 0
    assert "2 distinct strings" in result.stdout
    np.testing.assert_array_equal(np.load(output), ["a", "bcdef"])


def test_bad_index_names_position_and_value(command, save, tmp_path):
    output = tmp_path / "out.npy"
    result = command("op", "gather", save("data", DATA), save("i", [0, 9]), "-o", output)
    text = error_line(result)
    assert text.startswith("gather: indices[1] = 9")
    assert "[-4, 3]" in text
    assert not output.exists()


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--reduction", "sum", "reduction"),
        ("--mode", "bounce", "mode"),
        ("--axis", "x", "Invalid value for '--axis': 'x' is not a valid integer."),
    ],
)
def test_bad_option(command, save, option, value, words):
    files = save("data", DATA), save("i", PICKS), save("u", UPDATES[:2])
    text = error_line(command("op", "scatter_elements", *files, option, value))
    assert words in text
    assert value in text


def test_float_indices(command, save):
    text = error_line(command("op", "gather", save("data", DATA), save("i", [0.0])))
    assert "indices" in text
    assert "float64" in text


def _not_numpy(path: Path) -> None:
    path.write_text("plain text")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    np.save(path, DATA)
    path.write_bytes(path.read_bytes()[:-5])


def _header_only(path: Path) -> None:
    path.write_bytes(b"\x93NUMPY\x01")


def _pickled(path: Path) -> None:
    np.save(path, np.array([{}]), allow_pickle=True)


def _several(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=DATA)


def _no_zip(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 but nothing else")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_not_numpy, "is neither an .npy nor an .npz file"),
        (_empty, "is neither an .npy nor an .npz file"),
        (_cut, "cannot be read: "),
        (_header_only, "cannot be read: "),
        (_pickled, "cannot be read: Object arrays cannot be loaded when allow_pickle=False"),
        (_several, "is an .npz file of several arrays; one .npy file is needed"),
        (_no_zip, "cannot be read: "),
    ],
)
def test_broken_file(command, save, tmp_path, make, words):
    path = tmp_path / "broken.npy"
    make(path)
    assert error_line(command("op", "gather", path, save("i", [0]))).startswith(f"{path}: {words}")


def test_missing_file_and_folder(command, save, tmp_path):
    indices, absent = save("i", [0]), tmp_path / "absent.npy"
    assert f"File '{absent}' does not exist" in error_line(command("op", "gather", absent, indices))
    assert "is a directory" in error_line(command("op", "gather", tmp_path, indices))


def test_output_that_cannot_be_written(command, save, tmp_path):
    output = tmp_path / "no" / "such" / "folder.npy"
    result = command("op", "gather", save("data", DATA), save("i", [0]), "-o", output)
    assert error_line(result) == f"{output}: No such file or directory"


@pytest.mark.parametrize(
    ("data", "text", "value"),
    [
        (np.arange(3), "-7", -7),
        (np.arange(3.0), "-7", -7.0),
        (np.arange(3.0), "nan", np.nan),
        (np.ones(3, complex), "1+2j", 1 + 2j),
        (np.array(["a", "b", "c"]), "x", "x"),
    ],
)
def test_fill_value_is_read_as_it_is_written(command, save, tmp_path, data, text, value):
    output = tmp_path / "result"
    files = [save("data", data), save("indices", np.array([0, 9]))]
    result = command("op", "gather", *files, "--mode", "fill", "--fill-value", text, "-o", output)
    assert (result.exit_code, result.stderr) == (0, "")
    with output.open("rb") as file:
        np.testing.assert_array_equal(np.load(file), np.array([data[0], value], data.dtype))


def test_mean_without_the_base(command, save):
    files = [save(str(i), a) for i, a in enumerate((DATA, ROWS, 4 * UPDATES))]
    result = command("op", "scatter_nd", *files, "--reduction", "mean", "--include-self", "false")
    assert result.exit_code == 0
    assert "4. 4. 4." in result.stdout
