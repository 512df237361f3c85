"""sowreap.scatter, the older name of scatter_elements without a reduction."""

import numpy as np
import pytest

import sowreap as sr
from cases import DTYPES, as_dtype, assert_same, random_values

EXAMPLES = [  # the two of the ONNX operator text
    (
        np.zeros((3, 3)),
        [[1, 0, 2], [0, 2, 1]],
        [[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]],
        0,
        [[2.0, 1.1, 0.0], [1.0, 0.0, 2.2], [0.0, 2.1, 1.2]],
    ),
    ([[1.0, 2.0, 3.0, 4.0, 5.0]], [[1, 3]], [[1.1, 2.1]], 1, [[1.0, 1.1, 3.0, 2.1, 5.0]]),
]


@pytest.mark.parametrize(("data", "indices", "updates", "axis", "want"), EXAMPLES)
def test_published_example(data, indices, updates, axis, want):
    data, updates, want = (np.array(a, np.float32) for a in (data, updates, want))
    assert_same(sr.scatter(data, np.array(indices), updates, axis), want)


@pytest.mark.parametrize("name", DTYPES)
def test_is_scatter_elements(name):
    rng = np.random.default_rng(1)
    data, updates = (random_values(rng, as_dtype(name), shape) for shape in ((4, 5), (3, 5)))
    indices = rng.integers(-4, 4, (3, 5))
    want = sr.scatter_elements(data, indices, updates)
    assert_same(sr.scatter(data, indices, updates), want)


def test_error_carries_its_own_name():
    with pytest.raises(sr.OutOfRangeError, match=r"^scatter: indices\[0\] = 7 "):
        sr.scatter(np.zeros(3), np.array([7]), np.ones(1))
    with pytest.raises(sr.ShapeError, match=r"^scatter: updates has shape \(2,\).*\(1,\)"):
        sr.scatter(np.zeros(3), np.array([0]), np.ones(2))


def test_out_receives_the_result():
    data, out = np.zeros(3), np.full(3, 9.0)
    assert sr.scatter(data, np.array([-1]), np.ones(1), out=out) is out
    assert_same(out, np.array([0.0, 0.0, 1.0]))
    assert_same(data, np.zeros(3))
