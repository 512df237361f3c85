"""Onnx's reference evaluator with the family in every graph, subgraph and function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import erf
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_erf import Erf as PlainErf

from sowreap._errors import SowreapError
from sowreap.onnx._errors import RunError, node_name, note_node, one_line
from sowreap.onnx.operators import FamilyOp, reference_ops


@dataclass(frozen=True)
class NodeRecord:
    """What one node of the main graph took.

    Attributes
    ----------
    name, op_type, domain : str
        The node; a node without a name has that of its first output.
    seconds : float
        Time of the node with everything inside it.
    is_family : bool
        Whether it is a gather or scatter.
    family_seconds : float
        The part of `seconds` spent in gathers and scatters: all of a family node, and for If, Loop,
        Scan and functions what their bodies spent there.
    """

    name: str
    op_type: str
    domain: str
    seconds: float
    is_family: bool
    family_seconds: float


@dataclass
class Profile:
    """Records of one run, while it goes on."""

    records: list[NodeRecord] = field(default_factory=list)
    family_seconds: float = 0.0
    depth: int = 0


_profile: ContextVar[Profile | None] = ContextVar("profile", default=None)


@contextmanager
def profiling() -> Iterator[list[NodeRecord]]:
    """Record the nodes that run inside the block."""
    profile = Profile()
    token = _profile.set(profile)
    try:
        yield profile.records
    finally:
        _profile.reset(token)


Observer = Callable[[tuple[str, ...], FamilyOp, tuple[Any, ...], Mapping[str, Any] | None], None]


@dataclass
class Watch:
    """Who is told of family nodes, and the names of the nodes around the one that runs."""

    tell: Observer
    path: list[str] = field(default_factory=list)


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def observing(tell: Observer) -> Iterator[None]:
    """Call `tell` before each family node that runs inside the block.

    It is given the names of the nodes around the node, the node, its inputs, and the values of the
    attributes that an enclosing function has.
    """
    token = _watch.set(Watch(tell))
    try:
        yield
    finally:
        _watch.reset(token)


class Step:
    """A node of an evaluator, timed while a profile is on, whose failure names the node.

    The evaluator reads more attributes than those set here from its nodes; they come from `node`.
    """

    def __init__(self, node: OpRun) -> None:
        self.node = node
        self.name = node_name(node.onnx_node)
        self.op_type: str = node.op_type
        self.domain: str = node.domain
        self.input = node.input
        self.output = node.output
        self.has_linked_attribute: bool = node.has_linked_attribute
        self.is_family = isinstance(node, FamilyOp)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def run(self, *inputs: Any, **keywords: Any) -> tuple[Any, ...]:
        """Run the node."""
        watch = _watch.get()
        if watch is not None:
            return self._run_watched(watch, inputs, keywords)
        profile = _profile.get()
        if profile is None:
            return self._run(inputs, keywords)
        family_before, profile.depth = profile.family_seconds, profile.depth + 1
        start = perf_counter()
        try:
            return self._run(inputs, keywords)
        finally:
            seconds = perf_counter() - start
            profile.depth -= 1
            if self.is_family:
                profile.family_seconds += seconds
            if profile.depth == 0:
                inside = profile.family_seconds - family_before
                profile.records.append(
                    NodeRecord(
                        self.name, self.op_type, self.domain, seconds, self.is_family, inside
                    )
                )

    def _run_watched(
        self, watch: Watch, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[Any, ...]:
        if isinstance(self.node, FamilyOp):
            watch.tell(tuple(watch.path), self.node, inputs, keywords.get("linked_attributes"))
        watch.path.append(self.name)
        try:
            return self._run(inputs, keywords)
        finally:
            watch.path.pop()

    def _run(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        try:
            outputs: tuple[Any, ...] = self.node.run(*inputs, **keywords)
        except Exception as error:
            # Nodes with a body put a TypeError around those of their body.
            inner = error.__cause__ if isinstance(error.__cause__, SowreapError) else error
            if isinstance(inner, SowreapError):
                note_node(inner, self.node.onnx_node)
                raise inner from inner.__cause__
            if isinstance(error, MemoryError):
                raise
            raise RunError(
                f"{self.op_type}: node {self.name!r} failed on inputs "
                f"{', '.join(map(_describe, inputs)) or '(none)'}: {one_line(error)}",
                operator=self.op_type,
            ) from error
        return outputs


class Erf(PlainErf):
    """Onnx's Erf, which calls `math.erf` for each item, without an array of objects around it.

    A model with GELU takes most of its time there. Float32 alone: onnx rounds all to it first.
    """

    op_domain = ""

    def _run(self, x: Any) -> tuple[Any]:
        if not isinstance(x, np.ndarray) or x.dtype != np.float32:
            plain: tuple[Any] = super()._run(x)  # type: ignore[no-untyped-call]
            return plain
        items = np.ravel(x).data
        return (np.fromiter(map(erf, items), np.float32, x.size).reshape(x.shape),)


class Evaluator(ReferenceEvaluator):
    """Reference evaluator that runs the family with sowreap wherever it occurs.

    Of the operators that are onnx's own, Erf alone is another one, equal to the last bit.
    Onnx hands ``new_ops`` down to subgraphs, but neither to local functions nor to operators that
    it expands to functions. Those are built from this class too, and find the family here.
    """

    family: ClassVar[Sequence[type[FamilyOp]]] = tuple(reference_ops())

    def __init__(self, proto: Any, *arguments: Any, **keywords: Any) -> None:
        keywords["new_ops"] = [*(keywords.get("new_ops") or ()), *self.family, Erf]
        super().__init__(proto, *arguments, **keywords)
        self.rt_nodes_ = [Step(node) for node in self.rt_nodes_]


def _describe(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__
