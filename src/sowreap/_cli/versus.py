"""A run of sowreap beside that of a peer: times, differences, and which of them is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray
from rich.console import Console

import sowreap
from sowreap._cli import show
from sowreap._cli.compare import Difference, compare, rounding
from sowreap._cli.errors import reason
from sowreap._cli.model import Model, named_tensors
from sowreap._cli.peers import Outcome

Array = NDArray[Any]


class Ours(NamedTuple):
    """What came of the model here: the engine, seconds of a run, outputs by name."""

    title: str
    seconds: float
    outputs: Mapping[str, Array]


def print_versus(
    out: Console, model: Model, feeds: Mapping[str, Array], ours: Ours, peer: Outcome
) -> int:
    """Print both times and the differences; return the status of the command."""
    if peer.values is None:
        out.print(f"{peer.title} cannot run the model: {peer.failure}", soft_wrap=True)
        out.print()
        return 1
    _print_times(out, ours, peer)
    theirs = named_tensors(model.output_names, peer.values)
    differences = {
        name: _difference(ours.outputs.get(name), theirs.get(name))
        for name in {**ours.outputs, **theirs}
    }
    differs = [name for name, difference in differences.items() if not difference.agrees]
    show.table(
        out,
        f"Outputs compared with {peer.title}",
        ("output", "verdict", "found"),
        (
            (name, "agrees" if difference.agrees else "DIFFERS", difference.text)
            for name, difference in differences.items()
        ),
        numeric="",
    )
    right = _judged(model, feeds, ours, theirs, peer.title) if differs else {}
    for name in differs:
        out.print(f"{name}: {right[name]}.", soft_wrap=True)
    if peer.varies:
        out.print(f"{peer.title} gave other outputs in another run.", soft_wrap=True)
    return 1 if differs else 0


def _print_times(out: Console, ours: Ours, peer: Outcome) -> None:
    ratio = peer.seconds / ours.seconds if ours.seconds else float("inf")
    show.table(
        out,
        f"Time of a run, {sowreap.get_num_threads()} threads each",
        ("runtime", "time", "ratio"),
        (
            (ours.title, show.duration(ours.seconds), f"{ratio:.2f} times as fast"),
            (peer.title, show.duration(peer.seconds), ""),
        ),
        numeric="time",
    )


def _difference(found: Array | None, other: Array | None) -> Difference:
    if found is None or other is None:
        return Difference(False, "only one of them has it")
    return compare(found, other, rounding(found, other))


def _judged(
    model: Model, feeds: Mapping[str, Array], ours: Ours, theirs: Mapping[str, Array], peer: str
) -> dict[str, str]:
    """Return for each output which of the two the oracle agrees with."""
    from sowreap.onnx._oracle import oracle_outputs

    try:
        values = oracle_outputs(model.path, model.output_names, feeds)
    except Exception as error:  # the evaluator raises what it likes
        return dict.fromkeys({**ours.outputs, **theirs}, f"undecided, {reason(error)}".rstrip("."))
    oracle = named_tensors(model.output_names, values)
    verdicts = {
        (True, False): "sowreap is right",
        (False, True): f"{peer} is right",
        (False, False): "neither is what the loops of the standard give",
        (True, True): "both are within rounding of what the loops of the standard give",
    }
    return {
        name: verdicts[
            _difference(ours.outputs.get(name), oracle.get(name)).agrees,
            _difference(theirs.get(name), oracle.get(name)).agrees,
        ]
        for name in {**ours.outputs, **theirs}
    }
