"""The script that draws the pictures of the documentation."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from calls import CALLS

DOCS = Path(__file__).parents[2] / "docs"


def test_script_draws_what_the_documentation_has(tmp_path):
    script = [sys.executable, "-W", "error", DOCS / "make_pictures.py", tmp_path]
    done = subprocess.run(script, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    drawn = {path.name for path in tmp_path.iterdir()}
    kept = {path.name for path in (DOCS / "pictures").iterdir()}
    plots = {name for name in kept if name.startswith("benchmarks-")}  # of benchmarks.report
    assert drawn == kept - plots
    assert drawn >= {f"{name}.svg" for name in CALLS}
    for path in tmp_path.iterdir():
        assert ET.parse(path).getroot().get("role") == "img"
