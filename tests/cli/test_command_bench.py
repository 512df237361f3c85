"""``sowreap bench``: shapes of the user, beside what is installed."""

from __future__ import annotations

import pytest
from command_line import error_line

import sowreap as sr

SHORT = ("--seconds", "0.01", "--threads", "1")


@pytest.mark.parametrize(
    "arguments",
    [
        ("gather", "--data", "20,3", "--indices", "7"),
        ("gather_elements", "--data", "20,3", "--indices", "7,3", "--pattern", "sorted"),
        ("gather_nd", "--data", "20,3", "--indices", "7,2", "--index-dtype", "int32"),
        ("scatter_elements", "--data", "20,3", "--indices", "20,2", "--axis", "-1"),
        ("scatter_nd", "--data", "20,3", "--indices", "7,1", "--reduction", "add"),
        ("scatter_nd", "--data", "20,3", "--indices", "7,1", "--dtype", "bfloat16"),
    ],
)
def test_table(command, arguments):
    before = sr.get_num_threads()
    result = command("bench", *arguments, *SHORT)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "sowreap" in result.stdout
    assert "numpy" in result.stdout
    assert "A copy moves" in result.stdout
    assert "WRONG" not in result.stdout
    assert sr.get_num_threads() == before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("gather", "--data", "20,x", "--indices", "7"), "'20,x' is not a shape"),
        (("gather", "--data", "20", "--indices", "0"), "'0' is not a shape"),
        (("gather", "--data", "20", "--indices", "7", "--axis", "1"), "--axis 1 is not in [-1, 0]"),
        (("gather_nd", "--data", "20", "--indices", "7,2"), "above data's rank 1"),
        (("gather", "--data", "20", "--indices", "7", "--dtype", "float99"), "'float99'"),
        (("scatter_nd", "--data", "9", "--indices", "7,1", "--reduction", "sum"), "reduction"),
    ],
)
def test_bad_input(command, arguments, text):
    assert text in error_line(command("bench", *arguments, *SHORT))
