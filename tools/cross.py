"""Build the core and its tests for another system, and run them where that can be done here.

    python tools/cross.py musl            # Linux with musl, linked statically: runs anywhere
    python tools/cross.py windows         # by MinGW-w64, run by wine
    python tools/cross.py macos           # of arm64: built and linked, not run
    python tools/cross.py macos-x86_64    # likewise

The core is C++ without Python, so this shows what the compiler and the C library of the other
system make of it: the concurrency test of ``core/tests`` and the corpus of ``fuzz``. Needs
``ziglang`` from the package index; for Windows, Debian's packages g++-mingw-w64-x86-64-posix and
wine64 instead. Everything goes into ``build/cross``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from steps import ROOT, run, run_core_tests
from zig import write_programs

FOLDER = ROOT / "build" / "cross"


@dataclass(frozen=True)
class Target:
    """A system to build for."""

    system: str  # as CMake calls it
    processor: str
    compiler: str = ""  # zig's, where none is named
    zig: str = ""  # how zig calls it
    suffix: str = ""  # of programs
    runner: tuple[str, ...] | None = ()  # before a program; None: nothing here runs it


TARGETS = {
    "musl": Target("Linux", "x86_64", zig="x86_64-linux-musl"),
    "windows": Target(
        "Windows",
        "AMD64",
        compiler="x86_64-w64-mingw32-g++-posix",
        suffix=".exe",
        runner=("wine",),
    ),
    "macos": Target("Darwin", "arm64", zig="aarch64-macos.11.0", runner=None),
    "macos-x86_64": Target("Darwin", "x86_64", zig="x86_64-macos.11.0", runner=None),
}


def configure_options(target: Target, folder: Path) -> list[str]:
    """Return what tells CMake of the target."""
    options = [
        f"-DCMAKE_SYSTEM_NAME={target.system}",
        f"-DCMAKE_SYSTEM_PROCESSOR={target.processor}",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DSOWREAP_PYTHON=OFF",
        "-DSOWREAP_TESTS=ON",
    ]
    if target.compiler:
        return [*options, f"-DCMAKE_CXX_COMPILER={target.compiler}"]
    zig = write_programs(folder / "zig", target.zig)
    return [
        *options,
        f"-DCMAKE_CXX_COMPILER={zig['c++']}",
        f"-DCMAKE_AR={zig['ar']}",
        f"-DCMAKE_RANLIB={zig['ranlib']}",
    ]


def main() -> None:
    """Build for the system of the command line, and run the tests."""
    parser = argparse.ArgumentParser(description="Build and test the core for another system.")
    parser.add_argument("target", choices=TARGETS)
    name = parser.parse_args().target
    target, folder = TARGETS[name], FOLDER / name
    if target.runner and shutil.which(target.runner[0]) is None:
        sys.exit(f"no {target.runner[0]} here")
    begin = time.monotonic()
    run("cmake", "-G", "Ninja", "-B", folder, *configure_options(target, folder))
    run("cmake", "--build", folder)
    built = time.monotonic() - begin
    if target.runner is None:
        print(f"{name}: built and linked in {built:.0f} s; nothing here runs it")
        return
    quiet = {"WINEDEBUG": "-all", "WINEPREFIX": str(folder / "wine")}
    run_core_tests(folder, *target.runner, suffix=target.suffix, **quiet)
    print(f"{name}: built in {built:.0f} s, tested in {time.monotonic() - begin - built:.0f} s")


if __name__ == "__main__":
    main()
