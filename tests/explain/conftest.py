"""Explanations by name, and a browser for their pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from calls import CALLS, EVERYTHING, explained

from sowreap import explain


@pytest.fixture(params=EVERYTHING)
def any_picture(request: pytest.FixtureRequest) -> explain.Explanation:
    """Each call that the tests know."""
    return explained(*EVERYTHING[request.param])


@pytest.fixture
def make() -> Callable[[str], explain.Explanation]:
    """Explain the small call of an operator."""
    return lambda name: explained(name, *CALLS[name])


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; without one, or without Playwright, tests of pages are skipped."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium here; Debian has it as a package")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")
    with playwright.sync_playwright() as driver:
        # A container that runs as root has no sandbox of its own.
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()
