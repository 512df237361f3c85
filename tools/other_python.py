"""Test in a Python that no package here brings: a free-threaded one, or one on musl.

    python tools/other_python.py free-threaded                     # builds it at the first call
    python tools/other_python.py musl tests/test_gather.py -x      # what follows goes to pytest

The Python is built from Debian's source into ``build/KIND``, nothing of it into this system, and so
is the package, with what its tests need. In the free-threaded one the tests run twice: with the
lock, as the import leaves it, and without. Needs a Debian of x86-64 with g++, and the packages of
the dependency group ``release``; for musl also musl-tools and, as a compiler of C++, ziglang from
the package index.
"""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from steps import OPERATOR_TESTS, ROOT, RUN_LIMIT, run
from zig import write_programs

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITE, PYTHON = "trixie", "3.13"
TESTS = (
    "tests/test_free_threading.py",
    "tests/test_concurrency.py",
    "tests/test_threads.py",
    "tests/test_fork.py",
    "tests/faults",
)
TEST_LIMIT = 3600  # seconds
# The import brings the lock back, which Python says in a warning.
BROUGHT_BACK = "ignore:The global interpreter lock (GIL) has been enabled:RuntimeWarning"
WITH_LOCK = {"PYTHONWARNINGS": BROUGHT_BACK, "PYTEST_ADDOPTS": f"-W '{BROUGHT_BACK}'"}


@dataclass(frozen=True)
class Kind:
    """A Python, and how it is built."""

    name: str
    abi: str
    systems: tuple[str, ...]  # whose wheels it takes
    configure: tuple[str, ...]
    tests: tuple[str, ...]
    rounds: tuple[dict[str, str], ...] = ({},)  # of the tests, by their variables
    zig: str = ""  # how zig calls its system, where zig compiles for it

    @property
    def folder(self) -> Path:
        """Return where everything of it lies."""
        return ROOT / "build" / self.name

    @property
    def program(self) -> Path:
        """Return the path of the Python."""
        return self.folder / "python" / "bin" / f"python{PYTHON}"


KINDS = {
    "free-threaded": Kind(
        "free-threaded",
        "cp313t",
        ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64"),
        ("--disable-gil",),
        TESTS,
        rounds=(WITH_LOCK, {"PYTHON_GIL": "0"}),
    ),
    "musl": Kind(
        "musl",
        "cp313",
        ("musllinux_1_2_x86_64",),
        (),
        (*OPERATOR_TESTS, *TESTS),
        zig="x86_64-linux-musl",
    ),
}


def mirror() -> str:
    """Return the address of this system's mirror."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0]


def fetch_source(package: str, folder: Path) -> Path:
    """Fetch the source of a Debian package from this system's mirror, and unpack it."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / "apt" / name).mkdir(parents=True, exist_ok=True)
    (folder / "apt/sources.list").write_text(
        f"deb-src [signed-by={KEYRING}] {mirror()} {SUITE} main\n"
    )
    settings = {
        "Dir::State::lists": folder / "apt/lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": folder / "apt/cache",
        "Dir::Etc::sourcelist": folder / "apt/sources.list",
        "Dir::Etc::sourceparts": "-",
        "APT::Sandbox::User": getpass.getuser(),
    }
    config = folder / "apt/apt.conf"
    config.write_text("".join(f'{key} "{value}";\n' for key, value in settings.items()))
    run("apt-get", "-qq", "update", APT_CONFIG=str(config))
    # (A mirror may lack what Debian adds to the archive of a source, which is all that is needed.)
    archive_alone = ("source", "--download-only", "--tar-only", package)
    run("apt-get", "-qq", *archive_alone, cwd=folder, APT_CONFIG=str(config))
    (archive,) = (p for p in folder.glob(f"{package}_*.orig.tar.*") if p.suffix != ".asc")
    source = folder / package
    source.mkdir(exist_ok=True)
    run("tar", "-xf", archive, "-C", source, "--strip-components=1")
    return source


def c_compiler(kind: Kind) -> dict[str, str]:
    """Return the variables that choose the compiler of the Python."""
    if not kind.zig:
        return {}
    # musl-gcc says of itself what gcc is for, which Python's configure does not take.
    program = kind.folder / "musl-gcc"
    program.write_text('#!/bin/sh\n[ "$1" = --print-multiarch ] && exit 1\nexec musl-gcc "$@"\n')
    program.chmod(0o755)
    return {"CC": str(program)}


def build_zlib(kind: Kind) -> None:
    """Build the one library that packages of the tests need the Python to have."""
    source = fetch_source("zlib", kind.folder)
    prefix = kind.folder / "python"
    run(
        "./configure",
        "--static",
        f"--prefix={prefix}",
        cwd=source,
        **c_compiler(kind),
        CFLAGS="-O2 -fPIC",
    )
    run("make", "install", cwd=source)


