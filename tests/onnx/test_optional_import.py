"""What importing needs and does not need, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

import sowreap.onnx


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_base_package_does_not_import_onnx():
    assert run("import sys, sowreap; print('onnx' in sys.modules)") == "False"


def test_missing_onnx_is_an_import_error_that_says_what_to_install():
    code = """
import sys
sys.modules["onnx"] = None
import sowreap
try:
    import sowreap.onnx
except ImportError as error:
    print(error)
"""
    assert run(code) == 'sowreap.onnx needs the package onnx; run: pip install "sowreap[onnx]"'


def test_onnx_part_imports_no_engine_but_onnx():
    code = "import sys, sowreap.onnx; print(*sorted({'onnxruntime', 'torch'} & set(sys.modules)))"
    assert run(code) == ""


def test_public_names():
    for name in sowreap.onnx.__all__:
        assert getattr(sowreap.onnx, name) is not None
    assert {"InferenceSession", "operators", "reference_ops", "backend", "ModelError"} <= set(
        sowreap.onnx.__all__
    )
