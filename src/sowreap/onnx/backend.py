"""Backend interface of ONNX (:mod:`onnx.backend.base`) on sowreap.

Both the class and, as is custom, the module itself serve as a backend::

    onnx.backend.test.runner.Runner(sowreap.onnx.backend, __name__)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from sowreap._errors import ArgumentError, SowreapError
from sowreap.onnx._errors import ModelError
from sowreap.onnx.session import InferenceSession

__all__ = [
    "SowreapBackend",
    "SowreapBackendRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]

CPU = "CPU"


class SowreapBackendRep(BackendRep):
    """A prepared model.

    Parameters
    ----------
    session : InferenceSession
        The model.
    """

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **keywords: Any) -> tuple[Any, ...]:
        """Run the model.

        Parameters
        ----------
        inputs : sequence, dict or array
            Values in the order of the model's inputs, or by name, or the value of the only input.

        Returns
        -------
        namedtuple
            The outputs, by position, name or attribute.

        Raises
        ------
        ArgumentError
            If there are more or fewer values than inputs, or keywords.
        """
        _refuse_keywords("run", keywords)
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        else:
            values = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
            feeds = _by_name([info.name for info in self.session.get_inputs()], values)
        outputs = self.session.run(None, feeds)
        return _as_namedtuple([info.name for info in self.session.get_outputs()], outputs)


class SowreapBackend(Backend):
    """Runs gathers and scatters on sowreap and every other node on onnx's reference evaluator.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.helper import make_node
    >>> node = make_node("Gather", ["data", "indices"], ["output"])
    >>> SowreapBackend.run_node(node, [np.array([10, 20, 30]), np.array([2, 0])]).output
    array([30, 10])
    """

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = CPU, **keywords: Any) -> bool:
        """Return whether :meth:`prepare` accepts the model and the device."""
        try:
            cls.prepare(model, device, **keywords)
        except SowreapError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = CPU, **keywords: Any) -> SowreapBackendRep:
        """Make a model ready to run.

        Parameters
        ----------
        model : path, bytes or onnx.ModelProto
            The model.
        device : str, optional
            ``"CPU"``, with or without a number after a colon.

        Raises
        ------
        ArgumentError
            If the device is another one, or for keywords.
        ModelError
            If the model is broken or has an operator that onnx's evaluator lacks.
        """
        _check_device(device)
        _refuse_keywords("prepare", keywords)
        return SowreapBackendRep(InferenceSession(model, engine="reference"))

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = CPU,
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **keywords: Any,
    ) -> tuple[Any, ...]:
        """Run one node.

        Parameters
        ----------
        node : onnx.NodeProto
            The node.
        inputs : sequence or dict
            Values of those inputs that have a name, in their order, or by name.
        device : str, optional
            As in :meth:`prepare`.
        outputs_info : sequence, optional
            Not needed, and not used: outputs have the types and shapes that come out.
        **keywords
            ``opset_version``, the version of the node's domain; by default the newest.

        Returns
        -------
        namedtuple
            The outputs, by position, name or attribute.
        """
        opset = keywords.pop("opset_version", None) or _newest_opset(node)
        _refuse_keywords("run_node", keywords)
        names = [name for name in node.input if name]
        feeds = dict(inputs) if isinstance(inputs, Mapping) else _by_name(names, list(inputs))
        typed = [_typed(name, feeds.get(name)) for name in names]
        untyped = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", typed, untyped)
        imports = [helper.make_opsetid(node.domain, opset)]
        if node.domain:  # for graphs in its attributes
            imports.append(helper.make_opsetid("", onnx.defs.onnx_opset_version()))
        return cls.prepare(helper.make_model(graph, opset_imports=imports), device).run(feeds)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether models run on `device`: on ``"CPU"`` alone."""
        return device.split(":")[0] == CPU


is_compatible = SowreapBackend.is_compatible
prepare = SowreapBackend.prepare
run_model = SowreapBackend.run_model
run_node = SowreapBackend.run_node
supports_device = SowreapBackend.supports_device


def _newest_opset(node: NodeProto) -> int:
    try:
        schema = onnx.defs.get_schema(node.op_type, domain=node.domain)
    except onnx.defs.SchemaError as error:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        raise ModelError(
            f"run_node: onnx {onnx.__version__} has no operator {name!r}. Correct op_type and "
            "domain of the node; a local function runs as part of its model.",
            operator="run_node",
            argument="node",
            value=node.op_type,
        ) from error
    return onnx.defs.onnx_opset_version() if node.domain == "" else schema.since_version


def _typed(name: str, value: Any) -> onnx.ValueInfoProto:
    """Describe an input; operators that ONNX defines as functions of the types need to know."""
    if not isinstance(value, np.ndarray | np.generic):
        return helper.make_empty_tensor_value_info(name)
    if value.dtype.kind in "OUST":
        number = onnx.TensorProto.STRING
    else:
        number = helper.np_dtype_to_tensor_dtype(value.dtype.newbyteorder("="))
    return helper.make_tensor_value_info(name, number, value.shape)


def _by_name(names: list[str], values: list[Any]) -> dict[str, Any]:
    if len(names) != len(values):
        raise ArgumentError(
            f"{len(values)} values for {len(names)} inputs: {', '.join(map(repr, names))}.",
            argument="inputs",
            value=len(values),
        )
    return dict(zip(names, values, strict=True))


def _as_namedtuple(names: list[str], outputs: list[Any]) -> tuple[Any, ...]:
    named: tuple[Any, ...] = namedtupledict("Outputs", names)(*outputs)
    return named


def _check_device(device: str) -> None:
    if not SowreapBackend.supports_device(device):
        raise ArgumentError(
            f"device={device!r} is not supported; sowreap runs on 'CPU'.",
            argument="device",
            value=device,
        )


def _refuse_keywords(method: str, keywords: Mapping[str, Any]) -> None:
    if keywords:
        raise ArgumentError(
            f"{method}: unknown options {', '.join(map(repr, keywords))}.",
            argument="keywords",
            value=dict(keywords),
        )
