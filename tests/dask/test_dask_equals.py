"""The same results and errors as on arrays in memory, bit for bit, for any chunks."""

import dask
import numpy as np
import pytest
from chunked import call_dask, chunked, compute, outcome
from hypothesis import given, settings
from hypothesis import strategies as st

import sowreap.dask
from cases import OPERATORS, assert_same, call, random_values, sample_call
from strategies import calls


@pytest.mark.parametrize("operator", OPERATORS)
@settings(max_examples=50)
@given(data=st.data())
def test_equals_in_memory(operator, data):
    drawn = data.draw(calls(operator))
    first = next(iter(drawn.arrays.values()))
    if first.dtype.kind in "US" and drawn.attributes.get("reduction") == "add":
        return  # refused: test_dask_arguments.py
    inputs = {name: data.draw(chunked(array)) for name, array in drawn.arrays.items()}
    want = outcome(call, operator, drawn.arrays, drawn.attributes)
    # The small ones divide blocks of updates, of results, and the steps of an owner.
    with dask.config.set({"array.chunk-size": data.draw(st.sampled_from((1, 32, 2**27)))}):
        got = outcome(call_dask, operator, inputs, drawn.attributes)
    if isinstance(want, tuple):
        assert got == want
    else:
        assert_same(got, want)


@pytest.mark.parametrize("operator", OPERATORS)
def test_blocks_have_the_promised_chunks(operator):
    """`chunks` are those of the blocks, not only their sums."""
    rng = np.random.default_rng(3)
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    inputs = {
        name: dask.array.from_array(
            array, chunks=tuple(int(n) for n in rng.integers(1, 4, array.ndim))
        )
        for name, array in inputs.items()
    }
    result = getattr(sowreap.dask, operator)(*inputs.values(), **attributes)
    numbers = list(np.ndindex(*result.numblocks))
    with dask.config.set(scheduler="synchronous"):
        blocks = dask.compute(*(result.blocks[number] for number in numbers))
    for number, block in zip(numbers, blocks, strict=True):
        assert block.shape == tuple(c[n] for c, n in zip(result.chunks, number, strict=True))
        assert block.dtype == result.dtype


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_one_cell_gets_all_updates_in_order(reduction, chunk):
    """Nothing but the order of the loop gives these bits; all updates have one owner."""
    rng = np.random.default_rng(0)
    updates = (10.0 ** rng.integers(-8, 9, (40, 25))).astype(np.float32)
    updates[rng.random((40, 25)) < 0.5] *= -1
    indices = np.full((40, 25, 1), 2)
    data = np.ones(5, np.float32)
    want = sowreap.scatter_nd(data, indices, updates, reduction)
    # Chunks that cut both dimensions of the updates: their blocks are no runs of the loop.
    lazy = dask.array.from_array(updates, chunks=(min(chunk, 40), min(chunk, 6)))
    with dask.config.set({"array.chunk-size": 4 * chunk}):
        result = sowreap.dask.scatter_nd(data, dask.array.from_array(indices), lazy, reduction)
    assert_same(compute(result), want)


GATHER_POLICIES = [{"mode": m} for m in ("wrap", "clip")] + [{"mode": "fill", "fill_value": 1}]
SCATTER_POLICIES = [
    {"mode": mode, "reduction": reduction, "include_self": include_self}
    for mode in ("raise", "wrap", "clip", "drop")
    for reduction in ("none", "add", "mul", "min", "max", "mean")
    for include_self in (True, False)
]


@settings(max_examples=100)
@given(data=st.data())
def test_policies_equal_in_memory(data):
    """Results where the function on arrays has the policy, else its refusal."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rows, picks, width = (data.draw(st.integers(0, n)) for n in (6, 9, 2))
    dtype = np.dtype(data.draw(st.sampled_from(("f4", "f2", "i2", "u1", "?", "c8"))))
    inputs = {
        "data": random_values(rng, dtype, (rows, width)),
        "indices": rng.integers(-9, 9, (picks, 1)).astype(data.draw(st.sampled_from(("i1", "i8")))),
        "updates": random_values(rng, dtype, (picks, width)),
    }
    operator = data.draw(st.sampled_from(("gather_nd", "scatter_nd")))
    if operator == "gather_nd":
        del inputs["updates"]
    policies = GATHER_POLICIES if operator == "gather_nd" else SCATTER_POLICIES
    attributes = data.draw(st.sampled_from(policies))
    lazy = {name: data.draw(chunked(array)) for name, array in inputs.items()}
    with np.errstate(all="ignore"):
        want = outcome(call, operator, inputs, attributes)
        got = outcome(call_dask, operator, lazy, attributes)
    if isinstance(want, tuple):
        assert got == want
    else:
        assert_same(got, want)
