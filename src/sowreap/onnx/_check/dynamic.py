"""The family nodes of a model as they run, with the arrays that they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onnx import ModelProto, NodeProto, helper

from sowreap._errors import SowreapError
from sowreap.onnx._check.findings import RULES, Finding
from sowreap.onnx._check.sites import UNKNOWN, Site, Value
from sowreap.onnx._errors import RunError
from sowreap.onnx._evaluator import observing
from sowreap.onnx.operators import FamilyOp
from sowreap.onnx.session import InferenceSession


def run_observed(
    model: ModelProto, feeds: Mapping[str, Any], meet: Callable[[Site], None]
) -> Finding | None:
    """Run a model and hand each family node to `meet` just before it runs.

    Returns
    -------
    Finding or None
        Why the run stopped, if it did.

    Raises
    ------
    SowreapError
        If the model cannot be run at all, or the feeds are not those that it wants.
    """
    session = InferenceSession(model, engine="reference")

    def tell(
        path: tuple[str, ...],
        node: FamilyOp,
        inputs: tuple[Any, ...],
        linked: Mapping[str, Any] | None,
    ) -> None:
        values = (UNKNOWN if each is None else Value.of_array(each) for each in inputs)
        meet(Site(_resolved(node, linked), node.version.since_version, path, tuple(values)))

    try:
        with observing(tell):
            session.run(None, feeds)
    except SowreapError as error:
        if not _is_of_node(error):
            raise
        return _stopped(error)
    return None


def _resolved(node: FamilyOp, linked: Mapping[str, Any] | None) -> NodeProto:
    """Return the node with the values of all its attributes."""
    resolved = NodeProto()
    resolved.CopyFrom(node.onnx_node)
    del resolved.attribute[:]
    for name, value in node.resolved_attributes(linked).items():
        resolved.attribute.append(helper.make_attribute(name, value))
    return resolved


def _is_of_node(error: SowreapError) -> bool:
    """Return whether a node failed; else the feeds are at fault."""
    return isinstance(error, RunError) or bool(getattr(error, "__notes__", ()))


def _stopped(error: SowreapError) -> Finding:
    notes = " ".join(getattr(error, "__notes__", ()))
    return Finding(
        "run-failed",
        RULES["run-failed"].severity,
        (),
        "",
        error.operator,
        "",
        None,
        None,
        f"the run stopped here, and nodes after it were not checked: {error} {notes}".rstrip(),
        "Correct the inputs or the model.",
    )
