"""What the tests of the command share besides fixtures."""

from __future__ import annotations

import subprocess
import sys

from click.testing import Result

SOWREAP = (sys.executable, "-m", "sowreap")
TIMEOUT = 120  # seconds; only a hang takes as long

SCATTER = """<ir_version: 10, opset_import: ["": 18]>
graph (float[rows, 3] data, int64[picks, 1] indices, float[picks, 3] updates)
   => (float[rows, 3] summed, float[rows, 3] doubled) {
    summed = ScatterND <reduction = "add"> (data, indices, updates)
    doubled = Add (summed, summed)
}"""


def error_line(result: Result) -> str:
    """Return the text of the one line of a failed call: status 2 and nothing else on stderr."""
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("sowreap: error: ")
    return lines[0].removeprefix("sowreap: error: ")


def sowreap_process(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return python(*SOWREAP[1:], *arguments, **options)


def python(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Run this Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        **options,
    )
