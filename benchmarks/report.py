"""The table and the plots of ``docs/benchmarks.md``, from the JSON of ``python -m benchmarks``.

``python -m benchmarks.report rows.json`` writes them, with ``--growth growth.json`` also the lines
of ``python -m benchmarks.growth``, and with ``--loops loops.json`` the table of
``python benchmarks/plain_loops.py``; matplotlib draws.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).parent.parent / "docs"
ENGINES = ("sowreap", "onnxruntime", "torch", "numpy", "jax")
MARKS = {"same": "", "close": "", "open": " (o)", "wrong": " **wrong**"}


HEAD = """# Benchmarks

Made by `python -m benchmarks --json rows.json` and `python -m benchmarks.report rows.json`, which
anyone can run; `sowreap bench` times one call of your own shapes.

Machine: {processor}, {cores} cores, {system}. Python {python}, {versions}.

Engines take turns within one process and rest between, since the threads of some spin on after a
call. Times are medians in milliseconds of a call that makes a fresh result, or works in place
where the workload does; calls of more than 0.4 seconds are timed twice. A result is compared with
the loop of the standard at some positions.
**wrong** is a result that cannot be, and is left out of the ratio; (o) is one where another of
several updates won, which the standard leaves open and sowreap does not. The ratio is the time of
the fastest right peer over sowreap's. The limit is the time to move each byte that must move
once, at the rate of a copy of 64 MB measured in the same run; where single items are addressed at
random, whole cache lines. It means nothing, and `cache` stands there, where data does not come
from memory. A cell is empty where an engine has no such operator, or was left out of a run: NumPy
of families of which a call takes a second, and JAX on one thread, since it takes all processors.

Where all items of a row have one index, as those of a graph network do, a workload comes twice, and
each time every engine is given the same. "stored" has the index once for each item, as exporters
write it: twice the bytes of float32 updates. "stride 0" has it once for each row, and is the call
that one makes who holds it so: `index_add` or `scatter_reduce` of an expanded view in PyTorch,
`.at[rows]` in JAX, a vector in NumPy, and a view of stride 0 (or `index_add`) in sowreap.
onnxruntime has no such form, and reads them stored.

Where sowreap is not ahead: PyTorch rounds bfloat16 once at the end of a sum, sowreap as the
standard has it, after each update. Single items at random places of 16 MB or more wait for cache
lines in every engine; on one thread NumPy, which reads each index as it needs it, waits a tenth
less.
"""


def cell(result: dict[str, Any], engine: str) -> str:
    verdict = result["verdicts"].get(engine)
    if verdict is None:
        return ""
    time = result["milliseconds"].get(engine)
    return "refuses" if time is None else f"{time:.3g}{MARKS[verdict]}"


def table(results: list[dict[str, Any]]) -> Iterator[str]:
    yield "| workload | " + " | ".join(ENGINES) + " | ratio | of the limit |"
    yield "|---|" + "---:|" * (len(ENGINES) + 2)
    for result in results:
        cells = [cell(result, engine) for engine in ENGINES]
        ratio = "" if result["ratio"] is None else f"{result['ratio']:.2f}"
        limit = f"{result['limit']:.2f}" if result["limit"] <= 1 else "cache"
        name = result["workload"] + (f" ({result['source']})" if result["source"] else "")
        yield f"| {name} | " + " | ".join(cells) + f" | {ratio} | {limit} |"


GROWTH = """## Growth

Nanoseconds for each item of a call that makes a fresh result, against the number of items; and for
each of 500,000 updates added in place, against the number of cells that they fall into. Made by
`python -m benchmarks.growth --json growth.json`. A flat line is time in proportion to size. Calls
of a thousand items pay for the call itself; lines rise where data leaves the second level of the
cache (2 MB here, 500,000 items) and where address translation no longer has all pages at hand.
Two threads cannot share one cell: floats are added in order. Single updates lie 256 bytes apart.

![time against size](pictures/benchmarks-growth-size.svg)

