"""Check that code for newer processors is where the choice at run time leads, and nowhere else.

    python tools/check_portable.py build/cp312-abi3-linux_x86_64

Of the object files of a build for x86-64, those of ``sowreap_avx2`` and ``sowreap_avx512`` may hold
AVX instructions, and must define no symbol outside the namespace of their name: the linker keeps
one of several equal functions, for all who call it. No other object may hold AVX instructions.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

AVX = re.compile(r"^\s*[0-9a-f]+:\t(v[a-z0-9]+|k(?:mov|or|and|not|xnor|xor|test|shift)[a-z0-9]*)\b")
NOT_AVX = ("verr", "verw", "vmcall", "vmlaunch", "vmresume", "vmxoff", "vmfunc", "vmmcall")
DISPATCHED = re.compile(r"sowreap_(avx2|avx512)\.dir")
# T, D, B, R: global; W, V, u: of several equal ones the linker keeps one
SHARED = re.compile(r"^[0-9a-f]+ [TDBRWVu] (.+)$")


def output_of(*command: str) -> list[str]:
    """Return the lines that a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def avx_instructions(path: Path) -> int:
    """Count the AVX instructions of an object file."""
    lines = output_of("objdump", "-d", "--no-show-raw-insn", str(path))
    found = (AVX.match(line) for line in lines)
    return sum(1 for match in found if match and match[1] not in NOT_AVX)


def foreign_symbols(path: Path, namespace: str) -> list[str]:
    """Return the symbols that other objects may share and that are not of the namespace."""
    names = (SHARED.match(line) for line in output_of("nm", "-C", "--defined-only", str(path)))
    own = (f"sowreap::{namespace}::", f"sowreap::kernels_{namespace}")
    return [match[1] for match in names if match and not match[1].startswith(own)]


def main(folder: Path) -> int:
    """Look at every object file of a build."""
    faults, inside, outside = [], 0, 0
    objects = sorted(folder.rglob("*.o"))
    for path in objects:
        dispatched = DISPATCHED.search(str(path))
        count = avx_instructions(path)
        if dispatched is None:
            outside += 1
            if count:
                faults.append(f"{path}: {count} AVX instructions outside of dispatched code")
            continue
        inside += count
        faults += [f"{path}: shares {name}" for name in foreign_symbols(path, dispatched[1])]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(
        f"{len(objects)} objects: {inside} AVX instructions in dispatched code, "
        f"{outside} other objects, {len(faults)} faults"
    )
    return 1 if faults or not inside else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} BUILD_FOLDER")
    sys.exit(main(Path(sys.argv[1])))
