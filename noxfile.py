"""What one can do with the project: ``nox -l`` lists it, ``nox -s NAME`` does it."""

import os
from datetime import date
from pathlib import Path

import nox

nox.needs_version = ">=2024.4"
nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "tests", "docs"]

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
# Of the repository, not of what users install: they need its tools.
NOT_CORE = {
    "test_bench.py",
    "test_docs_build.py",
    "test_instruction_counts.py",
    "test_sdist.py",
    "test_stub.py",
    "test_versions.py",
}


def install(session: nox.Session, group: str) -> None:
    """Install the package with what its tests need, and a dependency group."""
    session.install("--upgrade", "pip")  # --group needs 25.1
    session.install("--group", group, "-e.[onnx,ort]")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests; arguments go to pytest."""
    install(session, "test")
    session.run("pytest", "--cov=sowreap", *session.posargs)


@nox.session(python=PYTHONS)
def core(session: nox.Session) -> None:
    """Run the tests of the functions, without any extra; arguments go to pytest."""
    session.install(".", "pytest", "hypothesis", "ml_dtypes", "psutil")
    tests = [str(path) for path in Path("tests").glob("test_*.py") if path.name not in NOT_CORE]
    session.run("pytest", *(session.posargs or [*sorted(tests), "tests/faults"]))


@nox.session
def wheels(session: nox.Session) -> None:
    """Build wheels for the Pythons that arguments name, check them, and try them alone."""
    session.install("--upgrade", "pip")  # --group needs 25.1
    session.install("--group", "release")
    session.run("python", "tools/wheels.py", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and types, of Python and of C++."""
    install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")
    sources = [
        str(path)
        for folder in ("core", "bindings", "fuzz", "benchmarks")
        for path in Path(folder).rglob("*")
        if path.suffix in {".cpp", ".hpp", ".h"}
    ]
    session.run("clang-format", "--dry-run", "-Werror", *sources)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into docs/_build, and run the examples in docstrings and pages."""
    session.install("--upgrade", "pip")
    session.install("--group", "test", "-e.[all,docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build")
    session.run("pytest", "src/sowreap", "tests/cli/test_documents.py", "tests/test_docs_build.py")


# What a night does, and what takes minutes in its place.
NIGHTLY = {
    "asan": (
        ["tools/sanitize.py", "asan", "-n", "auto"],
        ["tests/test_gather.py", "tests/test_overlap.py", "tests/faults/test_exit.py"],
    ),
    "tsan": (["tools/sanitize.py", "tsan", "-n", "auto"], ["tests/test_concurrency.py"]),
    "fuzz": (
        ["fuzz/run.py", "--seconds", "3600", "--jobs", str(os.cpu_count())],
        ["--seconds", "60"],
    ),
    "soak": (
        ["-m", "tests.soak", "--calls", "1000000", "--seed", f"{date.today():%Y%m%d}"],
        ["--calls", "10000"],
    ),
    "big": (["-m", "pytest", "tests/test_big.py"], ["-k", "more_updates"]),
}


@nox.session
def nightly(session: nox.Session) -> None:
    """Hours of search for faults; ``-- fuzz soak`` chooses, ``--short`` makes it minutes."""
    short = "--short" in session.posargs
    chosen = [name for name in session.posargs if name != "--short"] or list(NIGHTLY)
    if unknown := set(chosen) - set(NIGHTLY):
        session.error(f"{', '.join(sorted(unknown))}: not among {', '.join(NIGHTLY)}")
    session.install(*nox.project.load_toml("pyproject.toml")["build-system"]["requires"])
    install(session, "test")
    session.install("--group", "fuzz", "-e.[dask,docs]")  # all tests run
    failed = []
    for name in chosen:
        command, hurry = NIGHTLY[name]
        env = {"SOWREAP_TEST_BIG": "1"} if name == "big" else None
        try:
            session.run("python", *command, *(hurry if short else []), env=env)
        except nox.command.CommandFailed:
            failed.append(name)
    if failed:
        session.error(f"failed: {', '.join(failed)}")
