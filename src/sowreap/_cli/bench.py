"""``sowreap bench``: one call of the user's own shapes, timed beside other libraries."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from rich.table import Table

import sowreap
from sowreap._bench import measure, peers, rows
from sowreap._bench.workload import Arrays, Workload, draw, picks
from sowreap._cli import show
from sowreap._cli.errors import InputError

OPERATORS = ("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd")
_MARKS = {
    "same": "as the loop",
    "close": "sums rounded in another order",
    "open": "another update won",
    "wrong": "WRONG",
}


class Shape(click.ParamType[tuple[int, ...]]):
    """Sizes with commas between, such as ``1000,64``."""

    name = "shape"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the sizes, each at least 1."""
        try:
            sizes = tuple(int(size) for size in value.split(","))
        except ValueError:
            sizes = ()
        if not sizes or min(sizes) < 1:
            self.fail(f"{value!r} is not a shape; write sizes of at least 1 as 1000,64", param, ctx)
        return sizes


@click.command()
@click.argument("operator", type=click.Choice(OPERATORS))
@click.option("--data", type=Shape(), required=True, help="Shape of data, as 1000,64.")
@click.option("--indices", type=Shape(), required=True, help="Shape of indices.")
@click.option("--axis", type=int, default=0, show_default=True)
@click.option(
    "--reduction",
    type=click.Choice(["none", "add", "mul", "min", "max"]),
    default="none",
    show_default=True,
    help="Of a scatter.",
)
@click.option("--dtype", default="float32", show_default=True, help="Of data and updates.")
@click.option("--index-dtype", default="int64", show_default=True)
@click.option(
    "--pattern",
    type=click.Choice(["random", "sorted", "equal"]),
    default="random",
    show_default=True,
    help="Of the values in indices.",
)
@click.option("--threads", type=click.IntRange(1, 1024), default=sowreap.get_num_threads())
@click.option("--seconds", type=float, default=0.5, show_default=True, help="For each library.")
def bench(operator: str, threads: int, seconds: float, **given: Any) -> None:
    """Time OPERATOR on arrays of your shapes, beside the libraries that are installed.

    The libraries take turns in one process; each result is compared with the loop of the standard
    at some positions. The limit is the least time in which memory could move what must be moved.
    """
    workload = _workload(operator, **given)
    installed = [name for name in peers.PEERS if peers.is_installed(name)]
    bandwidth = measure.copy_bandwidth(threads)
    before = sowreap.get_num_threads()
    try:
        result = rows.row(workload, threads, installed, seconds, bandwidth)
    finally:
        sowreap.set_num_threads(before)
    _report(result, bandwidth)


def _workload(
    operator: str,
    data: tuple[int, ...],
    indices: tuple[int, ...],
    axis: int,
    reduction: str,
    dtype: str,
    index_dtype: str,
    pattern: str,
) -> Workload:
    number, index = _dtype(dtype), _dtype(index_dtype)

    def make(rng: np.random.Generator) -> Arrays:
        values, cells = draw(rng, data, number), _cells(operator, data, indices, axis)
        if operator.endswith("_nd"):
            columns = [picks(rng, indices[:-1], n, pattern) for n in cells]
            where = np.stack(columns, axis=-1).astype(index)
        else:
            where = picks(rng, indices, cells[0], pattern).astype(index)
        if operator.startswith("gather"):
            return values, where
        nd = operator == "scatter_nd"
        shape = (*indices[:-1], *data[indices[-1] :]) if nd else indices
        return values, where, draw(rng, shape, number)

    options: dict[str, Any] = {} if operator.endswith("_nd") else {"axis": axis}
    if operator.startswith("scatter"):
        options["reduction"] = reduction
    return Workload(operator, operator, make, options)


def _cells(
    operator: str, data: tuple[int, ...], indices: tuple[int, ...], axis: int
) -> tuple[int, ...]:
    """Return the lengths of the axes that the indices address."""
    if operator.endswith("_nd"):
        if indices[-1] > len(data):
            raise InputError(
                f"--indices: the last size {indices[-1]} is above data's rank {len(data)}"
            )
        return data[: indices[-1]]
    if not -len(data) <= axis < len(data):
        raise InputError(f"--axis {axis} is not in [{-len(data)}, {len(data) - 1}]")
    return (data[axis],)


def _dtype(name: str) -> np.dtype[Any]:
    import ml_dtypes

    try:
        return np.dtype(getattr(ml_dtypes, name, name))
    except TypeError:
        raise InputError(f"{name!r} is no dtype of NumPy or ml_dtypes") from None


def _report(result: dict[str, Any], bandwidth: float) -> None:
    table = Table("library", "ms", "times sowreap's", "result")
    own = result["milliseconds"]["sowreap"]
    for name, verdict in result["verdicts"].items():
        time = result["milliseconds"].get(name)
        if time is None:
            table.add_row(name, "-", "-", verdict)
        else:
            table.add_row(name, f"{time:.4g}", f"{time / own:.2f}", _MARKS[verdict])
    out = show.console()
    out.print(table)
    about = rows.machine()
    versions = ", ".join(f"{name} {text}" for name, text in about["versions"].items())
    out.print(f"{result['threads']} threads, {about['processor']}, {about['instruction set']}")
    out.print(versions)
    out.print(
        f"A copy moves {bandwidth / 1e9:.1f} GB/s; at that rate this call, with all of it in "
        f"memory and nothing in a cache, takes {result['limit'] * own:.4g} ms."
    )
