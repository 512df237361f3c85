"""The image: valid, complete, self-contained."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from calls import CALLS

from sowreap import explain
from sowreap.explain._palette import DARK, LIGHT

SVG = "{http://www.w3.org/2000/svg}"


def parsed(picture):
    return ET.fromstring(picture.svg())


def texts(root):
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def titles(root):
    return [
        e.find(f"{SVG}title").text
        for e in root.iter(f"{SVG}g")
        if e.find(f"{SVG}title") is not None
    ]


def test_is_xml_with_unique_ids_and_no_outside_reference(any_picture):
    text = any_picture.svg()
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for used in re.findall(r"url\(#([^)]*)\)", text):
        assert used in ids
    assert set(root.get("aria-labelledby").split()) <= set(ids)
    assert not re.search(r"(?:href|src|@import|url\((?!#))", re.sub(r">[^<]*<", "><", text))
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
        "svg",
        "title",
        "desc",
        "style",
        "defs",
        "marker",
        "path",
        "rect",
        "g",
        "text",
    }
    assert len(text) < 300_000


def test_everything_is_inside(any_picture):
    root = parsed(any_picture)
    _, _, width, height = map(float, root.get("viewBox").split())
    for rectangle in root.iter(f"{SVG}rect"):
        if rectangle.get("x"):
            x, y, w, h = (float(rectangle.get(k)) for k in ("x", "y", "width", "height"))
            assert 0 <= x <= x + w <= width
            assert 0 <= y <= y + h <= height
    for element in root.iter(f"{SVG}text"):
        assert 0 <= float(element.get("x")) <= width
        assert 0 <= float(element.get("y")) <= height


def test_style_reaches_nothing_outside():
    first, second = (explain.gather([1, 2], [k]).svg() for k in (0, 1))
    names = [ET.fromstring(text).get("id") for text in (first, second)]
    assert names[0] != names[1]
    style = ET.fromstring(first).find(f"{SVG}style").text
    rules = re.sub(r"@media[^{]*\{(.*?\})\}", r"\1", style)
    selectors = [
        s for rule in rules.split("}") if "{" in rule for s in rule.split("{")[0].split(",")
    ]
    assert len(selectors) > 8
    assert all(selector.strip().startswith(f"#{names[0]}") for selector in selectors)


@pytest.mark.parametrize("name", CALLS)
def test_each_cell_has_its_value(make, name):
    picture = make(name)
    found = titles(parsed(picture))
    panels = picture._trace.panels.values()
    assert len(found) == sum(panel.values.size for panel in panels)
    for panel in panels:
        for at in np.ndindex(panel.values.shape):
            value = panel.values[at]
            place = panel.name + "".join(
                f"[{axis[i]}]" for axis, i in zip(panel.window, at, strict=True)
            )
            assert any(t.split(";")[0] == f"{place} = {value}" for t in found)


@pytest.mark.parametrize(("name", "arrows"), [("gather", 6), ("gather_nd", 4), ("scatter_nd", 3)])
def test_arrows_of_each_step(make, name, arrows):
    root = parsed(make(name))
    paths = [p for p in root.iter(f"{SVG}path") if p.get("class") == "a"]
    assert len(paths) == arrows


def test_arrows_left_out_are_counted_and_those_drawn_lie_in_different_rows(make):
    root = parsed(make("scatter_elements"))
    paths = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("class") == "a"]
    assert len(paths) == 2
    assert len({re.search(r"M[\d.]+ ([\d.]+)", path)[1] for path in paths}) == 2
    assert "Arrows for 2 of 6; colours for all." in texts(root)
    assert not any("Arrows for" in text for text in texts(parsed(make("gather"))))


def test_legend_says_what_becomes_of_data(make):
    copy = "output begins as a copy of data; grey cells stay so."
    assert copy in texts(parsed(make("scatter_nd")))
    assert copy not in texts(parsed(make("gather")))
    assert "×  several updates go to one place" in texts(parsed(make("scatter_nd")))  # noqa: RUF001
    last = "×  several updates go to one place; the last one stays"  # noqa: RUF001
    assert last in texts(parsed(make("scatter")))
    counted = "×2 and the like count the steps shown."  # noqa: RUF001
    assert counted not in texts(parsed(make("scatter")))
    assert counted in texts(parsed(explain.scatter(np.zeros(9), np.zeros(99, int), np.ones(99))))


@pytest.mark.parametrize(
    ("axis", "shape", "note"),
    [
        (0, (4, 3), "axis 0 runs down ↓"),
        (-1, (4, 3), "axis 1 runs right →"),
        (0, (2, 4, 3), "axis 0 goes from slab to slab"),
    ],
)
def test_way_of_the_axis(axis, shape, note):
    assert note in texts(parsed(explain.gather(np.zeros(shape), [1], axis)))


def test_arrow_leads_from_the_update_to_its_target():
    picture = explain.scatter_nd(np.zeros(4), [[2]], [5.0])
    root = parsed(picture)
    where = {}
    for group in root.iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        x, y, w, h = (float(box.get(k)) for k in ("x", "y", "width", "height"))
        where[group.find(f"{SVG}title").text.split(" = ")[0]] = (x, x + w, y + h / 2)
    (path,) = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("class") == "a"]
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", path)]
    assert numbers[1] == pytest.approx(where["updates[0]"][2])
    assert numbers[0] == pytest.approx(where["updates[0]"][1], abs=2)
    assert numbers[-1] == pytest.approx(where["output[2]"][2])
    assert where["updates[0]"][1] < numbers[-2] < where["output[2]"][0]


def test_marks_are_signs_as_well_as_colours():
    root = parsed(explain.scatter_nd(np.zeros(3), [[1], [1], [-1]], [5.0, 6.0, 7.0], "add"))
    found = texts(root)
    assert "×2" in found  # noqa: RUF001
    assert "↶ →2" in found
    assert found.count("×") == 2  # noqa: RUF001


def test_bad_index_is_drawn():
    picture = explain.gather([10, 20, 30], [2, -4])
    root = parsed(picture)
    assert "✗" in texts(root)
    assert any("OutOfRangeError: gather: indices[1] = -4" in text for text in texts(root))
    bad = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "b"]
    assert len(bad) == 2  # the index, and the place of the output that is missing
    assert "indices[1] = -4; the index is outside its axis" in titles(root)


def test_shapes_that_do_not_fit_are_drawn():
    root = parsed(explain.scatter_nd(np.zeros((4, 3)), [[1], [2]], np.ones((2, 2))))
    found = texts(root)
    assert {"data", "(4, 3)", "indices", "(2, 1)", "updates ✗", "(2, 2)"} <= set(found)
    assert len([r for r in root.iter(f"{SVG}rect") if r.get("class") == "b"]) == 1


def test_wide_values_are_short_in_the_cell_and_whole_in_the_title():
    root = parsed(explain.gather(np.array([1234567890123, 0]), [0]))
    assert "1234…23" in texts(root)
    assert "output[0] = 1234567890123" in titles(root)


def test_hidden_parts_are_counted():
    root = parsed(explain.gather(np.arange(1000), [500]))
    assert "988 more not shown" in texts(root)
    assert "⋮" in texts(root)


def test_description_tells_the_steps(make):
    root = parsed(make("gather"))
    description = root.find(f"{SVG}desc").text
    assert "indices[2] = -2 → 2 on axis 0" in description


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_are_readable(scheme):
    for fill in (*scheme.fills, scheme.cell, scheme.card, scheme.ground, scheme.bad_fill):
        assert contrast(scheme.ink, fill) >= 4.5
    for ground in (scheme.ground, scheme.card):
        assert contrast(scheme.muted, ground) >= 4.5
    assert contrast(scheme.bad, scheme.bad_fill) >= 4.5
    for stroke in (*scheme.strokes, scheme.focus):
        assert contrast(stroke, scheme.ground) >= 3


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(colour: str, deficiency) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(deficiency) @ linear, 0, 1)
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(matrix) @ seen / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", DEFICIENCIES)
@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_neighbouring_colours_are_told_apart_with_any_colour_vision(scheme, kind):
    seen = [lab(fill, DEFICIENCIES[kind]) for fill in scheme.fills]
    for one, other in zip(seen, [*seen[1:], seen[0]], strict=True):
        assert np.linalg.norm(one - other) >= 15
