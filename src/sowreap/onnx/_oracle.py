"""A model whose gathers and scatters are the loops of the standard: slow, and right."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sowreap import _reference
from sowreap._errors import SowreapError
from sowreap.onnx._evaluator import Evaluator
from sowreap.onnx._loading import load_model
from sowreap.onnx._values import checked_feed
from sowreap.onnx.operators import FamilyOp, reference_ops

MAX_STEPS = 2_000_000  # of all nodes together; some ten seconds


class TooLargeError(SowreapError, RuntimeError):
    """The loops would take too long."""


def oracle_outputs(
    model: str | os.PathLike[str], names: Sequence[str], feeds: Mapping[str, Any]
) -> list[Any]:
    """Run a model with onnx's evaluator, each gather and scatter as :mod:`sowreap._reference`.

    Raises
    ------
    TooLargeError
        If they have more than `MAX_STEPS` items to move.
    """
    proto = load_model(model)
    types = {info.name: info.type for info in proto.graph.input}
    checked = {name: checked_feed(name, types[name], value) for name, value in feeds.items()}
    _Oracle.steps = 0
    with np.errstate(all="ignore"):
        return list(_Oracle(proto).run(list(names), checked))


class _LoopOp(FamilyOp):
    """A family node whose output the loop of the standard computes."""

    def compute(self, arrays: Sequence[Any], values: Mapping[str, Any]) -> NDArray[Any]:
        """Run the loop, if there is time for it."""
        _Oracle.steps += _steps(self.op_type, arrays, values)
        if _Oracle.steps > MAX_STEPS:
            raise TooLargeError(
                f"{self.op_type}: the loops of the standard would take more than "
                f"{MAX_STEPS} steps in this model; give smaller inputs.",
                operator=self.op_type,
            )
        output: NDArray[Any] = getattr(_reference, self.function)(*arrays, **values)
        return output


class _Oracle(Evaluator):
    family: ClassVar[Sequence[type[FamilyOp]]] = tuple(
        type(each.__name__, (_LoopOp, each), {}) for each in reference_ops()
    )
    steps: ClassVar[int] = 0


def _steps(op_type: str, arrays: Sequence[Any], values: Mapping[str, Any]) -> int:
    """Return how many items the loop of an operator moves."""
    if op_type == "Gather":
        data, indices = arrays
        axis = values["axis"] % data.ndim
        return int(indices.size * math.prod(data.shape[:axis] + data.shape[axis + 1 :]))
    if op_type == "GatherND":
        data, indices = arrays
        tail = data.shape[values.get("batch_dims", 0) + indices.shape[-1] :]
        return int(math.prod(indices.shape[:-1] + tail))
    return int(arrays[2 if op_type.startswith("Scatter") else 1].size)
