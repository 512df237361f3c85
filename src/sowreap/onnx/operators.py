"""The seven operators as runtime classes.

Each class runs one node. It has the contract of mlprodict's runtime operators, and, being an
:class:`onnx.reference.op_run.OpRun`, serves ``onnx.reference.ReferenceEvaluator`` as it is::

    ReferenceEvaluator(model, new_ops=sowreap.onnx.reference_ops())

The classes hold attributes and check types; the public functions of sowreap do the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import onnx.defs
from numpy.typing import ArrayLike, NDArray
from onnx import NodeProto, helper
from onnx.reference.op_run import OpRun, RefAttrName

import sowreap
from sowreap._errors import ArgumentError
from sowreap.onnx._errors import note_node
from sowreap.onnx._schemas import Schema, find_schema, node_value

__all__ = [
    "Gather",
    "GatherElements",
    "GatherND",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "TensorScatter",
    "gather_numpy",
]

Array = NDArray[Any]
Log = Callable[[str], object]


class FamilyOp(OpRun):
    """One node of the family; base of the seven classes.

    Parameters
    ----------
    onnx_node : onnx.NodeProto or None
        The node. Its attributes must be those of the operator's version. None stands for a node
        whose attributes `desc` and `options` tell.
    desc : dict, optional
        What the runtime knows of the node: the ``run_params`` of onnx's reference evaluator, where
        ``opsets`` tells the version, or mlprodict's description, where ``atts`` holds attributes.
    **options
        ``opset`` (version of the default domain) and attribute values; they take precedence over
        node and `desc`. Without any opset the operator's newest version applies.

    Raises
    ------
    ArgumentError
        If the operator does not exist at that opset, or an attribute or its value does not.
    """

    op_domain = ""
    function: ClassVar[str]

    def __init__(
        self, onnx_node: NodeProto | None, desc: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        self.desc = desc
        given = {**_described_attributes(desc), **options}
        opset = given.pop("opset", _described_opset(desc))
        if onnx_node is None:
            name = type(self).__name__
            onnx_node = helper.make_node(name, find_schema(name, opset).inputs, ["output"])
        try:
            self.version = self._checked_version(onnx_node, opset, given)
        except ArgumentError as error:
            note_node(error, onnx_node)
            raise
        name = type(self).__name__
        since = self.version.since_version
        super().__init__(
            onnx_node, _run_params(desc, since), onnx.defs.get_schema(name, since, self.op_domain)
        )
        vars(self).update(given)
        self.attributes_names_ = {attribute.name for attribute in self.version.attributes}
        self.has_linked_attribute = any(
            isinstance(value, RefAttrName) for value in self.atts_value.values()
        )

    @classmethod
    def _checked_version(
        cls, onnx_node: NodeProto, opset: int | None, given: Mapping[str, Any]
    ) -> Schema:
        """Return the version of the node, once its attributes and those `given` are checked."""
        name = cls.__name__
        if onnx_node.op_type != name:
            raise ArgumentError(
                f"{name}: the node is a {onnx_node.op_type!r}; use the class of that name.",
                operator=name,
                argument="onnx_node",
                value=onnx_node.op_type,
            )
        version = find_schema(name, opset)
        for attribute in onnx_node.attribute:
            if attribute.ref_attr_name:
                version.attribute(attribute.name)
            else:
                version.check_value(attribute.name, node_value(attribute))
        for key, value in given.items():
            if isinstance(value, RefAttrName):
                version.attribute(key)
            else:
                version.check_value(key, value)
        return version

    def run(  # type: ignore[override]
        self,
        *inputs: Any,
        linked_attributes: Mapping[str, Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
        verbose: int = 0,
        fLOG: Log | None = None,
    ) -> tuple[Array, ...]:
        """Run the operator.

        Parameters
        ----------
        *inputs : array
            Inputs in the operator's order; None or nothing for a missing optional one.
        linked_attributes, attributes : dict, optional
            Values of the attributes of the enclosing function, by their names there.
        verbose : int, optional
            1 traces types and shapes, 2 values too.
        fLOG : callable, optional
            Takes each line of the trace; ``print`` by default.

        Returns
        -------
        tuple of array
            The single output.

        Raises
        ------
        ArgumentError
            If inputs are missing or too many, or a linked attribute has no value.
        DtypeError
            If this version does not allow a dtype.
        SowreapError
            As the public function that does the work.
        """
        self._check_inputs(inputs)
        self.run_params["log"]("-- begin %s.run(%d inputs)", self.op_type, len(inputs))
        linked = attributes if linked_attributes is None else linked_attributes
        result: tuple[Array] = self._run(  # type: ignore[no-untyped-call]
            *inputs[: len(self.version.inputs)], attributes=linked, verbose=verbose, fLOG=fLOG
        )
        self.run_params["log"]("-- done %s.run -> %d outputs", self.op_type, len(result))
        return result

    @property
    def atts_value(self) -> dict[str, Any]:
        """Values of all attributes of this version."""
        return {
            attribute.name: getattr(self, attribute.name) for attribute in self.version.attributes
        }

    @property
    def args_default(self) -> list[str]:
        """Attributes with their defaults, as in a signature."""
        return [f"{attribute.name}={attribute.default!r}" for attribute in self.version.attributes]

    @property
    def args_default_modified(self) -> list[str]:
        """Attributes of this node that differ from their defaults, as in a call."""
        return [
            f"{attribute.name}={getattr(self, attribute.name)!r}"
            for attribute in self.version.attributes
            if getattr(self, attribute.name) != attribute.default
        ]

    @property
    def args_mandatory(self) -> list[str]:
        """Names of the inputs that must be given."""
        return list(self.version.mandatory)

    @property
    def args_optional(self) -> list[str]:
        """Inputs that may be left out, as in a signature."""
        return [f"{name}=None" for name in self.version.inputs if name in self.version.optional]

    def to_python(self, inputs: Sequence[str]) -> tuple[str, str]:
        """Return Python source that does what this node does.

        Parameters
        ----------
        inputs : sequence of str
            Expressions for the inputs; "" for a missing optional one.

        Returns
        -------
        imports, code : str
            Import statements, and the body of a function whose variables `inputs` names. A linked
            attribute appears under its name in the enclosing function.

        Examples
        --------
        >>> from onnx.helper import make_node
        >>> node = make_node("Gather", ["x", "i"], ["y"], axis=1)
        >>> Gather(node).to_python(["x", "i"])
        ('import sowreap', 'return sowreap.gather(x, i, axis=1)')
        """
        self._check_inputs([name or None for name in inputs])
        arguments = [name or "None" for name in inputs]
        for name, value in self.atts_value.items():
            text = value.name if isinstance(value, RefAttrName) else repr(value)
            arguments.append(f"{name}={text}")
        return "import sowreap", f"return sowreap.{self.function}({', '.join(arguments)})"

    def _call(
        self,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any] | None,
        verbose: int,
        log: Log | None,
    ) -> tuple[Array]:
        """Check `inputs` against the version, call the public function, trace."""
        arrays = [value if value is None else _as_array(value) for value in inputs]
        for name, array in zip(self.version.inputs, arrays, strict=True):
            if array is not None:
                self.version.check_dtype(name, array.dtype)
        values = self.resolved_attributes(attributes)
        trace = (log or print) if verbose > 0 else None
        if trace is not None:
            given = [
                f"{name}: {_describe(array, verbose)}"
                for name, array in zip(self.version.inputs, arrays, strict=True)
            ]
            given += [f"{name}={value!r}" for name, value in values.items()]
            trace(f"{self.version} {self.onnx_node.name}({', '.join(given)})")
        result = self.compute(arrays, values)
        if trace is not None:
            trace(f"{self.version} {self.onnx_node.name} -> {_describe(result, verbose)}")
        return (result,)

    def compute(self, arrays: Sequence[Any], values: Mapping[str, Any]) -> Array:
        """Return the output for inputs and attributes that are known to be good."""
        output: Array = getattr(sowreap, self.function)(*arrays, **values)
        return output

    def resolved_attributes(self, linked: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return all attributes, the linked ones with their values in `linked`."""
        if linked and not self.has_linked_attribute:
            raise ArgumentError(
                f"{self.version}: attributes={dict(linked)!r} were given, but no attribute of the "
                "node is linked to one of an enclosing function. Set them on the node.",
                operator=self.op_type,
                argument="attributes",
                value=linked,
            )
        values = self.atts_value
        for name, value in values.items():
            if isinstance(value, RefAttrName):
                if linked is None or value.name not in linked:
                    raise ArgumentError(
                        f"{self.version}: {name} is linked to attribute {value.name!r} of the "
                        f"enclosing function, which has no value; known: {sorted(linked or ())}. "
                        "Pass it in attributes=.",
                        operator=self.op_type,
                        argument=name,
                    )
                values[name] = linked[value.name]
                self.version.check_value(name, values[name])
        return values

    def _check_inputs(self, inputs: Sequence[Any]) -> None:
        """Check that all mandatory inputs are there, and none beyond those that exist."""
        expected = self.version.inputs
        for name in self.version.mandatory:
            position = expected.index(name)
            if position >= len(inputs) or inputs[position] is None:
                raise ArgumentError(
                    f"{self.version}: input {name!r} is missing; the inputs are "
                    f"{', '.join(expected)}.",
                    operator=self.op_type,
                    argument=name,
                )
        if any(value is not None for value in inputs[len(expected) :]):
            raise ArgumentError(
                f"{self.version}: {len(inputs)} inputs were given; it takes at most "
                f"{len(expected)}: {', '.join(expected)}.",
                operator=self.op_type,
                argument="inputs",
                value=len(inputs),
            )


