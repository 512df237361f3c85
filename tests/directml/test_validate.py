"""Every rule, broken once."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import sowreap
from descriptors import changed, good
from sowreap.directml import Binding, DescriptorError, OperatorDesc, execute, structs, validate
from sowreap.directml.rules import RULES
from sowreap.directml.schema import DATA_TYPES, FEATURE_LEVELS, OPERATORS

SHORT = [row.short_name for row in OPERATORS.values()]


def edited(edit, operator="SCATTER", arch="x64"):
    """Read a descriptor whose structs were edited."""
    descriptor = good(operator).to_struct(arch)
    edit(descriptor)
    return OperatorDesc.from_struct(descriptor)


def set_field(struct, **values):
    for name, value in values.items():
        setattr(struct, name, value)


def bound(operator="SCATTER", desc=None, **changes):
    """Execute a good descriptor with good buffers but for `changes`."""
    desc = desc or good(operator)
    buffers = {name: bytearray(tensor.total_bytes) for name, tensor in desc.tensors.items()}
    buffers.update(changes)
    output = buffers.pop("OutputTensor")
    return execute(desc, {k: b for k, b in buffers.items() if b is not None}, output)


# rule: (what to do, field at fault)
BROKEN = {
    "operator": (lambda: validate(replace(good("SCATTER"), operator="CONVOLUTION")), "Type"),
    "level": (lambda: validate(good("GATHER_ND1"), "2_1"), "Type"),
    "desc": (lambda: edited(lambda d: set_field(d.operator_desc, Desc=0)), "Desc"),
    "fields": (lambda: validate(replace(good("SCATTER"), attributes={})), "fields"),
    "pointer": (
        lambda: edited(lambda d: set_field(d.desc, IndicesTensor=d.base + 10**6)),
        "IndicesTensor",
    ),
    "tensor": (
        lambda: validate(edited(lambda d: set_field(d.desc, UpdatesTensor=0))),
        "UpdatesTensor",
    ),
    "tensor-type": (
        lambda: edited(lambda d: set_field(d.tensor_descs["InputTensor"], Type=0)),
        "InputTensor.Type",
    ),
    "tensor-desc": (
        lambda: edited(lambda d: set_field(d.tensor_descs["OutputTensor"], Desc=0)),
        "OutputTensor.Desc",
    ),
    "range": (lambda: validate(changed(good("SCATTER"), "InputTensor", alignment=-16)), None),
    "data-type": (
        lambda: validate(changed(good("SCATTER"), "IndicesTensor", data_type="INT32"), "2_1"),
        "IndicesTensor.DataType",
    ),
    "dimension-count": (
        lambda: validate(changed(good("SCATTER"), "InputTensor", sizes=(5, 4, 3)), "2_1"),
        "InputTensor.DimensionCount",
    ),
    "sizes": (
        lambda: edited(lambda d: set_field(d.buffer_tensor_descs["InputTensor"], Sizes=0)),
        "InputTensor.Sizes",
    ),
    "zero-size": (
        lambda: validate(changed(good("SCATTER"), "InputTensor", sizes=(1, 5, 0, 3))),
        "InputTensor.Sizes",
    ),
    "element-count": (
        lambda: validate(changed(good("SCATTER"), "InputTensor", sizes=(1, 1, 65536, 65536))),
        "InputTensor.Sizes",
    ),
    "flags": (
        lambda: validate(changed(good("SCATTER"), "OutputTensor", flags=1)),
        "OutputTensor.Flags",
    ),
    "stride-count": (
        lambda: validate(changed(good("SCATTER"), "InputTensor", strides=(12, 3, 1))),
        "InputTensor.Strides",
    ),
    "stride-reach": (
        lambda: validate(changed(good("SCATTER"), "InputTensor", strides=(0, 2**30, 3, 1))),
        "InputTensor.Strides",
    ),
    "stride-overlap": (
        lambda: validate(changed(good("SCATTER"), "OutputTensor", strides=(60, 11, 3, 1))),
        "OutputTensor.Strides",
    ),
    "total-size": (
        lambda: validate(changed(good("SCATTER"), "InputTensor", total_bytes=236)),
        "InputTensor.TotalTensorSizeInBytes",
    ),
    "total-size-multiple": (
        lambda: validate(changed(good("SCATTER"), "InputTensor", total_bytes=241)),
        "InputTensor.TotalTensorSizeInBytes",
    ),
    "alignment": (
        lambda: validate(changed(good("SCATTER"), "InputTensor", alignment=2)),
        "InputTensor.GuaranteedBaseOffsetAlignment",
    ),
    "same-dimension-count": (
        lambda: validate(changed(good("SCATTER"), "UpdatesTensor", sizes=(5, 2, 3))),
        "UpdatesTensor.DimensionCount",
    ),
    "same-data-type": (
        lambda: validate(changed(good("SCATTER"), "UpdatesTensor", data_type="INT32")),
        "UpdatesTensor.DataType",
    ),
    "attribute-range": (lambda: validate(changed(good("SCATTER"), "Axis", to=4)), "Axis"),
    "padding": (
        lambda: validate(changed(good("GATHER"), "IndicesTensor", sizes=(1, 1, 7, 2))),
        "IndicesTensor.Sizes",
    ),
    "tuple-length": (
        lambda: validate(changed(good("SCATTER_ND"), "IndicesTensor", sizes=(1, 1, 6, 4))),
        "IndicesTensor.Sizes[3]",
    ),
    "batch-sizes": (
        lambda: validate(changed(good("GATHER_ND1"), "IndicesTensor", sizes=(1, 4, 6, 1))),
        "IndicesTensor.Sizes",
    ),
    "indices-sizes": (
        lambda: validate(changed(good("SCATTER"), "IndicesTensor", sizes=(1, 4, 2, 3))),
        "IndicesTensor.Sizes[1]",
    ),
    "updates-sizes": (
        lambda: validate(changed(good("SCATTER"), "UpdatesTensor", sizes=(1, 5, 1, 3))),
        "UpdatesTensor.Sizes",
    ),
    "output-sizes": (
        lambda: validate(changed(good("GATHER"), "OutputTensor", sizes=(1, 5, 2, 2))),
        "OutputTensor.Sizes",
    ),
    "binding-count": (lambda: bound(UpdatesTensor=None), "inputs"),
    "binding-buffer": (lambda: bound(OutputTensor=bytes(240)), "OutputTensor"),
    "binding-offset": (
        lambda: bound(InputTensor=Binding(bytes(512), 8)),
        "InputTensor offset",
    ),
    "binding-size": (
        lambda: bound(InputTensor=Binding(bytes(255), 16)),
        "InputTensor size",
    ),
    "binding-overlap": (lambda: _bound_in_place(), "OutputTensor"),
}


def _bound_in_place():
    buffer = bytearray(480)
    bound(InputTensor=buffer, OutputTensor=Binding(buffer, 16))


def test_every_rule_is_broken_here():
    assert list(BROKEN) == list(RULES)


def test_rules_rise_by_step():
    steps = [rule.step for rule in RULES.values()]
    assert steps == sorted(steps)


@pytest.mark.parametrize("rule", BROKEN)
def test_broken_rule(rule):
    act, field = BROKEN[rule]
    with pytest.raises(DescriptorError) as caught:
        act()
    error = caught.value
    assert error.rule == rule
    assert error.code == 0x80070057
    assert isinstance(error, sowreap.SowreapError)
    assert isinstance(error, ValueError)
    if field is not None:
        assert error.field == field
    for part in (error.descriptor, error.field, str(error.value), RULES[rule].text, "0x80070057"):
        assert part in str(error)


@pytest.mark.parametrize("operator", SHORT)
@pytest.mark.parametrize("level", FEATURE_LEVELS)
def test_good_at_every_level_from_the_first_on(operator, level):
    desc = good(operator)
    if FEATURE_LEVELS[level] >= OPERATORS["DML_OPERATOR_" + operator].introduced:
        validate(desc, level)
        validate(desc.to_struct(), FEATURE_LEVELS[level])
    else:
        with pytest.raises(DescriptorError, match="lacks it"):
            validate(desc, level)


@pytest.mark.parametrize("operator", SHORT)
@pytest.mark.parametrize("role", ["data", "indices"])
def test_data_types_by_level(operator, role):
    row = OPERATORS["DML_OPERATOR_" + operator]
    levels = [level for level, value in FEATURE_LEVELS.items() if value >= row.introduced]
    for level, data_type in itertools.product(levels, [*DATA_TYPES, 0, 99]):
        support, desc = row.support_at(level), good(operator)
        for name in desc.tensors:
            if (name == "IndicesTensor") == (role == "indices"):
                desc = changed(desc, name, data_type=data_type)
        if data_type in (support.data_types if role == "data" else support.index_types):
            validate(desc, level)
        else:
            with pytest.raises(DescriptorError) as caught:
                validate(desc, level)
            assert caught.value.rule == "data-type"


def test_the_earlier_of_two_broken_rules_is_told():
    """All broken at once, then mended one by one: the steps rise."""
    desc = changed(good("SCATTER"), "Axis", to=9)
    desc = changed(desc, "UpdatesTensor", sizes=(1, 5, 9, 3), data_type="INT32")
    desc = changed(desc, "InputTensor", flags=2)
    told = []
    for mend in (
        lambda d: changed(d, "InputTensor", flags=0),
        lambda d: changed(d, "UpdatesTensor", data_type="FLOAT32"),
        lambda d: changed(d, "Axis", to=2),
        lambda d: changed(d, "UpdatesTensor", sizes=(1, 5, 2, 3)),
    ):
        with pytest.raises(DescriptorError) as caught:
            validate(desc)
        told.append(caught.value.rule)
        desc = mend(desc)
    assert told == ["flags", "same-data-type", "attribute-range", "updates-sizes"]
    validate(desc)


@pytest.mark.parametrize(
    ("operator", "name", "values"),
    [
        ("GATHER", "IndexDimensions", range(5)),
        ("GATHER_ND", "InputDimensionCount", range(1, 5)),
        ("GATHER_ND1", "BatchDimensionCount", range(3)),
        ("SCATTER_ND", "IndicesDimensionCount", range(1, 5)),
        ("GATHER_ELEMENTS", "Axis", range(4)),
    ],
)
def test_range_of_an_attribute(operator, name, values):
    for value in range(-1, 7):
        rule = None
        try:
            validate(changed(good(operator), name, to=value))
        except DescriptorError as error:
            rule = error.rule
        assert (rule == "attribute-range") == (value not in values)


LOOSE = {
    "smaller indices of SCATTER": (
        lambda: changed(
            changed(good("SCATTER"), "IndicesTensor", sizes=(1, 4, 2, 1)),
            "UpdatesTensor",
            sizes=(1, 4, 2, 1),
        )
    ),
    "smaller indices of GATHER_ELEMENTS": (
        lambda: changed(
            changed(good("GATHER_ELEMENTS"), "IndicesTensor", sizes=(1, 4, 2, 1)),
            "OutputTensor",
            sizes=(1, 4, 2, 1),
        )
    ),
    "rows of GATHER indices": (
        lambda: changed(good("GATHER"), "IndicesTensor", sizes=(1, 1, 7, 2))
    ),
    "bytes that are no multiple of 4": (
        lambda: changed(good("SCATTER"), "InputTensor", total_bytes=241)
    ),
}


@pytest.mark.parametrize("case", LOOSE)
def test_loose_rules(case):
    desc = LOOSE[case]()
    validate(desc, strict=False)
    with pytest.raises(DescriptorError):
        validate(desc)


def test_larger_indices_are_never_taken():
    desc = changed(good("GATHER_ELEMENTS"), "IndicesTensor", sizes=(1, 6, 2, 3))
    with pytest.raises(DescriptorError, match="at most 5"):
        validate(changed(desc, "OutputTensor", sizes=(1, 6, 2, 3)), strict=False)


@pytest.mark.parametrize(
    ("strides", "fine"),
    [
        ((60, 12, 3, 1), True),
        ((0, 1, 5, 20), True),  # transposed; a size of 1 may have any stride
        ((60, 24, 6, 2), True),
        ((60, 12, 3, 0), False),
        ((60, 12, 2, 1), False),
    ],
)
def test_strides_of_an_output(strides, fine):
    desc = changed(good("SCATTER"), "OutputTensor", strides=strides)
    if fine:
        validate(desc)
    else:
        with pytest.raises(DescriptorError, match="stride-overlap"):
            validate(desc)
    validate(changed(good("SCATTER"), "InputTensor", strides=strides))


def test_output_that_no_dimensions_hold():
    desc = changed(good("GATHER"), "Axis", to=0)
    desc = changed(changed(desc, "IndexDimensions", to=2), "IndicesTensor", sizes=(1, 1, 2, 2))
    with pytest.raises(DescriptorError, match=r"\(2, 2, 5, 4, 3\) are asked for"):
        validate(desc)


def test_addresses_are_followed_only_with_leave():
    descriptor = good("SCATTER").to_struct()
    for struct in (descriptor.operator_desc, descriptor.desc):
        with pytest.raises(sowreap.ArgumentError, match="follow_pointers=True"):
            OperatorDesc.from_struct(struct)
        assert OperatorDesc.from_struct(struct, follow_pointers=True) == good("SCATTER")
    with pytest.raises(sowreap.ArgumentError, match="from_bytes"):
        OperatorDesc.from_struct(good("SCATTER").to_struct("x86").desc, follow_pointers=True)


@pytest.mark.parametrize("operator", SHORT)
@pytest.mark.parametrize("arch", ["x64", "x86"])
def test_there_and_back(operator, arch):
    desc = good(operator)
    name = desc.struct
    desc = changed(desc, "InputTensor", strides=(0, 12, 3, 1), alignment=64, flags=1)
    again = OperatorDesc.from_struct(desc.to_struct(arch))
    assert again == desc
    assert again.struct == name


def test_integers_of_other_kinds():
    sizes = np.array([2, 3])
    tensors = dict.fromkeys(("InputTensor", "IndicesTensor", "OutputTensor"), ("UINT32", sizes))
    desc = OperatorDesc(107, tensors, {"Axis": np.int8(1)})
    assert desc.operator == "GATHER_ELEMENTS"
    validate(desc)
    with pytest.raises(DescriptorError, match="must be an integer"):
        OperatorDesc("GATHER_ELEMENTS", tensors, {"Axis": 1.0})


def test_unknown_level():
    with pytest.raises(sowreap.ArgumentError, match="7_0"):
        validate(good("SCATTER"), "7_0")


@pytest.mark.parametrize(
    ("read", "rule"),
    [
        (lambda: OperatorDesc.from_bytes(bytes(15)), "pointer"),
        (lambda: edited(lambda d: set_field(d.operator_desc, Type=110)), "operator"),
        (
            lambda: OperatorDesc.from_struct(structs.x64.DML_TENSOR_DESC(), follow_pointers=True),
            "operator",
        ),
        (
            lambda: edited(lambda d: set_field(d.buffer_tensor_descs["InputTensor"], Sizes=8)),
            "pointer",
        ),
        (
            lambda: edited(
                lambda d: set_field(d.buffer_tensor_descs["InputTensor"], DimensionCount=9)
            ),
            "dimension-count",
        ),
        (
            lambda: edited(
                lambda d: set_field(d.buffer_tensor_descs["InputTensor"], DimensionCount=2**32 - 1),
                arch="x86",
            ),
            "dimension-count",
        ),
    ],
)
def test_what_cannot_be_read(read, rule):
    with pytest.raises(DescriptorError) as caught:
        read()
    assert caught.value.rule == rule


def test_an_address_beyond_all_memory():
    struct = structs.x64.DML_OPERATOR_DESC(Type=94, Desc=2**64 - 8)
    with pytest.raises(DescriptorError, match="pointer"):
        OperatorDesc.from_struct(struct, follow_pointers=True)


def test_unknown_architecture():
    with pytest.raises(sowreap.ArgumentError, match="arm64"):
        good("SCATTER").to_struct("arm64")
