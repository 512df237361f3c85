"""The page, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from calls import BAD, CALLS, EVERYTHING, HARD, UNFIT, explained

from sowreap import explain

SIZE_LIMIT = 300_000


@pytest.fixture(scope="session")
def contexts(browser) -> Iterator[Callable[..., Any]]:
    """One window for all pages with the same options."""
    made: dict[str, Any] = {}

    def context(**options: Any) -> Any:
        key = repr(sorted(options.items()))
        if key not in made:
            made[key] = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        return made[key]

    yield context
    for each in made.values():
        each.close()


@pytest.fixture
def open_page(contexts, tmp_path) -> Iterator[Callable[..., Any]]:
    """Open HTML from a file; console messages, errors and requests fail the test at its end."""
    opened, problems = [], []

    def check_request(request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            problems.append(f"request: {request.url}")

    def open_html(html: str, **options: Any) -> Any:
        file = tmp_path / f"page{len(opened)}.html"
        file.write_bytes(html.encode())
        page = contexts(**options).new_page()
        opened.append(page)
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", check_request)
        page.goto(file.as_uri())
        return page

    yield open_html
    for page in opened:
        page.close()
    assert problems == []


@pytest.fixture
def scatter_page(open_page, make):
    """The page of the small scatter_nd."""
    return open_page(make("scatter_nd").html())


def cell(page, place: str):
    """Return the cell at `place`, such as ``output[1][0]``."""
    return page.locator(f'[data-c][aria-label^="{place} ="]')


def lit(page) -> set[str]:
    """Return the places of the cells that are lit."""
    labels = page.locator(".srx-on").evaluate_all("all => all.map(c => c.ariaLabel)")
    return {label.split(" = ")[0] for label in labels}


def values(page, name: str) -> list[str]:
    return page.locator(f'[data-c][aria-label^="{name}["] .srx-v').all_text_contents()


def texts(line: str) -> list[str]:
    return line.split()


def row(name: str, index: int) -> set[str]:
    return {f"{name}[{index}][{column}]" for column in range(3)}


def test_pages_are_small(any_picture):
    html = any_picture.html()
    assert len(html.encode()) < SIZE_LIMIT
    assert not re.search(r'(?:src|href)="(?!data:)', html)
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("name", ["gather", "scatter_nd", "bad: gather", "unfit: updates"])
def test_fragment_keeps_to_itself(name):
    picture = explained(*EVERYTHING[name])
    first, second = picture._repr_html_(), picture._repr_html_()
    ids = [set(re.findall(r'\bid="([^"]*)"', html)) for html in (first, second)]
    assert ids[0]
    assert ids[0].isdisjoint(ids[1])
    style = re.search(r"<style>(.*?)</style>", first, re.S)[1]
    flat = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*)\s*\}", r"\1", style)
    rules = re.findall(r"([^{}]*)\{", flat)
    selectors = [s.strip() for rule in rules for s in rule.split(",")]
    assert len(selectors) > 50
    themes = (r"\[data-jp-theme-light=false\] ", r"\.vscode-dark ")
    own = re.compile(rf"(?:{'|'.join(themes)})?\.srx\b(?!-)")
    assert [s for s in selectors if not own.match(s)] == []
    assert "<h1" not in first


def test_fragments_beside_each_other_work_alone(open_page, make):
    host = "<style>td{color:rgb(1,2,3)}</style><table><tr><td id=host>x</td></tr></table>"
    body = host + make("scatter_nd")._repr_html_() + make("scatter_nd")._repr_html_()
    page = open_page(f"<!DOCTYPE html><meta charset=utf-8><body>{body}")
    assert page.locator(".srx-live").count() == 2
    page.locator(".srx").nth(1).locator(".srx-next").click()
    counts = page.locator(".srx-count").all_text_contents()
    assert counts == ["3 steps", "step 1 of 3"]
    assert page.locator("#host").evaluate("e => getComputedStyle(e).color") == "rgb(1, 2, 3)"
    assert page.locator("#host").evaluate("e => getComputedStyle(e).borderRadius") == "0px"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")  # keys outside are the notebook's
    assert page.locator(".srx-count").all_text_contents() == counts


def test_fragment_whose_script_runs_before_it_is_in_the_page(open_page, make):
    page = open_page("<!DOCTYPE html><meta charset=utf-8><body>")
    page.evaluate(
        """html => {
            const host = document.createElement("div");
            host.innerHTML = html;
            for (const old of host.querySelectorAll("script")) {
                const script = document.createElement("script");
                script.textContent = old.textContent;
                document.head.appendChild(script);
                old.remove();
            }
            document.body.appendChild(host);
        }""",
        make("gather")._repr_html_(),
    )
    page.locator(".srx-next").click()
    assert page.locator(".srx-count").text_content() == "step 1 of 3"


def test_hover_lights_sources_and_targets(scatter_page):
    cell(scatter_page, "updates[1][2]").hover()
    assert lit(scatter_page) == {"indices[1][0]", "updates[1][2]", "output[1][2]"}
    assert scatter_page.locator(".srx-lines li div").all_text_contents() == [
        "output[indices[1][0]][2] += updates[1][2]",
        "output[1][2] += 6",
        "output[1][2] = 3 + 6 = 9",
    ]
    cell(scatter_page, "output[1][0]").hover()
    assert lit(scatter_page) == {
        "data[1][0]",
        "output[1][0]",
        *("indices[0][0]", "indices[1][0]"),
        *("updates[0][0]", "updates[1][0]"),
    }
    cell(scatter_page, "indices[2][0]").hover()
    assert lit(scatter_page) == {"indices[2][0]", *row("updates", 2), *row("output", 3)}
    cell(scatter_page, "data[0][1]").hover()
    assert lit(scatter_page) == {"data[0][1]", "output[0][1]"}
    assert "not changed" in scatter_page.locator(".srx-lines").text_content()
    scatter_page.locator(".srx-title").hover()
    assert lit(scatter_page) == set()


def test_hover_in_a_gather(open_page, make):
    page = open_page(make("gather").html())
    cell(page, "data[2][1]").hover()
    assert lit(page) == {
        "data[2][1]",
        *("indices[0]", "indices[2]"),
        *("output[0][1]", "output[2][1]"),
    }
    cell(page, "data[1][1]").hover()
    assert lit(page) == {"data[1][1]"}
    assert page.locator(".srx-lines").text_content() == "It is not read."


def test_steps_by_buttons(scatter_page):
    page = scatter_page
    assert values(page, "output") == texts("0 0 0 5 7 9 0 0 0 7 8 9")
    page.locator(".srx-next").click()
    assert page.locator(".srx-count").text_content() == "step 1 of 3"
    assert values(page, "output") == texts("0 0 0 1 2 3 0 0 0 0 0 0")
    assert lit(page) == {"indices[0][0]", *row("updates", 0), *row("output", 1)}
    assert page.locator("path.srx-arrow").count() == 1
    page.locator(".srx-next").click()
    assert values(page, "output") == texts("0 0 0 5 7 9 0 0 0 0 0 0")
    page.locator(".srx-previous").click()
    page.locator(".srx-previous").click()
    assert page.locator(".srx-count").text_content() == "start of 3"
    assert values(page, "output") == ["0"] * 12
    assert page.locator(".srx-previous").is_disabled()
    page.locator(".srx-all").click()
    assert values(page, "output") == texts("0 0 0 5 7 9 0 0 0 7 8 9")
    assert page.locator(".srx-all").get_attribute("aria-pressed") == "true"


def test_steps_by_keys_are_spoken(scatter_page):
    page = scatter_page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(".srx-count").text_content() == "step 2 of 3"
    status = page.get_by_role("status")
    assert status.get_attribute("aria-live") == "polite"
    assert status.text_content() == "step 2 of 3. indices[1] = [1]. output[1][0] = 1 + 4 = 5"
    page.keyboard.press("ArrowRight")
    assert "a negative index counts from the end" in status.text_content()
    page.keyboard.press("ArrowRight")  # there is no fourth
    assert page.locator(".srx-count").text_content() == "step 3 of 3"
    page.keyboard.press("ArrowLeft")
    assert page.locator(".srx-count").text_content() == "step 2 of 3"
    page.keyboard.press("Escape")
    assert page.locator(".srx-count").text_content() == "3 steps"


def test_steps_by_slider(scatter_page):
    slider = scatter_page.get_by_role("slider", name="Step")
    slider.focus()
    for _ in range(2):
        scatter_page.keyboard.press("ArrowLeft")
    assert scatter_page.locator(".srx-count").text_content() == "step 1 of 3"
    assert slider.get_attribute("aria-valuetext") == "step 1 of 3. indices[0] = [1]"
    assert values(scatter_page, "output") == texts("0 0 0 1 2 3 0 0 0 0 0 0")


def test_output_of_a_gather_fills_step_by_step(open_page, make):
    page = open_page(make("gather").html())
    page.locator(".srx-next").click()
    assert values(page, "output") == ["6", "7", "8", *"······"]
    for _ in range(2):
        page.locator(".srx-next").click()
    assert values(page, "output") == texts("6 7 8 0 1 2 6 7 8")


def test_keys_move_among_cells(scatter_page):
    page = scatter_page
    focused = "() => (document.activeElement.ariaLabel || '').split(' = ')[0]"

    def press(*keys: str) -> str:
        for key in keys:
            page.keyboard.press(key)
        return page.evaluate(focused)

    cell(page, "data[0][0]").focus()
    assert press("ArrowRight") == "data[0][1]"
    assert press("ArrowDown", "ArrowDown") == "data[2][1]"
    assert press("End") == "data[2][2]"
    assert press("ArrowRight") == "data[2][2]"
    assert press("Home", "ArrowUp") == "data[1][0]"
    assert lit(page) >= {"data[1][0]", "output[1][0]", "updates[0][0]", "updates[1][0]"}
    assert press("Tab") == "indices[0][0]"  # each grid is one stop
    assert press("Tab") == "updates[0][0]"
    assert "output[1][0] = 0 + 1 = 1" in page.get_by_role("status").text_content()
    assert press("Shift+Tab", "Shift+Tab") == "data[1][0]"
    assert page.locator(".srx-count").text_content() == "3 steps"  # no step was taken


def test_focus_order_is_that_of_reading(open_page, make):
    page = open_page(make("scatter_nd").html())
    order = []
    for _ in range(9):
        page.keyboard.press("Tab")
        order.append(
            page.evaluate(
                "() => { const e = document.activeElement;"
                " return e.dataset.c ? e.ariaLabel.split('[')[0] : e.className }"
            )
        )
    assert order == [
        "srx-theme",
        "srx-all",
        "srx-previous",
        "srx-slider",
        "srx-next",
        "data",
        "indices",
        "updates",
        "output",
    ]


def test_touch_selects(open_page, make):
    page = open_page(make("scatter_nd").html(), has_touch=True)
    cell(page, "updates[2][0]").tap()
    assert lit(page) == {"indices[2][0]", "updates[2][0]", "output[3][0]"}


def background(page) -> str:
    return page.locator(".srx").evaluate("e => getComputedStyle(e).backgroundColor")


def test_light_and_dark(open_page, make):
    html = make("gather").html()
    light, dark = (open_page(html, color_scheme=scheme) for scheme in ("light", "dark"))
    white, black = background(light), background(dark)
    assert white == "rgb(255, 255, 255)"
    assert black != white
    for page, at_first in ((light, white), (dark, black)):
        button = page.get_by_role("button", name="Dark")
        pressed = button.get_attribute("aria-pressed")
        assert pressed == str(at_first == black).lower()
        button.click()
        assert background(page) == ({white, black} - {at_first}).pop()
        assert button.get_attribute("aria-pressed") != pressed
        button.click()
        assert background(page) == at_first


def test_notebook_theme_is_followed(open_page, make):
    body = f'<body data-jp-theme-light="false">{make("gather")._repr_html_()}'
    page = open_page(f"<!DOCTYPE html><meta charset=utf-8>{body}", color_scheme="light")
    assert background(page) == "rgb(20, 24, 30)"


def test_reduced_motion(open_page, make):
    durations = [
        open_page(make("gather").html(), reduced_motion=motion)
        .locator("[data-c]")
        .first.evaluate("e => getComputedStyle(e).transitionDuration")
        for motion in ("no-preference", "reduce")
    ]
    assert durations[0] != "0s"
    assert durations[1] == "0s"


@pytest.mark.parametrize("name", [*CALLS, "hard: rank 4", "unfit: updates"])
def test_page_fits_its_width(open_page, name):
    page = open_page(explained(*EVERYTHING[name]).html())
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", CALLS)
def test_arrows_begin_and_end_at_their_cells(open_page, make, name):
    page = open_page(make(name).html())
    page.locator(".srx-next").click()
    base = page.locator(".srx-stage").bounding_box()
    boxes = [c.bounding_box() for c in page.locator(".srx-on").all()]
    for path in page.locator("path.srx-arrow").all():
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.get_attribute("d"))]
        x, y = numbers[0] + base["x"], numbers[1] + base["y"]
        assert any(
            b["x"] - 8 <= x <= b["x"] + b["width"] + 8
            and b["y"] - 8 <= y <= b["y"] + b["height"] + 8
            for b in boxes
        )


@pytest.mark.parametrize("name", BAD)
def test_bad_index_is_marked(open_page, name):
    picture = explained(*BAD[name])
    page = open_page(picture.html())
    assert page.get_by_role("note").text_content() == f"OutOfRangeError {picture.error}"
    position = "".join(f"[{i}]" for i in picture.error.position)
    place = f"{picture.error.argument}{position}"
    bad = cell(page, place)
    assert "srx-absent" in bad.get_attribute("class")
    assert "✗" in bad.text_content()
    assert str(picture.error.value) in bad.get_attribute("title")
    bad.hover()
    assert page.locator(".srx-lines").text_content() != ""
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert set(values(page, "output")) <= {"?"}


def test_allowed_range_is_told(open_page):
    page = open_page(explain.gather([10, 20, 30], [2, -4]).html())
    cell(page, "indices[1]").hover()
    assert "-4 is not in [-3, 2], the range of axis 0" in page.locator(".srx-lines").text_content()


@pytest.mark.parametrize("name", UNFIT)
def test_shapes_that_do_not_fit(open_page, name):
    picture = explained(*UNFIT[name])
    page = open_page(picture.html())
    assert page.get_by_role("note").text_content().endswith(str(picture.error))
    assert page.locator("[data-c]").count() == 0
    assert page.locator(".srx-card").count() == len(picture._trace.arrays)
    page.get_by_role("button", name="Dark").click()


@pytest.mark.parametrize("name", HARD)
def test_hard_pages_run_step_by_step(open_page, name):
    page = open_page(explained(*HARD[name]).html())
    assert page.title().startswith(HARD[name][0])
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    for c in page.locator("[data-c]").all()[:3]:
        c.hover()
    assert page.locator("[data-c]").count() <= 620


def test_hostile_strings_stay_text(open_page):
    page = open_page(explained(*HARD["hostile strings"]).html())
    title = page.locator('[data-c][title^="data[0] = "]').get_attribute("title")
    assert title == "data[0] = \"<script>document.title='gone'</script>\""
    assert page.locator(".srx script").count() == 0
    assert page.title() == "gather(data, indices, axis=0)"


def test_whole_value_of_a_long_one_is_in_the_tooltip(open_page):
    page = open_page(explain.gather(np.array([1234567890123]), [0]).html())
    assert cell(page, "output[0]").locator(".srx-v").text_content() == "1234…23"
    assert cell(page, "output[0]").get_attribute("title") == "output[0] = 1234567890123"


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        *((name, "light") for name in CALLS),
        *((name, "dark") for name in ("scatter_nd", "bad: gather", "unfit: updates")),
    ],
)
def test_accessible(open_page, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    page = open_page(explained(*EVERYTHING[name]).html(), color_scheme=scheme)
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_while_lit(open_page, make, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    options = {"color_scheme": scheme, "reduced_motion": "reduce"}  # no colours on the way
    page = open_page(make("scatter_nd").html(), **options)
    for reach in (lambda: page.keyboard.press("ArrowRight"), page.locator("[data-c]").last.focus):
        reach()
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
