"""All rules, applied to one node."""

from __future__ import annotations

from collections.abc import Iterator

from sowreap.onnx._check.findings import Finding, Severity
from sowreap.onnx._check.runtime_rules import check_directml, check_limits, check_types
from sowreap.onnx._check.schema_rules import check_schema
from sowreap.onnx._check.shape_rules import check_shapes
from sowreap.onnx._check.sites import Site
from sowreap.onnx._check.value_rules import check_values

_NOT_READABLE = {"operator-version", "inputs", "attribute"}


def check_site(site: Site, feature_level: str | int) -> Iterator[Finding]:
    """Yield the findings of a node; each stage relies on what those before it found right."""
    schema = [*check_schema(site)]
    yield from schema
    if any(finding.rule in _NOT_READABLE for finding in schema):
        return
    shapes = [*check_shapes(site)]
    yield from shapes
    types = [*check_types(site)]
    yield from types
    if not shapes:
        yield from check_values(site)
        yield from check_limits(site)
    if all(finding.severity is not Severity.ERROR for finding in (*schema, *shapes, *types)):
        yield from check_directml(site, feature_level)
