"""The same results and errors as on arrays in memory, bit for bit, for any chunks."""

import numpy as np
import pytest
from chunked import call_dask, chunked
from hypothesis import given, settings
from hypothesis import strategies as st

import sowreap as sr
import sowreap.dask
from cases import OPERATORS, assert_same, call
from strategies import calls


def outcome(function, *arguments):
    """The result of a call, or its refusal with all facts and the text."""
    try:
        return function(*arguments)
    except sr.SowreapError as error:
        facts = (error.operator, error.argument, error.position, error.value)
        return (type(error), str(error), *facts, error.axis, error.length)


def assert_outcome(got, want):
    if isinstance(want, tuple):
        assert got == want
    else:
        assert_same(got, want)


@pytest.mark.parametrize("operator", OPERATORS)
@settings(max_examples=60)
@given(data=st.data())
def test_equals_in_memory(operator, data):
    drawn = data.draw(calls(operator))
    widens = drawn.arrays.get("data", np.zeros(0)).dtype.kind in "US"
    if widens and drawn.attributes.get("reduction") == "add":
        return  # refused: test_dask_arguments.py
    inputs = {name: data.draw(chunked(array)) for name, array in drawn.arrays.items()}
    want = outcome(call, operator, drawn.arrays, drawn.attributes)
    assert_outcome(outcome(call_dask, operator, inputs, drawn.attributes), want)