def spare_turns(source: Path) -> None:
    """Let threads wait for a lock without giving up 40 turns of the processor first.

    A thread of 3.13 that closes a file waits so for a lock which it holds itself: with many other
    processes about, each turn takes as long as all of theirs, and an import lasts for minutes.
    """
    path = source / "Python" / "lock.c"
    text, spins = path.read_text(), "MAX_SPIN_COUNT = 40;"
    if spins not in text:
        sys.exit(f"{path} is not the file that this was written for")
    path.write_text(text.replace(spins, "MAX_SPIN_COUNT = 0;"))


def build_python(kind: Kind) -> None:
    """Build the Python, unless it is there."""
    if kind.program.exists():
        return
    kind.folder.mkdir(parents=True, exist_ok=True)
    libraries = {}
    if kind.zig:
        build_zlib(kind)
        prefix = kind.folder / "python"
        libraries = {"ZLIB_CFLAGS": f"-I{prefix}/include", "ZLIB_LIBS": f"-L{prefix}/lib -lz"}
    source = fetch_source(f"python{PYTHON}", kind.folder)
    spare_turns(source)
    build = kind.folder / "build-python"
    build.mkdir(exist_ok=True)
    plain = (
        "-q",
        "--without-ensurepip",
        "--disable-test-modules",
        f"--prefix={kind.folder}/python",
    )
    # Made to test in, not to use: it is built quickly, and its library is not compiled ahead.
    variables = {"CFLAGS": "-O1", **c_compiler(kind), **libraries}
    run(source / "configure", *plain, *kind.configure, cwd=build, **variables)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    run("make", "-s", f"-j{jobs}", "all", cwd=build)
    run("make", "-s", "install", "COMPILEALL_OPTS=--help", cwd=build)


def pip(*arguments: str | Path, **variables: str) -> None:
    """Run pip."""
    run(sys.executable, "-m", "pip", "-q", *arguments, **variables)


def install(kind: Kind, folder: Path, *packages: str | Path) -> None:
    """Install wheels for the Python into a folder; it has no pip and no ssl of its own."""
    platforms = [f"--platform={system}" for system in kind.systems]
    abis = [f"--abi={abi}" for abi in (kind.abi, "abi3", "none")]
    wheels = ("--only-binary=:all:", f"--python-version={PYTHON}", *platforms, *abis)
    pip("install", "--upgrade", "--target", folder, *wheels, *packages)


def compilers(kind: Kind) -> dict[str, str]:
    """Return the variables that choose the compiler of the extensions."""
    if not kind.zig:
        return {}
    programs = write_programs(kind.folder / "zig", kind.zig)
    return {"CC": str(programs["cc"]), "CXX": str(programs["c++"])}


def build(kind: Kind, site: Path, source: Path, target: Path) -> None:
    """Build a wheel of a source in the Python, and unpack it into a folder."""
    wheels = kind.folder / "wheels" / target.name
    shutil.rmtree(wheels, ignore_errors=True)
    variables = {
        **compilers(kind),
        "PYTHONPATH": str(site),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",  # its cmake and ninja
    }
    plain = ("--no-deps", "--no-index", "--no-build-isolation", "-Cinstall.strip=false")
    pip("--python", kind.program, "wheel", *plain, "--wheel-dir", wheels, source, **variables)
    (wheel,) = wheels.glob("*.whl")
    shutil.rmtree(target, ignore_errors=True)
    shutil.unpack_archive(wheel, target, "zip")


def install_packages(kind: Kind) -> Path:
    """Install what the build and the tests need into a folder of its own."""
    site = kind.folder / "site"
    if site.exists():
        return site
    needs = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    install(kind, site, *needs, "pytest", "hypothesis")
    if not kind.zig:
        install(kind, site, "ml_dtypes")
        return site
    install(kind, site, "setuptools")
    pip("download", "--no-deps", "--no-binary=ml_dtypes", "--dest", kind.folder, "ml_dtypes")
    (source,) = kind.folder.glob("ml_dtypes-*.tar.gz")
    built = kind.folder / "ml_dtypes"
    build(kind, site, source, built)
    shutil.copytree(built, site, dirs_exist_ok=True)
    return site


def main(name: str, arguments: list[str]) -> None:
    """Build the Python and the package, and test."""
    kind = KINDS[name]
    build_python(kind)
    site = install_packages(kind)
    package = kind.folder / "sowreap"
    build(kind, site, ROOT, package)
    tests = ("-m", "pytest", "-p", "no:cacheprovider", *(arguments or kind.tests))
    for settings in kind.rounds:
        variables = {**settings, "PYTHONPATH": f"{package}:{site}"}
        run(kind.program, "tools/smoke.py", limit=RUN_LIMIT, **variables)
        run(kind.program, *tests, limit=TEST_LIMIT, **variables)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: {sys.argv[0]} {{{','.join(KINDS)}}} [pytest arguments]")
    main(sys.argv[1], sys.argv[2:])
