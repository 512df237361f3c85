"""Pictures need NumPy alone."""

from __future__ import annotations

import subprocess
import sys


def test_needs_numpy_alone():
    code = """
import sys
for name in ("onnx", "onnxruntime", "ml_dtypes", "click", "rich", "dask", "torch", "matplotlib"):
    sys.modules[name] = None  # an import of it fails
from sowreap import explain
picture = explain.gather([1, 2, 3], [-1])
print(len(picture.svg()) > 1000, len(picture.html()) > 1000, picture.text().count("indices[0]"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True True 1\n", "")


def test_is_not_imported_with_the_library():
    code = "import sys, sowreap; print('sowreap.explain' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"
