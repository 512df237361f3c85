"""Models on the reference evaluator of the package onnx."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, ValueInfoProto

from sowreap._errors import ArgumentError, DtypeError
from sowreap.onnx._errors import ModelError, node_name, one_line
from sowreap.onnx._evaluator import Evaluator, NodeRecord, profiling
from sowreap.onnx._loading import load_model, walk
from sowreap.onnx._rewrite import FAMILY, Placement
from sowreap.onnx._values import Feeds, NodeArg, check_names

PROVIDER = "CPUExecutionProvider"


@dataclass(frozen=True)
class ModelMetadata:
    """What a model says about itself."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = 0
    custom_metadata_map: dict[str, str] = field(default_factory=dict)


class ReferenceEngine:
    """What :class:`sowreap.onnx.InferenceSession` documents, with ``engine="reference"``.

    Beside the operators of :func:`sowreap.onnx.reference_ops` it has an Erf for float32.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes | ModelProto,
        sess_options: object,
        providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None,
        keywords: Mapping[str, Any],
    ) -> None:
        _refuse("sess_options", sess_options)
        for name, value in keywords.items():
            _refuse(name, value)
        _check_providers(providers)
        self._model = load_model(model)
        self._evaluator = _build(self._model)
        self._feeds = Feeds(self._model)
        self._inputs = [_described(info) for info in self._feeds.required]
        self._overridable = [_described(info) for info in self._feeds.overridable]
        self._outputs = [_described(info) for info in self._model.graph.output]
        steps = self._evaluator.rt_nodes_
        self._fresh = {name for step in steps if step.is_family for name in step.output}

    def get_inputs(self) -> list[NodeArg]:
        """Return the inputs that every run must feed."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """Return the outputs."""
        return list(self._outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Return the inputs that have a default in the model."""
        return list(self._overridable)

    def get_modelmeta(self) -> ModelMetadata:
        """Return what the model says about itself."""
        model = self._model
        return ModelMetadata(
            producer_name=model.producer_name,
            graph_name=model.graph.name,
            domain=model.domain,
            description=model.doc_string,
            graph_description=model.graph.doc_string,
            version=model.model_version,
            custom_metadata_map={entry.key: entry.value for entry in model.metadata_props},
        )

    def get_providers(self) -> list[str]:
        """Return where the model runs."""
        return [PROVIDER]

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: None = None,
    ) -> list[Any]:
        """Run the model.

        Parameters
        ----------
        output_names : sequence of str or None
            Outputs to return, in this order; None or nothing for all.
        input_feed : dict of str to array
            A value for each input, and for overridable initializers if wanted.
        run_options : None
            Run options of onnxruntime; the reference engine has none.

        Returns
        -------
        list
            Arrays, new memory; lists for sequences, dicts for maps.

        Raises
        ------
        ArgumentError, DtypeError, ShapeError
            If a name is unknown or missing, or a value does not fit its input.
        OutOfRangeError
            If a gather or scatter meets an index outside its axis.
        RunError
            If another node fails.
        """
        _refuse("run_options", run_options)
        if isinstance(output_names, str):
            raise DtypeError(
                f"output_names={output_names!r} is one text; it must be a list of names, or None.",
                argument="output_names",
                value=output_names,
            )
        known = [output.name for output in self._outputs]
        names = list(output_names or known)
        check_names(names, known, "output")
        feeds = self._feeds.checked(input_feed)
        with np.errstate(all="ignore"):
            outputs = self._evaluator.run(names, feeds)
        return [
            value if name in self._fresh and name not in names[:i] else _copied(value)
            for i, (name, value) in enumerate(zip(names, outputs, strict=True))
        ]

    def explain(self, input_feed: object) -> None:
        """Do nothing: errors of a run name the input already."""

    def placement(self) -> list[Placement]:
        """Return where each node of the family runs."""
        reason = "kernels of sowreap; the engine runs all else"
        return [
            Placement(node_name(node), node.op_type, title, "sowreap", reason)
            for title, body in (
                ("main", self._model.graph),
                *((f"function {each.name}", each) for each in self._model.functions),
            )
            for node in walk(body.node)
            if node.op_type in FAMILY and node.domain == ""
        ]

    def run_profiled(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], repeat: int = 1
    ) -> tuple[list[Any], list[NodeRecord]]:
        """Run the model and time its nodes.

        Returns
        -------
        outputs : list
            As from :meth:`run`.
        records : list of NodeRecord
            One for each node of the main graph, in the order in which they ran.
        """
        with profiling() as records:
            outputs = self.run(output_names, input_feed)
        return outputs, records


def _build(model: ModelProto) -> Evaluator:
    try:
        return Evaluator(model)
    except (ArgumentError, MemoryError):
        raise
    except Exception as error:
        raise ModelError(
            f"the reference engine cannot run the model: {one_line(error)}", argument="model"
        ) from error


def _described(info: ValueInfoProto) -> NodeArg:
    try:
        return NodeArg.of(info)
    except ValueError as error:
        raise ModelError(
            f"model is broken: the type of {info.name!r} is unknown: {error}.", argument="model"
        ) from error


def _copied(value: Any) -> Any:
    """Return an output as new memory: nodes of the engine may hand on inputs and constants."""
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value.copy() if isinstance(value, np.ndarray | dict) else value


def _check_providers(providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None) -> None:
    given = [providers] if isinstance(providers, str) else list(providers or ())
    names = [entry[0] if isinstance(entry, tuple) and entry else entry for entry in given]
    if names and PROVIDER not in names:
        raise ArgumentError(
            f"providers={names!r}: the reference engine runs on {PROVIDER!r} alone; add it.",
            argument="providers",
            value=names,
        )


def _refuse(argument: str, value: object) -> None:
    """Refuse options of onnxruntime rather than ignore them."""
    if value is not None:
        raise ArgumentError(
            f"{argument}: the reference engine has none; pass None.",
            argument=argument,
            value=value,
        )
