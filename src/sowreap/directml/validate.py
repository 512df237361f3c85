"""Whether DirectML takes a descriptor."""

from __future__ import annotations

from math import prod
from typing import Any

from sowreap.directml import schema, structs
from sowreap.directml._errors import DescriptorError
from sowreap.directml._shapes import fit, last, result_sizes
from sowreap.directml.descriptor import IDENTITY, OPERATOR_DESC, OperatorDesc, operator_row
from sowreap.directml.layout import buffer_tensor_size

_UINT_MAX = 2**32 - 1
_UINT64_MAX = 2**64 - 1
_FLAGS = schema.ENUMS["DML_TENSOR_FLAGS"]
_OWNED_BY_DML = _FLAGS["DML_TENSOR_FLAG_OWNED_BY_DML"]


def validate(
    desc: OperatorDesc | structs.Descriptor,
    feature_level: str | int = "6_4",
    strict: bool = True,
) -> None:
    """Check a descriptor against every rule, in the order of :data:`rules.RULES`.

    Parameters
    ----------
    desc : OperatorDesc or structs.Descriptor
    feature_level : str or int, default "6_4"
        The level of the device: ``"2_1"``, ``"DML_FEATURE_LEVEL_2_1"`` or ``0x2100``.
    strict : bool, default True
        Whether to ask for all that is documented. Loose rules take what clients send and what the
        runtime is reported to accept: indices of GATHER_ELEMENTS and SCATTER that are smaller than
        the input off Axis; more than one row of GATHER indices before those that count, of which
        the first is used; a TotalTensorSizeInBytes that is not a multiple of 4.

    Raises
    ------
    DescriptorError (a ValueError)
        For the first rule that is broken, with descriptor, field, value and rule. Its `code` is
        ``E_INVALIDARG``.
    ArgumentError (a ValueError)
        If the feature level is not known.

    Examples
    --------
    >>> from sowreap.directml import OperatorDesc, validate
    >>> tensors = dict.fromkeys(("InputTensor", "OutputTensor"), ("FLOAT32", (3,)))
    >>> desc = OperatorDesc(
    ...     "GATHER_ELEMENTS", {**tensors, "IndicesTensor": ("INT64", (3,))}, {"Axis": 1}
    ... )
    >>> validate(desc)
    Traceback (most recent call last):
    ...
    sowreap.directml._errors.DescriptorError: DML_GATHER_ELEMENTS_OPERATOR_DESC: Axis is 1, but an \
attribute lies in its range: it is in [0, 0]. (rule attribute-range, E_INVALIDARG 0x80070057)
    """
    if isinstance(desc, structs.Descriptor):
        desc = OperatorDesc.from_struct(desc)
    level = schema.feature_level(feature_level)
    row, support = _checked_operator(desc, level)
    tensors = _checked_fields(desc, row)
    for name, tensor in tensors.items():
        _Tensor(desc.struct, name, tensor, row, support, level, strict).check()
    _check_agreement(desc, row, tensors)
    _check_attributes(desc, tensors)
    _Sizes(desc, row, tensors, strict).check()


def _checked_operator(desc: OperatorDesc, level: int) -> tuple[schema.Operator, schema.Support]:
    row = operator_row(desc.operator)
    if row is None:
        known = ", ".join(schema.OPERATORS)
        raise DescriptorError(
            OPERATOR_DESC, "Type", desc.operator, "operator", f"it is one of {known}"
        )
    support = row.support_at(level)
    if support is None:
        first = _level_name(row.introduced)
        raise DescriptorError(
            OPERATOR_DESC,
            "Type",
            row.name,
            "level",
            f"{_level_name(level)} lacks it, {first} has it",
        )
    return row, support


def _checked_fields(desc: OperatorDesc, row: schema.Operator) -> dict[str, structs.Tensor]:
    """Return the tensors in the order of the struct."""
    names = (*row.inputs, row.output)
    for wanted, given in ((names, desc.tensors), (row.attributes, desc.attributes)):
        if set(wanted) != set(given):
            raise DescriptorError(
                row.struct,
                "fields",
                f"({', '.join(given)})",
                "fields",
                f"give {', '.join(wanted) or 'none'}",
            )
    tensors = {}
    for name in names:
        tensor = desc.tensors[name]
        if tensor is None:
            raise DescriptorError(row.struct, name, "null", "tensor", "none is optional")
        tensors[name] = tensor
    return tensors


