"""Exception classes of models."""

from __future__ import annotations

from onnx import NodeProto

from sowreap._errors import SowreapError


class ModelError(SowreapError, ValueError):
    """A model cannot be read, is broken, or needs an operator that the engine lacks."""


class MissingEngineError(SowreapError, ImportError):
    """The package of the chosen engine is not installed."""


class RunError(SowreapError, RuntimeError):
    """A node that is none of sowreap's failed while a model ran."""


def one_line(error: Exception) -> str:
    """Return the text of another library's error without its line breaks."""
    return " ".join(str(error).split())


def node_name(node: NodeProto) -> str:
    """Return the name of a node, or that of its first output if it has none."""
    return str(node.name or next(iter(node.output), ""))


def note_node(error: Exception, node: NodeProto) -> None:
    """Add to an error in which node of the model it came up."""
    error.add_note(f"in node {node_name(node)!r} ({node.op_type})")
