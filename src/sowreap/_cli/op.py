"""``sowreap op``: one operator on ``.npy`` files, with the options that its function has."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import sowreap
from sowreap._cli import files, show
from sowreap._cli.errors import InputError

Array = NDArray[Any]

OPERATORS = (
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
)


def item(text: str) -> int | float | complex | str:
    """An item as it is written: the first kind of number that reads it, or text."""
    for kind in (int, float, complex):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


# Arguments of the functions that are attributes; all others but `out` are arrays.
ATTRIBUTES: dict[str, tuple[Callable[[str], Any], str]] = {
    "axis": (int, "Axis of data that the indices address; negative counts from the end."),
    "batch_dims": (int, "Leading axes that data and indices share."),
    "reduction": (str, "How values that meet are joined: none, add, mul, min, max or mean."),
    "include_self": (bool, "Whether the value of data takes part in a reduction."),
    "mode": (str, "What an index out of range does; in tensor_scatter: linear, circular."),
    "fill_value": (item, "Value for an index out of range in mode fill."),
}
# Arguments whose file holds positions, so that --dtype does not concern them.
POSITIONS = {"indices", "write_indices"}

_OUTPUT = click.Option(
    ["-o", "--output", "output"],
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the result, .npy.",
)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(no_args_is_help=False)
def op() -> None:
    """Run one operator on .npy files."""


def _command(name: str) -> click.Command:
    function: Callable[..., Array] = getattr(sowreap, name)
    return click.Command(
        name,
        params=[*parameters(function), _OUTPUT],
        callback=_callback(function),
        help=f"{_summary(function)}\n\nThe arguments are .npy files; the result is printed "
        f"in short, or written whole with --output. Meaning: help(sowreap.{name}).",
        short_help=_summary(function),
    )


def _summary(function: Callable[..., Array]) -> str:
    return (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")


def parameters(function: Callable[..., Array]) -> Iterator[click.Parameter]:
    """Yield a file for each array that `function` takes, an option for each attribute, --dtype."""
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ATTRIBUTES:
            kind, text = ATTRIBUTES[name]
            yield click.Option(
                [f"--{name.replace('_', '-')}", name],
                type=kind,
                show_default=str(parameter.default),
                help=text,
            )
        elif name != "out":
            yield click.Argument(
                [name], type=_FILE, required=parameter.default is inspect.Parameter.empty
            )
    yield click.Option(
        ["--dtype", "dtype"],
        help="Number type of data and updates where the files hold raw bytes, as numpy.save "
        "writes bfloat16, float8_e4m3fn, int4 and the like.",
    )


def read_arguments(given: Mapping[str, Any], dtype: str | None) -> dict[str, Any]:
    """Return the arguments of a function for values of `parameters`; files are read."""
    kind = None if dtype is None else _number_type(dtype)
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Path):
            array = files.read_array(value)
            if kind is not None and name not in POSITIONS:
                array = files.with_dtype(array, kind)
            arguments[name] = array
        elif value is not None:
            arguments[name] = value
    return arguments


def _callback(function: Callable[..., Array]) -> Callable[..., None]:
    def run(dtype: str | None, output: Path | None, **given: Any) -> None:
        arguments = read_arguments(given, dtype)
        _report(np.asarray(function(**arguments)), output)

    return run


def _number_type(name: str) -> np.dtype[Any]:
    import ml_dtypes

    try:
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    except (AttributeError, TypeError):
        dtype = np.dtype(object)
    if dtype.hasobject:
        raise InputError(f"--dtype {name}: ml_dtypes has no such type")
    return dtype


def _report(result: Array, output: Path | None) -> None:
    out = show.console()
    show.tensors(out, "Result", {output.name if output else "result": result})
    if output is None:
        out.print(np.array2string(result, threshold=100, edgeitems=3, max_line_width=78))
    else:
        files.write_array(output, result)


for _name in OPERATORS:
    op.add_command(_command(_name))
