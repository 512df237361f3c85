"""What DirectML asks of a descriptor, in the order in which it is checked here.

DirectML's own order and texts are not published. Steps 1 to 6 look at the descriptor alone, step 7
at the buffers bound to it. ``docs/directml.md`` says which rules are documented facts and which are
choices of this package.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One condition that every accepted descriptor meets."""

    step: int
    text: str


RULES = {
    "operator": Rule(1, "the operator is one of the family"),
    "level": Rule(1, "the feature level has the operator"),
    "desc": Rule(1, "the description is not null"),
    "fields": Rule(1, "the description has the fields of its struct and no other"),
    "pointer": Rule(2, "a pointer leads to memory that holds all of what it points at"),
    "tensor": Rule(2, "a tensor field is not null"),
    "tensor-type": Rule(2, "a tensor description is of type BUFFER"),
    "tensor-desc": Rule(2, "a tensor description has a buffer description"),
    "range": Rule(3, "a value is an integer that its C type holds"),
    "data-type": Rule(3, "the feature level takes the data type for this tensor"),
    "dimension-count": Rule(3, "the feature level takes this many dimensions"),
    "sizes": Rule(3, "Sizes is not null"),
    "zero-size": Rule(3, "no size is zero"),
    "element-count": Rule(3, "a tensor has at most 4294967295 elements"),
    "flags": Rule(3, "flags are NONE, or OWNED_BY_DML for an input"),
    "stride-count": Rule(3, "there is one stride for each dimension"),
    "stride-reach": Rule(3, "strides reach at most element 4294967295"),
    "stride-overlap": Rule(3, "no two elements of an output share memory"),
    "total-size": Rule(3, "TotalTensorSizeInBytes covers the tensor"),
    "total-size-multiple": Rule(3, "TotalTensorSizeInBytes is a multiple of 4"),
    "alignment": Rule(3, "the alignment is 0 or a power of two, at least the element's size"),
    "same-dimension-count": Rule(4, "all tensors have the same number of dimensions"),
    "same-data-type": Rule(4, "all tensors but the indices have the same data type"),
    "attribute-range": Rule(5, "an attribute lies in its range"),
    "padding": Rule(6, "dimensions before those that count are 1"),
    "tuple-length": Rule(6, "an index tuple addresses at least one and at most all dimensions"),
    "batch-sizes": Rule(6, "input and indices have the same batch sizes"),
    "indices-sizes": Rule(6, "indices have the input's sizes off Axis"),
    "updates-sizes": Rule(6, "updates have the sizes that input and indices ask for"),
    "output-sizes": Rule(6, "the output has the sizes that input and indices ask for"),
    "binding-count": Rule(7, "one buffer is bound to each tensor"),
    "binding-buffer": Rule(7, "what is bound is a buffer; for an output a writable one"),
    "binding-offset": Rule(7, "an offset is a multiple of 16 and of the promised alignment"),
    "binding-size": Rule(7, "a bound range lies in its buffer and holds TotalTensorSizeInBytes"),
    "binding-overlap": Rule(7, "the output shares no memory with an input"),
}
"""The rules by name; rising by step, and within a step in the order of the checks."""
