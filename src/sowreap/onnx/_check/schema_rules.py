"""Rules of the operators' versions: opset, inputs, attributes, element types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sowreap._errors import ArgumentError, DtypeError
from sowreap.onnx._check.findings import Finding
from sowreap.onnx._check.sites import Site
from sowreap.onnx._schemas import find_schema, versions


def check_schema(site: Site) -> Iterator[Finding]:
    """Yield what the version of the operator does not allow."""
    try:
        find_schema(site.operator, site.opset)
    except ArgumentError as error:
        withdrawn = site.schema.deprecated
        yield site.finding(
            "deprecated" if withdrawn else "operator-version",
            *_facts_and_advice(error),
            *(("ort-scatter-withdrawn", "ref-scatter-missing") if withdrawn else ()),
            argument="opset",
            value=site.opset,
        )
        if not withdrawn:
            return
    yield from _check_inputs(site)
    for name, value in site.attributes.items():
        yield from _check_attribute(site, name, value)
    yield from _check_types(site)


def _check_inputs(site: Site) -> Iterator[Finding]:
    wanted = site.schema.inputs
    for name in site.schema.mandatory:
        if not site.given(name):
            yield site.finding(
                "inputs",
                f"{site.schema}: input {name} is missing; the inputs are {', '.join(wanted)}.",
                "Connect it.",
                argument=name,
            )
    extra = site.node.input[len(wanted) :]
    if extra:
        yield site.finding(
            "inputs",
            f"{site.schema}: it takes {len(wanted)} inputs ({', '.join(wanted)}), and the node "
            f"has {', '.join(map(repr, extra))} beyond them.",
            "Remove them.",
            argument="inputs",
            value=len(site.node.input),
        )


def _check_attribute(site: Site, name: str, value: Any) -> Iterator[Finding]:
    try:
        site.schema.check_value(name, value)
    except ArgumentError as error:
        known = [each for each in site.schema.attributes if each.name == name]
        facts, advice = _facts_and_advice(error)
        rule = "attribute"
        runtimes: tuple[str, ...] = ()
        if name == "mode" and known and isinstance(value, str):
            rule = "mode"
        elif name == "reduction" and known and isinstance(value, str):
            rule, runtimes = _reduction_rule(site, value)
        yield site.finding(
            rule,
            facts,
            advice or f"Use one of {', '.join(known[0].allowed)}." if known else advice,
            *runtimes,
            argument=name,
            value=value,
        )


def _reduction_rule(site: Site, value: str) -> tuple[str, tuple[str, ...]]:
    words = {word for version in versions(site.operator) for word in _reductions(version)}
    kind = "early" if value in words else "unknown"
    rule = "reduction-version" if value in words else "reduction-unknown"
    return rule, (f"ort-reduction-{kind}", f"ref-reduction-{kind}")


def _reductions(version: Any) -> tuple[str, ...]:
    return next((each.allowed for each in version.attributes if each.name == "reduction"), ())


def _check_types(site: Site) -> Iterator[Finding]:
    for name in site.schema.inputs:
        dtype = site.value(name).dtype
        if dtype is None:
            continue
        try:
            site.schema.check_dtype(name, dtype)
        except DtypeError as error:
            yield site.finding(
                "type-version",
                *_facts_and_advice(error),
                argument=name,
                value=site.element(name),
            )
    data, *others = (name for name in site.schema.inputs if name != site.schema.index_input)
    for name in others:
        found, wanted = site.element(name), site.element(data)
        if found is not None and wanted is not None and found != wanted:
            yield site.finding(
                "type-mismatch",
                f"{site.schema}: {name} is of type {found}, {data} of {wanted}; they must be "
                "equal.",
                f"Cast {name} to {wanted}.",
                argument=name,
                value=found,
            )


def _facts_and_advice(error: Exception) -> tuple[str, str]:
    """Split the text of an error: of two sentences or more the last says what to do."""
    facts, separator, advice = str(error).rpartition(". ")
    return (f"{facts}.", advice) if separator else (str(error), "")