class ReadOp(FamilyOp):
    """A node that reads `data` at `indices`."""

    def _run(
        self,
        data: ArrayLike,
        indices: ArrayLike,
        attributes: Mapping[str, Any] | None = None,
        verbose: int = 0,
        fLOG: Log | None = None,
    ) -> tuple[Array]:
        return self._call((data, indices), attributes, verbose, fLOG)


class WriteOp(FamilyOp):
    """A node that writes `updates` at `indices` into a copy of `data`."""

    def _run(
        self,
        data: ArrayLike,
        indices: ArrayLike,
        updates: ArrayLike,
        attributes: Mapping[str, Any] | None = None,
        verbose: int = 0,
        fLOG: Log | None = None,
    ) -> tuple[Array]:
        return self._call((data, indices, updates), attributes, verbose, fLOG)


class Gather(ReadOp):
    """Read slices of `data` along `axis`; see :func:`sowreap.gather`.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.helper import make_node
    >>> node = make_node("Gather", ["data", "indices"], ["output"])
    >>> Gather(node).run(np.array([10, 20, 30]), np.array([2, 0]))
    (array([30, 10]),)
    """

    function = "gather"


class GatherElements(ReadOp):
    """Read one element of `data` for each position of `indices`.

    See :func:`sowreap.gather_elements`.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.helper import make_node
    >>> node = make_node("GatherElements", ["data", "indices"], ["output"], axis=1)
    >>> GatherElements(node).run(np.array([[1, 2], [3, 4]]), np.array([[0, 0], [1, 0]]))[0]
    array([[1, 1],
           [4, 3]])
    """

    function = "gather_elements"


