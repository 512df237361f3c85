"""Build for arm64, and test that under qemu: the core, and a wheel in a Python of Debian.

    python tools/arm64.py                          # core, wheel, and some of the tests
    python tools/arm64.py tests/test_gather.py     # what follows goes to pytest

Needs Debian's packages g++-aarch64-linux-gnu, qemu-user and debootstrap, and the packages of the
dependency group ``release``. A Debian of arm64 is unpacked into ``build/arm64/root``, nothing of it
into this system: its Python runs as a program of qemu-user, and so does every Python that it
starts. Built is with the headers of the Python that runs this file, 3.12 or newer: those of the
stable ABI are the same for both processors. Each step has a limit of time.

Emulation is slow, so the tests are those whose outcome the processor can change: items of every
dtype (``char`` has no sign there, half floats are converted without instructions for it, long
doubles have 128 bits, NaNs other signs), unaligned and strange strides, code that the compiler
makes vectors of, sums in order, threads. Not shown by qemu: the order in which another core sees
writes, and speed.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

from steps import OPERATOR_TESTS, ROOT, RUN_LIMIT, run, run_core_tests

FOLDER = ROOT / "build" / "arm64"
DEBIAN = FOLDER / "root"
SUITE, PYTHON = "trixie", "3.13"
PACKAGES = f"python{PYTHON}-minimal,libpython{PYTHON}-stdlib,python{PYTHON},libstdc++6"
COMPILER = "aarch64-linux-gnu-g++"
CROSS = (
    "-DCMAKE_SYSTEM_NAME=Linux",
    "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
    f"-DCMAKE_CXX_COMPILER={COMPILER}",
)
TESTS = (
    *OPERATOR_TESTS,
    "tests/test_small_types.py",
    "tests/test_mean.py",
    "tests/test_strides.py",
    "tests/test_vectors.py",
    "tests/test_constant_rows.py",
    "tests/test_concurrency.py",
)
TEST_LIMIT = 3600  # seconds


def build_core() -> Path:
    """Build the core and its tests, and return where."""
    build = FOLDER / "core"
    options = ("-DSOWREAP_PYTHON=OFF", "-DSOWREAP_TESTS=ON", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "-G", "Ninja", "-B", build, *CROSS, *options)
    run("cmake", "--build", build)
    return build


def unpack_debian() -> Path:
    """Unpack a Debian of arm64, and return a program that runs its Python under qemu."""
    program = DEBIAN / "usr" / "bin" / f"python{PYTHON}"
    started = program.with_name("python-under-qemu")
    if not program.exists():
        first_stage = ("debootstrap", "--foreign", "--variant=minbase", "--arch=arm64")
        run(*first_stage, f"--include={PACKAGES}", SUITE, DEBIAN)
        for package in sorted((DEBIAN / "var/cache/apt/archives").glob("*.deb")):
            run("dpkg-deb", "-x", package, DEBIAN)
    # By this name Python knows itself, so what it starts runs under qemu too.
    started.write_text(f'#!/bin/sh\nexec qemu-aarch64 -L {DEBIAN} -0 "$0" {program} "$@"\n')
    started.chmod(0o755)
    return started


def pip(*arguments: str | Path, **variables: str) -> None:
    """Run pip."""
    run(sys.executable, "-m", "pip", "--quiet", *arguments, **variables)


def install(folder: Path, *packages: str | Path) -> None:
    """Install wheels of arm64 into a folder."""
    systems = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "linux_aarch64")
    platforms = [f"--platform={system}" for system in systems]
    wheels = ("--only-binary=:all:", f"--python-version={PYTHON}", *platforms)
    pip("install", "--upgrade", "--target", folder, *wheels, *packages)


def install_packages() -> Path:
    """Install what the tests need into a folder of its own."""
    site = FOLDER / "site"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    if not site.exists():
        install(site, *project["project"]["dependencies"], "pytest", "hypothesis", "ml_dtypes")
    return site


def install_wheel(site: Path) -> Path:
    """Build a wheel of the stable ABI, and install it into a folder of its own."""
    wheels, target = FOLDER / "wheels", FOLDER / "sowreap"
    numpy = site / "numpy" / "_core" / "include"
    settings = f"-Ccmake.args={';'.join((*CROSS, f'-DPython_NumPy_INCLUDE_DIR={numpy}'))}"
    # What strips here knows programs of this processor.
    plain = ("--no-deps", "--no-build-isolation", "-Cinstall.strip=false")
    shutil.rmtree(wheels, ignore_errors=True)
    system = {"_PYTHON_HOST_PLATFORM": "linux-aarch64"}
    pip("wheel", *plain, settings, "--wheel-dir", wheels, ROOT, **system)
    (wheel,) = wheels.glob("*_aarch64.whl")
    shutil.rmtree(target, ignore_errors=True)
    install(target, "--no-deps", wheel)
    return target


def main(arguments: list[str]) -> None:
    """Test the core, then the wheel."""
    if sys.version_info < (3, 12):
        sys.exit("a wheel of the stable ABI needs Python 3.12 or newer to build")
    run_core_tests(build_core(), "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
    python = unpack_debian()
    site = install_packages()
    variables = {
        "PYTHONPATH": f"{install_wheel(site)}:{site}",
        "PYTHONDONTWRITEBYTECODE": "",  # compiling all sources takes minutes
        "PYTHONPYCACHEPREFIX": f"{FOLDER}/bytecode",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # it would compile Hypothesis a second time
    }
    run(python, "tools/smoke.py", limit=RUN_LIMIT, **variables)
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *(arguments or TESTS))
    run(python, *tests, limit=TEST_LIMIT, **variables)


if __name__ == "__main__":
    main(sys.argv[1:])
