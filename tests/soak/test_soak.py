"""A short soak: the calls it draws are as the loops and NumPy say, and a wrong one is told."""

import re
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
    done = soak("--seed", "7", "--calls", "1100")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(
        "1100 calls, 53 of them medium and 2 large, 0 differences (gather "
    )


@pytest.mark.parametrize(
    ("least", "shown"),
    [
        pytest.param(0, r"\n  sowreap\.\w+\(array\(", id="small"),
        pytest.param(500, r"\n  \w+\((data|past_cache) \S+\[", id="medium"),
    ],
)
def test_a_difference_is_a_line_to_paste(least, shown):
    """With public functions that move the items of results longer than `least` by one."""
    code = f"""
import runpy, sys
import numpy as np
import sowreap
def faulty(function):
    def call(*arrays, **more):
        result = function(*arrays, **more)
        return np.roll(result, 1) if result.size > {least} else result
    return call
for name in ("gather", "scatter_nd", "tensor_scatter"):
    setattr(sowreap, name, faulty(getattr(sowreap, name)))
sys.argv[1:] = ["--seed", "7", "--calls", "200"]
runpy.run_module("tests.soak", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "-m tests.soak --seed 7 --case " in done.stdout
    assert re.search(shown, done.stdout)
