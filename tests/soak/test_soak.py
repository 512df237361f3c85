"""A short soak: the calls it draws are as the loops and NumPy say, and a wrong one is told."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def soak(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "tests.soak", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_no_difference():
    done = soak("--seed", "7", "--calls", "900")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(
        "900 calls, 42 of them medium and 3 large, 0 differences (gather "
    )


@pytest.mark.parametrize(
    ("least", "shown"),
    [
        pytest.param(0, "\n  sowreap.scatter_nd(array(", id="small"),
        pytest.param(500, "\n  scatter_nd(data ", id="medium"),
    ],
)
def test_a_difference_is_a_line_to_paste(least, shown):
    """With a public function that leaves out the last updates of more than `least` indices."""
    code = f"""
import runpy, sys
import sowreap
real = sowreap.scatter_nd
def wrong(data, indices, updates, *rest, **more):
    if indices.size > {least}:
        indices, updates = indices[:-1], updates[:-1]
    return real(data, indices, updates, *rest, **more)
sowreap.scatter_nd = wrong
sys.argv[1:] = ["--seed", "7", "--calls", "400"]
runpy.run_module("tests.soak", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "-m tests.soak --seed 7 --case " in done.stdout
    assert shown in done.stdout
