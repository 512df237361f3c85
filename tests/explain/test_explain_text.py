"""The form for terminals."""

from __future__ import annotations

import re

import numpy as np
import pytest
from calls import BAD, CALLS

from sowreap import explain
from sowreap.explain._text import columns

SUMS = """\
scatter_nd(data, indices, updates, reduction='add')
output[indices[i][0]] += updates[i]
3 indices write to data: 1 negative, 2 repeated.

data            indices         updates         output
(3,) float64    (3, 1) int64    (3,) float64    (3,) float64
0  0                    0       0  5            0      0
1  0            0     1 ×       1  6            1  11 ×2
2  0            1     1 ×       2  7            2      7
                2  -1→2 ↶

1  indices[0] = [1]
   updates[0] → output[1]    output[1] = 0 + 5 = 5
2  indices[1] = [1]
   updates[1] → output[1]    output[1] = 5 + 6 = 11
3  indices[2] = [-1] → [2] on axis 0 (a negative index counts from the end)
   updates[2] → output[2]    output[2] = 0 + 7 = 7

× several updates go to one place"""  # noqa: RUF001

ESCAPES = re.compile(r"\x1b\[[\d;]*m")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_lines_fit(any_picture, width):
    text = any_picture.text(width)
    assert max(columns(line) for line in text.splitlines()) <= width
    assert all(line == line.rstrip() for line in text.splitlines())
    assert all(c.isprintable() for line in text.splitlines() for c in line)
    text.encode()


def test_color_adds_escapes_and_nothing_else(any_picture):
    plain, colored = any_picture.text(), any_picture.text(color=True)
    lines = [ESCAPES.sub("", line).rstrip() for line in colored.splitlines()]
    assert lines == plain.splitlines()
    if any_picture._trace.pairs:
        assert "\x1b[" in colored


def test_whole_text():
    picture = explain.scatter_nd(np.zeros(3), [[1], [1], [-1]], [5.0, 6.0, 7.0], "add")
    assert str(picture) == picture.text()
    assert picture.text() == SUMS


@pytest.mark.parametrize("name", BAD)
def test_bad_index_is_marked_with_its_error(name):
    operator, arguments, keywords = BAD[name]
    picture = getattr(explain, operator)(*arguments, **keywords)
    text = picture.text(10_000)
    assert f"OutOfRangeError: {picture.error}" in text
    assert "✗" in text
    assert "?" in text


def test_range_of_a_bad_index_is_named():
    text = explain.gather([10, 20, 30], [2, -4]).text()
    assert "indices[1] = -4: -4 is not in [-3, 2], the range of axis 0" in text


def test_shapes_that_do_not_fit_stand_below_each_other():
    text = explain.scatter_nd(np.zeros((4, 3)), [[1], [2]], np.ones((2, 2))).text()
    assert text.splitlines()[-3:] == [
        "data     (4, 3) float64",
        "indices  (2, 1) int64",
        "updates  (2, 2) float64  ✗ here",
    ]


def test_steps_beyond_the_limit_are_counted():
    picture = explain.gather(np.arange(5), np.zeros(1000, int))
    assert "\n… 997 more" in picture.text(max_steps=3)
    assert "(988 more not shown)" in picture.text()


def test_axes_of_high_ranks_are_collapsed_and_said_to_be():
    text = explain.gather(np.zeros((2, 3, 4, 5, 6)), [0]).text()
    assert "axes 0 to 1 collapsed" in text
    assert "[0, 0, 0, :, :]" in text


def test_numbers_are_grouped_as_hidden():
    text = explain.gather(np.zeros((1000, 1000)), [0]).text()
    assert "999,920 more not shown" in text


def test_repr_is_one_line():
    picture = explain.gather([1, 2], [0])
    assert repr(picture) == "<Explanation of gather(data, indices, axis=0): result (1,)>"
    assert repr(explain.gather([1, 2], [5])).endswith(": no result>")


@pytest.mark.parametrize("suffix", ["html", "svg", "txt"])
@pytest.mark.parametrize("name", ["gather", "scatter_nd"])
def test_save(make, tmp_path, name, suffix):
    path = tmp_path / f"picture.{suffix}"
    make(name).save(path)
    form = {"html": "html", "svg": "svg", "txt": "text"}[suffix]
    assert path.read_text(encoding="utf-8") == getattr(make(name), form)() + "\n"


def test_save_refuses_other_suffixes(make, tmp_path):
    with pytest.raises(ValueError, match=r"path ends in '.png'; use one of .html, .svg, .txt"):
        make("gather").save(tmp_path / "picture.png")
    assert not list(tmp_path.iterdir())


def test_summary_counts():
    assert "1 index reads from data." in explain.gather([1, 2], [0]).text()
    assert "2 indices write to data: 2 repeated." in explain.scatter([1], [0, 0], [2, 3]).text()


@pytest.mark.parametrize("name", CALLS)
def test_formula_stands_on_the_second_line(make, name):
    picture = make(name)
    assert picture.text().splitlines()[1] == picture.formula


def test_arguments_stand_in_the_order_of_the_function():
    arguments = (np.zeros((1, 3, 1)), np.ones((1, 1, 1)))
    given = explain.tensor_scatter(*arguments, [2]).text()
    assert given.startswith("tensor_scatter(past_cache, update, write_indices, axis=-2)\n")
    assert "not given" not in given
    left_out = explain.tensor_scatter(*arguments).text()
    assert left_out.startswith("tensor_scatter(past_cache, update, axis=-2)\n")
    assert "(not given, so 0)" in left_out
