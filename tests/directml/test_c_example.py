"""The C program of the documentation: compiled, run, and its descriptor executed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sowreap.directml import OperatorDesc, declare, execute, layout, structs

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples/directml_layout.c"
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-I.")
WINDOWS_H = """\
#include <stdint.h>
typedef uint32_t DWORD;
typedef uint64_t ULONGLONG;
"""

needs_64_bits = pytest.mark.skipif(
    ctypes.sizeof(ctypes.c_void_p) != 8, reason="programs of this host have pointers of 32 bits"
)


@pytest.fixture
def build(tmp_path):
    """Compile the example with the declarations that it includes; return the file made."""
    header = declare("DML_OPERATOR_DESC", "c", all=True)
    (tmp_path / "directml_family.h").write_text(header, "utf-8")

    def call(gcc, *options):
        path = shutil.which(gcc)
        if path is None:
            pytest.skip(f"no {gcc} is installed")
        command = [path, *WARNINGS, *options, str(SOURCE), "-o", "made"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return next(tmp_path.glob("made*"))

    return call


def with_three_types(folder):
    """Stand in for windows.h, of which the declarations need three types."""
    (folder / "windows.h").write_text(WINDOWS_H)


@needs_64_bits
def test_program(build, tmp_path):
    with_three_types(tmp_path)
    done = subprocess.run([build("gcc")], capture_output=True, text=True, check=True)
    printed = dict(line.split() for line in done.stdout.splitlines())
    place = layout("SCATTER", "x64")
    assert printed.pop("size") == str(place.size)
    assert printed == {field.name: str(field.offset) for field in place.fields}


@needs_64_bits
def test_descriptor_from_c(build, tmp_path):
    with_three_types(tmp_path)
    library = ctypes.CDLL(str(build("gcc", "-shared", "-fPIC")))
    library.scatter_desc.restype = ctypes.POINTER(structs.x64.DML_OPERATOR_DESC)
    desc = OperatorDesc.from_struct(library.scatter_desc().contents, follow_pointers=True)
    table = np.zeros((4, 3), np.float32)
    rows = np.array([[0, 0, 0], [2, 2, 2], [-1, -1, -1]], np.int32)
    values = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    output = np.empty_like(table)
    execute(desc, [table, rows, values], output)
    np.testing.assert_array_equal(output, [[1, 2, 3], [0, 0, 0], [4, 5, 6], [7, 8, 9]])


@pytest.mark.parametrize("gcc", ["x86_64-w64-mingw32-gcc", "i686-w64-mingw32-gcc"])
def test_compiles_for_windows(build, gcc):
    build(gcc)


@pytest.mark.parametrize("name", ["directml_layout.c", "directml_scatter.py"])
def test_page_shows_the_program(name):
    page = (ROOT / "docs/directml.md").read_text("utf-8")
    assert (ROOT / "examples" / name).read_text("utf-8") in page
