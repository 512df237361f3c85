"""What the tools that test on other systems have in common: steps with a limit of time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD_LIMIT, RUN_LIMIT = 3600, 600  # seconds
OPERATOR_TESTS = (
    "tests/test_gather.py",
    "tests/test_gather_elements.py",
    "tests/test_gather_nd.py",
    "tests/test_scatter.py",
    "tests/test_scatter_elements.py",
    "tests/test_scatter_nd.py",
    "tests/test_tensor_scatter.py",
    "tests/test_overlap.py",
)


def run(
    *command: str | Path, cwd: Path = ROOT, limit: float = BUILD_LIMIT, **variables: str
) -> None:
    """Run a program, say how long it took if that is long, and end where it fails."""
    text = " ".join(map(str, command))
    begin = time.monotonic()
    try:
        subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env={**os.environ, **variables},
            timeout=limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"not done after {limit} s: {text}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"failed with {error.returncode}: {text}")
    if (taken := time.monotonic() - begin) >= 1:
        print(f"{taken:.0f} s: {text[:100]}", flush=True)


def run_core_tests(build: Path, *runner: str | Path, suffix: str = "", **variables: str) -> None:
    """Run the tests of a core that is built, by a program that can."""
    corpus = sorted((ROOT / "fuzz/corpus/core").iterdir())
    for name, *arguments in (("concurrency",), ("replay", *corpus)):
        program = build / "core" / "tests" / f"sowreap_{name}{suffix}"
        run(*runner, program, *arguments, limit=RUN_LIMIT, **variables)
