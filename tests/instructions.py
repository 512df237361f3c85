"""How many instructions small calls take, which does not depend on how busy a machine is.

``python tests/instructions.py`` counts with valgrind and writes the file that the test compares
with; run it after a change that is meant to change the counts, and say why in the commit.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RECORD = Path(__file__).parent / "data" / "instructions.json"
WHAT_IS_MISSING = "valgrind with its header and g++ are needed"

# Each request starts a new file of counts, named by its text.
SHIM = """
#include <valgrind/callgrind.h>
extern "C" void dump(const char* name) { CALLGRIND_DUMP_STATS_AT(name); }
"""


def calls():
    """Small calls, by name: what they do is done in a fraction of the cache."""
    import numpy as np

    import sowreap as sr

    sr.set_num_threads(1)
    rng = np.random.default_rng(0)
    flat, square = np.ones(4096, np.float32), np.ones((256, 256), np.float32)
    tall, half = np.ones((1024, 512), np.float32), np.ones((256, 256), np.float16)
    items, eight = rng.integers(0, 4096, 4096), np.arange(8)
    rows, index = rng.integers(0, 256, 256), rng.integers(0, 256, (256, 256))
    tall_index = rng.integers(0, 1024, tall.shape)
    return {
        "gather rows": lambda: sr.gather(square, rows),
        "gather items": lambda: sr.gather(flat, items),
        "gather_elements, packed columns": lambda: sr.gather_elements(tall, tall_index, 0),
        "scatter_elements add, columns": lambda: sr.scatter_elements(
            square, index, square, 0, "add"
        ),
        "scatter_elements max, float16 rows": lambda: sr.scatter_elements(
            half, index, half, 1, "max"
        ),
        "scatter_nd add, rows": lambda: sr.scatter_nd(square, rows[:, None], square, "add"),
        "gather of eight": lambda: sr.gather(flat, eight),
    }


def work(shim: str) -> None:
    """Under valgrind: every call once to warm up, then once between two dumps."""
    dump = ctypes.CDLL(shim).dump
    for name, call in calls().items():
        call()
        dump(b"outside")
        call()
        dump(name.encode())


def is_possible() -> bool:
    """Whether this machine can count: also the same kind of processor and compiler."""
    return shutil.which("valgrind") is not None and shutil.which("g++") is not None


def compiler() -> str:
    """The compiler that builds extensions here, since counts depend on it."""
    text = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    return f"{text.splitlines()[0]}, {platform.machine()}"


def count() -> dict[str, int]:
    """Instructions of each call."""
    with tempfile.TemporaryDirectory() as folder:
        source, shim = Path(folder) / "shim.cpp", Path(folder) / "shim.so"
        source.write_text(SHIM)
        subprocess.run(["g++", "-shared", "-fPIC", source, "-o", shim], check=True)
        subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={folder}/counts",
                sys.executable,
                __file__,
                str(shim),
            ],
            env=os.environ | {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )
        found = {}
        for path in Path(folder).glob("counts.*"):
            text = path.read_text(errors="replace")
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            if name and total and name[1] != "outside":
                found[name[1]] = int(total[1])
    return found


if __name__ == "__main__":
    if len(sys.argv) == 2:
        work(sys.argv[1])
    else:
        RECORD.write_text(json.dumps({"compiler": compiler(), "counts": count()}, indent=2) + "\n")
        print(RECORD.read_text())
