"""Generated calls against the loops of the standard, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sowreap
from cases import (
    OPERATORS,
    SCATTERS,
    assert_same,
    call,
    call_reference,
    literal,
    paste,
    random_values,
)
from strategies import calls, layouts


def outcome(function, *arguments, **out):
    """The result of a call, or the facts of its refusal."""
    try:
        return function(*arguments, **out)
    except sowreap.SowreapError as error:
        facts = (error.operator, error.argument, error.position, error.value)
        return (type(error), *facts, error.axis, error.length)


def assert_outcome(got, want):
    if isinstance(want, tuple):
        assert got == want
    else:
        assert_same(got, want)


@pytest.mark.parametrize("operator", OPERATORS)
@given(data=st.data())
def test_equals_reference(operator, data):
    drawn = data.draw(calls(operator))
    before = {name: placed.snapshot() for name, placed in drawn.inputs.items()}
    want = outcome(call_reference, operator, drawn.arrays, drawn.attributes)
    try:
        assert_outcome(outcome(call, operator, drawn.arrays, drawn.attributes), want)
        assert {name: placed.snapshot() for name, placed in drawn.inputs.items()} == before
    except Exception as error:
        error.add_note(paste(operator, drawn.arrays, drawn.attributes))
        raise


@pytest.mark.parametrize("operator", OPERATORS)
@given(data=st.data(), seed=st.integers(0, 99))
def test_out_equals_reference(operator, data, seed):
    """`out` in any layout receives the result, and nothing beside it changes."""
    drawn = data.draw(calls(operator))
    first = next(iter(drawn.arrays.values()))
    want = outcome(call_reference, operator, drawn.arrays, drawn.attributes)
    dtype = first.dtype if isinstance(want, tuple) else want.dtype
    rubbish = random_values(np.random.default_rng(seed), dtype, drawn.result_shape)
    out = data.draw(layouts(rubbish, writable=True))
    check_out(drawn, drawn.arrays, out, want)


@pytest.mark.parametrize("operator", SCATTERS)
@given(data=st.data())
def test_out_is_data_equals_reference(operator, data):
    """In place: `out` is `data` itself, in any layout."""
    drawn = data.draw(calls(operator))
    name, first = next(iter(drawn.arrays.items()))
    want = outcome(call_reference, operator, drawn.arrays, drawn.attributes)
    if not isinstance(want, tuple) and want.dtype != first.dtype:
        first = first.astype(want.dtype)  # room for the longest string
    out = data.draw(layouts(first, writable=True))
    if out.array.dtype == first.dtype and not isinstance(want, tuple):
        want = call_reference(operator, {**drawn.arrays, name: out.array}, drawn.attributes)
    check_out(drawn, {**drawn.arrays, name: out.array}, out, want)


def check_out(drawn, arrays, out, want):
    before, beside = out.snapshot(), out.beside()
    text = paste(drawn.operator, arrays, drawn.attributes)
    try:
        got = outcome(call, drawn.operator, arrays, drawn.attributes, out=out.array)
        assert_outcome(got, want)
        if isinstance(want, tuple):
            assert out.snapshot() == before
        else:
            assert got is out.array
            assert out.beside() == beside
    except Exception as error:
        error.add_note(f"{text[:-1]}, out={literal(out.array)})")
        raise
