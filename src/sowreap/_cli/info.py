"""``sowreap info``: what is installed here, and how it will run."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib import metadata

import click
import numpy as np

import sowreap
from sowreap import _core
from sowreap._cli import show


@click.command()
def info() -> None:
    """Print version, instruction set, threads and optional packages."""
    out = show.console()
    facts = {
        "sowreap": sowreap.__version__,
        "instruction set": _core.isa(),
        "threads": str(sowreap.get_num_threads()),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "NumPy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    show.table(out, "sowreap", ("what", "value"), facts.items(), numeric="")
    show.table(out, "Extras", ("extra", "package", "version"), _extras(), numeric="")


def _extras() -> Iterator[tuple[str, str, str]]:
    """Yield extra, package and installed version, read from the metadata alone."""
    for requirement in metadata.requires("sowreap") or ():
        package = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"""extra\s*==\s*["']([\w.-]+)["']""", requirement)
        if package and extra and package[0] != "sowreap":
            yield extra[1], package[0], _version(package[0])


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
