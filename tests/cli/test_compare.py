"""Comparing results, and the words for ranges and times."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from sowreap._cli.compare import compare
from sowreap._cli.model import _tensors
from sowreap._cli.show import duration, share, value_range

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("found", "expected", "tolerance", "agrees", "text"),
    [
        (np.float32([1, NAN]), np.float32([1, NAN]), 0, True, "largest difference 0"),
        (np.float32([1, NAN]), np.float32([1, 2]), 1e9, False, "largest difference inf at [1]"),
        (np.float64([INF, -INF]), np.float64([INF, -INF]), 0, True, "largest difference 0"),
        (np.float64([INF]), np.float64([-INF]), 1, False, "largest difference inf at [0]"),
        (np.float64(1), np.float64(3), 1, False, "largest difference 2 at []"),
        (np.zeros((0, 3)), np.zeros((0, 3)), 0, True, "no values"),
        (np.zeros((0, 3)), np.zeros((0, 2)), 0, False, "shape (0, 3), expected (0, 2)"),
        (np.uint8([0, 255]), np.uint8([1, 254]), 1, True, "largest difference 1 at [0]"),
        (
            np.int64([-(2**63)]),
            np.int64([2**63 - 1]),
            2.0**63,
            False,
            "largest difference 1.84e+19 at [0]",
        ),
        (
            np.array([True, False]),
            np.array([True, True]),
            0.5,
            False,
            "largest difference 1 at [1]",
        ),
        (np.complex64([3 + 4j]), np.complex64([0]), 4, False, "largest difference 5 at [0]"),
        (
            np.array([1, 2], ml_dtypes.bfloat16),
            np.array([1, 2.5], ml_dtypes.bfloat16),
            0.5,
            True,
            "largest difference 0.5 at [1]",
        ),
        (
            np.array(["a", "b"], object),
            np.array(["a", "bb"]),
            9,
            False,
            "1 of 2 values differ",
        ),
        (np.array(["a"], object), np.array(["a"]), 0, True, "0 of 1 values differ"),
        (np.array([b"a"], "V1"), np.array([b"b"], "V1"), 0, False, "1 of 1 values differ"),
    ],
)
def test_compare(found, expected, tolerance, agrees, text):
    difference = compare(np.asarray(found), np.asarray(expected), tolerance)
    assert difference == (agrees, text)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.zeros((0, 2)), "empty"),
        (np.array([True, False]), "False to True"),
        (np.array([2**64 - 1], np.uint64), "18446744073709551615 to 18446744073709551615"),
        (np.array([NAN, NAN]), "all NaN"),
        (np.array([-INF, 1.25]), "-inf to 1.25"),
        (np.array([3 + 4j, 0]), "magnitude 0 to 5"),
        (np.array([1, 448], ml_dtypes.float8_e4m3fn), "1 to 448"),
        (np.array([1, NAN], ml_dtypes.float8_e5m2), "1 to 1, 1 NaN"),
        (np.array([-8, 7], ml_dtypes.int4), "-8 to 7"),
        (np.zeros(3, "V6"), "6 bytes each"),
        (np.array(["x", "x"], object), "1 distinct strings"),
    ],
)
def test_value_range(array, text):
    assert value_range(array) == text


def test_duration_keeps_three_digits():
    assert [duration(s) for s in (0, 1.234e-6, 0.000999, 0.0123, 0.123, 1.234, 123.4)] == [
        "0.00 us",
        "1.23 us",
        "999 us",
        "12.3 ms",
        "123 ms",
        "1.23 s",
        "123 s",
    ]


def test_share_of_nothing():
    assert share(0, 0) == "-"


def test_tensors_of_nested_outputs():
    value = [{"a": np.zeros(1)}, None, [np.ones(2)]]
    assert [(name, array.shape) for name, array in _tensors("out", value)] == [
        ("out[0][a]", (1,)),
        ("out[2][0]", (2,)),
    ]
