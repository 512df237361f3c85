"""``sowreap explain``: a picture of one operator, or of one node of a model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

import sowreap
from sowreap import explain as pictures
from sowreap._cli import files, op, random_inputs, show
from sowreap._cli.errors import InputError
from sowreap._cli.model import Model

Array = NDArray[Any]

STANDARD_OUTPUT = "-"
_FORMS = (".html", ".svg", ".txt")
_OUTPUT = click.Option(
    ["-o", "--output", "output"],
    metavar="FILE",
    help="File for the picture, .html (interactive), .svg or .txt; - writes the .html page to "
    "standard output. Without it, text is printed.",
)


class _Explain(click.Group):
    """A group whose commands are operators; any other first word is a model."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            return "MODEL", _model, args
        return super().resolve_command(ctx, args)


@click.group(cls=_Explain, name="explain", no_args_is_help=False)
def explain() -> None:
    """Show where each element comes from and goes.

    \b
    sowreap explain OPERATOR FILES... [OPTIONS]
    sowreap explain MODEL --node NAME --inputs FILE.npz [OPTIONS]

    The arguments and options of an operator are those of `sowreap op`. An index out of range is
    drawn in its place.
    """  # noqa: D301 (click's own mark for lines to be kept)


def _command(name: str) -> click.Command:
    function: Callable[..., Array] = getattr(sowreap, name)

    def run(dtype: str | None, output: str | None, **given: Any) -> None:
        _check_output(output)
        _show(getattr(pictures, name)(**op.read_arguments(given, dtype)), output)

    return click.Command(
        name,
        params=[*op.parameters(function), _OUTPUT],
        callback=run,
        help=f"Show where the elements of {name} come from and go.\n\n"
        f"The arguments are .npy files. Meaning: help(sowreap.{name}).",
        short_help=f"Show {name}.",
    )


@click.command(name="MODEL", params=[_OUTPUT])
@click.argument("model")
@click.option(
    "--node",
    required=True,
    metavar="NAME",
    help="The gather or scatter: its name, or its number as `sowreap run --profile` lists it.",
)
@click.option(
    "--inputs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The inputs: an .npz file with an array for each name.",
)
@click.option("--random", is_flag=True, help="Make up the inputs that --inputs does not hold.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def _model(
    model: str, node: str, inputs: Path | None, random: bool, seed: int, output: str | None
) -> None:
    """Run an ONNX model up to a gather or scatter and show what it does.

    MODEL is a path, or package:file for a model inside an installed Python package. Nodes inside
    If, Loop, Scan and functions are found too; of several runs the first is shown.
    """
    _check_output(output)
    loaded = Model(model, "reference")
    feeds = {} if inputs is None else loaded.read_inputs(inputs)
    if random:
        feeds = random_inputs.fill(loaded.inputs, feeds, {}, {}, seed)
    loaded.check_complete(feeds)
    from sowreap.onnx._capture import capture
    from sowreap.onnx._loading import load_model

    call = capture(load_model(files.find_model(model)), node, feeds)
    _show(getattr(pictures, call.function)(**call.arguments), output)


def _check_output(output: str | None) -> None:
    if output not in (None, STANDARD_OUTPUT) and Path(output).suffix not in _FORMS:
        raise InputError(f"-o {output}: the name must end in {', '.join(_FORMS)}, or be -")


def _show(picture: pictures.Explanation, output: str | None) -> None:
    if output == STANDARD_OUTPUT:
        click.echo(picture.html())
    elif output is not None:
        picture.save(output)
    else:
        out = show.console()
        text = picture.text(out.width, color=out.is_terminal and not out.no_color)
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        click.echo(text.encode(encoding, "replace").decode(encoding))


for _name in op.OPERATORS:
    explain.add_command(_command(_name))
