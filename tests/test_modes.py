"""What an index out of range does in the modes wrap, clip, fill and drop."""

import numpy as np
import pytest

import sowreap as sr
from cases import (
    DTYPES,
    INDEX_DTYPES,
    SCATTERS,
    WITH_MODE,
    as_dtype,
    assert_same,
    call,
    call_reference,
    modes_of,
    random_values,
    sample_call,
)

GATHERS = [name for name in WITH_MODE if name not in SCATTERS]


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("name", INDEX_DTYPES)
@pytest.mark.parametrize("length", [1, 2, 3, 7, 64, 100, 2**16 + 1])
def test_wrap_and_clip_at_every_end_of_the_index_dtype(mode, name, length):
    info = np.iinfo(name)
    around = [info.min, info.max, 0, length, -length, 3 * length, -3 * length, info.max // 2]
    values = sorted({v + d for v in around for d in range(-2, 3)})
    indices = np.array([v for v in values if info.min <= v <= info.max], name)
    data = np.arange(length)
    want = [v % length if mode == "wrap" else min(max(v, 0), length - 1) for v in indices.tolist()]
    assert_same(sr.gather(data, indices, mode=mode), np.array(want))


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_wrap_and_clip_of_any_value(mode):
    rng = np.random.default_rng(0)
    indices = rng.integers(-(2**63), 2**63 - 1, 100_000, endpoint=True)
    for length in (*rng.integers(1, 2**20, 20), 3, 2**19):
        want = indices % length if mode == "wrap" else np.clip(indices, 0, length - 1)
        assert_same(sr.gather(np.arange(length), indices, mode=mode), want)


@pytest.mark.parametrize("name", ["int64", "uint64", "int32"])
def test_wrap_of_values_that_doubles_hold(name):
    """Up to 2^50 and beyond it, in whole groups and in what is left of one, and with strides."""
    rng = np.random.default_rng(0)
    info = np.iinfo(name)
    for bits in (20, 40, 50, 51, 53):
        low, high = max(-(2**bits), info.min), min(2**bits, info.max)
        values = rng.integers(low, high, 1001, endpoint=True).astype(name)
        values[[5, 900]] = low, high
        for length in (1, 2, 3, 7, 1000, 2**19 + 1):
            around = length * rng.integers(-50, 50, 1001) + rng.integers(-1, 2, 1001)
            near = np.where(rng.random(1001) < 0.5, values.astype(object), around)
            near = np.clip(near, info.min, info.max).astype(name)
            for indices in (values, near, near[::3], np.repeat(near, 2)[::2]):
                want = np.array([int(v) % length for v in indices])
                assert_same(sr.gather(np.arange(length), indices, mode="wrap"), want)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_agrees_with_take(mode, axis):
    """Near the axis: NumPy wraps by repeated addition."""
    rng = np.random.default_rng(0)
    data, indices = rng.random((5, 6, 7)), rng.integers(-30, 30, (9, 4))
    want = np.take(data, indices, axis, mode=mode)
    assert_same(sr.gather(data, indices, axis, mode=mode), want)


@pytest.mark.parametrize("name", DTYPES)
def test_fill_and_drop_leave_each_dtype_alone(name):
    """Items of every width, single and in rows."""
    dtype = as_dtype(name)
    data = random_values(np.random.default_rng(1), dtype, (3, 2))
    fill = data[2, 1]
    indices = np.array([1, 3, -3, -4, 2**40])
    want = np.full((5, 2), fill, dtype)
    want[0], want[2] = data[1], data[0]
    assert_same(sr.gather(data, indices, mode="fill", fill_value=fill), want)
    elements = sr.gather_elements(
        data, np.repeat(indices, 2).reshape(5, 2), mode="fill", fill_value=fill
    )
    assert_same(elements, want)
    assert_same(sr.gather_nd(data, indices[:, None], mode="fill", fill_value=fill), want)
    updates = want[::-1]
    changed = data.copy()
    changed[1], changed[0] = updates[0], updates[2]
    assert_same(sr.scatter_nd(data, indices[:, None], updates, mode="drop"), changed)
    elements = np.repeat(indices, 2).reshape(5, 2)
    assert_same(sr.scatter_elements(data, elements, updates, mode="drop"), changed)
    assert_same(sr.scatter(data, elements, updates, mode="drop"), changed)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "name", ["int8", "float16", "float32", "int64", "complex128", "longdouble"]
)
def test_fill_and_drop_of_many(name, axis):
    """More than a kernel looks at together, of all widths, good and bad by chance; also strided."""
    rng = np.random.default_rng(0)
    wide = rng.integers(-99, 99, (74, 2200)).astype(name)
    for data in (wide, wide[::-1, ::2]):
        n, other = data.shape[axis], data.shape[1 - axis]
        shape = (20, other) if axis == 0 else (other, 20)
        elements = rng.integers(-2 * n, 2 * n, shape)
        good = (elements >= -n) & (elements < n)
        fill = data[0, 0] + 1
        want = np.take_along_axis(data, np.where(good, elements, 0), axis)
        want = np.where(good, want, fill)
        assert_same(sr.gather_elements(data, elements, axis, mode="fill", fill_value=fill), want)
        for line in (elements[0], elements[:, 0], elements[0, ::3]):
            ok = (line >= -n) & (line < n)
            picked = np.take(data, np.where(ok, line, 0), axis)
            mask = ok[:, None] if axis == 0 else ok
            want = np.where(mask, picked, fill)
            assert_same(sr.gather(data, line, axis, mode="fill", fill_value=fill), want)
            row = data[0] if axis else data[:, 0]
            want = np.where(ok, row[np.where(ok, line, 0)], fill)
            assert_same(sr.gather(row, line, mode="fill", fill_value=fill), want)
        updates = rng.integers(-99, 99, shape).astype(name)
        want, cell = data.copy(), list(np.nonzero(good))
        cell[axis] = elements[good]
        want[tuple(cell)] = updates[good]  # in order: the last one stays
        assert_same(sr.scatter_elements(data, elements, updates, axis, mode="drop"), want)


