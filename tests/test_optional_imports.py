"""`import sowreap` needs NumPy alone and brings in nothing else."""

import subprocess
import sys

import pytest

OPTIONAL = (
    "onnx",
    "onnxruntime",
    "ml_dtypes",
    "click",
    "rich",
    "dask",
    "torch",
    "scipy",
    "pandas",
    "google.protobuf",
)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_works_without_any_extra():
    code = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None  # an import of it fails
import numpy as np
import sowreap as sr
assert sr.gather([1, 2, 3], [-1]).tolist() == [3]
assert sr.scatter_nd(np.zeros(2, np.float16), [[1]], [2.0], "add").tolist() == [0, 2]
assert sr.gather(np.array(["a", "b"], object), [1]).tolist() == ["b"]
try:
    sr.gather([1, 2], [2])
except sr.OutOfRangeError:
    print("refused")
"""
    assert run(code) == "refused\n"


def test_imports_nothing_beyond_numpy():
    code = """
import sys
import numpy
before = set(sys.modules)
import sowreap
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""
    allowed = {"sowreap", *sys.stdlib_module_names}
    extra = [n for n in run(code).split() if n not in allowed and not n.startswith("_sowreap")]
    assert extra == []


@pytest.mark.parametrize("name", [*OPTIONAL, "sowreap.onnx", "sowreap._reference"])
def test_does_not_import(name):
    assert run(f"import sys, sowreap; print({name!r} in sys.modules)") == "False\n"