class _Tensor:
    """The rules that a tensor obeys on its own."""

    def __init__(
        self,
        struct: str,
        name: str,
        tensor: structs.Tensor,
        row: schema.Operator,
        support: schema.Support,
        level: int,
        strict: bool,
    ) -> None:
        self.struct = struct
        self.name = name
        self.tensor = tensor
        self.row = row
        self.support = support
        self.level = _level_name(level)
        self.strict = strict

    def check(self) -> None:
        self.check_data_type()
        self.check_sizes()
        self.check_flags()
        if self.tensor.strides is not None:
            self.check_strides(self.tensor.strides)
        self.check_total_size()
        self.check_alignment()

    def fail(self, field: str, value: Any, rule: str, allowed: str) -> DescriptorError:
        return DescriptorError(self.struct, f"{self.name}.{field}", value, rule, allowed)

    def check_range(self, field: str, value: int, most: int = _UINT_MAX) -> None:
        if not 0 <= value <= most:
            raise self.fail(field, value, "range", f"it is in [0, {most}]")

    def check_data_type(self) -> None:
        is_indices = self.name == "IndicesTensor"
        known = self.support.index_types if is_indices else self.support.data_types
        if self.tensor.data_type not in known:
            allowed = f"at {self.level} it is one of {', '.join(known)}"
            raise self.fail("DataType", self.tensor.data_type, "data-type", allowed)

    def check_sizes(self) -> None:
        sizes = self.tensor.sizes
        least, most = self.support.min_dimensions, self.support.max_dimensions
        if not least <= len(sizes) <= most:
            allowed = f"at {self.level} it is in [{least}, {most}]"
            raise self.fail("DimensionCount", len(sizes), "dimension-count", allowed)
        for position, size in enumerate(sizes):
            self.check_range(f"Sizes[{position}]", size)
        if 0 in sizes:
            raise self.fail("Sizes", sizes, "zero-size", "empty tensors cannot be described")
        if prod(sizes) > _UINT_MAX:
            raise self.fail("Sizes", sizes, "element-count", f"these are {prod(sizes)}")

    def check_flags(self) -> None:
        flags, is_output = self.tensor.flags, self.name == self.row.output
        if flags not in _FLAGS.values() or (flags == _OWNED_BY_DML and is_output):
            allowed = "it is 0" if is_output else "it is 0 or 1"
            raise self.fail("Flags", flags, "flags", allowed)

    def check_strides(self, strides: Any) -> None:
        sizes = self.tensor.sizes
        if len(strides) != len(sizes):
            raise self.fail(
                "Strides", strides, "stride-count", f"there are {len(sizes)} dimensions"
            )
        for position, stride in enumerate(strides):
            self.check_range(f"Strides[{position}]", stride)
        reach = sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
        if reach > _UINT_MAX:
            # DirectMLX would let this sum wrap and find a small buffer enough.
            raise self.fail("Strides", strides, "stride-reach", f"these reach {reach}")
        if self.name == self.row.output and self.overlaps(strides):
            allowed = "each step must pass over all of the dimensions with smaller steps"
            raise self.fail("Strides", strides, "stride-overlap", allowed)

    def overlaps(self, strides: Any) -> bool:
        reach = 0
        for step, n in sorted(zip(strides, self.tensor.sizes, strict=True)):
            if n > 1 and step <= reach:
                return True
            reach += (n - 1) * step
        return False

    def check_total_size(self) -> None:
        total = self.tensor.total_bytes or 0
        self.check_range("TotalTensorSizeInBytes", total, _UINT64_MAX)
        least = buffer_tensor_size(self.tensor.data_type, self.tensor.sizes, self.tensor.strides)
        if total < least:
            raise self.fail(
                "TotalTensorSizeInBytes", total, "total-size", f"it is at least {least}"
            )
        if self.strict and total % 4:
            raise self.fail("TotalTensorSizeInBytes", total, "total-size-multiple", "round it up")

    def check_alignment(self) -> None:
        alignment = self.tensor.alignment
        self.check_range("GuaranteedBaseOffsetAlignment", alignment)
        least = schema.DATA_TYPES[self.tensor.data_type].bits // 8
        if alignment and (alignment & (alignment - 1) or alignment < least):
            allowed = f"it is 0 or a power of two from {least} on"
            raise self.fail("GuaranteedBaseOffsetAlignment", alignment, "alignment", allowed)


def _check_agreement(
    desc: OperatorDesc, row: schema.Operator, tensors: dict[str, structs.Tensor]
) -> None:
    first = tensors[row.inputs[0]]
    for name, tensor in tensors.items():
        if len(tensor.sizes) != len(first.sizes):
            raise DescriptorError(
                desc.struct,
                f"{name}.DimensionCount",
                len(tensor.sizes),
                "same-dimension-count",
                f"{row.inputs[0]} has {len(first.sizes)}",
            )
    for name, tensor in tensors.items():
        if name != "IndicesTensor" and tensor.data_type != first.data_type:
            raise DescriptorError(
                desc.struct,
                f"{name}.DataType",
                tensor.data_type,
                "same-data-type",
                f"{row.inputs[0]} has {first.data_type}",
            )


