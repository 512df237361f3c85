"""``sowreap convert``: a model for onnxruntime in any language."""

from __future__ import annotations

from pathlib import Path

import click

from sowreap._cli import files, show
from sowreap._cli.errors import InputError


@click.command(name="convert")
@click.argument("model")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Write the converted model here.",
)
def convert(model: str, output: Path) -> None:
    """Write a model whose gathers and scatters run on sowreap in any onnxruntime.

    MODEL is a path, or package:file for a model inside an installed Python package. Prints where
    each gather and scatter will run, and which library a session of the converted model has to
    register.
    """
    path = files.find_model(model)
    try:
        from sowreap.onnx import convert as convert_model
        from sowreap.onnx import custom_ops_library
    except ImportError as error:  # says which package to install
        raise InputError(str(error)) from error
    placements = convert_model(path, output)
    out = show.console()
    show.table(
        out,
        "Gathers and scatters",
        ("node", "operator", "in", "runs on", "why"),
        ((each.name, each.op_type, each.graph, each.runs_on, each.reason) for each in placements),
        numeric="",
    )
    out.print(f"Wrote {output}", soft_wrap=True)
    out.print(f"Register this library: {custom_ops_library()}", soft_wrap=True)
