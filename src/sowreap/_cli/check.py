"""``sowreap check``: what is wrong with the gathers and scatters of a model, or will differ."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from numpy.typing import NDArray

from sowreap._cli import files, show
from sowreap._cli.errors import InputError
from sowreap._cli.model import Model
from sowreap._errors import SowreapError

if TYPE_CHECKING:
    from rich.console import Console

    from sowreap.onnx import Finding

JSON_FORMAT = 1
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold"}
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("model")
@click.option("--inputs", type=_FILE, help="Run with the arrays of this .npz file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--feature-level",
    default="6_4",
    show_default=True,
    metavar="LEVEL",
    help="DirectML feature level for which descriptors are looked for.",
)
def check(model: str, inputs: Path | None, as_json: bool, feature_level: str) -> int:
    """Look for what is wrong with the gathers and scatters of an ONNX model.

    MODEL is a path, or package:file for a model inside an installed Python package. Without
    --inputs only what is certain is reported; with them the model runs, and indices out of range,
    places written twice and NaN are found too.

    Status 1 if there are errors or warnings; notes alone leave it 0.
    """
    path = files.find_model(model)
    try:
        from sowreap import onnx
    except ImportError as error:  # says which package to install
        raise InputError(str(error)) from error
    feeds = None if inputs is None else _feeds(model, inputs)
    findings = onnx.check(path, feeds, feature_level=feature_level)
    counts = Counter(finding.severity.value for finding in findings)
    if as_json:
        click.echo(_as_json(model, inputs, findings, counts))
    else:
        _print(show.console(), findings, counts)
    return 1 if counts["error"] or counts["warning"] else 0


def _feeds(model: str, inputs: Path) -> dict[str, NDArray[Any]]:
    try:
        loaded = Model(model, "reference")
    except SowreapError:  # the check tells more of a model that cannot run
        return files.read_arrays(inputs)
    feeds = loaded.read_inputs(inputs)
    loaded.check_complete(feeds)
    return feeds


def _as_json(
    model: str, inputs: Path | None, findings: Sequence[Finding], counts: Counter[str]
) -> str:
    content = {
        "format": JSON_FORMAT,
        "model": model,
        "inputs": None if inputs is None else str(inputs),
        "counts": {severity: counts[severity] for severity in _STYLES},
        "findings": [finding.to_dict() for finding in findings],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _print(out: Console, findings: Sequence[Finding], counts: Counter[str]) -> None:
    for group in _groups(findings):
        first = group[0]
        where = ", ".join(_where(finding) for finding in group)
        out.print(
            f"{first.severity.value} {first.rule}",
            style=_STYLES[first.severity.value],
            end=f"  {where}\n" if where else "\n",
            soft_wrap=True,
        )
        lines = [first.message, *([f"What to do: {first.advice}"] if first.advice else [])]
        lines += [f"{each.runtime} {each.version} {each.does}" for each in first.runtimes]
        for line in lines:
            out.print(f"  {line}", soft_wrap=True)
        out.print()
    parts = [f"{counts[name]} {name}{'s'[: counts[name] != 1]}" for name in _STYLES if counts[name]]
    out.print(", ".join(parts) or "Nothing found.")


def _groups(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Put notes of the same words together: a limit of a runtime often concerns many nodes."""
    groups: dict[Any, list[Finding]] = defaultdict(list)
    for i, finding in enumerate(findings):
        is_note = finding.severity.value == "note"
        groups[(finding.rule, finding.message) if is_note else i].append(finding)
    return list(groups.values())


def _where(finding: Finding) -> str:
    if not finding.node:
        return ""
    return " in ".join([f"{finding.node} ({finding.operator})", *reversed(finding.path)])
