"""The compiler of the package ``ziglang`` as programs that other tools can call."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path


def write_programs(folder: Path, target: str) -> dict[str, Path]:
    """Write programs that compile for a target, as zig calls it, and return their paths."""
    if importlib.util.find_spec("ziglang") is None:
        sys.exit("ziglang is needed: install it from the package index")
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for name in ("cc", "c++", "ar", "ranlib"):
        made[name] = folder / f"zig-{name}"
        options = f" -target {target}" if name in ("cc", "c++") else ""
        zig = f"{shlex.quote(sys.executable)} -m ziglang {name}{options}"
        made[name].write_text(f'#!/bin/sh\nexec {zig} "$@"\n')
        made[name].chmod(0o755)
    return made
