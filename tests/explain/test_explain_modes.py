"""Indices out of range that are no error, means, and reductions without the value of data."""

from __future__ import annotations

import numpy as np
import pytest

import sowreap as sr
from sowreap import explain

DATA = np.array([10, 20, 30])
INDICES = [2, -4, 5, -1]


def marks(picture):
    return [sorted(step.marks) for step in picture._trace.steps]


def cells(picture):
    return [step.cell for step in picture._trace.steps]


@pytest.mark.parametrize(
    ("mode", "expected_cells", "expected_marks"),
    [
        ("wrap", [(2,), (2,), (2,), (2,)], [[], ["wrapped"], ["wrapped"], ["negative"]]),
        ("clip", [(2,), (0,), (2,), (0,)], [[], ["clipped"], ["clipped"], ["clipped"]]),
        ("fill", [(2,), None, None, (2,)], [[], ["filled"], ["filled"], ["negative"]]),
    ],
)
def test_gather(mode, expected_cells, expected_marks):
    keywords = {"mode": mode, **({"fill_value": 7} if mode == "fill" else {})}
    picture = explain.gather(DATA, INDICES, **keywords)
    assert picture.error is None
    np.testing.assert_array_equal(picture.result, sr.gather(DATA, INDICES, **keywords))
    assert cells(picture) == expected_cells
    assert marks(picture) == expected_marks


@pytest.mark.parametrize(
    ("mode", "expected_cells", "expected_marks"),
    [
        ("wrap", [(0,), (0,), (2,)], [["repeated"], ["repeated", "wrapped"], ["negative"]]),
        ("clip", [(0,), (2,), (0,)], [["repeated"], ["clipped"], ["clipped", "repeated"]]),
        ("drop", [(0,), None, (2,)], [[], ["dropped"], ["negative"]]),
    ],
)
def test_scatter(mode, expected_cells, expected_marks):
    arguments = (DATA, [[0], [3], [-1]], [1, 2, 3])
    picture = explain.scatter_nd(*arguments, "add", mode=mode)
    expected = sr.scatter_nd(*arguments, "add", mode=mode)
    np.testing.assert_array_equal(picture.result, expected)
    assert cells(picture) == expected_cells
    assert marks(picture) == expected_marks
    made = DATA.copy()
    for pair in picture._trace.pairs:
        if pair.data is not None:
            assert pair.before == made[pair.data]
            made[pair.data] += pair.value
            assert pair.after == made[pair.data]
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("name", ["gather_elements", "gather_nd"])
def test_filled_places_are_drawn(name):
    indices = [[0, 1, 9]] if name == "gather_elements" else [[0, 1], [9, 0], [1, 1]]
    picture = getattr(explain, name)(np.eye(3), indices, mode="fill", fill_value=-7)
    assert "no such place, so fill_value = -7 is taken" in picture.text()
    assert "∅" in picture.svg()
    assert 'srx-absent srx-noted" data-c=' in picture.html()


def test_dropped_updates_are_drawn():
    picture = explain.scatter_elements(np.zeros((2, 2)), [[1, 5]], [[1.0, 2.0]], mode="drop")
    assert "no such place, so the update is dropped" in picture.text()
    assert "⊘" in picture.svg()


def test_mean_on_the_way():
    picture = explain.scatter_nd(np.zeros(2), [[1], [1]], [3.0, 6.0], "mean")
    assert [pair.after for pair in picture._trace.pairs] == [1.5, 3.0]
    assert picture.formula.startswith("output[indices[i][0]] += updates[i]")
    assert "so far output[1] = 3" in picture.text()


def test_without_self_the_first_update_replaces():
    picture = explain.scatter_nd(np.full(2, 9.0), [[1], [1]], [3.0, 6.0], "add", include_self=False)
    assert [pair.after for pair in picture._trace.pairs] == [3, 9]
    assert "include_self=False" in picture.text()
    assert "so far output[1] = 9" in picture.text()