def test_one_component_out_of_range_makes_a_tuple_absent():
    data = np.arange(6).reshape(2, 3)
    indices = np.array([[0, 2], [2, 0], [0, 3], [-3, -1], [-2, -3]])
    assert_same(sr.gather_nd(data, indices, mode="fill", fill_value=9), np.array([2, 9, 9, 9, 0]))
    result = sr.scatter_nd(data, indices, np.arange(10, 15), "add", mode="drop")
    assert_same(result, np.array([[14, 1, 12], [3, 4, 5]]))


def test_each_component_wraps_and_clips_on_its_own_axis():
    data = np.arange(6).reshape(2, 3)
    indices = np.array([[2, 3], [-1, -4], [5, -9]])
    assert_same(sr.gather_nd(data, indices, mode="wrap"), np.array([0, 5, 3]))
    assert_same(sr.gather_nd(data, indices, mode="clip"), np.array([5, 0, 3]))


# --- axes of length 0 ---------------------------------------------------------------------------


def empty_axis(operator, picks=2):
    """A call on data of shape (0, 3) with so many picks."""
    indices = np.full((picks, 3), 5)
    if operator.endswith("_nd"):
        indices = np.full((picks, 2), 5)[:, :1]
    elif operator == "gather":
        indices = indices[:, 0]
    inputs = {"data": np.zeros((0, 3), np.float32), "indices": indices}
    return inputs | ({"updates": np.ones((picks, 3), np.float32)} if operator in SCATTERS else {})


@pytest.mark.parametrize("operator", WITH_MODE)
@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_empty_axis_has_no_cell_to_wrap_or_clip_to(operator, mode):
    inputs = empty_axis(operator)
    first = (0,) * inputs["indices"].ndim
    out = np.full((0, 3) if operator in SCATTERS else (2, 3), 4, np.float32)
    for extra in ({}, {"out": out}):
        with pytest.raises(sr.OutOfRangeError, match=f"^{operator}: .*axis 0 .*length 0") as caught:
            call(operator, inputs, {"mode": mode}, **extra)
        assert (caught.value.position, caught.value.length) == (first, 0)
    assert (out == 4).all()