def gather_numpy(self: ArrayLike, dim: int, index: ArrayLike) -> Array:
    """Gather values of an array along an axis.

    For three axes::

        out[i][j][k] = self[index[i][j][k]][j][k]  # dim == 0
        out[i][j][k] = self[i][index[i][j][k]][k]  # dim == 1
        out[i][j][k] = self[i][j][index[i][j][k]]  # dim == 2

    Parameters
    ----------
    self : array
        Where to read.
    dim : int
        Axis that `index` addresses.
    index : integer array
        Positions along that axis.

    Returns
    -------
    array
        Shape of `index`, dtype of `self`.

    Examples
    --------
    >>> import numpy as np
    >>> gather_numpy(np.array([[1, 2], [3, 4]]), 0, np.array([[1, 0]]))
    array([[3, 2]])
    """
    gathered: Array = sowreap.gather_elements(self, index, axis=dim)
    return gathered


class GatherND(ReadOp):
    """Read the slice of `data` that each index tuple addresses; see :func:`sowreap.gather_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.helper import make_node
    >>> node = make_node("GatherND", ["data", "indices"], ["output"])
    >>> GatherND(node).run(np.array([[0, 1], [2, 3]]), np.array([[0, 0], [1, 1]]))
    (array([0, 3]),)
    """

    function = "gather_nd"


