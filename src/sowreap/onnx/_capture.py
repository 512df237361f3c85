"""The call that a node of a model makes, with the arrays that reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from sowreap._errors import ArgumentError
from sowreap.onnx._evaluator import Evaluator, Step
from sowreap.onnx.operators import FamilyOp


class Call(NamedTuple):
    """Name of a public function, and the arguments of one call of it."""

    function: str
    arguments: dict[str, Any]


class _Reached(BaseException):
    """Ends a run at the node; no evaluator on the way catches it."""

    def __init__(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.inputs = inputs
        self.keywords = keywords


def capture(model: ModelProto, node: str, feeds: Mapping[str, Any]) -> Call:
    """Run `model` up to a gather or scatter and return its call.

    Parameters
    ----------
    model : ModelProto
        The model.
    node : str
        Name of the node (that of its first output, if it has none), or its number in the main
        graph. Subgraphs and functions are searched too, after the main graph; of a node that runs
        several times the first run counts.
    feeds : mapping
        Inputs by name.

    Raises
    ------
    ArgumentError
        If there is no such node, it is no gather or scatter, or it does not run.
    """
    evaluator = Evaluator(model)
    step = _find(evaluator, node)

    def stop(*inputs: Any, **keywords: Any) -> tuple[Any, ...]:
        raise _Reached(inputs, keywords)

    step.run = stop  # type: ignore[method-assign]
    try:
        evaluator.run(None, dict(feeds))
    except _Reached as reached:
        return _call(step, reached)
    raise ArgumentError(
        f"node {node!r} does not run with these inputs; a branch that is not taken or a loop "
        "without iterations holds it. Give inputs that lead there.",
        argument="node",
        value=node,
    )


def _call(step: Step, reached: _Reached) -> Call:
    keywords = reached.keywords
    linked = keywords.get("linked_attributes") or keywords.get("attributes")
    node = cast(FamilyOp, step.node)
    arrays = zip(node.version.inputs, reached.inputs, strict=False)
    arguments = {name: array for name, array in arrays if array is not None}
    return Call(node.function, arguments | node.resolved_attributes(linked))


def _find(evaluator: Evaluator, node: str) -> Step:
    steps = list(_steps(evaluator))
    found = [step for step in steps if step.name == node]
    if not found and node.isdecimal() and int(node) < len(evaluator.rt_nodes_):
        found = [evaluator.rt_nodes_[int(node)]]
    family = [step for step in found if step.is_family]
    if family:
        return family[0]
    known = ", ".join(repr(step.name) for step in steps if step.is_family) or "none"
    what = f"is of type {found[0].op_type}" if found else "is not in the model"
    raise ArgumentError(
        f"node {node!r} {what}; its gathers and scatters are {known}.", argument="node", value=node
    )


def _steps(evaluator: ReferenceEvaluator) -> Iterator[Step]:
    """Yield the nodes of a graph, then those inside them."""
    yield from evaluator.rt_nodes_
    for step in evaluator.rt_nodes_:
        for value in vars(step.node).values():
            if isinstance(value, ReferenceEvaluator):
                yield from _steps(value)