@pytest.mark.parametrize("operator", WITH_MODE)
def test_empty_axis_is_absent(operator):
    inputs = empty_axis(operator)
    if operator in SCATTERS:
        assert_same(call(operator, inputs, {"mode": "drop"}), inputs["data"])
    else:
        want = np.full((2, 3), 7, np.float32)
        assert_same(call(operator, inputs, {"mode": "fill", "fill_value": 7}), want)


@pytest.mark.parametrize("operator", WITH_MODE)
def test_empty_axis_without_an_index(operator):
    for mode in modes_of(operator):
        result = call(operator, empty_axis(operator, 0), {"mode": mode})
        assert result.shape == (0, 3)


def test_only_the_empty_one_of_two_axes_is_named():
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.gather_nd(np.zeros((2, 0)), np.array([[7, 5]]), mode="wrap")
    assert (caught.value.position, caught.value.axis) == ((0, 1), 1)


# --- in place -----------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", WITH_MODE)
def test_in_place_and_out_equal_a_new_array(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32), 30)
    inputs["indices"] = inputs["indices"] * 3
    for mode in modes_of(operator)[1:]:
        attributes |= {"mode": mode}
        want = call(operator, inputs, attributes)
        out = np.zeros_like(want)
        call(operator, inputs, attributes, out=out)
        assert_same(out, want)
        if operator in SCATTERS:
            out = inputs["data"].copy()
            call(operator, {**inputs, "data": out}, attributes, out=out)
            assert_same(out, want)


# --- fill_value ---------------------------------------------------------------------------------


def filled(name, *fill_value):
    words = {"fill_value": fill_value[0]} if fill_value else {}
    return sr.gather(np.zeros(1, as_dtype(name)), [9], mode="fill", **words)[0]


@pytest.mark.parametrize("name", [n for n in DTYPES if n != "float8_e8m0fnu"])
def test_default_is_the_zero_of_the_dtype(name):
    dtype = as_dtype(name)
    want = np.zeros(1, dtype)
    got = sr.gather(random_values(np.random.default_rng(2), dtype, (2,)), [5], mode="fill")
    assert_same(got, want)


@pytest.mark.parametrize(
    ("name", "value", "want"),
    [
        ("uint8", 255, 255),
        ("uint8", np.int64(7), 7),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int8", True, 1),
        ("int8", np.array(-3), -3),
        ("float32", 2**70, 2.0**70),
        ("float16", 0.1, np.float16(0.1)),
        ("float32", np.inf, np.inf),
        ("float64", np.float32(0.5), 0.5),
        ("float64", False, 0.0),
        (">f4", 1.5, 1.5),
        ("bfloat16", 3, 3),
        ("float8_e4m3fn", -448, -448),
        ("float4_e2m1fn", 6.0, 6),
        ("int4", -8, -8),
        ("complex64", 1, 1),
        ("complex64", 1 - 2j, 1 - 2j),
        ("bool", True, True),
        ("U5", "words", "words"),
        ("S5", b"ab", b"ab"),
        ("StringDType", "any length", "any length"),
        ("object", None, None),
        ("object", 0, 0),
        ("datetime64[us]", np.datetime64("2020-01-01"), np.datetime64("2020-01-01")),
        ("timedelta64[s]", np.timedelta64(3, "m"), np.timedelta64(180, "s")),
        ("record", (0.5, 3, True), np.array((0.5, 3, True), as_dtype("record"))),
    ],
)
def test_values_that_the_dtype_holds(name, value, want):
    assert filled(name, value) == want


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "longdouble", "bfloat16"])
def test_nan_fills_floats(name):
    assert np.isnan(filled(name, np.nan))


