"""Scripts of models, written and run as a user runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sowreap.onnx import InferenceSession, to_python

TIMEOUT = 120  # seconds; only a hang takes as long


def namespace(model: Any) -> dict[str, Any]:
    """Return the names that the script of a model defines."""
    names: dict[str, Any] = {"__name__": "exported"}
    exec(compile(to_python(model), "exported.py", "exec"), names)
    return names


def call(names: dict[str, Any], feeds: dict[str, Any]) -> list[Any]:
    """Call the function of the main graph; return its outputs as arrays."""
    (function,) = (
        value
        for value in names.values()
        if callable(value) and (value.__doc__ or "").startswith("Compute the outputs")
    )
    arguments = {names["INPUTS"][name][0]: value for name, value in feeds.items()}
    outputs = function(**arguments)
    return list(outputs) if len(names["OUTPUTS"]) > 1 else [outputs]


def assert_same(found: Any, expected: Any, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Check dtype, shape and values, inside lists too."""
    if isinstance(expected, list):
        assert isinstance(found, list)
        assert len(found) == len(expected)
        for item, wanted in zip(found, expected, strict=True):
            assert_same(item, wanted, rtol, atol)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    if expected.dtype.kind in "OUT":
        assert_array_equal(found.astype(object), expected.astype(object))
        return
    assert found.dtype == expected.dtype
    if expected.dtype.isbuiltin != 1:  # what assert_allclose does not promote
        found, expected = found.astype(np.float32), expected.astype(np.float32)
        rtol = max(rtol, 2**-6)
    if rtol:
        assert_allclose(found, expected, rtol, atol)
    else:
        assert_array_equal(found, expected)


def assert_as_session(model: Any, feeds: dict[str, Any]) -> dict[str, Any]:
    """Check that the script gives what the session gives; return the names of the script."""
    expected = InferenceSession(model, engine="reference").run(None, feeds)
    names = namespace(model)
    assert_same(call(names, feeds), expected)
    return names


def run_script(path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, str(path), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        cwd=path.parent,
    )
