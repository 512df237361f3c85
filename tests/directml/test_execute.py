"""Descriptors give what the functions give, whatever the memory of their tensors looks like."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sowreap as sr
from descriptors import changed, good
from sowreap.directml import Binding, DescriptorError, OperatorDesc, Report, Tensor, execute, schema
from sowreap.directml.execute import MOST_REPEATED

DATA_TYPES = schema.operator_of("SCATTER").support_at("6_4").data_types
INDEX_TYPES = schema.operator_of("SCATTER").support_at("6_4").index_types
POISON = 0xA5


@dataclass
class Case:
    """A descriptor, buffers for it, and the array that a function of sowreap gives."""

    desc: OperatorDesc
    buffers: dict[str, Binding]
    expected: np.ndarray

    def view(self, name: str) -> np.ndarray:
        tensor, binding = self.desc.tensors[name], self.buffers[name]
        return placed_view(tensor, binding.buffer, binding.offset)


def placed_view(tensor, buffer, offset):
    dtype = schema.DATA_TYPES[tensor.data_type].dtype
    strides = tensor.strides and tuple(step * dtype.itemsize for step in tensor.strides)
    return np.ndarray(tensor.sizes, dtype, buffer, offset, strides)


@st.composite
def cases(draw):
    operator = draw(st.sampled_from([row.short_name for row in schema.OPERATORS.values()]))
    data_type = draw(st.sampled_from(DATA_TYPES))
    index_type = draw(st.sampled_from(INDEX_TYPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data_sizes, indices_sizes, attributes, limits = draw(shapes(operator))
    dtype, index_dtype = (schema.DATA_TYPES[kind].dtype for kind in (data_type, index_type))
    values = {"InputTensor": random_bits(rng, dtype, data_sizes)}
    low = -np.asarray(limits) if index_dtype.kind == "i" else 0
    values["IndicesTensor"] = rng.integers(low, limits, indices_sizes).astype(index_dtype)
    repeated = {name: draw(repeats(values, name, indices_sizes, limits)) for name in values}
    data, indices = values.values()
    if operator.startswith("SCATTER"):
        sizes = result_of(operator, data, indices, attributes=attributes).shape
        values["UpdatesTensor"] = random_bits(rng, dtype, sizes)
        repeated["UpdatesTensor"] = None
    expected = result_of(operator, *values.values(), attributes=attributes)
    values["OutputTensor"], repeated["OutputTensor"] = expected, None
    rank = max(1, *(array.ndim for array in values.values())) + draw(st.integers(0, 1))
    if "Axis" in attributes:
        attributes["Axis"] += rank - data.ndim
    tensors, buffers = {}, {}
    for name, array in values.items():
        kind = index_type if name == "IndicesTensor" else data_type
        tensors[name], buffers[name] = draw(
            layouts(kind, padded(array, rank), repeated[name], name != "OutputTensor")
        )
    return Case(OperatorDesc(operator, tensors, attributes), buffers, padded(expected, rank))


@st.composite
def shapes(draw, operator):
    """(sizes of data and indices, attributes, how many values an index may have)"""
    data = draw(st.lists(st.sampled_from((1, 2, 2, 3, 4)), min_size=1, max_size=4))
    if operator in ("GATHER_ELEMENTS", "SCATTER"):
        axis = draw(st.integers(0, len(data) - 1))
        indices = [*data[:axis], draw(st.integers(1, 4)), *data[axis + 1 :]]
        return data, indices, {"Axis": axis}, data[axis]
    if operator == "GATHER":
        axis = draw(st.integers(0, len(data) - 1))
        indices = draw(st.lists(st.integers(1, 3), max_size=2))
        return data, indices, {"Axis": axis, "IndexDimensions": len(indices)}, data[axis]
    batch = draw(st.integers(0, len(data) - 1)) if operator == "GATHER_ND1" else 0
    depth = draw(st.integers(1, len(data) - batch))
    indices = [*data[:batch], *draw(st.lists(st.integers(1, 3), max_size=2)), depth]
    attributes = {"InputDimensionCount": len(data), "IndicesDimensionCount": len(indices)}
    if operator == "GATHER_ND1":
        attributes["BatchDimensionCount"] = batch
    return data, indices, attributes, data[batch : batch + depth]


@st.composite
def repeats(draw, values, name, indices_sizes, limits):
    """Now and then make values constant along a dimension, which may then have stride 0."""
    array = values[name]
    is_tuples = name == "IndicesTensor" and isinstance(limits, list)
    dimensions = array.ndim - is_tuples  # coordinates of a tuple have limits of their own
    if dimensions == 0 or draw(st.integers(0, 2)):
        return None
    d = draw(st.integers(0, dimensions - 1))
    values[name] = np.broadcast_to(array.take([0], d), array.shape)
    return d - array.ndim


@st.composite
def layouts(draw, kind, values, repeated, is_input):
    """A tensor and a buffer that holds the values."""
    strides = None
    if draw(st.booleans()) or repeated is not None:
        steps, reach = [0] * values.ndim, 0
        for d in draw(st.permutations(range(values.ndim))):
            if repeated is not None and d == values.ndim + repeated:
                continue
            steps[d] = reach + 1 + draw(st.sampled_from((0, 0, 1, 2)))
            reach += (values.shape[d] - 1) * steps[d]
        strides = tuple(steps)
    alignment = draw(st.sampled_from((0, 16, 64)))
    tensor = OperatorDesc("", {"t": Tensor(kind, values.shape, strides, alignment=alignment)})
    tensor = tensor.tensors["t"]
    offset = 64 * draw(st.integers(0, 1)) + (16 if not alignment else 0)
    buffer = bytearray([POISON]) * (offset + tensor.total_bytes + draw(st.integers(0, 5)))
    if is_input:
        placed_view(tensor, buffer, offset)[...] = values
        buffer = draw(st.sampled_from((bytes, bytearray, memoryview)))(buffer)
    return tensor, Binding(buffer, offset)


def random_bits(rng, dtype, sizes):
    size = int(np.prod(sizes, dtype=int)) * dtype.itemsize
    return np.frombuffer(rng.bytes(size), dtype).reshape(sizes)


def padded(array, rank):
    return array[(None,) * (rank - array.ndim) + (...,)]


def result_of(operator, data, indices, updates=None, *, attributes):
    """The result of the function; without updates of a scatter, what a gather would read."""
    if operator == "GATHER":
        return sr.gather(data, indices, attributes["Axis"])
    if operator in ("GATHER_ELEMENTS", "SCATTER"):
        if updates is None:
            return sr.gather_elements(data, indices, attributes["Axis"])
        return sr.scatter_elements(data, indices, updates, attributes["Axis"])
    if updates is None:
        return sr.gather_nd(data, indices, attributes.get("BatchDimensionCount", 0))
    return sr.scatter_nd(data, indices, updates)


def bits(array):
    return np.ascontiguousarray(array).view(f"u{array.itemsize}")


@settings(max_examples=400)
@given(cases())
def test_equal_to_the_function(case):
    output = case.buffers["OutputTensor"]
    inputs = {name: b for name, b in case.buffers.items() if name != "OutputTensor"}
    before = {name: bytes(binding.buffer) for name, binding in inputs.items()}
    report = execute(case.desc, inputs, output)
    assert report.out_of_range == 0
    np.testing.assert_array_equal(bits(case.view("OutputTensor")), bits(case.expected))
    assert {name: bytes(binding.buffer) for name, binding in inputs.items()} == before
    case.view("OutputTensor").view(f"u{case.expected.itemsize}")[...] = poison_of(case.expected)
    assert set(output.buffer) == {POISON}, "written beside the elements"


def poison_of(array):
    return int.from_bytes([POISON] * array.itemsize, "little")


# --- the switches -----------------------------------------------------------------------------


def elements_case(indices, dtype="INT32"):
    """SCATTER of 10, 20, ... into [1, 2, 3, 4]: descriptor and inputs."""
    indices = np.array(indices, schema.DATA_TYPES[dtype].dtype)
    data = np.array([1, 2, 3, 4], np.float32)
    updates = np.arange(10, 10 * len(indices) + 1, 10, dtype=np.float32)
    arrays = {
        "InputTensor": data,
        "IndicesTensor": indices,
        "UpdatesTensor": updates,
        "OutputTensor": data,
    }
    desc = OperatorDesc.from_arrays("SCATTER", arrays, Axis=0)
    return desc, [data, indices, updates]


def tuples_case(indices, dtype="INT32"):
    """The same as SCATTER_ND."""
    _, (data, indices, updates) = elements_case(indices, dtype)
    arrays = {
        "InputTensor": data[None],
        "IndicesTensor": indices[:, None],
        "UpdatesTensor": updates[None],
        "OutputTensor": data[None],
    }
    counts = {"InputDimensionCount": 1, "IndicesDimensionCount": 2}
    return OperatorDesc.from_arrays("SCATTER_ND", arrays, **counts), [data, indices, updates]


@pytest.fixture(params=[elements_case, tuples_case], ids=["SCATTER", "SCATTER_ND"])
def make_case(request):
    return request.param


def scattered(case, **switches):
    desc, inputs = case
    output = np.full(4, -1, np.float32)
    try:
        report = execute(desc, inputs, output, **switches)
    except sr.SowreapError:
        assert output.tolist() == [-1] * 4
        raise
    return output.tolist(), report


def test_scatter_out_of_range(make_case):
    case = make_case([0, 9, 1, -7])
    with pytest.raises(
        sr.OutOfRangeError, match=r"IndicesTensor\[1.*\] = 9 .* \[-4, 3\]"
    ) as caught:
        scattered(case)
    assert caught.value.position[0] == 1
    assert (caught.value.value, caught.value.length) == (9, 4)
    result, report = scattered(case, out_of_range="skip")
    assert result == [10, 30, 3, 4]
    assert (report.out_of_range, report.first_value, report.duplicates) == (2, 9, 0)
    result, report = scattered(case, out_of_range="clamp")
    assert result == [40, 30, 3, 20]
    assert (report.duplicates, report.first_duplicate[0]) == (1, 3)


def test_scatter_of_nothing_but_bad_indices(make_case):
    assert scattered(make_case([4, -5]), out_of_range="skip")[0] == [1, 2, 3, 4]


def test_duplicates(make_case):
    case = make_case([3, 1, -1, 1])
    result, report = scattered(case)
    assert result == [1, 40, 3, 30]
    assert (report.duplicates, report.first_duplicate[0]) == (2, 2)
    assert scattered(case, duplicates="last") == (result, report)
    assert scattered(case, duplicates="first")[0] == [1, 20, 3, 10]
    with pytest.raises(sr.ArgumentError, match=r"IndicesTensor\[2.*2 writes"):
        scattered(case, duplicates="raise")
    shuffled = scattered(case, duplicates="shuffle")[0]
    assert shuffled[1] in (20, 40)
    assert shuffled[3] in (10, 30)
    assert scattered(case, duplicates="shuffle")[0] == shuffled


def test_shuffled_order_is_not_the_written_one():
    """Of 30 writes to each cell, the last written should stand in few of the cells."""
    rows, columns = 30, 64
    data = np.zeros((1, columns), np.float32)
    indices = np.zeros((rows, columns), np.uint32)
    updates = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    output = np.empty_like(data)
    arrays = {"InputTensor": data, "IndicesTensor": indices, "UpdatesTensor": updates}
    desc = OperatorDesc.from_arrays("SCATTER", {**arrays, "OutputTensor": output}, Axis=0)
    execute(desc, arrays, output, duplicates="shuffle")
    won = output[0] // columns
    assert set(output[0] % columns) == set(range(columns))
    assert len(set(won.tolist())) > 10


def test_skipped_and_repeated_together(make_case):
    result, report = scattered(make_case([2, 8, 2, 0]), out_of_range="skip", duplicates="first")
    assert result == [40, 2, 10, 4]
    assert (report.out_of_range, report.duplicates, report.first_duplicate[0]) == (1, 1, 2)


def gathered(operator, indices, dtype, **switches):
    data = np.array([[5], [6], [7]], np.uint8)
    indices = np.array(indices, schema.DATA_TYPES[dtype].dtype).reshape(-1, 1)
    counts = {"InputDimensionCount": 2, "IndicesDimensionCount": 2}
    attributes = {
        "GATHER": {"Axis": 0, "IndexDimensions": 2},
        "GATHER_ELEMENTS": {"Axis": 0},
        "GATHER_ND": counts,
        "GATHER_ND1": counts | {"BatchDimensionCount": 0},
    }[operator]
    if operator == "GATHER":
        data, indices, sizes = data[None], indices[None], (len(indices), 1, 1)
        attributes["Axis"] = 1
    else:
        sizes = (len(indices), 1)
    output = bytearray(-(-len(indices.ravel()) // 4) * 4)
    tensors = {
        "InputTensor": ("UINT8", data.shape),
        "IndicesTensor": (dtype, indices.shape),
        "OutputTensor": ("UINT8", sizes),
    }
    inputs = [data.tobytes() + bytes(1), indices]
    report = execute(OperatorDesc(operator, tensors, attributes), inputs, output, **switches)
    return list(output[: indices.size]), report


GATHERS = ["GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"]


@pytest.mark.parametrize("operator", GATHERS)
@pytest.mark.parametrize(
    ("dtype", "indices", "expected", "bad", "first"),
    [
        ("INT32", [0, 7, -9, -1], [5, 7, 5, 7], 2, 7),
        ("INT64", [-4, -(2**63), 2**63 - 1, -3], [5, 5, 7, 5], 3, -4),
        ("UINT32", [2**32 - 1, 2, 1, 0], [7, 7, 6, 5], 1, 2**32 - 1),
        ("UINT64", [2**64 - 1, 2**63, 1, 3], [7, 7, 6, 7], 3, 2**64 - 1),
    ],
)
def test_gather_out_of_range(operator, dtype, indices, expected, bad, first):
    result, report = gathered(operator, indices, dtype)
    assert result == expected
    assert (report.out_of_range, report.first_value) == (bad, first)
    with pytest.raises(sr.OutOfRangeError):
        gathered(operator, indices, dtype, out_of_range="raise")


def test_report_says_where():
    _, report = gathered("GATHER_ND", [0, 1, 5], "INT32")
    assert report.first_out_of_range == (2, 0)
    assert str(report) == "1 indices out of range, the first 5 at [2, 0]"
    assert str(Report()).startswith("nothing")


@pytest.mark.parametrize(
    ("case", "switch"),
    [
        (elements_case([0]), {"out_of_range": "wrap"}),
        (elements_case([0]), {"duplicates": "random"}),
    ],
)
def test_unknown_choice(case, switch):
    (name, value), *_ = switch.items()
    with pytest.raises(sr.ArgumentError, match=f"{name} '{value}'"):
        scattered(case, **switch)


def test_gather_does_not_skip():
    with pytest.raises(sr.ArgumentError, match="clamp, raise"):
        gathered("GATHER", [0], "INT32", out_of_range="skip")


def test_loose_shapes_compute():
    desc = good("GATHER")
    desc = changed(desc, "IndicesTensor", sizes=(1, 1, 7, 2))
    data = np.arange(60, dtype=np.float32).reshape(1, 5, 4, 3)
    indices = np.full((1, 1, 7, 2), 3, np.uint32)
    indices[0, 0, 0] = 2, 0
    output = np.empty((1, 5, 2, 3), np.float32)
    execute(desc, [data, indices], output, strict=False)
    np.testing.assert_array_equal(output, data[:, :, [2, 0]])


# --- buffers ----------------------------------------------------------------------------------


def test_payloads_of_nans_survive():
    words = np.array([0x7FA00001, 0xFFC12345, 0x80000000], np.uint32)  # the first one signals
    arrays = dict.fromkeys(("InputTensor", "OutputTensor"), words.view(np.float32))
    arrays["IndicesTensor"] = np.array([2, 1, 0], np.uint32)
    desc = OperatorDesc.from_arrays("GATHER_ELEMENTS", arrays, Axis=0)
    output = bytearray(12)
    execute(desc, [words.tobytes(), arrays["IndicesTensor"]], output)
    assert struct.unpack("<3I", output) == tuple(words[::-1].tolist())


def test_mapped_file(tmp_path):
    path = tmp_path / "tensors.bin"
    path.write_bytes(np.arange(3, dtype="<f4").tobytes() + bytes(52))
    tensors = dict.fromkeys(("InputTensor", "OutputTensor"), ("FLOAT32", (3,)))
    tensors["IndicesTensor"] = ("UINT32", (3,))
    desc = OperatorDesc("GATHER_ELEMENTS", tensors, {"Axis": 0})
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        inputs = [memory, np.array([2, 2, 1], np.uint32)]
        execute(desc, inputs, Binding(memory, 16, 12))
    assert np.fromfile(path, "<f4").tolist() == [0, 1, 2, 0, 2, 2, 1] + [0] * 9


def test_transposed_array_as_it_lies():
    data = np.arange(6, dtype=np.float64).reshape(2, 3).T
    output = np.zeros((3, 4), np.float64)[:, :2]
    indices = np.array([[2, 0]], np.int64).repeat(3, 0) % 3
    arrays = {"InputTensor": data, "IndicesTensor": indices, "OutputTensor": output}
    desc = OperatorDesc.from_arrays("GATHER_ELEMENTS", arrays, Axis=0)
    execute(desc, [data, indices], output)
    np.testing.assert_array_equal(output, np.take_along_axis(data, indices, 0))


SCATTER = good("SCATTER")
SIZES = {name: tensor.total_bytes for name, tensor in SCATTER.tensors.items()}


@pytest.mark.parametrize(
    ("binding", "rule"),
    [
        (None, "binding-buffer"),
        ("text", "binding-buffer"),
        (np.zeros((8, 8))[::-1], "binding-buffer"),
        (memoryview(bytes(960))[::2], "binding-buffer"),
        (np.array([object()]), "binding-buffer"),
        (Binding(bytes(240), -16), "binding-size"),
        (Binding(bytes(240), 0, -1), "binding-size"),
        (Binding(bytes(240), "0"), "binding-size"),
        (Binding(bytes(240), 0, 236), "binding-size"),
        (Binding(bytes(240), 0, 244), "binding-size"),
        (Binding(bytes(240), 2**70), "binding-size"),
        (Binding(bytes(1000), 24), "binding-offset"),
        (b"", "binding-size"),
        (np.zeros(0), "binding-size"),
    ],
)
def test_refused_buffer(binding, rule):
    inputs = [binding, bytearray(SIZES["IndicesTensor"]), bytearray(SIZES["UpdatesTensor"])]
    output = bytearray([POISON]) * SIZES["OutputTensor"]
    with pytest.raises(DescriptorError) as caught:
        execute(SCATTER, inputs, output)
    assert caught.value.rule == rule
    assert set(output) == {POISON}


def test_promised_alignment():
    desc = changed(SCATTER, "InputTensor", alignment=256)
    others = [bytes(SIZES[name]) for name in ("IndicesTensor", "UpdatesTensor")]
    output = bytearray(SIZES["OutputTensor"])
    with pytest.raises(DescriptorError, match="multiple of 256"):
        execute(desc, [Binding(bytes(1000), 128), *others], output)
    execute(desc, [Binding(bytes(1000), 256), *others], output)


@pytest.mark.parametrize("outputs", [[], [bytearray(240)] * 2, {"Output": bytearray(240)}])
def test_number_of_outputs(outputs):
    inputs = {name: bytes(SIZES[name]) for name in SIZES if name != "OutputTensor"}
    with pytest.raises(DescriptorError, match="binding-count"):
        execute(SCATTER, inputs, outputs)


def test_output_beside_an_input_in_one_buffer():
    buffer = bytearray(480)
    others = [bytes(SIZES[name]) for name in ("IndicesTensor", "UpdatesTensor")]
    execute(SCATTER, [buffer, *others], Binding(buffer, 240))
    for offset in (0, 224):
        with pytest.raises(DescriptorError, match="binding-overlap"):
            execute(SCATTER, [buffer, *others], Binding(buffer, offset))


def test_gaps_of_an_output_count_as_its_memory():
    tensors = dict(SCATTER.tensors)
    tensors["OutputTensor"] = tensors["OutputTensor"]._replace(total_bytes=256)
    buffer = bytearray(496)
    others = [bytes(SIZES[name]) for name in ("IndicesTensor", "UpdatesTensor")]
    with pytest.raises(DescriptorError, match="binding-overlap"):
        execute(replace(SCATTER, tensors=tensors), [Binding(buffer, 240), *others], buffer)


def test_identity_copies():
    tensors = dict.fromkeys(("InputTensor", "OutputTensor"), ("FLOAT16", (2, 2)))
    output = bytearray(8)
    execute(OperatorDesc("ELEMENT_WISE_IDENTITY", tensors), b"\x01\x7d345678", output)
    assert output == b"\x01\x7d345678"


def repeated_scatter(count, strides):
    """A scatter of `count` writes, whose indices and updates have the given strides."""
    sizes = ((1, 1, 1, 4), (1, 1, 1, count), (1, 1, 1, count), (1, 1, 1, 4))
    desc = good("SCATTER")
    for name, n in zip(desc.tensors, sizes, strict=True):
        desc = changed(desc, name, sizes=n)
    desc = changed(desc, "Axis", to=3)
    for name, step in strides.items():
        desc = changed(desc, name, strides=(0, 0, 0, step))
    return desc


@pytest.mark.parametrize("repeated", ["IndicesTensor", "UpdatesTensor"])
@pytest.mark.parametrize("count", [MOST_REPEATED + 1, 2**32 - 1])
def test_repeated_elements_are_bounded(repeated, count):
    """Four bytes can describe billions of writes."""
    desc = repeated_scatter(count, {"IndicesTensor": 0, "UpdatesTensor": 0})
    output = np.zeros(4, np.float32)
    buffers = {name: bytes(desc.tensors[name].total_bytes) for name in desc.tensors}
    del buffers["OutputTensor"]
    with pytest.raises(sr.ArgumentError, match=rf"IndicesTensor has {count} elements in 4 bytes"):
        execute(desc, buffers, output)
    assert not output.any()
    other = {"IndicesTensor": "UpdatesTensor", "UpdatesTensor": "IndicesTensor"}[repeated]
    if count == MOST_REPEATED + 1:
        desc = repeated_scatter(count, {repeated: 0})
        buffers[other] = np.zeros(count, np.uint32)
        with pytest.raises(sr.ArgumentError, match=f"{repeated} has {count} elements"):
            execute(desc, buffers, output)


def test_repeated_elements_of_a_gather_are_bounded_by_its_output():
    """Data of 2^32 - 1 elements in four bytes is fine: what is read is as much as is written."""
    desc = good("GATHER_ELEMENTS")
    sizes = ((1, 1, 1, 2**32 - 1), (1, 1, 1, 2), (1, 1, 1, 2))
    for name, n in zip(desc.tensors, sizes, strict=True):
        desc = changed(desc, name, sizes=n)
    desc = changed(desc, "InputTensor", strides=(0, 0, 0, 0))
    desc = changed(desc, "Axis", to=3)
    output = np.zeros(2, np.float32)
    execute(desc, [np.float32(7), np.array([0, 2**32 - 2], np.uint32)], output)
    assert output.tolist() == [7, 7]


def test_repeated_elements_within_the_bound_are_executed():
    desc = repeated_scatter(1 << 20, {"IndicesTensor": 0, "UpdatesTensor": 0})
    output = np.zeros(4, np.float32)
    report = execute(desc, [np.arange(4, dtype="f4"), np.uint32(2), np.float32(9)], output)
    assert output.tolist() == [0, 1, 9, 3]
    assert report.duplicates == (1 << 20) - 1
