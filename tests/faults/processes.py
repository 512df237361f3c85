"""Faults are made in a process of their own, which ends within a time limit or is a failure."""

import subprocess
import sys

# Since 3.12 Python warns of every fork beside threads; that this works is the point.
QUIET = ("-W", "ignore:This process:DeprecationWarning")
LIMIT = 300  # seconds; only a process that hangs meets it, under a sanitizer too


def run_process(code: str, *arguments: str) -> str:
    """Run Python code that has to end in the ordinary way, silent on stderr; return its output."""
    done = subprocess.run(
        [sys.executable, *QUIET, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