![time against duplicates](pictures/benchmarks-growth-duplicates.svg)
"""


LOOPS = """## Beside plain loops

What a careful programmer's loops reach on the same machine: each method written out in C++ for
float32 and int64 alone, compiled for this processor, on {threads} threads, writing into an array
that exists. Milliseconds; "speed" is the loop's time over sowreap's, whose code is that of any
wheel, and "copies" sowreap's time over that of a copy of 64 MB in the same run ({copy:.1f} ms), by
which figures of other machines can be compared. "new" makes its result; "out" is given an array,
and checks all indices before it writes. Made by
`python benchmarks/plain_loops.py --json loops.json`.

| call | loop | new | speed | copies | out | speed | copies |
|---|---:|---:|---:|---:|---:|---:|---:|
"""


def loops_table(measured: dict[str, Any]) -> Iterator[str]:
    for row in measured["rows"]:
        times = row["milliseconds"]
        cells = [f"{times['plain']:.1f}"]
        for kind in ("new", "out"):
            if kind in times:
                speed, copies = times["plain"] / times[kind], times[kind] / measured["copy"]
                cells += [f"{times[kind]:.1f}", f"{speed:.2f}", f"{copies:.1f}"]
            else:
                cells += [""] * 3
        name = row["name"] + ("" if row["right"] else " **wrong**")
        yield f"| {name} | " + " | ".join(cells) + " |\n"


THREADS = """## Threads

How many times as fast as on one thread: measured on two, and **planned** up to 64, which nobody has
measured. The plan divides the time of one thread, but takes no less than the bytes need from
memory: a machine is supposed whose memory serves {most} times what one thread of this one takes.

