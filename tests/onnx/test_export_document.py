"""The page on scripts: its example gives what it shows, and what it shows runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from exported import assert_as_session, call, namespace

PAGE = Path(__file__).parents[2] / "docs" / "export.md"


def test_example():
    text = PAGE.read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.S)
    names: dict[str, Any] = {}
    exec(compile(code, "export.md", "exec"), names)
    assert shown in names["source"]
    feeds = {
        "x": np.float32([[1, 2], [3, 4], [-9, -9]]),
        "edge_index": np.array([[0, 0, 1], [1, 1, 2]]),
    }
    assert_as_session(names["model"], feeds)
    (y,) = call(namespace(names["model"]), feeds)
    np.testing.assert_array_equal(y, [[1, 2], [5, 9], [0, 0]])
