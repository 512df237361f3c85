"""The oldest onnxruntime that can be, and one between it and the newest, which the rest tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from runtime_versions import CASES, install, needs_numpy_1, run_check, run_sessions

pytest.importorskip("onnxruntime", reason="the engine is optional")
if os.environ.get("SOWREAP_TEST_INDEX") != "1":
    pytest.skip(
        "installs other versions of onnxruntime: set SOWREAP_TEST_INDEX=1 where pip reaches them",
        allow_module_level=True,
    )

LAST_PYTHON = {"1.18.1": (3, 12), "1.23.2": (3, 13)}  # of their wheels


@pytest.mark.parametrize("version", LAST_PYTHON)
def test_models_run_on_another_version(version: str, tmp_path: Path):
    if sys.version_info[:2] > LAST_PYTHON[version]:
        last = ".".join(map(str, LAST_PYTHON[version]))
        pytest.skip(f"the wheels of onnxruntime {version} end at Python {last}")
    wanted = f"{len(CASES)} models agree on onnxruntime {version}\n"
    installed, cases = tmp_path / "installed", tmp_path / "cases"
    cases.mkdir()
    install(version, installed)
    assert run_check(version, installed, cases) == wanted
    if not needs_numpy_1(version):
        assert run_sessions(installed) == wanted
