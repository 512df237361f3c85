"""``sowreap run``: a whole ONNX model, with the time that gather and scatter take in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from sowreap._cli import files, random_inputs, show
from sowreap._cli.compare import Expected, compare
from sowreap._cli.errors import InputError
from sowreap._cli.model import Model, Timing, default_engine
from sowreap._cli.peers import PEERS, run_peer
from sowreap._cli.versus import Ours, print_versus

Array = NDArray[Any]

ORDERS = {"time": "the slowest first", "graph": "in the order of the graph"}

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW_FILE = click.Path(dir_okay=False, path_type=Path)


def _name_and_number(text: str) -> tuple[str, int]:
    """Read ``NAME=N`` with N of at least 0."""
    name, _, number = text.rpartition("=")
    if not name or not number.isdecimal():
        raise click.BadParameter(f"{text!r} is not NAME=N with a number N of at least 0.")
    return name, int(number)


@click.command(name="run")
@click.argument("model")
@click.option("--inputs", type=_FILE, help="The inputs: an .npz file with an array for each name.")
@click.option("--random", is_flag=True, help="Make up the inputs that --inputs does not hold.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--size",
    "sizes",
    type=_name_and_number,
    metavar="NAME=N",
    multiple=True,
    help=f"With --random: the size that a symbol in the declared shapes stands for "
    f"(else that of the inputs given, else {random_inputs.DEFAULT_SIZE}). May be repeated.",
)
@click.option(
    "--below",
    type=_name_and_number,
    metavar="NAME=N",
    multiple=True,
    help="With --random: the integers of input NAME lie in [0, N). May be repeated.",
)
@click.option("--outputs", type=_NEW_FILE, help="Write the outputs to this .npz file.")
@click.option(
    "--engine",
    default=default_engine,
    show_default="onnxruntime if installed, else reference",
    metavar="NAME",
    help="What runs the nodes other than gather and scatter: onnxruntime or reference.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Run so many times; times are medians.",
)
@click.option(
    "--compare",
    "peer",
    type=click.Choice(tuple(PEERS)),
    help="Run the model there too: onnxruntime or onnx as they are, reference is sowreap's engine "
    "of that name. Print both times and the largest difference; status 1 if outputs differ by more "
    "than rounding, and then which is right.",
)
@click.option("--profile", is_flag=True, help="Print the time of each operator and of each node.")
@click.option(
    "--order",
    type=click.Choice(tuple(ORDERS)),
    help="With --profile: nodes by time, the slowest first (the default), or as in the graph.",
)
@click.option(
    "--expect",
    type=_FILE,
    help="Compare the outputs with those of this .npz file (by name) or .npy file (of a model "
    "with one output); status 1 if they differ.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=1e-5,
    show_default=True,
    help="With --expect: the largest absolute difference that passes.",
)
def run(
    model: str,
    inputs: Path | None,
    random: bool,
    seed: int,
    sizes: Sequence[tuple[str, int]],
    below: Sequence[tuple[str, int]],
    outputs: Path | None,
    engine: str,
    repeat: int,
    peer: str | None,
    profile: bool,
    order: str | None,
    expect: Path | None,
    tolerance: float,
) -> int:
    """Run an ONNX model.

    MODEL is a path, or package:file for a model inside an installed Python package, which is not
    imported.

    With --random, numbers are standard normal and booleans fair. Integers most often index, so
    they lie in [0, N), where N is the smallest size above 0 of any axis of any input; strings are
    such integers as text. --below sets another N for one input.
    """
    if peer == engine == "reference":
        raise InputError("--compare reference: that is the engine already; compare with onnx")
    if not random and (sizes or below):
        raise InputError("--size and --below belong to --random, which is not given")
    if order is not None and not profile:
        raise InputError("--order belongs to --profile, which is not given")
    expected = None if expect is None else Expected(expect)
    out = show.console()
    loaded = Model(model, engine)
    feeds = {} if inputs is None else loaded.read_inputs(inputs)
    if random:
        feeds = random_inputs.fill(loaded.inputs, feeds, dict(sizes), dict(below), seed)
    loaded.check_complete(feeds)
    show.tensors(out, "Inputs", feeds)
    if peer is not None:
        loaded.warm_up(feeds)
    with _progress(repeat) as done:
        results, timing = loaded.run(feeds, repeat, done)
    show.tensors(out, "Outputs", results)
    _print_timing(out, timing, repeat)
    if profile:
        _print_profile(out, timing, order or "time")
    if outputs is not None:
        files.write_arrays(outputs, results)
    status = 0
    if peer is not None:
        outcome = run_peer(peer, loaded.path, feeds, repeat)
        ours = Ours(f"sowreap, engine {engine}", timing.total, results)
        status = print_versus(out, loaded, feeds, ours, outcome)
    if expected is not None:
        status |= _compare(out, results, expected.named(results), tolerance)
    return status


@contextmanager
def _progress(repeat: int) -> Iterator[Callable[[], None]]:
    """Show the runs that are done while a terminal is there; give what to call after each."""
    screen = show.console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("running"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=screen, transient=True, disable=not screen.is_terminal
    ) as progress:
        task = progress.add_task("running", total=repeat)
        yield lambda: progress.advance(task)


def _print_timing(out: Console, timing: Timing, repeat: int) -> None:
    parts = (
        ("gather and scatter", timing.family),
        ("elsewhere", timing.total - timing.family),
        ("total", timing.total),
    )
    show.table(
        out,
        "Time" if repeat == 1 else f"Time, median of {repeat} runs",
        ("part", "time", "share"),
        ((part, show.duration(time), show.share(time, timing.total)) for part, time in parts),
        numeric="time share",
    )


def _print_profile(out: Console, timing: Timing, order: str) -> None:
    by_type: dict[str, list[float]] = defaultdict(list)
    for node in timing.nodes:
        by_type[node.op_type].append(node.seconds)
    show.table(
        out,
        "Time by operator",
        ("operator", "nodes", "time", "share"),
        (
            (
                op_type,
                str(len(times)),
                show.duration(sum(times)),
                show.share(sum(times), timing.total),
            )
            for op_type, times in sorted(by_type.items(), key=lambda item: -sum(item[1]))
        ),
        numeric="nodes time share",
    )
    nodes = list(enumerate(timing.nodes))
    if order == "time":
        nodes.sort(key=lambda item: -item[1].seconds)
    show.table(
        out,
        f"Time by node, {ORDERS[order]}",
        ("#", "node", "operator", "time", "share"),
        (
            (
                str(i),
                node.name,
                node.op_type,
                show.duration(node.seconds),
                show.share(node.seconds, timing.total),
            )
            for i, node in nodes
        ),
        numeric="# time share",
    )


def _compare(
    out: Console, results: Mapping[str, Array], expected: Mapping[str, Array], tolerance: float
) -> int:
    """Print how far `results` are from `expected`; return the status of the command."""
    differences = {
        name: compare(results[name], array, tolerance) for name, array in expected.items()
    }
    show.table(
        out,
        f"Compared with what was expected, tolerance {tolerance:g}",
        ("output", "verdict", "found"),
        (
            (name, "agrees" if difference.agrees else "DIFFERS", difference.text)
            for name, difference in differences.items()
        ),
        numeric="",
    )
    return 0 if all(difference.agrees for difference in differences.values()) else 1
