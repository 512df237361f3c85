"""Arithmetic of the types of two bytes and fewer, pair by pair.

The types of one byte: all pairs of values (65536 for eight bits), against ml_dtypes and NumPy.
float16 and bfloat16: a large sample that is rich in ties, subnormals, overflow and NaN.
"""

import ml_dtypes
import numpy as np
import pytest

import sowreap as sr
from cases import ML_DTYPES, as_dtype, assert_same, every_code

ONE_BYTE = ("bool", "int8", "uint8", *(name for name in ML_DTYPES if name != "bfloat16"))


def expected(reduction, a, b):
    """The rules for pairs of arrays; arithmetic is the type's own."""
    with np.errstate(all="ignore"):
        if a.dtype.kind == "b":
            return a | b if reduction in ("add", "max") else a & b
        if reduction in ("add", "mul"):
            result = a + b if reduction == "add" else a * b
            assert result.dtype == a.dtype
            return result
        better = b < a if reduction == "min" else b > a
        return np.where(better | ((b != b) & (a == a)), b, a).astype(a.dtype)


def check_pairs(reduction, a, b):
    want = expected(reduction, a, b)
    everywhere = np.arange(a.size)
    assert_same(sr.scatter_elements(a, everywhere, b, 0, reduction), want)
    assert_same(sr.scatter_nd(a, everywhere[:, None], b, reduction), want)
    # rows, whose inner loop runs over neighbours
    rows, updates = a.reshape(-1, a.size)[:, :, None], b.reshape(-1, b.size)[:, :, None]
    assert_same(sr.scatter_nd(rows, [[0]], updates, reduction), want[None, :, None])


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("name", ONE_BYTE)
def test_all_pairs_of_one_byte(name, reduction):
    codes = every_code(as_dtype(name))
    a, b = (c.reshape(-1) for c in np.meshgrid(codes, codes, indexing="ij"))
    check_pairs(reduction, a, b)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_sample_of_pairs_of_two_bytes(name, reduction):
    rng = np.random.default_rng(0)
    dtype = as_dtype(name)
    codes = rng.integers(0, 2**16, (2, 1_000_000)).astype(np.uint16)
    # neighbours in size, whose sums and products round and tie
    close = rng.integers(0, 2**16, 500_000).astype(np.uint16)
    codes = np.hstack([codes, [close, close ^ rng.integers(0, 2**12, close.size, np.uint16)]])
    a, b = codes.astype(np.uint16).view(dtype)
    check_pairs(reduction, a, b)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_value_of_two_bytes_meets_the_special_ones(name):
    dtype = as_dtype(name)
    info = ml_dtypes.finfo(dtype)
    special = np.array(
        [0.0, -0.0, 1.0, -1.0, 3.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.eps]
    ).astype(dtype)
    codes = np.arange(2**16, dtype=np.uint16).view(dtype)
    for value in special:
        for reduction in ("add", "mul", "min", "max"):
            check_pairs(reduction, codes, np.full_like(codes, value))
            check_pairs(reduction, np.full_like(codes, value), codes)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_sum_rounds_after_each_update(name):
    """Against the type's own addition, one after the other."""
    rng = np.random.default_rng(1)
    updates = rng.normal(size=(500, 64)).astype(as_dtype(name))
    want = np.zeros(64, updates.dtype)
    for row in updates:
        want = want + row
    result = sr.scatter_nd(np.zeros_like(updates[:1]), np.zeros((500, 1), int), updates, "add")
    assert_same(result[0], want)
