"""Reduction mean, and reductions that leave out the item of data."""

import numpy as np
import pytest

import sowreap as sr
from cases import (
    COMPLEX,
    ML_DTYPES,
    NUMBERS,
    REDUCERS,
    as_dtype,
    assert_same,
    call,
    call_reference,
    every_code,
    random_values,
    reductions_of,
    sample_call,
)
from sowreap import _reference

MEANS = [name for name in (*NUMBERS, *COMPLEX) if name != "bool"]


def scattered(data, indices, updates, reduction, **attributes):
    return sr.scatter_elements(data, np.array(indices), updates, 0, reduction, **attributes)


@pytest.mark.parametrize(
    ("include_self", "want"), [(True, [3.0, 20.0, 35.0]), (False, [4.0, 20.0, 40.0])]
)
def test_base_counts_as_one_of_the_terms(include_self, want):
    data, updates = np.array([1.0, 20.0, 30.0]), np.array([2.0, 6.0, 40.0])
    result = scattered(data, [0, 0, 2], updates, "mean", include_self=include_self)
    assert_same(result, np.array(want))


@pytest.mark.parametrize(
    ("updates", "want"),
    [([-7, 0], -4), ([7, 0], 3), ([-1, 0], -1), ([100, 100], -28), ([-128, -128], 0)],
)
def test_integers_wrap_and_then_floor(updates, want):
    result = scattered(
        np.zeros(1, np.int8), [0, 0], np.array(updates, np.int8), "mean", include_self=False
    )
    assert_same(result, np.array([want], np.int8))


def test_unsigned_integers_are_not_negative():
    top = np.array([2**64 - 1], np.uint64)
    result = scattered(top, [0], np.zeros(1, np.uint64), "mean")
    assert_same(result, np.array([2**63 - 1], np.uint64))


