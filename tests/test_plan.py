"""What the core decides before it runs: the form, the packing and the split of a call.

The arrays are allocated and hardly touched, so they take little memory. Those of indices hold zeros
where nothing else is written, since a plan looks at some of them.
"""

import numpy as np
import pytest

import sowreap as sr
from sowreap import _core


@pytest.fixture(autouse=True)
def two_threads():
    sr.set_num_threads(2)


def untouched(shape):
    return np.empty(shape, np.float32)


def unlike_rows(shape):
    """Indices whose rows are not constant, as far as a plan looks."""
    indices = np.zeros(shape, np.int64)
    indices[[0, shape[0] // 2, -1]] = np.arange(shape[1])
    return indices


def test_wide_elements_are_packed_columns():
    data, indices = untouched((4096, 4096)), unlike_rows((4096, 4096))
    text = _core.explain_plan("gather_elements", data, indices, untouched((4096, 4096)))
    assert "form: columns, inner run of 4096" in text
    assert "packed" in text


def test_rows_that_are_likely_constant_are_not_packed():
    data, indices = untouched((4096, 4096)), np.zeros((4096, 4096), np.int64)
    assert "packed" not in _core.explain_plan("gather_elements", data, indices, data)
    indices[-1, 7] = 1
    assert "packed" in _core.explain_plan("gather_elements", data, indices, data)


def test_packing_stands_for_the_copy_of_data_where_all_of_it_is_covered():
    data, indices = untouched((4096, 4096)), unlike_rows((4096, 4096))
    whole = _core.explain_plan("scatter_elements", data, indices, data)
    in_place = _core.explain_plan("scatter_elements", data, indices, data, in_place=True)
    part = _core.explain_plan("scatter_elements", data, indices[:, :4000], data[:, :4000])
    assert "packed from data" in whole
    assert "packed\n" in in_place
    assert "packed\n" in part


def test_elements_along_the_last_axis_are_single_items_of_rows():
    data, indices = untouched((4096, 4096)), np.zeros((4096, 4096), np.int64)
    text = _core.explain_plan("scatter_elements", data, indices, data, axis=1)
    assert "form: slices, inner run of 1" in text
    assert "split along batches" in text


def test_an_expanded_index_makes_slices():
    indices = np.broadcast_to(np.zeros((5000, 1), np.int64), (5000, 64))
    text = _core.explain_plan(
        "scatter_elements", untouched((9000, 64)), indices, untouched((5000, 64))
    )
    assert "form: slices, inner run of 64" in text


def test_axes_that_are_contiguous_together_become_one_run():
    text = _core.explain_plan(
        "gather", untouched((100, 4, 8, 2)), np.zeros((10,), np.int64), untouched((10, 4, 8, 2))
    )
    assert "form: slices, inner run of 64" in text
    assert text.count("lane") == 1


def test_gather_along_the_last_axis_reads_single_items():
    text = _core.explain_plan(
        "gather",
        untouched((512, 5120)),
        np.zeros((4096,), np.int64),
        untouched((512, 4096)),
        axis=1,
    )
    assert "form: slices, inner run of 1" in text


def test_flat_sums_are_divided_by_owner():
    text = _core.explain_plan(
        "scatter_elements",
        untouched((1 << 20,)),
        np.arange(1 << 18)[::-1],
        untouched((1 << 18,)),
    )
    assert "split along owners of cells in 2" in text


def test_a_small_call_stays_on_one_thread():
    text = _core.explain_plan(
        "gather", untouched((100, 8)), np.zeros((50,), np.int64), untouched((50, 8))
    )
    assert "threads: 1, split along nothing in 1" in text


def test_an_empty_call_has_nothing_to_move():
    text = _core.explain_plan(
        "gather", untouched((3, 0)), np.zeros((5,), np.int64), untouched((5, 0))
    )
    assert "nothing to move" in text


COUNTED = {
    "mean of rows": (
        "scatter_nd",
        (1024, 64),
        (500, 1),
        (500, 64),
        {"reduction": "mean"},
        4 * 1024,
    ),
    "mean of single items": (
        "scatter_elements",
        (4096,),
        (500,),
        (500,),
        {"reduction": "mean"},
        4 * 4096,
    ),
    "add without the base": (
        "scatter_nd",
        (4096, 64),
        (500, 1),
        (500, 64),
        {"reduction": "add", "include_self": False},
        512,
    ),
    "mean of tuples": (
        "scatter_nd",
        (64, 32),
        (500, 2),
        (500,),
        {"reduction": "mean"},
        4 * 64 * 32,
    ),
    "mean of columns": (
        "scatter_elements",
        (512, 100),
        (512, 100),
        (512, 100),
        {"reduction": "mean"},
        4 * 512 * 100,
    ),
    "mean of columns with few picks": (
        "scatter_elements",
        (4096, 100),
        (5, 100),
        (5, 100),
        {"reduction": "mean"},
        4 * 4096,
    ),
    "none": ("scatter_nd", (1024, 64), (500, 1), (500, 64), {"include_self": False}, None),
    "add": ("scatter_nd", (1024, 64), (500, 1), (500, 64), {"reduction": "add"}, None),
}


@pytest.mark.parametrize("name", COUNTED)
def test_memory_that_counting_takes(name):
    operator, data, indices, updates, attributes, size = COUNTED[name]
    sr.set_num_threads(1)
    picks = np.random.default_rng(0).integers(0, 32, indices)
    text = _core.explain_plan(operator, untouched(data), picks, untouched(updates), **attributes)
    assert f"buffer: {size} bytes a thread\n" in text if size else "buffer" not in text


def test_each_owner_counts_its_own_cells():
    text = _core.explain_plan(
        "scatter_elements",
        untouched((1 << 20,)),
        np.arange(1 << 18)[::-1],
        untouched((1 << 18,)),
        reduction="mean",
    )
    assert f"buffer: {4 << 19} bytes a thread" in text


def test_more_updates_than_32_bits_count():
    indices = np.broadcast_to(np.int8(0), (1 << 33, 1))
    updates = np.broadcast_to(np.float32(0), (1 << 33,))
    sr.set_num_threads(1)
    text = _core.explain_plan("scatter_nd", untouched((512,)), indices, updates, reduction="mean")
    assert f"buffer: {8 * 512} bytes a thread" in text


def test_columns_that_are_counted_stay_within_32_megabytes():
    data, indices = untouched((1 << 20, 100)), unlike_rows((1 << 20, 100))
    sr.set_num_threads(1)
    text = _core.explain_plan("scatter_elements", data, indices, data, reduction="mean")
    assert "columns\n" in text
    assert f"buffer: {64 << 20} bytes a thread" in text
    few = unlike_rows((8192, 100))
    text = _core.explain_plan("scatter_elements", data[:8192], few, data[:8192])
    assert "buffer" in text


def test_an_unknown_operator_is_refused():
    with pytest.raises(sr.ArgumentError, match="unknown"):
        _core.explain_plan("reap", untouched((1,)), np.zeros((1,), np.int64), untouched((1,)))
