"""What is wrong, or will differ among runtimes, with the gathers and scatters of a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from onnx import ModelProto

from sowreap.directml import schema
from sowreap.onnx._check.dynamic import run_observed
from sowreap.onnx._check.findings import RULES, Finding, Severity
from sowreap.onnx._check.rules import check_site
from sowreap.onnx._check.runtimes import STATEMENTS, Statement
from sowreap.onnx._check.sites import Site
from sowreap.onnx._check.static import static_sites
from sowreap.onnx._errors import ModelError
from sowreap.onnx._loading import check_calls, check_model, read_model

__all__ = ["RULES", "STATEMENTS", "Finding", "Severity", "Statement", "check"]


def check(
    model: str | os.PathLike[str] | bytes | ModelProto,
    feeds: Mapping[str, Any] | None = None,
    *,
    feature_level: str | int = "6_4",
) -> list[Finding]:
    """Look at each gather and scatter of a model for what is wrong or will differ among runtimes.

    Without `feeds` only what is certain is reported: unknown sizes and values count as right. With
    `feeds` the model runs, and each node is looked at with the arrays that it is given, in
    subgraphs and functions too. Of several runs of a node, as in a loop, the first finding of a
    rule counts.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        Its external data is read from the folder of the path.
    feeds : dict of str to array, optional
        A value for each input of the model.
    feature_level : str or int, default "6_4"
        The DirectML feature level for which descriptors are looked for.

    Returns
    -------
    list of Finding
        In the order of the graph; empty if there is nothing to say. ``str`` of a finding reads
        well, and `to_dict` is for JSON.

    Raises
    ------
    ModelError
        If the model cannot be read, or is broken in a way that has to do with no gather or scatter.
    ArgumentError, DtypeError, ShapeError
        If `feeds` or `feature_level` are not what they must be.

    Examples
    --------
    >>> from onnx.parser import parse_model
    >>> model = parse_model('''<ir_version: 10, opset_import: ["": 16]>
    ... g (float[3] data, int64[m, 1] indices, float[m] updates) => (float[3] out) {
    ...     out = ScatterND <reduction = "max"> (data, indices, updates)
    ... }''')
    >>> finding = check(model)[0]
    >>> finding.rule, finding.node, finding.argument, finding.value
    ('reduction-version', 'out', 'reduction', 'max')
    >>> finding.advice
    'It is allowed from opset 18 on: raise the opset.'
    """
    schema.feature_level(feature_level)
    proto, name = read_model(model)
    check_calls(proto, name)
    found = _Findings(feature_level)
    broken = _broken(proto, name)
    try:
        for site in static_sites(proto, infer=broken is None):
            found.add(check_site(site, feature_level))
    except Exception as error:
        # A model that the checker refuses may have any shape.
        if broken is not None:
            raise broken from error
        raise
    if broken is not None and not found.has_errors():
        raise broken
    if feeds is not None:
        found.run(proto, feeds)
    return found.all


class _Findings:
    """Findings so far; in runs one for each rule, node and argument."""

    def __init__(self, feature_level: str | int) -> None:
        self.feature_level = feature_level
        self.all: list[Finding] = []
        self._seen: set[tuple[Any, ...]] = set()

    def add(self, findings: Iterable[Finding]) -> None:
        """Take all findings."""
        for each in findings:
            self._seen.add(_key(each))
            self.all.append(each)

    def meet(self, site: Site) -> None:
        """Check a node that is about to run, and take what is new."""
        findings = check_site(site, self.feature_level)
        self.add([each for each in findings if _key(each) not in self._seen])

    def has_errors(self) -> bool:
        """Return whether the model breaks the standard."""
        return any(each.severity is Severity.ERROR for each in self.all)

    def run(self, proto: ModelProto, feeds: Mapping[str, Any]) -> None:
        """Check the nodes of a run, if the model is good enough to run."""
        if self.has_errors():
            first = next(each for each in self.all if each.severity is Severity.ERROR)
            text = "the model has errors, so it was not run on the inputs given."
            self.add([_about_model("run-skipped", text, f"Correct {first.node} first.")])
            return
        stopped = run_observed(proto, feeds, self.meet)
        if stopped is not None:
            # An error that the rules have told of needs no second one.
            severity = Severity.NOTE if self.has_errors() else Severity.ERROR
            self.add([replace(stopped, severity=severity)])


def _key(finding: Finding) -> tuple[Any, ...]:
    return (finding.rule, finding.path, finding.node, finding.operator, finding.argument)


def _about_model(rule: str, message: str, advice: str) -> Finding:
    return Finding(rule, RULES[rule].severity, (), "", "", "", None, None, message, advice)


def _broken(proto: ModelProto, name: str) -> ModelError | None:
    """Return what onnx's checker says, if it refuses the model."""
    try:
        check_model(proto, name)
    except ModelError as error:
        return error
    return None
