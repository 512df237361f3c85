"""Arguments that are lists, and items that are more or less than their bytes."""

import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import sowreap as sr

# --- lists take the dtype of data, and nothing is cut ---


def test_text_in_a_list_is_not_cut_to_the_width_of_data():
    result = sr.scatter(np.array(["a", "b"]), [0], ["long"])
    assert result.tolist() == ["long", "b"]


def test_bytes_in_a_list_are_appended_whole():
    result = sr.scatter_nd(np.array([b"a", b"b"]), [[0]], [b"long"], "add")
    assert result.tolist() == [b"along", b"b"]


def test_numbers_in_a_list_round_to_the_dtype_of_data():
    assert sr.scatter(np.zeros(1, np.float16), [0], [1e300]).tolist() == [np.inf]
    assert sr.scatter(np.zeros(1, ml_dtypes.bfloat16), [0], [1.001]).tolist() == [1.0]


def test_integers_in_a_list_that_do_not_fit_are_refused():
    with pytest.raises(sr.DtypeError, match="updates cannot be read"):
        sr.scatter(np.zeros(1, np.uint8), [0], [256])


def test_a_time_in_a_list_is_not_cut_to_the_day():
    with pytest.raises(sr.DtypeError, match="updates has dtype"):
        sr.scatter(np.zeros(1, "M8[D]"), [0], [np.datetime64("2020-01-01T05:00")])


# --- items without bytes ---


@pytest.fixture
def no_bytes():
    return np.ndarray((3,), dtype=np.dtype([("a", "S0"), ("b", "i4")]))["a"]


def test_items_without_bytes_are_refused(no_bytes):
    with pytest.raises(sr.DtypeError, match="items have no bytes"):
        sr.gather(no_bytes, [0, 1])
    with pytest.raises(sr.DtypeError, match="items have no bytes"):
        sr.scatter(no_bytes, [0, 1], no_bytes[:2])


# --- out of items that hold references ---


def test_out_whose_items_are_one_place_is_refused():
    data = np.array(["a", "b", "c"], object)
    with pytest.raises(sr.ArgumentError, match="several items share memory"):
        sr.gather(data, [0, 1, 2], out=as_strided(data, (3,), (0,)))
    assert data.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("dtype", [object, np.dtypes.StringDType()])
def test_out_that_overlaps_an_input_is_refused(dtype):
    buffer = np.array(list("abcdef"), dtype)
    with pytest.raises(sr.ArgumentError, match="shares memory"):
        sr.gather(buffer[:4], [0, 1, 2], out=buffer[2:5])
    assert buffer.tolist() == list("abcdef")


@pytest.mark.parametrize("dtype", [object, np.dtypes.StringDType()])
def test_data_itself_is_written_in_place(dtype):
    data = np.array(list("abc"), dtype)
    assert sr.scatter(data, [1], np.array(["x"], dtype), out=data) is data
    assert data.tolist() == ["a", "x", "c"]


# --- sums of items that are no strings ---


@pytest.mark.parametrize(
    ("data", "updates"),
    [
        (np.array([1, 2], object), np.array([5], object)),
        (np.array(["1", None], object), np.array(["x"], object)),
        (np.array(["1", "3"], object), np.array([b"x"], object)),
    ],
)
def test_only_strings_are_appended(data, updates):
    before = data.copy()
    with pytest.raises(sr.DtypeError, match=r"updates\[0\] = .* cannot be appended") as caught:
        sr.scatter_elements(data, [1], updates, 0, "add", out=data)
    assert caught.value.position == (0,)
    assert data.tolist() == before.tolist()


def test_sums_of_structured_items_are_refused():
    dtype = np.dtype([("a", object), ("b", "i4")])
    with pytest.raises(sr.DtypeError, match="reduction = 'add' is not defined"):
        sr.scatter_elements(np.zeros(2, dtype), [1], np.zeros(1, dtype), 0, "add")


# --- byte order of text ---


