"""Good descriptors to break, and arrays for them."""

from __future__ import annotations

from dataclasses import replace

from sowreap.directml import OperatorDesc, Tensor

DATA = "FLOAT32"


def good(operator: str) -> OperatorDesc:
    """Return a descriptor that every level from the operator's first on takes."""
    sizes, attributes = {
        "GATHER": (
            ((1, 5, 4, 3), (1, 1, 1, 2), None, (1, 5, 2, 3)),
            {"Axis": 2, "IndexDimensions": 1},
        ),
        "GATHER_ELEMENTS": (((1, 5, 4, 3), (1, 5, 2, 3), None, (1, 5, 2, 3)), {"Axis": 2}),
        "GATHER_ND": (
            ((1, 5, 4, 3), (1, 1, 6, 2), None, (1, 1, 6, 3)),
            {"InputDimensionCount": 3, "IndicesDimensionCount": 2},
        ),
        "GATHER_ND1": (
            ((1, 5, 4, 3), (1, 5, 6, 1), None, (1, 5, 6, 3)),
            {"InputDimensionCount": 3, "IndicesDimensionCount": 3, "BatchDimensionCount": 1},
        ),
        "SCATTER": (((1, 5, 4, 3), (1, 5, 2, 3), (1, 5, 2, 3), (1, 5, 4, 3)), {"Axis": 2}),
        "SCATTER_ND": (
            ((1, 5, 4, 3), (1, 1, 6, 2), (1, 1, 6, 3), (1, 5, 4, 3)),
            {"InputDimensionCount": 3, "IndicesDimensionCount": 2},
        ),
    }[operator]
    fields = ("InputTensor", "IndicesTensor", "UpdatesTensor", "OutputTensor")
    tensors = {
        name: Tensor("UINT32" if name == "IndicesTensor" else DATA, n)
        for name, n in zip(fields, sizes, strict=True)
        if n is not None
    }
    return OperatorDesc(operator, tensors, attributes)


def changed(desc: OperatorDesc, name: str, **values) -> OperatorDesc:
    """Return the descriptor with one tensor, or one attribute, changed."""
    if name in desc.attributes:
        return replace(desc, attributes={**desc.attributes, name: values["to"]})
    tensor = desc.tensors[name]
    if {"sizes", "strides", "data_type"} & values.keys():
        values.setdefault("total_bytes", None)
    return replace(desc, tensors={**desc.tensors, name: tensor._replace(**values)})