def test_more_terms_than_the_dtype_can_count():
    """300 and 70,000 terms are counted as what they are in int8 and in float16."""
    for name, terms in (("int8", 300), ("float16", 70_000), ("int4", 300), ("float8_e5m2", 300)):
        updates = np.zeros(terms, as_dtype(name))
        updates[:3] = 2
        result = scattered(updates[:1], np.zeros(terms, int), updates, "mean", include_self=False)
        assert_same(
            result, np.array([6 // terms if "int" in name else 6 / terms]).astype(updates.dtype)
        )


def test_half_sums_round_after_each_update_and_once_when_divided():
    updates = np.array([2048, 1, 1, 1], np.float16)
    result = scattered(np.zeros(1, np.float16), [0] * 4, updates, "mean", include_self=False)
    assert_same(result, np.array([512], np.float16))


def test_quotients_between_the_least_numbers_round_to_the_nearest():
    least, second, third = 0, 1, 2  # as bits: 2**-127, 2**-126, 2**-125
    dtype = as_dtype("float8_e8m0fnu")
    data = np.array([second], np.uint8).view(dtype)
    updates = np.array([least, least], np.uint8).view(dtype)
    # 1 + 1/2 is a tie, and goes to 2; 2 + 1/2 rounds to 2; a third of that is nearer to 1/2.
    for operators in (sr, _reference):
        total = operators.scatter_elements(data, np.zeros(1, int), updates[:1], 0, "add")
        assert total.view(np.uint8) == third
        mean = operators.scatter_elements(data, np.zeros(2, int), updates, 0, "mean")
        assert mean.view(np.uint8) == least


def test_complex_parts_are_divided_each():
    data = np.array([complex(np.inf, 1)], np.complex64)
    result = scattered(data, [0], np.array([3j], np.complex64), "mean")
    assert_same(result, np.array([complex(np.inf, 2)], np.complex64))


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("terms", [1, 2, 3, 255, 256, 1000])
def test_quotients_of_every_dtype(name, terms):
    """The last division alone: a sum of one number and zeros, in single items and in columns."""
    dtype = as_dtype(name)
    values = random_values(np.random.default_rng(3), dtype, (40,))
    if dtype.itemsize == 1:
        values = (
            every_code(dtype) if name in ML_DTYPES else np.arange(256, dtype=np.uint8).view(dtype)
        )
    if name == "float8_e8m0fnu" and terms > 1:
        return  # it has no zero: sums of several terms are the matter of other tests
    updates = np.zeros((terms, values.size), dtype)
    updates[0] = values
    with np.errstate(all="ignore"):
        sums = values + updates[1] if terms > 1 else values
    want = np.array([[_reference.quotient(total, terms) for total in sums]], dtype)
    indices = np.zeros((terms, values.size), int)
    inputs = {"data": values[None], "indices": indices, "updates": updates}
    attributes = {"reduction": "mean", "include_self": False}
    assert_same(call("scatter_elements", inputs, attributes), want)
    inputs["indices"] = indices[:, :1]
    assert_same(call("scatter_nd", inputs, attributes), want)


@pytest.mark.parametrize("operator", REDUCERS)
@pytest.mark.parametrize("name", [*NUMBERS, *COMPLEX, "U5", "object"])
def test_first_update_replaces_the_base_bit_for_bit(operator, name):
    """Whatever is there: NaN, infinities, -0.0, numbers of types without a neutral element."""
    inputs, attributes = sample_call(operator, as_dtype(name))
    for reduction in reductions_of(as_dtype(name)):
        attributes |= {"reduction": reduction, "include_self": False}
        got = call(operator, inputs, attributes)
        assert_same(got, call_reference(operator, inputs, attributes))


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max", "mean"])
def test_a_single_update_is_the_result(reduction):
    updates = np.array([-0.0, np.inf, 5.0])
    result = scattered(
        np.array([1.0, np.nan, 7.0, 8.0]), [0, 1, 2], updates, reduction, include_self=False
    )
    assert_same(result, np.array([-0.0, np.inf, 5.0, 8.0]))


@pytest.mark.parametrize("include_self", [True, False, np.True_, np.False_])
def test_none_has_no_use_for_include_self(include_self):
    result = scattered(np.zeros(3), [0, 0], np.array([1.0, 2.0]), "none", include_self=include_self)
    assert_same(result, np.array([2.0, 0, 0]))


def test_strings_without_the_base():
    data = np.array(["a", "b", "c"])
    result = scattered(
        data, [1, 1, 5], np.array(["x", "y", "z"]), "add", include_self=False, mode="drop"
    )
    assert result.tolist() == ["a", "xy", "c"]


def test_first_update_that_is_no_string():
    data, updates = np.array(["a"], object), np.array([5], object)
    with pytest.raises(sr.DtypeError, match=r"^scatter_elements: updates\[0\] = 5 "):
        scattered(data, [0], updates, "add", include_self=False)


@pytest.mark.parametrize("operator", REDUCERS)
@pytest.mark.parametrize("include_self", [True, False])
def test_in_place_touches_only_what_has_an_update(operator, include_self):
    data = np.full((50, 6), np.nan, np.float32)
    inputs = {"data": data, "indices": np.array([[3], [3]]), "updates": np.ones((2, 6), np.float32)}
    if operator == "scatter_elements":
        inputs["indices"] = np.repeat(inputs["indices"], 6, 1)
    data[3] = 4
    attributes = {"reduction": "mean", "include_self": include_self}
    assert call(operator, inputs, attributes, out=data) is data
    want = np.full((50, 6), np.nan, np.float32)
    want[3] = 2 if include_self else 1
    assert_same(data, want)


@pytest.mark.parametrize("picks", [3_000, 200_000])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_few_and_many_updates_for_the_cells(picks, width, include_self, threads):
    """Cells are divided one after the other, or where updates were: with few of those."""
    sr.set_num_threads(threads)
    make = np.random.default_rng(picks)
    base = make.integers(-9, 9, (50_000, 2 * width)).astype(np.float64)
    data = base[:, ::2]  # not contiguous
    indices = make.integers(-50_000, 60_000, (picks, 1))
    updates = make.integers(-9, 9, (picks, width)).astype(np.float64)
    kept = indices[:, 0] < 50_000
    count = np.bincount(indices[kept, 0] % 50_000, minlength=50_000)[:, None]
    start = data if include_self else np.where(count > 0, 0, data)
    want = start.copy()
    np.add.at(want, indices[kept, 0], updates[kept])
    want /= np.where(count > 0, count + include_self, 1)
    attributes = {"include_self": include_self, "mode": "drop"}
    assert_same(sr.scatter_nd(data, indices, updates, "mean", **attributes), want)
    assert sr.scatter_nd(data, indices, updates, "mean", out=data, **attributes) is data
    assert_same(data, want)
    assert (base[:, 1::2] == base[:, 1::2].round()).all()


@pytest.mark.parametrize(
    ("data", "reduction", "include_self", "want"),
    [
        ([1, 2, 3, 4], "add", True, [5, 14, 8, 4]),
        ([1, 2, 3, 4], "add", False, [4, 12, 5, 4]),
        ([5, 4, 3, 2], "max", True, [5, 6, 5, 2]),
        ([5, 4, 3, 2], "max", False, [3, 6, 5, 2]),
    ],
)
def test_published_examples(data, reduction, include_self, want):
    """Those of the documentation of torch.Tensor.scatter_reduce_."""
    data, updates = np.array(data, np.float32), np.arange(1, 7, dtype=np.float32)
    indices = [0, 1, 0, 1, 2, 1]
    result = scattered(data, indices, updates, reduction, include_self=include_self)
    assert_same(result, np.array(want, np.float32))
