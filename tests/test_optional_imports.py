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
    "jax",
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


def test_an_array_of_one_library_imports_no_other():
    code = """
import sys
import numpy as np
torch = sys.modules["torch"] = type(sys)("torch")  # a module that is not torch, nor has its names
import sowreap as sr
class Foreign:
    def __dlpack_device__(self):
        return (1, 0)
    def __dlpack__(self, **options):
        return np.arange(3).__dlpack__(**options)
assert sr.gather(Foreign(), [2]).tolist() == [2]
assert sr.gather([1, 2], [0]).tolist() == [1]
assert sr.segment_sum([1.0, 2.0], [0, 0]).tolist() == [3]
print(sorted({"jax", "ml_dtypes", "tensorflow"} & set(sys.modules)))
"""
    assert run(code) == "[]\n"


def test_a_tensor_imports_no_other_library():
    pytest.importorskip("torch", reason="the extra torch is large, and optional")
    code = """
import sys
import torch
before = set(sys.modules)
import sowreap as sr
sr.scatter_elements(torch.zeros(3), torch.tensor([1]), torch.ones(1), reduction="add")
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(sorted(new & {"jax", "ml_dtypes", "onnx", "onnxscript", "dask"}))
print("sowreap.torch" in sys.modules)
"""
    assert run(code) == "[]\nFalse\n"
