"""The moves that pictures show are those that the operators make."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from calls import BAD, CALLS, HARD, UNFIT, explained
from hypothesis import assume, given
from hypothesis import strategies as st

import sowreap as sr
from sowreap import explain

REDUCE = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": min,
    "max": max,
}


def sizes(low: int, high: int, rank: int):
    return st.tuples(*[st.integers(low, high)] * rank)


@st.composite
def calls(draw):
    """A call of any operator, small enough to be shown whole."""
    name = draw(st.sampled_from(list(CALLS)))
    if name == "tensor_scatter":
        return draw(caches())
    rank = draw(st.integers(1, 3))
    shape = draw(sizes(1, 3, rank))
    data = np.arange(np.prod(shape)).reshape(shape)
    keywords = {}
    if name in ("gather_nd", "scatter_nd"):
        batch = draw(st.integers(0, rank - 1)) if name == "gather_nd" else 0
        k = draw(st.integers(0, rank - batch))
        lead = (*shape[:batch], *draw(sizes(1, 3, draw(st.integers(0 if batch else 1, 2)))))
        limits = np.array(shape[batch : batch + k], int)
        indices = draw(integers((*lead, k), limits))
        moved = (*lead, *shape[batch + k :])
        if name == "gather_nd":
            keywords["batch_dims"] = batch
    else:
        axis = draw(st.integers(-rank, rank - 1))
        keywords["axis"] = axis
        own = draw(sizes(1, 3, draw(st.integers(0, 2)))) if name == "gather" else None
        if own is None:
            own = tuple(
                draw(st.integers(1, 3 if d == axis % rank else n)) for d, n in enumerate(shape)
            )
        indices = draw(integers(own, np.array(shape[axis])))
        moved = own
    if name.startswith("gather"):
        return name, (data, indices), keywords
    updates = draw(integers(moved, np.array(100)))
    if name != "scatter":
        keywords["reduction"] = draw(st.sampled_from(list(REDUCE)))
    return name, (data, indices, updates), keywords


@st.composite
def integers(draw, shape, limits):
    """Integers in [-n, n - 1] for the last axis of `limits`."""
    size = math.prod(shape)
    flat = draw(st.lists(st.integers(0, 10**6), min_size=size, max_size=size))
    return np.array(flat, np.int64).reshape(shape) % (2 * limits) - limits


@st.composite
def caches(draw):
    batch, length, width = draw(sizes(1, 3, 3))
    steps = draw(st.integers(1, length))
    mode = draw(st.sampled_from(["linear", "circular"]))
    last = length - steps if mode == "linear" else length - 1
    starts = draw(st.lists(st.integers(0, last), min_size=batch, max_size=batch))
    shape, axis = [batch, width, width], draw(st.sampled_from([1, 2, -1, -2]))
    shape[axis] = length
    past = np.arange(np.prod(shape)).reshape(shape)
    shape[axis] = steps
    update = -1 - np.arange(np.prod(shape)).reshape(shape)
    return "tensor_scatter", (past, update, np.array(starts)), {"axis": axis, "mode": mode}


@given(calls())
def test_moves_make_the_result(call):
    name, arguments, keywords = call
    expected = getattr(sr, name)(*arguments, **keywords)
    trace = explained(*call)._trace
    assume(all(panel.is_whole for panel in trace.panels.values()))
    np.testing.assert_array_equal(trace.result, expected)
    np.testing.assert_array_equal(trace.panels["output"].values, expected)
    data = arguments[0]
    if trace.is_gather:
        made = np.full_like(expected, -1)
        for pair in trace.pairs:
            assert pair.value == data[pair.data]
            made[pair.moved] = data[pair.data]
        assert len({pair.moved for pair in trace.pairs}) == len(trace.pairs) == expected.size
    else:
        updates = arguments[1 if name == "tensor_scatter" else 2]
        made = data.copy()
        for pair in trace.pairs:
            assert pair.before == made[pair.data]
            assert pair.value == updates[pair.moved]
            step = REDUCE[keywords.get("reduction", "none")]
            made[pair.data] = step(made[pair.data], updates[pair.moved])
            assert pair.after == made[pair.data]
        assert len({pair.moved for pair in trace.pairs}) == len(trace.pairs) == updates.size
    np.testing.assert_array_equal(made, expected)
    assert [step.number for step in trace.steps] == list(range(trace.total_steps))


@given(calls())
def test_formula_holds_with_numbers(call):
    """The line of each move, run as Python, does what the move says."""
    name, arguments, _ = call
    picture = explained(*call)
    assume(all(panel.is_whole for panel in picture._trace.panels.values()))
    names = [panel.name for panel in picture._trace.arrays]
    arrays = dict(zip(names, [arguments[0], *arguments[1:]], strict=False))
    if name == "tensor_scatter":
        arrays = dict(zip(("past_cache", "update", "write_indices"), arguments, strict=True))
    data = arguments[0]
    output = np.full_like(picture.result, -1) if picture._trace.is_gather else data.copy()
    scope = {**arrays, "output": output, "min": min, "max": max, "N": 0}
    if name == "tensor_scatter":
        scope["N"] = data.shape[picture._trace.form.addressed[0]]
    for pair in picture._trace.pairs:
        exec(picture._picture.pair_lines(pair)[0], scope)
    np.testing.assert_array_equal(scope["output"], picture.result)


@pytest.mark.parametrize("name", CALLS)
def test_result_is_that_of_the_function(make, name):
    arguments, keywords = CALLS[name]
    picture = make(name)
    assert picture.error is None
    np.testing.assert_array_equal(picture.result, getattr(sr, name)(*arguments, **keywords))
    assert picture.operator == name


def test_marks(make):
    marks = {
        name: [sorted(step.marks) for step in make(name)._trace.steps]
        for name in ("gather", "scatter", "scatter_nd", "tensor_scatter")
    }
    assert marks == {
        "gather": [[], [], ["negative"]],
        "scatter": [["repeated"], [], ["repeated"]],
        "scatter_nd": [["repeated"], ["repeated"], ["negative"]],
        "tensor_scatter": [[], [], [], ["wrapped"]],
    }


@pytest.mark.parametrize("name", BAD)
def test_bad_index_is_kept_with_the_error(name):
    operator, arguments, keywords = BAD[name]
    with pytest.raises(sr.OutOfRangeError) as raised:
        getattr(sr, operator)(*arguments, **keywords)
    picture = explained(*BAD[name])
    assert picture.result is None
    assert type(picture.error) is sr.OutOfRangeError
    assert str(picture.error) == str(raised.value)
    trace = picture._trace
    bad = [step for step in trace.steps if "out of range" in step.marks]
    first = raised.value.position
    assert (bad[0].position + ((min(bad[0].bad),) if trace.form.tuples else ())) == first
    assert all(pair.data is None for pair in trace.pairs if trace.steps[pair.step] in bad)
    assert all(pair.data is not None for pair in trace.pairs if trace.steps[pair.step] not in bad)


def test_every_bad_component_is_marked():
    trace = explained(*BAD["gather_nd"])._trace
    assert [(step.given, sorted(step.bad)) for step in trace.steps] == [
        ((0, 1), []),
        ((2, 3), [1]),
        ((-5, 0), [0]),
    ]


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_has_an_error_and_no_cells(name):
    operator, arguments, keywords = UNFIT[name]
    with pytest.raises(sr.SowreapError) as raised:
        getattr(sr, operator)(*arguments, **keywords)
    picture = explained(*UNFIT[name])
    assert type(picture.error) is type(raised.value)
    assert str(picture.error) == str(raised.value)
    assert picture._trace.panels == {}
    assert picture.formula == ""


def test_errors_that_are_no_errors_of_the_operator_are_raised():
    with pytest.raises(TypeError, match="unexpected keyword"):
        explain.gather([1], [0], batch_dims=0)


def test_window_is_around_what_is_touched():
    trace = explain.gather(np.arange(10_000), [5000, 7, 5000])._trace
    window = trace.panels["data"].window[0]
    assert {6, 7, 8, 4999, 5000, 5001} <= set(window)
    assert len(window) == 12
    assert trace.panels["data"].hidden == 10_000 - 12


def test_window_of_bad_index_is_around_it():
    trace = explained(*BAD["far away"])._trace
    assert 77_777 in trace.panels["indices"].window[0]
    assert trace.total_steps == 100_000


def test_values_on_the_way_are_left_out_where_hidden_steps_matter():
    zeros = np.zeros((20, 20), int)
    trace = explain.scatter_elements(zeros, zeros, zeros + 1, reduction="add")._trace
    assert not trace.is_prefix
    assert {pair.after for pair in trace.pairs} == {None}
    assert trace.panels["output"].values[0, 0] == 20


@pytest.mark.parametrize("side", [2, 3, 4, 6, 7, 9, 11, 13])
@pytest.mark.parametrize("rank", range(1, 6))
def test_no_more_than_150_elements_move_in_a_picture(rank, side):
    zeros = np.zeros((side,) * rank, np.int8)
    elements = explain.gather_elements(zeros, zeros)._trace
    slices = explain.scatter_nd(zeros, np.zeros((side, 1), int), zeros)._trace
    for trace in (elements, slices):
        assert 0 < len(trace.pairs) <= 150
        assert all(math.prod(map(len, p.window)) <= 150 for p in trace.panels.values())


def test_inputs_are_not_changed_and_later_changes_are_not_seen():
    data = np.zeros(3)
    picture = explain.scatter_nd(data, [[1]], [5.0])
    assert data.tolist() == [0, 0, 0]
    before = picture.svg(), picture.html(), picture.text()
    data[:] = 9
    assert (picture.svg(), picture.html(), picture.text()) == before


def test_out_receives_the_result():
    data = np.zeros(3)
    picture = explain.scatter_nd(data, [[1], [1]], [5.0, 6.0], "add", out=data)
    assert picture.result is data
    assert data.tolist() == [0, 11, 0]
    assert [pair.before for pair in picture._trace.pairs] == [0, 5]
    assert picture._trace.panels["data"].values.tolist() == [0, 0, 0]


def test_out_that_does_not_fit_is_an_error():
    out = np.full(2, 7.0)
    picture = explain.gather([1.0, 2.0, 3.0], [0, 1, 2], out=out)
    assert isinstance(picture.error, ValueError)
    assert picture.error.argument == "out"
    assert out.tolist() == [7, 7]


def test_large_arrays_take_little_memory():
    import tracemalloc

    data = np.broadcast_to(np.int8(1), (10**6, 10**5))
    tracemalloc.start()
    picture = explain.gather(data, [999_999, 0])
    picture.html()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # the coordinates of one axis, and the texts


def test_hard_calls_run():
    for call in HARD.values():
        assert explained(*call).error is None


@pytest.mark.parametrize("name", CALLS)
def test_signature_is_that_of_the_function(name):
    import inspect

    def bare(function):
        signature = inspect.signature(function)
        return str(signature.replace(return_annotation=signature.empty))

    assert bare(getattr(explain, name)) == bare(getattr(sr, name))


def test_exported_names():
    assert sorted(explain.__all__) == ["Explanation", *sorted(CALLS)]


def test_pairs_of_a_step_are_one_slice(make):
    trace = make("scatter_nd")._trace
    for number, group in itertools.groupby(trace.pairs, key=lambda pair: pair.step):
        rows = {pair.data[0] for pair in group}
        assert rows == {trace.steps[number].cell[0]}


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        ("gather", (np.full((1,) * 64, 5), [-1])),
        ("gather_nd", (np.full((1,) * 64, 5), np.zeros((1, 64), np.int64))),
        ("scatter_elements", (*[np.zeros((1,) * 64, np.int64)] * 2, np.full((1,) * 64, 5), 63)),
        ("tensor_scatter", (np.zeros((1,) * 64), np.full((1,) * 64, 5.0), np.zeros(1, np.int64))),
    ],
)
def test_arrays_of_as_many_axes_as_numpy_has(operator, arguments):
    picture = getattr(explain, operator)(*arguments)
    assert picture.result.ravel().tolist() == [5]
    assert "5" in str(picture)
    assert "<svg" in picture._repr_html_()
