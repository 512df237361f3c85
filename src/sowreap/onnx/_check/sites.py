"""Family nodes with what is known of their inputs, before a model runs and while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, numpy_helper

from sowreap.onnx._check.findings import RULES, Finding, statements
from sowreap.onnx._errors import ModelError, node_name, one_line
from sowreap.onnx._schemas import Schema, element_type, known_dtype, node_value, versions

Array = NDArray[Any]
Size = int | str | None
Shape = tuple[Size, ...]

FAMILY = frozenset(
    {
        "Gather",
        "GatherElements",
        "GatherND",
        "Scatter",
        "ScatterElements",
        "ScatterND",
        "TensorScatter",
    }
)


@dataclass(frozen=True)
class Value:
    """What is known of a value; a size is a number, a symbol, or None for neither.

    Attributes
    ----------
    dtype : numpy.dtype or None
    shape : tuple or None
        None if not even the rank is known.
    content : TensorProto, array or None
        The items, if they are known.
    """

    dtype: np.dtype[Any] | None = None
    shape: Shape | None = None
    content: TensorProto | Array | None = None

    @cached_property
    def array(self) -> Array | None:
        """The items as an array.

        Raises
        ------
        ModelError
            If they do not fit the shape.
        """
        if not isinstance(self.content, TensorProto):
            return self.content
        try:
            array: Array = numpy_helper.to_array(self.content)
        except Exception as error:  # broken tensors have many ways to fail
            raise ModelError(
                f"model is broken: tensor {self.content.name!r}: {one_line(error)}",
                argument="model",
            ) from error
        return array

    @classmethod
    def of_array(cls, array: Any) -> Value:
        """Describe an array."""
        array = np.asarray(array)
        return cls(array.dtype, array.shape, array)

    @classmethod
    def of_tensor(cls, tensor: TensorProto) -> Value:
        """Describe a tensor; its items are not read yet."""
        return cls(known_dtype(tensor.data_type), tuple(tensor.dims), tensor)


UNKNOWN = Value()


@dataclass(frozen=True)
class Site:
    """A family node.

    Attributes
    ----------
    node : NodeProto
        Attributes of an enclosing function are replaced by their values.
    opset : int
        Version of the default domain where the node stands.
    path : tuple of str
        Names of the nodes around it.
    values : tuple of Value
        One for each input of the node.
    """

    node: NodeProto
    opset: int
    path: tuple[str, ...]
    values: tuple[Value, ...]
    attributes: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        given = {each.name: node_value(each) for each in self.node.attribute}
        object.__setattr__(self, "attributes", given)

    @property
    def operator(self) -> str:
        """Type of the node."""
        return str(self.node.op_type)

    @cached_property
    def schema(self) -> Schema:
        """The version that applies, else the first."""
        every = versions(self.operator)
        return next((s for s in reversed(every) if s.since_version <= self.opset), every[0])

    def attribute(self, name: str) -> Any:
        """Return the value of an attribute, its default if the node has none."""
        default = {each.name: each.default for each in versions(self.operator)[-1].attributes}
        return self.attributes.get(name, default.get(name))

    @property
    def reduction(self) -> str:
        """The reduction; ``none`` for operators that have none."""
        return str(self.attribute("reduction") or "none")

    def value(self, name: str) -> Value:
        """Return what is known of an input, by its name in the schema."""
        position = self.schema.inputs.index(name)
        return self.values[position] if position < len(self.values) else UNKNOWN

    def given(self, name: str) -> bool:
        """Return whether the node has input `name`."""
        position = self.schema.inputs.index(name)
        return position < len(self.node.input) and bool(self.node.input[position])

    def element(self, name: str) -> str | None:
        """Return the element type of an input as ONNX names it, None if it is not known."""
        dtype = self.value(name).dtype
        return None if dtype is None else element_type(dtype)

    def finding(
        self,
        rule: str,
        message: str,
        advice: str,
        *runtimes: str,
        argument: str = "",
        position: tuple[int, ...] | None = None,
        value: Any = None,
    ) -> Finding:
        """Return a finding at this node; `runtimes` are ids of statements."""
        return Finding(
            rule,
            RULES[rule].severity,
            self.path,
            node_name(self.node),
            self.operator,
            argument,
            position,
            value,
            message,
            advice,
            statements(*runtimes),
        )
