"""The models in the package onnx, run whole in a session on onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from onnx import numpy_helper

from sowreap.onnx import InferenceSession

ort = pytest.importorskip("onnxruntime", reason="the engine is optional")

FOLDER = Path(onnx.__file__).parent / "backend/test/data"
SIMPLE = sorted(path.name for path in (FOLDER / "simple").iterdir())
LARGE = {"light_vgg19", "light_zfnet512"}  # make weights of half a gigabyte each
LIGHT = sorted(path.stem for path in (FOLDER / "light").glob("*.onnx"))


def options() -> Any:
    chosen = ort.SessionOptions()
    chosen.log_severity_level = 3  # of initializers that the models do not use
    return chosen


def read(folder: Path, kind: str) -> list[np.ndarray]:
    count = len(list(folder.glob(f"{kind}_*.pb")))
    return [
        numpy_helper.to_array(onnx.load_tensor(str(folder / f"{kind}_{i}.pb")))
        for i in range(count)
    ]


def opened(kind: type, path: Path) -> tuple[Any, str]:
    """Return a session, or why there is none."""
    try:
        return kind(path, options()), ""
    except Exception as error:  # the classes of onnxruntime have no common one
        return None, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", [name for name in LIGHT if name not in LARGE])
def test_light(name: str):
    expected = onnx.load_tensor(str(FOLDER / f"light/{name}_output_0.pb"))
    session = InferenceSession(FOLDER / f"light/{name}.onnx", options())
    (image,) = session.get_inputs()
    count = int(np.prod(image.shape))
    ramp = np.arange(count, dtype=np.float32).reshape(image.shape) / count  # that of onnx's suite
    (found,) = session.run(None, {image.name: ramp})
    assert_allclose(found, numpy_helper.to_array(expected), rtol=1e-3, atol=1e-7, strict=True)


@pytest.mark.parametrize("name", SIMPLE)
def test_simple(name: str):
    path = FOLDER / "simple" / name / "model.onnx"
    plain, refusal = opened(ort.InferenceSession, path)
    session, ours = opened(InferenceSession, path)
    assert ours == refusal
    if refusal:  # an operator of training; a locale that the system lacks
        return
    cases = sorted(path.parent.glob("test_data_set_*"))
    assert cases
    for case in cases:
        inputs = [each.name for each in session.get_inputs()]
        feeds = dict(zip(inputs, read(case, "input"), strict=True))
        found, expected = session.run(None, feeds), read(case, "output")
        for a, b, c in zip(found, plain.run(None, feeds), expected, strict=True):
            assert_array_equal(a, b, strict=True)
            if c.dtype.kind == "f":
                assert_allclose(a, c, rtol=1e-5, atol=1e-7)
            else:
                assert_array_equal(a, c)
