"""PyTorch's own scatters beside ours, forward and backward, on ten shapes.

    python benchmarks/torch_scatter.py [--repeats 9] [--threads 2] [--shapes 10] [--seconds 170]

Both take turns of three calls, so that what else the machine does hits both alike; each figure is
the median. "ratio" is torch's time over ours: above 1 ours is the faster. Results are compared
first. The lines at the end have the lowest ratios of each way, which is what a claim about all of
them rests on. Rows that the time does not suffice for get fewer turns, one at least.

Between calls the threads of OpenMP, on which torch runs, wait in a loop that keeps their cores busy
for some milliseconds. Whoever is measured right behind torch has so many cores less, so before each
turn there is a pause until they sleep, and a call that is not counted, which wakes them. With
``--pause 0`` there is no pause.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

import sowreap
import sowreap.torch as st

CALLS_OF_TURN = 3
REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max"}


@dataclass
class Shape:
    """Updates `rows` by `width` into `cells` rows; `indices` name rows, or items."""

    name: str
    cells: int
    rows: int
    width: int


SHAPES = (
    Shape("histogram of scalars", 1_000, 2_000_000, 1),
    Shape("scalars into many", 2_000_000, 2_000_000, 1),
    Shape("small graph", 2_708, 10_556, 16),
    Shape("molecules", 30_000, 65_000, 64),
    Shape("messages", 100_000, 500_000, 32),
    Shape("wide messages", 20_000, 100_000, 128),
    Shape("embedding gradient", 200_000, 50_000, 64),
    Shape("few segments", 64, 200_000, 32),
    Shape("one hot row", 1, 100_000, 32),
    Shape("pooling of points", 50_000, 250_000, 16),
)


def inputs(shape: Shape) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Data, row numbers and updates; values near 1, so that products stay finite."""
    make = torch.Generator().manual_seed(shape.cells)
    data = torch.rand(shape.cells, shape.width, generator=make) * 0.01 + 1
    updates = torch.rand(shape.rows, shape.width, generator=make) * 0.01 + 0.995
    return data, torch.randint(0, shape.cells, (shape.rows,), generator=make), updates


Call = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Run = Callable[[], object]


def contests(row: torch.Tensor, shape: Shape) -> dict[str, tuple[Call, Call, Call]]:
    """Torch's call, our plain function, ours with gradients."""
    column = row[:, None]
    wide = column.expand(shape.rows, shape.width)
    calls: dict[str, tuple[Call, Call, Call]] = {
        "index_add": (
            lambda d, u: d.index_add(0, row, u),
            lambda d, u: sowreap.index_add(d, row, u),
            lambda d, u: st.scatter_nd(d, column, u, "add"),
        ),
        "scatter_add": (
            lambda d, u: d.scatter_add(0, wide, u),
            lambda d, u: sowreap.scatter_elements(d, wide, u, 0, "add"),
            lambda d, u: st.scatter_elements(d, wide, u, 0, "add"),
        ),
    }
    for theirs, ours in REDUCTIONS.items():
        calls[f"scatter_reduce {theirs}"] = (
            lambda d, u, name=theirs: d.scatter_reduce(0, wide, u, name),
            lambda d, u, name=ours: sowreap.scatter_elements(d, wide, u, 0, name),
            lambda d, u, name=ours: st.scatter_elements(d, wide, u, 0, name),
        )
    return calls


def seconds(run: Run) -> float:
    """Time of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def in_turns(
    theirs: Run, ours: Run, repeats: int, limit: float, pause: float
) -> tuple[float, float]:
    """The median time of each, from at least one turn and within so many seconds."""
    pairs: list[tuple[Run, list[float]]] = [(theirs, []), (ours, [])]
    end = time.perf_counter() + limit
    for turn in range(-(-repeats // CALLS_OF_TURN)):
        if turn >= 1 and time.perf_counter() > end:
            break
        for run, kept in pairs if turn % 2 == 0 else reversed(pairs):
            time.sleep(pause)
            run()
            kept.extend(seconds(run) for _ in range(CALLS_OF_TURN))
    return statistics.median(pairs[0][1]), statistics.median(pairs[1][1])


def backward(call: Call, data: torch.Tensor, updates: torch.Tensor) -> Run:
    """The way back alone: the graph is built once and kept."""
    leaves = data.clone().requires_grad_(), updates.clone().requires_grad_()
    result = call(*leaves)
    grad = torch.ones_like(result)
    return lambda: torch.autograd.grad(result, leaves, grad, retain_graph=True)


@dataclass
class Row:
    """One line of the table."""

    shape: str
    operation: str
    way: str
    theirs: float
    ours: float

    @property
    def ratio(self) -> float:
        """Above 1 where ours is the faster."""
        return self.theirs / self.ours

    def __str__(self) -> str:
        times = f"{self.theirs * 1e3:8.2f}ms{self.ours * 1e3:8.2f}ms{self.ratio:8.2f}"
        return f"{self.shape:24}{self.operation:24}{self.way:10}{times}"


def rows(shape: Shape, repeats: int, limit: float, pause: float) -> Iterator[Row]:
    """All operations of a shape, both ways."""
    data, row, updates = inputs(shape)
    for name, (theirs, ours, recorded) in contests(row, shape).items():
        torch.testing.assert_close(theirs(data, updates), ours(data, updates), rtol=2e-2, atol=1)
        pairs: dict[str, tuple[Run, Run]] = {
            "forward": (partial(theirs, data, updates), partial(ours, data, updates)),
            "backward": (backward(theirs, data, updates), backward(recorded, data, updates)),
        }
        for way, (their_run, our_run) in pairs.items():
            yield Row(shape.name, name, way, *in_turns(their_run, our_run, repeats, limit, pause))


def main() -> None:
    """Print a line for each shape, operation and direction, and what is lowest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="only so many")
    parser.add_argument("--seconds", type=float, default=170, help="for all of it, about")
    parser.add_argument("--pause", type=float, default=0.04, help="seconds before each turn")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sowreap.set_num_threads(options.threads)
    print(
        f"torch {torch.__version__}, sowreap {sowreap.__version__}, {options.threads} threads, "
        f"{platform.machine()} with {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    print(f"{'shape':24}{'operation':24}{'way':10}{'torch':>10}{'sowreap':>10}{'ratio':>8}")
    limit = options.seconds / (10 * options.shapes)
    found = []
    for shape in SHAPES[: options.shapes]:
        for row in rows(shape, options.repeats, limit, options.pause):
            found.append(row)
            print(row, flush=True)
    for way in ("forward", "backward"):
        ratios = sorted(row.ratio for row in found if row.way == way)
        lowest = " ".join(f"{ratio:.2f}" for ratio in ratios[:10])
        print(f"{way}: median ratio {statistics.median(ratios):.2f}, lowest {lowest}")


if __name__ == "__main__":
    main()