def test_text_keeps_its_byte_order():
    wide = sr.scatter(np.array(["a", "b"], ">U1"), [0], np.array(["xyz"], ">U3"))
    added = sr.scatter_elements(
        np.array(["a", "b"], ">U1"), [0], np.array(["x"], ">U1"), reduction="add"
    )
    assert (wide.dtype, wide.tolist()) == (np.dtype(">U3"), ["xyz", "b"])
    assert (added.dtype, added.tolist()) == (np.dtype(">U2"), ["ax", "b"])


def test_text_of_two_byte_orders_is_refused():
    with pytest.raises(sr.DtypeError, match="updates has dtype"):
        sr.scatter(np.array(["a"], ">U1"), [0], np.array(["xyz"], "<U3"))


# --- attributes ---


def test_an_interrupt_while_the_axis_is_read_is_not_swallowed():
    class Interrupted:
        def __index__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sr.gather(np.zeros(2), [0], Interrupted())


@pytest.mark.parametrize("axis", [True, np.True_, 1.0, "0", None])
def test_an_axis_that_is_no_integer_is_refused(axis):
    with pytest.raises(sr.DtypeError, match="axis must be an integer"):
        sr.gather(np.zeros((2, 2)), [0], axis)


def test_a_huge_axis_is_refused():
    with pytest.raises(sr.ArgumentError, match="far out of range"):
        sr.gather(np.zeros(2), [0], 10**5000)


def test_a_mode_that_cannot_be_encoded_is_shown():
    with pytest.raises(sr.ArgumentError, match="mode"):
        sr.gather(np.zeros(2), [0], mode="\ud800")


def test_a_fill_value_of_zero_of_any_type_is_the_default():
    assert sr.gather(np.ones(2), [0], fill_value=0.0).tolist() == [1.0]


def test_errors_of_tensor_scatter_name_its_own_arguments():
    with pytest.raises(sr.DtypeError, match="update has dtype float64 but past_cache has dtype"):
        sr.tensor_scatter(np.zeros((1, 2, 1), object), np.zeros((1, 1, 1)))


# --- references ---


def test_calls_from_many_threads_leave_reference_counts_alone():
    cache, update, starts = np.zeros((1, 4, 1)), np.ones((1, 1, 1)), np.zeros(1, np.int64)
    before, interval = sys.getrefcount(cache), sys.getswitchinterval()

    def write():
        for _ in range(5000):
            sr.tensor_scatter(cache, update, starts, out=cache)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sys.getrefcount(cache) == before


# --- arrays that change while the arguments are read ---


@pytest.mark.parametrize("size", [8_000_000, 1])
def test_data_that_an_argument_resizes_is_seen_as_it_is_then(size):
    data = np.arange(100.0)

    class Axis:
        def __index__(self):
            data.resize((size,), refcheck=False)
            return 0

    indices = np.arange(0, 8_000_000, 100_000)
    if size == 1:
        with pytest.raises(sr.OutOfRangeError):
            sr.gather(data, indices, Axis())
    else:
        assert sr.gather(data, indices, Axis()).tolist() == [0.0] * len(indices)


def test_data_that_a_later_argument_reshapes_is_seen_as_it_is_then():
    data = np.arange(100.0)

    class Indices:
        def __array__(self, dtype=None, copy=None):
            data.resize((2,), refcheck=False)
            return np.array([50])

    with pytest.raises(sr.OutOfRangeError, match=r"\[-2, 1\]"):
        sr.gather(data, Indices())


# --- objects of any rank and layout ---


def test_objects_of_rank_64_move():
    data = np.array(["a", "b"], object).reshape((1,) * 63 + (2,))
    one = np.ones((1,) * 64, np.int64)
    assert sr.gather(data, [1], 63).item() == "b"
    assert sr.gather_elements(data, one, 63).item() == "b"
    assert sr.gather_nd(data, np.zeros(63, np.int64)).tolist() == ["a", "b"]
    written = sr.scatter_elements(data, one, np.array("z", object).reshape(one.shape), 63)
    assert written.ravel().tolist() == ["a", "z"]


def test_objects_that_are_shown_many_times_are_not_laid_out():
    data = np.broadcast_to(np.array(["a"], object), (2**40,))
    assert sr.gather(data, [5, -1]).tolist() == ["a", "a"]
