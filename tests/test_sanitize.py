"""What a run under a sanitizer leaves out, and what it is silent about, has a reason."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "tools"


TOOL = runpy.run_path(str(TOOLS / "sanitize.py"))


@pytest.mark.parametrize("kind", ["EXCLUDED", "APART"])
@pytest.mark.parametrize("preset", ["asan", "tsan"])
def test_tests_that_are_named_exist(preset, kind):
    for test, reason in TOOL[kind][preset].items():
        path, *inside = re.split(r"::|[\[\]]", test.rstrip("]"))
        text = (ROOT / path).read_text()
        assert all(re.search(rf"\b{name}\b", text) for name in inside), test
        assert reason


def test_suppressions_have_reasons():
    before = ""
    for line in (TOOLS / "tsan.supp").read_text().splitlines():
        assert line == "" or line.startswith("#") or before.startswith("# "), line
        before = line
