"""What a check reports: the rules, and one finding for each place where a model breaks one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from sowreap.onnx._check.runtimes import STATEMENTS, Statement


class Severity(StrEnum):
    """How bad a finding is.

    An error breaks the standard or stops the model. A warning is a result that depends on the
    runtime. A note is a limit of one runtime on a model that is right.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Rule(NamedTuple):
    """One thing that is looked for."""

    severity: Severity
    text: str


_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

RULES = {
    "operator-version": Rule(_ERROR, "the opset of the model has the operator"),
    "deprecated": Rule(_ERROR, "the opset of the model has not withdrawn the operator"),
    "inputs": Rule(_ERROR, "a node has the inputs of its operator's version, and no others"),
    "attribute": Rule(_ERROR, "an attribute exists in this version and has the right type"),
    "reduction-unknown": Rule(_ERROR, "a reduction is one that some opset has"),
    "reduction-version": Rule(_ERROR, "a reduction is one that this opset has"),
    "mode": Rule(_ERROR, "a mode of TensorScatter is linear or circular"),
    "type-version": Rule(_ERROR, "this version allows the element type of an input"),
    "type-mismatch": Rule(_ERROR, "what is written has the element type of data"),
    "type-reduction": Rule(_ERROR, "the reduction has a meaning for the element type"),
    "rank": Rule(_ERROR, "ranks fit the operator and each other"),
    "axis": Rule(_ERROR, "axis is in [-r, r-1]"),
    "batch-dims": Rule(_ERROR, "batch_dims is at least 0 and below both ranks"),
    "tuple-length": Rule(_ERROR, "an index tuple has at most as many entries as data has axes"),
    "shape": Rule(_ERROR, "shapes agree"),
    "index-range": Rule(_ERROR, "an index is in [-n, n-1] on an axis of length n"),
    "run-failed": Rule(_ERROR, "the model runs on the inputs given"),
    "repeated-none": Rule(_WARNING, "without a reduction no place is written twice"),
    "repeated-reduction": Rule(_WARNING, "no runtime loses one of several updates of a place"),
    "nan": Rule(_WARNING, "min and max meet no NaN, which runtimes treat differently"),
    "type-runtime": Rule(_WARNING, "runtimes take the element type here, and get it right"),
    "runtime-limit": Rule(_NOTE, "no runtime is known to stop at a node that is right"),
    "directml": Rule(_NOTE, "DirectML has a descriptor for the node"),
    "run-skipped": Rule(_NOTE, "the inputs given were used"),
}
"""The rules by name, in the order in which findings of one node are listed."""


@dataclass(frozen=True)
class Finding:
    """One place where a model breaks a rule.

    Attributes
    ----------
    rule : str
        Its name, a key of `RULES`.
    severity : Severity
        ``error``, ``warning`` or ``note``.
    path : tuple of str
        The nodes around this one, outermost first: those whose subgraph or function it is in.
    node, operator : str
        Name of the node (that of its first output if it has none), and its type.
    argument : str
        The input or attribute at fault; empty if it is none of them.
    position : tuple of int or None
        Where in it: a position of an array, or one dimension of a shape.
    value : object
        What was found there: a number, a text, a list, or None.
    message, advice : str
        What is wrong, and what to do.
    runtimes : tuple of Statement
        What runtimes do with it, and in which version that was seen.
    """

    rule: str
    severity: Severity
    path: tuple[str, ...]
    node: str
    operator: str
    argument: str
    position: tuple[int, ...] | None
    value: Any
    message: str
    advice: str
    runtimes: tuple[Statement, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON has it; floats that JSON lacks are texts."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "path": list(self.path),
            "node": self.node,
            "operator": self.operator,
            "argument": self.argument,
            "position": None if self.position is None else list(self.position),
            "value": _plain(self.value),
            "message": self.message,
            "advice": self.advice,
            "runtimes": [statement._asdict() for statement in self.runtimes],
        }

    def __str__(self) -> str:
        where = " in ".join([f"{self.node} ({self.operator})", *reversed(self.path)])
        lines = [f"{self.severity.value} [{self.rule}] {where}: {self.message}"]
        lines += [f"  what to do: {self.advice}"] if self.advice else []
        lines += [f"  {each.runtime} {each.version} {each.does}" for each in self.runtimes]
        return "\n".join(lines)


def statements(*names: str) -> tuple[Statement, ...]:
    """Return what is known of runtimes under these names."""
    return tuple(STATEMENTS[name] for name in names)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str | None) else str(value)