def test_object_arrays_hold_anything():
    for value in ([1, 2], np.ones(2), {}):
        assert filled("object", value) is value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uint8", 300),
        ("uint8", -1),
        ("int64", 2**63),
        ("uint64", 2**64),
        ("int8", np.int64(128)),
        ("int4", 8),
        ("uint2", -1),
        ("float16", 1e5),
        ("float32", 1e300),
        ("float32", 10**50),
        ("complex64", 1e300j),
        ("float64", 10**400),
        pytest.param("int64", 10**5000, id="more digits than Python writes"),
        ("float8_e4m3fn", np.inf),
        ("float8_e8m0fnu", 0),
        ("float8_e8m0fnu", -1.0),
        ("float4_e2m1fn", 9.0),
        ("float4_e2m1fn", np.nan),
        ("U2", "too long"),
        ("S2", b"too long"),
    ],
)
def test_values_that_do_not_fit(name, value):
    with pytest.raises(sr.ArgumentError, match=r"^gather: fill_value = .* does not fit.*dtype"):
        filled(name, value)


@pytest.mark.parametrize("operator", GATHERS)
def test_a_dtype_without_zero_needs_a_value(operator):
    """As the loops say; in another mode nothing is filled."""
    dtype = as_dtype("float8_e8m0fnu")
    inputs, attributes = sample_call(operator, dtype)
    assert_same(call(operator, inputs, attributes), call_reference(operator, inputs, attributes))
    for function in (call, call_reference):
        with pytest.raises(sr.ArgumentError, match="fill_value") as caught:
            function(operator, inputs, {**attributes, "mode": "fill"})
        assert (caught.value.argument, caught.value.value) == ("fill_value", 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("int32", np.nan),
        ("int32", 1.0),
        ("uint8", 1j),
        ("int4", 1.5),
        ("float32", 1j),
        ("bool", 1),
        ("bool", 0.0),
        ("float32", "1"),
        ("float32", None),
        ("int8", np.datetime64(3, "s")),
        ("U5", 1),
        ("U5", b"a"),
        ("S5", "a"),
        ("StringDType", 1.5),
        ("StringDType", None),
        ("datetime64[us]", 5),
        ("datetime64[us]", np.timedelta64(3, "s")),
        ("record", 1.5),
        ("V3", b"abc"),
    ],
)
def test_values_of_another_kind(name, value):
    with pytest.raises(sr.DtypeError, match=r"^gather: fill_value = .*another kind.*dtype"):
        filled(name, value)


@pytest.mark.parametrize("value", [[1.0], np.ones(1), np.ones((2, 2)), (1.0, 2.0)])
def test_values_that_are_no_scalars(value):
    with pytest.raises(sr.ArgumentError, match=r"^gather: fill_value has shape \(.*a scalar"):
        filled("float32", value)


@pytest.mark.parametrize("operator", GATHERS)
def test_a_bad_fill_value_is_refused_although_no_index_needs_it(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.int8))
    attributes |= {"mode": "fill", "fill_value": 1000}
    with pytest.raises(sr.ArgumentError, match=rf"^{operator}: fill_value = 1000 .*int8") as caught:
        call(operator, inputs, attributes)
    assert (caught.value.argument, caught.value.value) == ("fill_value", 1000)


class Meddler:
    """A number that changes an array while it is read."""

    def __init__(self, change):
        self.change = change

    def __array__(self, dtype=None, copy=None):
        self.change()
        return np.array(3, np.int8)


def test_fill_value_that_shrinks_data():
    data = np.full(100_000, 7, np.float32)
    meddler = Meddler(lambda: data.resize((1,), refcheck=False))
    result = sr.gather(data, [0, 99_999], mode="fill", fill_value=meddler)
    assert_same(result, np.array([7, 3], np.float32))


@pytest.mark.filterwarnings("ignore:Setting the dtype:DeprecationWarning")  # NumPy 2.5
def test_fill_value_that_changes_the_dtype_of_data():
    data = np.zeros(1000, np.float32)
    meddler = Meddler(lambda: data.__setattr__("dtype", np.dtype("V1000")))
    with pytest.raises(sr.DtypeError, match=r"^gather: data got another dtype"):
        sr.gather(data, [0, 9], mode="fill", fill_value=meddler)