def _check_attributes(desc: OperatorDesc, tensors: dict[str, structs.Tensor]) -> None:
    dimensions = len(tensors["InputTensor"].sizes)
    for name, value in desc.attributes.items():
        least, most = {
            "Axis": (0, dimensions - 1),
            # Microsoft's pages print some of these half-open; their own examples use the end.
            "IndexDimensions": (0, dimensions),
            "InputDimensionCount": (1, dimensions),
            "IndicesDimensionCount": (1, dimensions),
            "BatchDimensionCount": (0, dimensions),
        }[name]
        if name == "BatchDimensionCount":
            counts = ("InputDimensionCount", "IndicesDimensionCount")
            most = min(desc.attributes[count] for count in counts) - 1
        if not least <= value <= most:
            raise DescriptorError(
                desc.struct, name, value, "attribute-range", f"it is in [{least}, {most}]"
            )


class _Sizes:
    """The equations between the sizes of the tensors."""

    def __init__(
        self,
        desc: OperatorDesc,
        row: schema.Operator,
        tensors: dict[str, structs.Tensor],
        strict: bool,
    ) -> None:
        self.desc = desc
        self.row = row
        self.sizes = {name: tuple(tensor.sizes) for name, tensor in tensors.items()}
        self.strict = strict

    def check(self) -> None:
        operator = self.desc.operator
        if operator == IDENTITY.short_name:
            self.check_equal("OutputTensor", self.sizes["InputTensor"])
            return
        if operator in ("GATHER_ELEMENTS", "SCATTER"):
            self.check_off_axis()
        elif operator == "GATHER":
            if self.strict:
                self.check_padding("IndicesTensor", "IndexDimensions")
        else:
            self.check_padding("InputTensor", "InputDimensionCount")
            self.check_padding("IndicesTensor", "IndicesDimensionCount")
            self.check_tuples()
        is_scatter = "UpdatesTensor" in self.sizes
        self.check_result("UpdatesTensor" if is_scatter else "OutputTensor")
        if is_scatter:
            self.check_equal("OutputTensor", self.sizes["InputTensor"])

    def fail(self, name: str, value: Any, rule: str, allowed: str) -> DescriptorError:
        return DescriptorError(self.desc.struct, name, value, rule, allowed)

    def check_off_axis(self) -> None:
        indices, data = self.sizes["IndicesTensor"], self.sizes["InputTensor"]
        for d, (n, limit) in enumerate(zip(indices, data, strict=True)):
            if d == self.desc.attributes["Axis"] or n == limit or (n < limit and not self.strict):
                continue
            relation = "equal to" if self.strict else "at most"
            allowed = f"InputTensor.Sizes is {data}, and this must be {relation} {limit}"
            raise self.fail(f"IndicesTensor.Sizes[{d}]", n, "indices-sizes", allowed)

    def check_padding(self, name: str, count: str) -> None:
        sizes, counted = self.sizes[name], self.desc.attributes[count]
        if any(n != 1 for n in sizes[: len(sizes) - counted]):
            raise self.fail(f"{name}.Sizes", sizes, "padding", f"{count} is {counted}")

    def check_tuples(self) -> None:
        attributes = self.desc.attributes
        batch = attributes.get("BatchDimensionCount", 0)
        data = last(self.sizes["InputTensor"], attributes["InputDimensionCount"])
        indices = last(self.sizes["IndicesTensor"], attributes["IndicesDimensionCount"])
        if indices[-1] > len(data) - batch:
            raise self.fail(
                f"IndicesTensor.Sizes[{len(self.sizes['IndicesTensor']) - 1}]",
                indices[-1],
                "tuple-length",
                f"it is in [1, {len(data) - batch}]",
            )
        if indices[:batch] != data[:batch]:
            raise self.fail(
                "IndicesTensor.Sizes",
                self.sizes["IndicesTensor"],
                "batch-sizes",
                f"the batch is {indices[:batch]} here and {data[:batch]} in InputTensor",
            )

    def check_result(self, name: str) -> None:
        sizes = result_sizes(
            self.desc.operator,
            self.sizes["InputTensor"],
            self.sizes["IndicesTensor"],
            self.desc.attributes,
        )
        dimensions = len(self.sizes["InputTensor"])
        fitted = fit(sizes, dimensions)
        if fitted is None:
            allowed = f"{sizes} are asked for, which {dimensions} dimensions cannot hold"
            raise self.fail(f"{name}.Sizes", self.sizes[name], _rule(name), allowed)
        self.check_equal(name, fitted)

    def check_equal(self, name: str, wanted: tuple[int, ...]) -> None:
        if self.sizes[name] != wanted:
            raise self.fail(f"{name}.Sizes", self.sizes[name], _rule(name), f"{wanted} are due")


def _rule(name: str) -> str:
    return "updates-sizes" if name == "UpdatesTensor" else "output-sizes"


def _level_name(level: int) -> str:
    return schema.enum_name("DML_FEATURE_LEVEL", level) or hex(level)
