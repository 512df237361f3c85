"""Run ONNX models with the interface of onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, ValueInfoProto

from sowreap._errors import ArgumentError, DtypeError
from sowreap.onnx._errors import ModelError, one_line
from sowreap.onnx._evaluator import Evaluator, NodeRecord, profiling
from sowreap.onnx._loading import load_model
from sowreap.onnx._values import NodeArg, check_names, checked_feed

ENGINES = ("reference",)
PROVIDER = "CPUExecutionProvider"
CONSTANT_INITIALIZERS_BEFORE_IR = 4


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


class InferenceSession:
    """A model, ready to run: gathers and scatters on sowreap, all else on the engine.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        The model. External data is read from the folder of the path, never from outside it.
    sess_options : None
        Session options of onnxruntime; the reference engine has none.
    providers : sequence of str, optional
        May name ``"CPUExecutionProvider"``, alone or with others after it.
    engine : str, optional
        What runs the other nodes: ``"reference"``, the reference evaluator of the package onnx.

    Raises
    ------
    ModelError
        If the model cannot be read, is broken, or has an operator that the engine lacks.
    ArgumentError
        If an option is not supported, or a gather or scatter node breaks its schema.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.parser import parse_model
    >>> model = parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ... g (float[n] data, int64[m, 1] indices, float[m] updates) => (float[n] output) {
    ...     output = ScatterND <reduction = "add"> (data, indices, updates)
    ... }''')
    >>> session = InferenceSession(model)
    >>> feeds = {
    ...     "data": np.zeros(3, np.float32),
    ...     "indices": np.array([[1], [1]]),
    ...     "updates": np.array([2, 3], np.float32),
    ... }
    >>> session.run(None, feeds)
    [array([0., 5., 0.], dtype=float32)]
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes | ModelProto,
        sess_options: None = None,
        providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
        *,
        engine: str = "reference",
    ) -> None:
        _check_engine(engine)
        _refuse("sess_options", sess_options)
        _check_providers(providers)
        self._model = load_model(model)
        self._evaluator = _build(self._model)
        graph = self._model.graph
        initializers = {tensor.name for tensor in graph.initializer}
        fixed = self._model.ir_version < CONSTANT_INITIALIZERS_BEFORE_IR
        required = [info for info in graph.input if info.name not in initializers]
        overridable = [info for info in graph.input if info.name in initializers and not fixed]
        self._types = {info.name: info.type for info in (*required, *overridable)}
        self._inputs = [_described(info) for info in required]
        self._overridable = [_described(info) for info in overridable]
        self._outputs = [_described(info) for info in graph.output]
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
        feeds = self._checked_feeds(input_feed)
        with np.errstate(all="ignore"):
            outputs = self._evaluator.run(names, feeds)
        return [
            value if name in self._fresh and name not in names[:i] else _copied(value)
            for i, (name, value) in enumerate(zip(names, outputs, strict=True))
        ]

    def run_profiled(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]
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

    def _checked_feeds(self, input_feed: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(input_feed, Mapping):
            raise DtypeError(
                f"input_feed is a {type(input_feed).__name__}; wanted is a dict of values by name.",
                argument="input_feed",
                value=input_feed,
            )
        check_names(list(input_feed), list(self._types), "input")
        for required in self._inputs:
            if required.name not in input_feed:
                raise ArgumentError(
                    f"input {required.name!r} is missing; the model wants "
                    f"{', '.join(repr(each.name) for each in self._inputs)}.",
                    argument=required.name,
                )
        return {
            name: checked_feed(name, self._types[name], value) for name, value in input_feed.items()
        }


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


def _check_engine(engine: str) -> None:
    if engine not in ENGINES:
        raise ArgumentError(
            f"engine={engine!r} is not supported by this version; "
            f"allowed: {', '.join(map(repr, ENGINES))}.",
            argument="engine",
            value=engine,
        )


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
