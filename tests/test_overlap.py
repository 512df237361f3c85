"""What `out` may share memory with.

It may be `data` itself in the scatters. Any other overlap is refused by name or gives the right
result; it never gives a wrong one.
"""

import numpy as np
import pytest

import sowreap as sr
from cases import OPERATORS, SCATTERS, as_dtype, assert_same, call, sample_call

REFUSED = "out shares memory with"
DTYPES = ("int8", "float32", "V5", "object", "StringDType", "U5")


def check_right_or_refused(operator, inputs, attributes, out):
    """`out` overlaps one of `inputs`."""
    copies = {name: values.copy() for name, values in inputs.items()}
    want = call(operator, copies, attributes)
    before = out.copy()
    refusal = None
    try:
        result = call(operator, inputs, attributes, out=out)
    except sr.ArgumentError as error:
        refusal = error
    if refusal is None:
        assert result is out
        assert_same(out, want)
    else:
        assert refusal.argument == "out"
        assert str(refusal).startswith(f"{operator}: {REFUSED}")
        assert_same(out, before)


@pytest.mark.parametrize("operator", SCATTERS)
@pytest.mark.parametrize("name", DTYPES)
def test_out_is_data(operator, name):
    inputs, attributes = sample_call(operator, as_dtype(name))
    want = call(operator, inputs, attributes)
    first = next(iter(inputs.values()))
    assert call(operator, inputs, attributes, out=first) is first
    assert_same(first, want)


@pytest.mark.parametrize("operator", SCATTERS)
def test_out_is_another_view_of_all_of_data(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    want = call(operator, inputs, attributes)
    first = next(iter(inputs.values()))
    twin = first[:]
    assert call(operator, inputs, attributes, out=twin) is twin
    assert_same(first, want)


@pytest.mark.parametrize("operator", SCATTERS)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shift", [1, -1])
def test_out_is_data_shifted(operator, name, shift):
    inputs, attributes = sample_call(operator, as_dtype(name))
    key, first = next(iter(inputs.items()))
    room = np.concatenate([first, first[:1]])
    halves = (room[:-1], room[1:]) if shift > 0 else (room[1:], room[:-1])
    check_right_or_refused(operator, {**inputs, key: halves[0]}, attributes, halves[1])


@pytest.mark.parametrize("operator", SCATTERS)
@pytest.mark.parametrize("name", DTYPES)
def test_out_is_data_backwards(operator, name):
    inputs, attributes = sample_call(operator, as_dtype(name))
    first = next(iter(inputs.values()))
    check_right_or_refused(operator, inputs, attributes, first[::-1])


@pytest.mark.parametrize("operator", ["scatter", "scatter_elements", "scatter_nd"])
@pytest.mark.parametrize("name", DTYPES)
def test_out_is_updates(operator, name):
    data = np.array([1, 2, 3, 4]).astype(as_dtype(name))
    updates = np.array([5, 6, 7, 8]).astype(as_dtype(name))
    indices = np.array([3, 2, 1, 0])
    inputs = {"data": data, "indices": indices, "updates": updates}
    if operator == "scatter_nd":
        inputs["indices"] = indices[:, None]
    check_right_or_refused(operator, inputs, {}, updates)


@pytest.mark.parametrize("operator", ["scatter", "scatter_elements", "scatter_nd"])
def test_out_is_data_and_updates(operator):
    """In place, with updates that the call itself overwrites."""
    both, indices = np.arange(4.0), np.array([3, 0, 1, 2])
    if operator == "scatter_nd":
        indices = indices[:, None]
    inputs = {"data": both, "indices": indices, "updates": both}
    check_right_or_refused(operator, inputs, {}, both)


@pytest.mark.parametrize("operator", ["gather", "gather_elements"])
def test_out_is_indices(operator):
    indices = np.array([3, 2, 1, 0])
    inputs = {"data": np.array([5, 6, 7, 8]), "indices": indices}
    check_right_or_refused(operator, inputs, {}, indices)


@pytest.mark.parametrize("operator", ["scatter", "scatter_elements"])
def test_out_is_data_and_indices(operator):
    both = np.array([3, 2, 1, 0])
    inputs = {"data": both, "indices": both, "updates": np.array([1, 1, 1, 1])}
    check_right_or_refused(operator, inputs, {}, both)


@pytest.mark.parametrize("operator", ["gather", "gather_elements", "gather_nd"])
@pytest.mark.parametrize("name", DTYPES)
def test_out_is_data_of_a_gather(operator, name):
    data = np.array([1, 2, 3, 4]).astype(as_dtype(name))
    indices = np.array([3, 0, 1, 2])
    inputs = {"data": data, "indices": indices[:, None] if operator == "gather_nd" else indices}
    check_right_or_refused(operator, inputs, {}, data)
    check_right_or_refused(operator, inputs, {}, data[::-1])


@pytest.mark.parametrize("operator", SCATTERS)
def test_interleaved_views_do_not_overlap(operator):
    """Even and odd items of one buffer lie between each other without a common byte."""
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    want = call(operator, inputs, attributes)
    name, data = next(iter(inputs.items()))
    room = np.repeat(data, 2, axis=-1)
    inputs[name], out = room[..., ::2], room[..., 1::2]
    assert call(operator, inputs, attributes, out=out) is out
    assert_same(out, want)
    assert_same(room[..., ::2], data)


@pytest.mark.parametrize("operator", OPERATORS)
def test_out_whose_items_share_memory_is_refused(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    shape = call(operator, inputs, attributes).shape
    out = np.lib.stride_tricks.as_strided(np.zeros(99, np.float32), shape, (0,) * len(shape))
    with pytest.raises(sr.ArgumentError, match=f"^{operator}: out has strides"):
        call(operator, inputs, attributes, out=out)


def test_overlap_that_is_hard_to_decide_is_refused():
    """Whether two arrays share a byte can take any time to find out, and no call may take it."""
    shape = (2,) * 14
    steps = tuple(100_000 + 37 * d * d + d for d in range(14))
    room = np.zeros(sum(steps) + 1, np.int8)
    data = np.lib.stride_tricks.as_strided(room, shape, steps)
    out = room[360_000:][: 2**14].reshape(shape)
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(data, out, max_work=10_000)
    with pytest.raises(sr.ArgumentError, match=REFUSED):
        sr.gather(data, np.arange(2), out=out)
