"""Run the fuzz targets, each for some seconds, from the corpus of the repository.

    python fuzz/run.py                       # all of them, 60 seconds each
    python fuzz/run.py --seconds 600 core
    python fuzz/run.py --minimize core       # and keep what adds coverage, at most 60 inputs

``core`` needs clang and is built with the preset ``fuzz``; the others need the package atheris.
What a run finds beyond the corpus is kept in ``build/fuzz-corpus``, an input that fails in
``build``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
TARGETS = ("core", "functions", "models", "descriptors")
KEPT = 60  # inputs of a target in the repository
LIMITS = ("-timeout=30", "-rss_limit_mb=2500", "-max_len=256", "-len_control=0")


def command(target: str) -> list[str]:
    """Return the program of a target, built. Where it merges, it starts itself again."""
    if target != "core":
        return [str(FOLDER / f"{target}.py")]
    subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["cmake", "--build", "build/fuzz"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    return [str(ROOT / "build" / "fuzz" / "fuzz" / "sowreap_fuzz_core")]


def environment() -> dict[str, str]:
    """Return variables with which ``env python3`` is this Python."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def run(target: str, seconds: int) -> bool:
    """Run one target; say how often it ran, and whether that was without a failure."""
    found = ROOT / "build" / "fuzz-corpus" / target
    found.mkdir(parents=True, exist_ok=True)
    corpus = FOLDER / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={ROOT / 'build'}/{target}-"]
    done = subprocess.run(
        [*command(target), *LIMITS, *options, str(found), str(corpus)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment(),
        check=False,
    )
    last = re.findall(r"Done \d+ runs in \d+ second", done.stdout)
    coverage = re.findall(r"cov: (\d+) ft: (\d+)", done.stdout)
    if done.returncode != 0 or not last:
        print(done.stdout[-6000:])
        print(f"{target}: failed")
        return False
    edges, features = coverage[-1]
    print(f"{target}: {last[-1].lower()}s, coverage {edges}, features {features}", flush=True)
    return True


def minimize(target: str) -> None:
    """Make the corpus of the repository from it and all that was found; the longest are kept."""
    corpus, found = FOLDER / "corpus" / target, ROOT / "build" / "fuzz-corpus" / target
    merged = ROOT / "build" / "fuzz-merged" / target
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    merge = [*command(target), "-merge=1", "-max_len=256", str(merged), str(corpus), str(found)]
    subprocess.run(merge, check=True, env=environment(), stderr=subprocess.DEVNULL)
    for old in corpus.iterdir():
        old.unlink()
    for kept in sorted(merged.iterdir(), key=lambda path: path.stat().st_size)[-KEPT:]:
        shutil.copy(kept, corpus / kept.name[:16])
    print(f"{target}: {len(list(corpus.iterdir()))} inputs kept")


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=TARGETS, help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--minimize", action="store_true")
    given = parser.parse_args()
    for target in given.targets:
        if target not in TARGETS:
            parser.error(f"{target} is none of {', '.join(TARGETS)}")
    good = [run(target, given.seconds) for target in given.targets]
    if given.minimize:
        for target in given.targets:
            minimize(target)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
