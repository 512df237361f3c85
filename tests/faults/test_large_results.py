"""A result that a stranger's indices make too large is refused before memory is taken."""

import os

import numpy as np
import pytest
from processes import run_process

import sowreap as sr
from sowreap import _core

pytest.importorskip("onnx.parser", reason="models need the extra onnx")


@pytest.fixture
def limit():
    """A limit of a thousand bytes."""
    before = _core.result_limit()
    _core.set_result_limit(1000)
    yield 1000
    _core.set_result_limit(before)


def too_large(operator, size):
    return pytest.raises(
        sr.ResultTooLargeError,
        match=rf"^{operator}: the result would have shape .* and {size} bytes; a new one may have "
        "at most 1000",
    )


def test_limit_is_memory_at_first():
    assert _core.result_limit() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_each_operator(limit):
    data = np.broadcast_to(np.float64(1), (2, 70))
    indices = np.broadcast_to(np.int64(1), (2, 70))
    with too_large("gather", 2 * 70 * 70 * 8):
        sr.gather(data, indices)
    with too_large("gather_elements", 1120):
        sr.gather_elements(data, indices)
    with too_large("gather_nd", 70 * 70 * 8):
        sr.gather_nd(data, indices[:1].T)
    one = np.ones((1, 1))
    for operator in ("scatter", "scatter_elements"):
        with too_large(operator, 1120):
            getattr(sr, operator)(data, [[1]], one)
    with too_large("scatter_nd", 1120):
        sr.scatter_nd(data, [[0, 1]], one[0])
    with too_large("tensor_scatter", 1120):
        sr.tensor_scatter(data, data[:, :3], axis=1)


def test_what_fits_is_made(limit):
    data = np.arange(125.0)
    assert sr.gather(data, np.arange(125)).nbytes == 1000
    assert sr.gather(np.zeros((5, 0)), np.zeros(2**20, np.int8)).shape == (2**20, 0)


def test_out_needs_no_new_memory(limit):
    data, out = np.arange(3.0), np.empty(200)
    assert sr.gather(data, np.full(200, 2), out=out) is out
    assert (out == 2).all()


BIG_GATHER = """<ir_version: 10, opset_import: ["": 18]>
g (float[n, 4] x, int64[m] i) => (float[m, 4] y) { [big] y = Gather(x, i) }"""
FEEDS = {"x": np.zeros((2, 4), np.float32), "i": np.zeros(63, np.int64)}


def test_models(limit):
    """The error says in which node."""
    from onnx.parser import parse_model

    from sowreap.onnx import InferenceSession

    session = InferenceSession(parse_model(BIG_GATHER), engine="reference")
    with too_large("gather", 1008) as caught:
        session.run(None, FEEDS)
    assert "big" in "".join(caught.value.__notes__)
    assert isinstance(caught.value, MemoryError)


def test_models_on_onnxruntime(limit):
    """Which has its own class of errors, with our text."""
    pytest.importorskip("onnxruntime", reason="the engine is optional")
    from onnx.parser import parse_model

    from sowreap.onnx import InferenceSession

    session = InferenceSession(parse_model(BIG_GATHER), providers=["CPUExecutionProvider"])
    with pytest.raises(Exception, match=r"Name:'big' .*\(63, 4\) and 1008 bytes"):
        session.run(None, FEEDS)


CODE = """
import sys, warnings
warnings.simplefilter("error")
try:
    from sowreap import _core
except RuntimeWarning as warning:
    print(warning)
else:
    print(_core.result_limit())
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [(" 4096 ", "4096\n"), ("0", "0\n"), ("4 GB", "SOWREAP_MAX_RESULT_BYTES='4 GB'")],
)
def test_environment_variable(text, said, monkeypatch):
    monkeypatch.setenv("SOWREAP_MAX_RESULT_BYTES", text)
    assert run_process(CODE).startswith(said)
