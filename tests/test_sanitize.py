"""What a run under a sanitizer leaves out, and what it is silent about, has a reason."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "tools"


def test_excluded_tests_exist():
    for test, reason in runpy.run_path(str(TOOLS / "sanitize.py"))["EXCLUDED"].items():
        path, name = test.split("::")
        assert f"\ndef {name}(" in (ROOT / path).read_text(), test
        assert reason


def test_suppressions_have_reasons():
    before = ""
    for line in (TOOLS / "tsan.supp").read_text().splitlines():
        assert line == "" or line.startswith("#") or before.startswith("# "), line
        before = line