![planned](pictures/benchmarks-threads.svg)
"""
PLANNED = (1, 2, 4, 8, 16, 32, 64)
MOST_RATES = 8  # of one thread, that a server's memory serves
PLANNED_WORKLOADS = (
    "gather_elements 4096², axis 0",
    "scatter_elements 4096², axis 1, add",
    "scatter_nd 500k rows of 64, add, random",
    "gather 8e6 of 16e6, random",
    "gather 500k rows of 64",
)


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "sowreap", "font.size": 8})
    return plt


def plot_growth(points: list[dict[str, Any]], path: Path, label: str, unit: str) -> None:
    """One line for each kind of call; whole on two threads, dashed on one."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    colors = ("#4477aa", "#cc6677", "#228833", "#aa3377", "#888888")
    names = list(dict.fromkeys(p["line"] for p in points))
    for name, color in zip(names, colors, strict=False):
        for threads, style in ((1, "--"), (2, "-")):
            own = [p for p in points if p["line"] == name and p["threads"] == threads]
            axes.plot(
                [p["x"] for p in own],
                [p["ns"] for p in own],
                style,
                color=color,
                marker=".",
                label=f"{name}, {threads} thread{'s' if threads > 1 else ''}",
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel(unit)
    axes.legend(fontsize=6, ncols=2, handlelength=4)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def planned(limit: float, threads: int) -> float:
    """The speed-up of a call that takes 1 / `limit` of the time of its bytes on one thread."""
    return float(min(threads, min(threads, MOST_RATES) / limit))


def plot_threads(rows: list[dict[str, Any]], path: Path) -> None:
    """Measured speed-ups as dots, the plan as lines."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    colors = ("#4477aa", "#cc6677", "#228833", "#aa3377", "#888888")
    times = {(r["workload"], r["threads"]): r for r in rows}
    for name, color in zip(PLANNED_WORKLOADS, colors, strict=True):
        one, two = times[name, 1], times[name, 2]
        speedup = one["milliseconds"]["sowreap"] / two["milliseconds"]["sowreap"]
        axes.plot(
            PLANNED,
            [planned(one["limit"], threads) for threads in PLANNED],
            "--",
            color=color,
            label=f"{name}: planned",
        )
        axes.plot([1, 2], [1, speedup], "o", color=color, label=f"measured, {speedup:.2f}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(PLANNED, [str(threads) for threads in PLANNED])
    axes.set_yticks(PLANNED, [str(speedup) for speedup in PLANNED])
    axes.minorticks_off()
    axes.set_xlabel("threads")
    axes.set_ylabel("times as fast as one")
    axes.legend(fontsize=6, ncols=2, handlelength=4)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def plot(results: list[dict[str, Any]], path: Path, title: str) -> None:
    plt = pyplot()
    shown = [r for r in results if r["ratio"] is not None]
    shown.sort(key=lambda r: r["ratio"])
    figure, axes = plt.subplots(figsize=(8, 0.19 * len(shown) + 1), layout="constrained")
    places = np.arange(len(shown))
    ratios = [r["ratio"] for r in shown]
    colors = ["#4477aa" if ratio >= 0.95 else "#cc6677" for ratio in ratios]
    axes.barh(places, ratios, color=colors, height=0.7)
    axes.set_yticks(places, [r["workload"] for r in shown])
    axes.set_xscale("log")
    ticks = [n for n in (0.25, 0.5, 1, 2, 4, 8, 16) if min(ratios) / 2 < n < max(ratios) * 2]
    axes.set_xticks(ticks, [f"{n:g}" for n in ticks])
    axes.minorticks_off()
    axes.axvline(1, color="black", linewidth=0.8)
    for place, result in zip(places, shown, strict=True):
        axes.text(result["ratio"] * 1.05, place, result["best peer"], va="center", fontsize=6)
    axes.set_xlabel("time of the fastest right peer / time of sowreap")
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def page(measured: dict[str, Any], pictures: Path) -> str:
    about = measured["machine"]
    versions = ", ".join(f"{name} {text}" for name, text in about["versions"].items())
    lines = [HEAD.format(**{**about, "versions": versions})]
    for threads in sorted({r["threads"] for r in measured["rows"]}):
        rate = about["copy bandwidth"][str(threads)] / 1e9
        lines += [
            f"## {threads} thread{'s' if threads > 1 else ''}",
            "",
            f"Copy: {rate:.1f} GB/s.",
            "",
        ]
        for family in ("reports", "families"):
            chosen = [
                r for r in measured["rows"] if (r["threads"], r["family"]) == (threads, family)
            ]
            if not chosen:
                continue
            ratios = [r["ratio"] for r in chosen if r["ratio"] is not None]
            mean = np.exp(np.mean(np.log(ratios)))
            title = {"reports": "Shapes of reports", "families": "Families"}[family]
            name = f"benchmarks-{family}-{threads}.svg"
            plot(chosen, pictures / name, f"{title}, {threads} threads")
            lines += [
                f"### {title}",
                "",
                f"Geometric mean of the ratios: {mean:.2f}.",
                "",
                f"![ratios](pictures/{name})",
                "",
                *table(chosen),
                "",
            ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--growth", type=Path)
    parser.add_argument("--loops", type=Path)
    options = parser.parse_args()
    pictures = DOCS / "pictures"
    pictures.mkdir(exist_ok=True)
    measured = json.loads(options.rows.read_text())
    text = page(measured, pictures)
    if {r["threads"] for r in measured["rows"]} >= {1, 2}:
        plot_threads(measured["rows"], pictures / "benchmarks-threads.svg")
        text += "\n" + THREADS.format(most=MOST_RATES)
    if options.loops:
        loops = json.loads(options.loops.read_text())
        text += "\n" + LOOPS.format(**loops) + "".join(loops_table(loops))
    if options.growth:
        growth = json.loads(options.growth.read_text())
        path = pictures / "benchmarks-growth-size.svg"
        plot_growth(growth["size"], path, "items", "ns for each item")
        path = pictures / "benchmarks-growth-duplicates.svg"
        plot_growth(growth["duplicates"], path, "cells", "ns for each update")
        text += "\n" + GROWTH
    (DOCS / "benchmarks.md").write_text(text)


if __name__ == "__main__":
    main()
