"""sowreap.tensor_scatter: examples, edges, errors, out."""

import numpy as np
import pytest

import sowreap as sr
from cases import DTYPES, as_dtype, assert_same, call_reference, random_values

BLOCK = [[1, 2, 3, 4, 5], [5, 6, 7, 8, 9], [8, 7, 6, 5, 4], [4, 3, 2, 1, 0]]
CACHE = [[BLOCK], [BLOCK]]
FIVES, ONES = [5] * 5, [1] * 5
SIXES, TWOS = [6] * 5, [2] * 5
EXAMPLES = [  # the node tests of ONNX
    (
        [[[FIVES]], [[ONES]]],
        [1, 2],
        "linear",
        [
            [[BLOCK[0], FIVES, BLOCK[2], BLOCK[3]]],
            [[BLOCK[0], BLOCK[1], ONES, BLOCK[3]]],
        ],
    ),
    (
        [[[FIVES, SIXES]], [[ONES, TWOS]]],
        [1, 3],
        "circular",
        [
            [[BLOCK[0], FIVES, SIXES, BLOCK[3]]],
            [[TWOS, BLOCK[1], BLOCK[2], ONES]],
        ],
    ),
]


@pytest.mark.parametrize(("update", "write_indices", "mode", "want"), EXAMPLES)
def test_published_example(update, write_indices, mode, want):
    cache, update, want = (np.array(a, np.float32) for a in (CACHE, update, want))
    assert_same(sr.tensor_scatter(cache, update, np.array(write_indices), mode=mode), want)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("axis", [1, 2, -1, -2])
@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_every_dtype(name, axis, mode):
    rng = np.random.default_rng(1)
    cache = random_values(rng, as_dtype(name), (4, 3, 3, 3))
    update = np.take(random_values(rng, as_dtype(name), cache.shape), [2, 0], axis)
    inputs = {"past_cache": cache, "update": update, "write_indices": np.array([0, 1, 1, 0])}
    attributes = {"axis": axis, "mode": mode}
    want = call_reference("tensor_scatter", inputs, attributes)
    assert_same(sr.tensor_scatter(*inputs.values(), **attributes), want)


def test_write_indices_default_to_the_start():
    cache, update = np.zeros((2, 3, 2)), np.ones((2, 1, 2))
    want = np.zeros((2, 3, 2))
    want[:, 0] = 1
    assert_same(sr.tensor_scatter(cache, update), want)
    assert_same(sr.tensor_scatter(cache, update, None), want)


def test_circular_wraps_the_sequence_alone():
    """Batch rows beyond the length of the axis stay where they are."""
    cache, update = np.zeros((4, 3, 1)), np.arange(1.0, 5).reshape(4, 1, 1)
    result = sr.tensor_scatter(cache, update, np.arange(4), axis=1, mode="circular")
    want = np.array([[1, 0, 0], [0, 2, 0], [0, 0, 3], [4, 0, 0]], float)[..., None]
    assert_same(result, want)


@pytest.mark.parametrize("start", [5, 300, 2**62 + 1, 2**63 - 1])
def test_circular_takes_any_start(start):
    cache, update = np.zeros((1, 7, 1)), np.array([[[1.0], [2.0]]])
    want = cache.copy()
    want[0, start % 7], want[0, (start + 1) % 7] = 1, 2
    assert_same(sr.tensor_scatter(cache, update, np.array([start]), mode="circular"), want)


def test_whole_length_at_once():
    cache, update = np.zeros((1, 3, 1)), np.array([[[1.0], [2.0], [3.0]]])
    assert_same(sr.tensor_scatter(cache, update, np.array([0])), update)
    want = np.array([[[2.0], [3.0], [1.0]]])
    assert_same(sr.tensor_scatter(cache, update, np.array([2]), mode="circular"), want)


@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 3, 0), (2, 0, 2)])
def test_empty_keeps_its_shape(shape):
    cache = np.zeros(shape)
    assert_same(sr.tensor_scatter(cache, cache[:, :0]), cache)


@pytest.mark.parametrize(
    ("start", "mode"), [(-1, "linear"), (2, "linear"), (2**63 - 1, "linear"), (-1, "circular")]
)
def test_start_out_of_range(start, mode):
    cache, update = np.zeros((3, 3, 1)), np.zeros((3, 2, 1))
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.tensor_scatter(cache, update, np.array([1, start, 0]), mode=mode)
    error = caught.value
    assert (error.operator, error.argument) == ("tensor_scatter", "write_indices")
    assert (error.position, error.value, error.axis, error.length) == ((1,), start, 1, 3)
    for part in (f"write_indices[1] = {start}", "3"):
        assert part in str(error)


@pytest.mark.parametrize(
    ("cache", "update", "starts", "text"),
    [
        ((2, 3, 1), (3, 1), None, "tensor_scatter: update has rank 2 but past_cache has rank 3"),
        (
            (2, 3, 1),
            (1, 2, 1),
            None,
            "tensor_scatter: update .* 1 in dimension 0, past_cache 2",
        ),
        (
            (2, 3, 1),
            (2, 4, 1),
            None,
            "tensor_scatter: update .* 4 in dimension 1, past_cache 3",
        ),
        ((2, 3, 1), (2, 1, 1), (3,), r"tensor_scatter: write_indices .*\(3,\)"),
        ((2, 3, 1), (2, 1, 1), (2, 1), r"tensor_scatter: write_indices .*\(2, 1\)"),
        ((2, 3, 1), (2, 1, 1), (), r"tensor_scatter: write_indices .*(\(\)|rank 0)"),
        ((), (), None, "tensor_scatter: past_cache is a scalar"),
    ],
)
def test_shapes_that_do_not_fit(cache, update, starts, text):
    starts = None if starts is None else np.zeros(starts, int)
    with pytest.raises(sr.ShapeError, match=text):
        sr.tensor_scatter(np.zeros(cache), np.zeros(update), starts)


@pytest.mark.parametrize("axis", [0, -3, 3, -4])
def test_axis_out_of_range(axis):
    with pytest.raises(sr.ArgumentError, match=f"tensor_scatter: axis.*{axis}"):
        sr.tensor_scatter(np.zeros((2, 3, 1)), np.zeros((2, 1, 1)), axis=axis)


def test_unknown_mode():
    with pytest.raises(sr.ArgumentError, match=r"tensor_scatter: mode = 'wrap' .*linear.*circular"):
        sr.tensor_scatter(np.zeros((2, 3, 1)), np.zeros((2, 1, 1)), mode="wrap")


@pytest.mark.parametrize("dtype", [bool, float, "U1"])
def test_write_indices_of_another_kind(dtype):
    starts = np.zeros(2).astype(dtype)
    with pytest.raises(sr.DtypeError, match=f"tensor_scatter: write_indices .*{starts.dtype}"):
        sr.tensor_scatter(np.zeros((2, 3, 1)), np.zeros((2, 1, 1)), starts)


def test_update_of_another_dtype():
    with pytest.raises(sr.DtypeError, match=r"tensor_scatter: update .*float32.*float64"):
        sr.tensor_scatter(np.zeros((2, 3, 1)), np.zeros((2, 1, 1), np.float32))


def test_out_receives_the_result():
    cache, update, out = np.zeros((1, 3, 1)), np.ones((1, 1, 1)), np.full((1, 3, 1), 9.0)
    assert sr.tensor_scatter(cache, update, np.array([1]), out=out) is out
    assert_same(out, np.array([[[0.0], [1.0], [0.0]]]))
    assert_same(cache, np.zeros((1, 3, 1)))
