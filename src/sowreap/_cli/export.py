"""``sowreap export``: an ONNX model as a Python script."""

from __future__ import annotations

from pathlib import Path

import click

from sowreap._cli import files, show
from sowreap._cli.errors import InputError


@click.command(name="export")
@click.argument("model")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The script to write, which ends in .py.",
)
def export(model: str, output: Path) -> None:
    """Write an ONNX model as a Python script.

    MODEL is a path, or package:file for a model inside an installed Python package, which is not
    imported. The script computes with NumPy and sowreap what the model computes, and runs as
    "python SCRIPT.py inputs.npz -o outputs.npz". Large weights go to an .npz file beside it, of the
    same name.
    """
    if output.suffix != ".py":
        raise InputError(f"{output}: must end in .py; its weights go to a file that ends in .npz")
    path = files.find_model(model)
    try:
        from sowreap.onnx.export import write_script
    except ImportError as error:  # says which package to install
        raise InputError(str(error)) from error
    weights = write_script(path, output)
    out = show.console()
    out.print(f"{output}: {len(output.read_text('utf-8').splitlines())} lines", soft_wrap=True)
    if weights is not None:
        out.print(f"{weights}: {weights.stat().st_size / 1e6:.1f} MB of weights", soft_wrap=True)
