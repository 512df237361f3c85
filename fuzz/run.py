"""Run the fuzz targets, each for some seconds, from the corpus of the repository.

    python fuzz/run.py                            # all of them, 60 seconds each
    python fuzz/run.py --seconds 3600 --jobs 2 core models
    python fuzz/run.py --smoke                    # all at once, 60 seconds: for each change
    python fuzz/run.py --minimize core            # and keep what adds coverage, at most 60 inputs

``core`` needs clang and is built with the preset ``fuzz``, or for ``--smoke`` with ``fuzz-smoke``;
the others run in this Python. Both need the dependency group ``fuzz``. What a run finds beyond the
corpus is kept in ``build/fuzz-corpus``, its output in ``build/fuzz-logs``, an input that fails in
``build``. The exit status is 1 if a target failed. A smoke run draws by one seed, so that it fails
by what a change changes and not by its luck; other runs draw by a new one.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
BUILD = ROOT / "build"
TARGETS = ("core", "functions", "models", "descriptors")
KEPT = 60  # inputs of a target in the repository
LIMITS = ("-timeout=120", "-rss_limit_mb=2500", "-max_len=256", "-len_control=0")
RUNS = re.compile(r"^#(\d+)\t.* cov: (\d+) ft: (\d+)", re.MULTILINE)


def command(target: str, preset: str) -> list[str]:
    """Return the program of a target, built. Where it merges, it starts itself again."""
    if target != "core":
        if importlib.util.find_spec("atheris") is None:
            sys.exit(f"{target}: atheris is missing; run: pip install --group fuzz")
        return [str(FOLDER / f"{target}.py")]
    if shutil.which("clang++") is None:
        sys.exit("core: clang++ is missing, which brings libFuzzer")
    for step in (["--preset", preset], ["--build", f"build/{preset}", "-t", "sowreap_fuzz_core"]):
        done = subprocess.run(
            ["cmake", *step],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}core: not built")
    return [str(BUILD / preset / "fuzz" / "sowreap_fuzz_core")]


def environment() -> dict[str, str]:
    """Return variables with which ``env python3`` is this Python."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def run(target: str, program: list[str], seconds: int, seed: int) -> bool:
    """Run one target; say how often it ran, and whether that was without a failure.

    The seed 0 stands for one that libFuzzer takes from the time.
    """
    found, corpus = BUILD / "fuzz-corpus" / target, FOLDER / "corpus" / target
    log = BUILD / "fuzz-logs" / f"{target}.log"
    for folder in (found, corpus, log.parent):
        folder.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-artifact_prefix={BUILD}/{target}-"]
    with log.open("w") as output:
        done = subprocess.run(
            [*program, *LIMITS, *options, str(found), str(corpus)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(),
            check=False,
        )
    text = log.read_text(errors="replace")
    if done.returncode != 0 or not re.search(r"^Done \d+ runs", text, re.MULTILINE):
        print(f"{text[-6000:]}\n{target}: failed", flush=True)
        return False
    runs, edges, features = RUNS.findall(text)[-1]
    print(
        f"{target}: {runs} runs without a failure, coverage {edges}, features {features}",
        flush=True,
    )
    return True


def minimize(target: str, program: list[str]) -> None:
    """Make the corpus of the repository from it and all that was found; the longest are kept."""
    corpus, found = FOLDER / "corpus" / target, BUILD / "fuzz-corpus" / target
    merged = BUILD / "fuzz-merged" / target
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    merge = [*program, "-merge=1", "-max_len=256", str(merged), str(corpus), str(found)]
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
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--jobs", type=int, help="targets at a time: 1, or all with --smoke")
    parser.add_argument("--smoke", action="store_true", help="all at once, and a short build")
    parser.add_argument("--minimize", action="store_true")
    given = parser.parse_args()
    for target in given.targets:
        if target not in TARGETS:
            parser.error(f"{target} is none of {', '.join(TARGETS)}")
    jobs = given.jobs or (len(TARGETS) if given.smoke else 1)
    preset = "fuzz-smoke" if given.smoke else "fuzz"
    programs = {target: command(target, preset) for target in given.targets}
    with ThreadPoolExecutor(jobs) as pool:
        seed = 1 if given.smoke else 0
        good = list(pool.map(lambda item: run(*item, given.seconds, seed), programs.items()))
    if given.minimize:
        for target, program in programs.items():
            minimize(target, program)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
