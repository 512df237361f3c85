"""Build the extension with sanitizers, in an environment of its own, and run tests on it.

    python tools/sanitize.py asan                      # all tests
    python tools/sanitize.py tsan -n auto              # what follows goes to pytest
    python tools/sanitize.py tsan tests/test_threads.py tests/test_concurrency.py

The presets of CMakePresets.json say what is built. It goes to ``build/<preset>``; the packages of
the Python that runs this file are used as they are, and need to include those of the dependency
group ``test``. The command fails if a test does, or if any process of the run made a report.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Beside the sanitizer: it looks for the C++ library's throw at start, and Python has not loaded it.
PRELOADED = {"asan": ("libasan.so", "libstdc++.so"), "tsan": ("libtsan.so", "libstdc++.so")}
OPTIONS = {
    "asan": {
        "ASAN_OPTIONS": {
            "detect_leaks": 0,  # the interpreter and NumPy keep memory until the process ends
            "allocator_may_return_null": 1,  # too large a request is a MemoryError, as without
            # Needs frames on the heap, which GCC 12 aligns to 32 bytes and writes 64 at a time.
            "detect_stack_use_after_return": 0,
            "strict_string_checks": 1,
        },
        "UBSAN_OPTIONS": {"print_stacktrace": 1},
    },
    "tsan": {
        "TSAN_OPTIONS": {
            "die_after_fork": 0,  # that a child goes on is what tests/test_fork.py is about
            "history_size": 7,  # the most: without the stack of an access no suppression matches
            "suppressions": ROOT / "tools" / "tsan.supp",
        }
    },
}


# Tests that say nothing under a sanitizer, or cannot run there, each with the reason.
LARGE = "tests/test_memory.py::test_transposed_view_of_200_megabytes"
FOR_BOTH = {
    "tests/test_instruction_counts.py": "counts the instructions of a plain build",
    "tests/onnx/test_convert.py::test_the_example_of_a_program_without_python": (
        "the library is loaded by programs that were built without the sanitizer"
    ),
    "tests/onnx/test_hostile_models.py::test_the_check_does_not_describe_each_item_of_a_vector"
    "_that_is_merely_claimed": "address space is limited, of which the sanitizer takes terabytes",
    "tests/faults/test_out_of_memory.py::test_memory_ends_in_the_middle_of_a_call": (
        "where it gets no memory itself, a sanitizer ends the process"
    ),
    "tests/faults/test_interrupt.py::test_a_large_result_is_left_and_freed": (
        "the memory measured is that of the result's shadow, which is not given back"
    ),
    "tests/dask/test_dask_distributed.py": (
        "its worker processes are ended where they take more than 400 MB, which the sanitizer and "
        "what the processes import take alone"
    ),
    "tests/cli/test_examples.py::test_example[dask_scatter_zarr.py]": "the same",
}
EXCLUDED = {
    "asan": FOR_BOTH,
    "tsan": FOR_BOTH
    | {
        # Inputs and outputs go from thread to thread of onnxruntime, which orders them by atomics
        # that ThreadSanitizer does not see.
        "tests/onnx/test_onnxruntime_session.py::test_eight_threads_on_one_session[ORT_PARALLEL]": (
            "operators run on threads of onnxruntime's"
        ),
        f"{LARGE}[scatter_elements]": "the memory measured is that of the result's shadow",
        f"{LARGE}[scatter_nd]": "as above",
    },
}

# Tests for a process of their own, each with the reason.
APART = {
    "asan": {},
    "tsan": {
        "tests/test_fork.py": (
            "a thread of a child may have the address of one that other tests left in the parent, "
            "which ThreadSanitizer takes for the same one and ends the child"
        )
    },
}

# Starts the venv's Python with the sanitizer in it. Python removes that from its environment again,
# so that compilers, browsers and whatever else a test starts come without.
STARTER = """\
#!/bin/bash
LD_PRELOAD="{preloaded}" exec -a "$0" "{python}" "$@"
"""
ALONE = "import os; os.environ.pop('LD_PRELOAD', None)\n"

# What allocator_may_return_null says where it acts.
REFUSED = re.compile(r"==\d+==WARNING: AddressSanitizer failed to allocate .*\n?")


def compiler_file(name: str) -> str:
    """Return the path of a library of the compiler."""
    compiler = os.environ.get("CXX", "g++")
    asked = [compiler, f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def make_environment(folder: Path) -> Path:
    """Return the Python of an environment that sees the packages of this one.

    They are seen through a path, so that no editable install among them takes effect.
    """
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, symlinks=True)
        (site,) = folder.glob("lib/python*/site-packages")
        packages = [path for path in sys.path if path.endswith("site-packages")]
        (site / "packages.pth").write_text("\n".join(packages) + "\n")
        (site / "alone.pth").write_text(ALONE)
    return python


def make_starter(preset: str, python: Path) -> Path:
    """Return the program that starts Python under the sanitizers, and is its ``sys.executable``."""
    starter = python.with_name("sanitized")
    preloaded = " ".join(map(compiler_file, PRELOADED[preset]))
    starter.write_text(STARTER.format(preloaded=preloaded, python=python.resolve()))
    starter.chmod(0o755)
    return starter


def environment(preset: str, reports: Path) -> dict[str, str]:
    """Return the variables of a process under the sanitizers."""
    # Each object and each result in a block that the sanitizer knows.
    made = os.environ | {"PYTHONMALLOC": "malloc", "SOWREAP_POOL_LIMIT": "0"}
    for name, options in OPTIONS[preset].items():
        log = {"log_path": reports / name.lower()}
        made[name] = ":".join(f"{key}={value}" for key, value in {**options, **log}.items())
    return made


def install(python: Path, preset: str) -> None:
    """Build with a preset, and install in editable form."""
    build = ROOT / "build" / preset
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    plain = ["--no-deps", "--no-build-isolation", "--force-reinstall"]
    settings = [
        f"-Cbuild-dir={build / 'cmake'}",
        f"-Ccmake.args=--preset={preset}",
        "-Ccmake.build-type=RelWithDebInfo",
        "-Cinstall.strip=false",
    ]
    subprocess.run([*pip, *plain, *settings, "--editable", str(ROOT)], check=True, cwd=ROOT)


def main(preset: str, arguments: list[str]) -> int:
    """Build, test, and show the reports."""
    reports = ROOT / "build" / preset / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    for old in reports.iterdir():
        old.unlink()
    python = make_environment(ROOT / "build" / preset / "venv")
    install(python, preset)
    starter = make_starter(preset, python)
    excluded = [f"--deselect={test}" for test in (*EXCLUDED[preset], *APART[preset])]
    pytest = [starter, "-m", "pytest", "-p", "no:cacheprovider"]
    programs = [*([*pytest, test] for test in APART[preset]), [*pytest, *excluded, *arguments]]
    if preset == "tsan":
        programs.insert(0, [ROOT / "build" / preset / "cmake" / "core/tests/sowreap_concurrency"])
    env = environment(preset, reports)
    ends = [subprocess.run(each, env=env, cwd=ROOT, check=False).returncode for each in programs]
    texts = [REFUSED.sub("", path.read_text(errors="replace")) for path in reports.iterdir()]
    made = [text for text in texts if text.strip()]
    print(*made, f"{preset}: ended with {ends}; {len(made)} reports", sep="\n")
    return 1 if made or any(ends) else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in OPTIONS:
        sys.exit(f"usage: {sys.argv[0]} {{{','.join(OPTIONS)}}} [pytest arguments]")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