class Scatter(WriteOp):
    """Write `updates` into a copy of `data`; see :func:`sowreap.scatter`.

    ONNX has it at opsets 9 and 10; ScatterElements took its place.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.helper import make_node
    >>> node = make_node("Scatter", ["data", "indices", "updates"], ["output"])
    >>> Scatter(node, opset=10).run(np.array([1, 2, 3]), np.array([1]), np.array([9]))
    (array([1, 9, 3]),)
    """

    function = "scatter"


class ScatterElements(WriteOp):
    """Combine each element of `updates` with one element of a copy of `data`.

    See :func:`sowreap.scatter_elements`.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.helper import make_node
    >>> names = ["data", "indices", "updates"]
    >>> node = make_node("ScatterElements", names, ["output"], reduction="add")
    >>> ScatterElements(node).run(np.array([1, 2, 3]), np.array([1, 1]), np.array([10, 20]))
    (array([ 1, 32,  3]),)
    """

    function = "scatter_elements"


class ScatterND(WriteOp):
    """Combine `updates` with the slice of a copy of `data` that each index tuple addresses.

    See :func:`sowreap.scatter_nd`.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.helper import make_node
    >>> node = make_node("ScatterND", ["data", "indices", "updates"], ["output"])
    >>> ScatterND(node).run(np.array([1, 2, 3, 4]), np.array([[3], [1]]), np.array([9, 8]))
    (array([1, 8, 3, 9]),)
    """

    function = "scatter_nd"


class TensorScatter(FamilyOp):
    """Write `update` into a copy of a key or value cache; see :func:`sowreap.tensor_scatter`.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx.helper import make_node
    >>> names = ["past_cache", "update", "write_indices"]
    >>> node = make_node("TensorScatter", names, ["present_cache"])
    >>> past = np.zeros((1, 3, 2), np.int64)
    >>> TensorScatter(node).run(past, np.array([[[7, 8]]]), np.array([1]))[0]
    array([[[0, 0],
            [7, 8],
            [0, 0]]])
    """

    function = "tensor_scatter"

    def _run(
        self,
        past_cache: ArrayLike,
        update: ArrayLike,
        write_indices: ArrayLike | None = None,
        attributes: Mapping[str, Any] | None = None,
        verbose: int = 0,
        fLOG: Log | None = None,
    ) -> tuple[Array]:
        return self._call((past_cache, update, write_indices), attributes, verbose, fLOG)


def reference_ops() -> list[type[FamilyOp]]:
    """Return the seven classes for the ``new_ops`` of onnx's reference evaluator.

    The evaluator uses them in the graph and in the subgraphs of If, Loop and Scan. It gives them
    to no local function; :class:`sowreap.onnx.InferenceSession` does.

    Examples
    --------
    >>> [operator.__name__ for operator in reference_ops()][:3]
    ['Gather', 'GatherElements', 'GatherND']
    """
    return [Gather, GatherElements, GatherND, Scatter, ScatterElements, ScatterND, TensorScatter]


def _described_attributes(desc: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the attributes of mlprodict's description of a node."""
    values = {}
    for name, entry in (desc or {}).get("atts", {}).items():
        value = entry.get("value_rt", entry.get("value"))
        values[name] = value.decode("utf-8") if isinstance(value, bytes) else value
    return values


def _described_opset(desc: Mapping[str, Any] | None) -> int | None:
    opsets = (desc or {}).get("opsets", {})
    found: int | None = opsets.get("", opsets.get("ai.onnx"))
    return found


def _run_params(desc: Mapping[str, Any] | None, opset: int) -> dict[str, Any]:
    """Return what :class:`OpRun` needs to know of its evaluator, for use without one, too."""
    alone = {"opsets": {"": opset}, "new_ops": None, "verbose": 0, "log": _no_log}
    return {**alone, **(desc or {})}


def _no_log(pattern: str, *values: object) -> None:
    """Take what an operator reports to its evaluator when there is none."""


def _as_array(value: Any) -> Any:
    return value if hasattr(value, "dtype") else np.asarray(value)


def _describe(value: Any, verbose: int) -> str:
    if value is None:
        return "none"
    text = f"{value.dtype}{list(value.shape)}"
    if verbose > 1:
        text += " " + np.array2string(np.asarray(value), threshold=20, separator=", ")
    return text
