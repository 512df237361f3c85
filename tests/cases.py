"""Tables and tools that several test files share.

Data files
----------
``data/vectors/*.jsonl`` and ``data/reports.jsonl`` hold one case a line: numbers read from the test
suites of other projects, and small restatements of what their users reported. A line has

id, source            its name, and where the numbers or the report come from
operator, opset       name of the function, and version of the ONNX domain for the ONNX classes
attributes            keyword arguments that differ from their default
inputs                name to tensor, in the order of the operator
result | error        the tensor to expect, or the class of the error; a result may list several
                      acceptable ``any_of``; ``mentions`` are words that the error must contain
oracle                in place of a result: compare with the reference loop, on some lines of the
                      last axis only when a ``sample`` of so many positions is enough
tolerance             relative, floor 1; without it every element is equal (NaN equals NaN)
exact_bits            signs of zero count too
only                  the single path that can decide the case (an opset only the classes know)
out                   the input whose memory receives the result; one that may not be overwritten
                      can be refused instead
run                   ``fork-after-run`` or ``concurrent-calls``
repeat, threads       repeat so often, under each number of threads
bitwise_repeatable    all of those results have the same bits
extra_bytes           memory that the call may use beside inputs and result
needs_bytes           memory that the case needs

A tensor is ``dtype``, ``shape`` and either flat ``values`` or a rule to ``generate`` them; its
``layout`` in memory may be ``F``, ``step2``, ``neg``, ``bcast:axis`` or ``offset:bytes``.

Reports on DirectML descriptors are in ``directml/test_run.py``.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import sowreap
from sowreap import _reference

DATA = Path(__file__).parent / "data"

ONNX_NAMES = {
    "gather": "Gather",
    "gather_elements": "GatherElements",
    "gather_nd": "GatherND",
    "scatter": "Scatter",
    "scatter_elements": "ScatterElements",
    "scatter_nd": "ScatterND",
    "tensor_scatter": "TensorScatter",
}
OPERATORS = tuple(ONNX_NAMES)
SCATTERS = tuple(name for name in OPERATORS if "scatter" in name)
REDUCERS = ("scatter_elements", "scatter_nd")
WITH_MODE = tuple(name for name in OPERATORS if name != "tensor_scatter")


def modes_of(operator: str) -> tuple[str, ...]:
    """What an index out of range may do; tensor_scatter has no such choice."""
    if operator == "tensor_scatter":
        return ("raise",)
    return ("raise", "wrap", "clip", "drop" if operator in SCATTERS else "fill")


INDEX_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ML_DTYPES = (
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
    "int2",
    "int4",
    "uint2",
    "uint4",
)
NUMBERS = (*INDEX_DTYPES, "bool", "float16", "float32", "float64", "longdouble", *ML_DTYPES)
COMPLEX = ("complex64", "complex128")
STRINGS = ("object", "U5", "S5", "StringDType")
# moved by width alone; several of the widths have no integer of their size
OPAQUE = ("V3", "V5", "V12", "record", "datetime64[us]", "timedelta64[s]", "clongdouble")
BIG_ENDIAN = (">i2", ">i4", ">u8", ">f2", ">f4", ">f8", ">c8", ">U3")
DTYPES = (*NUMBERS, *COMPLEX, *STRINGS, *OPAQUE, *BIG_ENDIAN)

RECORD = np.dtype([("weight", "f4"), ("label", "i2"), ("flag", "?")])  # 7 bytes, unaligned


def as_dtype(name: str) -> np.dtype[Any]:
    if name in ML_DTYPES:
        return np.dtype(getattr(ml_dtypes, name))
    if name == "StringDType":
        return np.dtypes.StringDType()
    return np.dtype({"string": "object"}.get(name, name)) if name != "record" else RECORD


# --- one way to call the public functions -------------------------------------------------------


def call(operator: str, inputs: dict[str, Any], attributes: dict[str, Any], **out: Any) -> Any:
    """Call a public function the way a user would: arrays by position, the rest by name."""
    return getattr(sowreap, operator)(*inputs.values(), **attributes, **out)


def call_reference(operator: str, inputs: dict[str, Any], attributes: dict[str, Any]) -> Any:
    return getattr(_reference, operator)(*inputs.values(), **attributes)


def call_onnx(operator: str, inputs: dict[str, Any], attributes: dict[str, Any], opset: int) -> Any:
    """Run the ONNX class of an operator on a node of its own."""
    helper = pytest.importorskip("onnx.helper", reason="the ONNX classes need the extra onnx")
    from sowreap.onnx import operators

    node = helper.make_node(ONNX_NAMES[operator], list(inputs), ["result"], **attributes)
    runner = getattr(operators, ONNX_NAMES[operator])(node, opset=opset)
    return runner.run(*inputs.values())[0]


def paste(operator: str, inputs: dict[str, Any], attributes: dict[str, Any]) -> str:
    """The call as a line to paste (after ``from numpy import array, nan, inf``)."""
    words = [literal(a) for a in inputs.values()] + [f"{k}={v!r}" for k, v in attributes.items()]
    return f"sowreap.{operator}({', '.join(words)})"


def literal(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    dtype = value.dtype
    kind = dtype.name if dtype.name in ML_DTYPES or dtype.kind == "T" else dtype.str
    if dtype.names:
        kind = str(dtype.descr)
    text = f"array({value.tolist()!r}, {kind!r}).reshape({value.shape})"
    return text if value.flags.c_contiguous else f"{text} with strides {value.strides}"


# --- comparing ----------------------------------------------------------------------------------


def is_nan(a: np.ndarray) -> np.ndarray:
    if a.dtype.kind != "f" and a.dtype.name not in ML_DTYPES:
        return np.zeros(a.shape, bool)
    with np.errstate(invalid="ignore"):
        return np.asarray(a != a)


def differing(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where two arrays of one shape and dtype differ, bit for bit; any NaN equals any NaN."""
    if got.dtype.kind in _reference.STRING_KINDS:
        return np.asarray(got != want)
    if got.dtype.kind == "c":
        return differing(got.real, want.real) | differing(got.imag, want.imag)
    if got.dtype == np.longdouble:  # carries padding
        bits = (got != want) | (np.signbit(got) != np.signbit(want))
    else:
        size = got.dtype.itemsize
        pairs = [np.frombuffer(a.tobytes(), np.uint8).reshape(a.size, size) for a in (got, want)]
        bits = (pairs[0] != pairs[1]).any(axis=1).reshape(got.shape)
    return np.asarray(bits & ~(is_nan(got) & is_nan(want)))


def assert_same(got: Any, want: np.ndarray) -> None:
    """Type, dtype, shape and bits."""
    assert isinstance(got, np.ndarray)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if got.dtype.kind not in _reference.STRING_KINDS and got.tobytes() == want.tobytes():
        return
    where = np.argwhere(differing(got, want))
    if where.size:
        at = tuple(where[0].tolist())
        raise AssertionError(
            f"{len(where)} of {got.size} elements differ, first at {at}: {got[at]!r} is not "
            f"{want[at]!r}"
        )


def assert_close(got: Any, want: np.ndarray, tolerance: float, exact_bits: bool = False) -> None:
    """Equal values (zeros of either sign, NaN), or near ones where there is a tolerance."""
    if exact_bits:
        return assert_same(got, want)
    assert got.shape == want.shape
    if want.dtype.kind == "O":
        assert got.tolist() == want.tolist()
        return None
    assert got.dtype == want.dtype
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    exact = want.dtype.kind in "biu"
    got, want = (a if exact else a.astype(wide) for a in (got, want))
    with np.errstate(invalid="ignore"):
        near = (got == want) | (is_nan_pair(got, want))
        if tolerance:
            near |= np.abs(got - want) <= tolerance * np.maximum(1, np.abs(want))
    assert near.all(), f"{got[~near][:4]} is not {want[~near][:4]}"
    return None


def is_nan_pair(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    return np.asarray((got != got) & (want != want))


# --- memory layouts -----------------------------------------------------------------------------

GUARD = 64
POISON = 0xA5


@dataclass
class Placed:
    """An array in a memory layout of choice, inside a buffer with guard bytes."""

    array: np.ndarray
    buffer: np.ndarray

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(literal(self.array))

    def snapshot(self) -> Any:
        """What the whole buffer holds: elements, gaps and guards."""
        return self.buffer.tolist() if self.buffer.dtype != np.uint8 else self.buffer.tobytes()

    def beside(self) -> Any:
        """What the buffer holds beside the elements of the array."""
        if self.buffer.dtype != np.uint8:
            return None
        if self.array.size == 0:
            return self.buffer.tobytes()
        copy = self.buffer.copy()
        offset = self.array.__array_interface__["data"][0] - self.buffer.ctypes.data
        twin = np.ndarray(
            self.array.shape,
            [("item", f"V{self.array.itemsize}")],
            buffer=copy,
            offset=offset,
            strides=self.array.strides,
        )
        twin["item"] = b""
        return copy.tobytes()


def place(
    values: np.ndarray,
    order: tuple[int, ...] | None = None,
    steps: tuple[int, ...] | None = None,
    repeat: tuple[int, ...] = (),
    offset: int = 0,
) -> Placed:
    """Copy `values` into a new buffer.

    `order` lists the axes from the slowest to the fastest in memory, `steps` the step on each axis
    (negative runs backwards), `repeat` the axes of stride 0 (along which values must be constant),
    and `offset` the bytes by which the buffer is out of line.
    """
    order = order or tuple(range(values.ndim))
    steps = steps or (1,) * values.ndim
    stored = [1 if d in repeat else values.shape[d] * abs(steps[d]) for d in order]
    if values.dtype.hasobject or values.dtype.kind == "T":
        buffer = base = np.full(stored, "?", values.dtype)
    else:
        size = math.prod(stored) * values.dtype.itemsize
        buffer = np.full(GUARD + offset + size + GUARD, POISON, np.uint8)
        base = np.ndarray(stored, values.dtype, buffer=buffer, offset=GUARD + offset)
    view = base.transpose(sorted(range(len(order)), key=order.__getitem__)) if order else base
    view = view[(..., *(slice(None, None, 1 if d in repeat else s) for d, s in enumerate(steps)))]
    one_each = tuple(slice(0, 1) if d in repeat else slice(None) for d in range(values.ndim))
    view[...] = values[one_each]
    return Placed(np.broadcast_to(view, values.shape) if repeat else view, buffer)


def place_as(values: np.ndarray, layout: str) -> Placed:
    """`place` with the layout words of the data files."""
    word, _, number = layout.partition(":")
    match word:
        case "":
            return place(values)
        case "F":
            return place(values, order=tuple(reversed(range(values.ndim))))
        case "step2":
            return place(values, steps=(1,) * (values.ndim - 1) + (2,))
        case "neg":
            return place(values, steps=(-1,) + (1,) * (values.ndim - 1))
        case "bcast":
            return place(values, repeat=(int(number),))
        case "offset":
            return place(values, offset=int(number))
    raise ValueError(layout)


# --- cases from the data files ------------------------------------------------------------------


@dataclass
class Case:
    """One line of a data file; the head of this module explains the fields."""

    id: str
    source: str
    operator: str
    opset: int
    inputs: dict[str, dict[str, Any]]
    attributes: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    result: dict[str, Any] | None = None
    error: str | None = None
    mentions: tuple[str, ...] = ()
    oracle: dict[str, int] | None = None
    tolerance: float = 0
    exact_bits: bool = False
    only: str | None = None
    out: str | None = None
    run: str | None = None
    repeat: int = 1
    threads: tuple[int | None, ...] = (None,)
    bitwise_repeatable: bool = False
    extra_bytes: int | None = None
    needs_bytes: int = 0

    def place_inputs(self) -> dict[str, Placed]:
        return {
            name: place_as(decode(tensor), tensor.get("layout", ""))
            for name, tensor in self.inputs.items()
        }

    def make_judge(self, inputs: dict[str, np.ndarray]) -> Callable[[Any], None]:
        """A function that fails unless its argument is the right result."""
        if self.oracle is not None:
            lines = sampled_lines(self, inputs)
            want = call_reference(self.operator, take_lines(inputs, lines), self.attributes)
            return lambda got: assert_close(
                got if lines is None else got[..., lines], want, self.tolerance, self.exact_bits
            )
        assert self.result is not None
        lists = self.result.get("any_of", [self.result.get("values")])
        wants = [decode({**self.result, "values": values}) for values in lists]

        def judge(got: Any) -> None:
            for want in wants[:-1]:
                try:
                    return assert_close(got, want, self.tolerance, self.exact_bits)
                except AssertionError:
                    pass
            return assert_close(got, wants[-1], self.tolerance, self.exact_bits)

        return judge


PATHS: dict[str, Callable[..., Any]] = {
    "functions": lambda case, inputs, **out: call(case.operator, inputs, case.attributes, **out),
    "onnx": lambda case, inputs: call_onnx(case.operator, inputs, case.attributes, case.opset),
    "reference": lambda case, inputs: call_reference(case.operator, inputs, case.attributes),
}


def sampled_lines(case: Case, inputs: dict[str, np.ndarray]) -> np.ndarray | None:
    """Evenly spread positions of the last axis, first and last among them, that hold a sample.

    Lines of the last axis are independent of each other in the *Elements operators when they run
    along another axis.
    """
    if not (case.oracle and "sample" in case.oracle and case.operator.endswith("_elements")):
        return None
    indices = inputs["indices"]
    width = indices.shape[-1]
    assert case.attributes.get("axis", 0) % indices.ndim != indices.ndim - 1
    count = min(width, max(2, -(-case.oracle["sample"] * width // indices.size)))
    return np.unique(np.linspace(0, width - 1, count).astype(np.int64))


def take_lines(inputs: dict[str, np.ndarray], lines: np.ndarray | None) -> dict[str, np.ndarray]:
    return inputs if lines is None else {name: a[..., lines] for name, a in inputs.items()}


def load_cases(name: str) -> list[Case]:
    """All cases of a file, or of all files of a folder, under ``tests/data``."""
    path = DATA / name
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    return [Case(**json.loads(line)) for file in files for line in file.read_text().splitlines()]


def decode(tensor: dict[str, Any]) -> np.ndarray:
    """The array that a tensor of a data file stands for, in row-major layout."""
    dtype, shape = as_dtype(tensor["dtype"]), tuple(tensor["shape"])
    if "generate" in tensor:
        return generate(tensor["generate"], int(np.prod(shape)), dtype).reshape(shape)
    values = tensor["values"]
    if dtype.kind == "O":
        flat = np.empty(len(values), object)
        flat[:] = values
    elif dtype.kind == "c":
        flat = np.array([complex(*pair) for pair in values], dtype)
    elif dtype.kind in "biu":
        flat = np.array(values, dtype)  # all 64 bits: never by way of a float
    else:
        flat = np.array([float(v) for v in values], np.float64).astype(dtype)
    return flat.reshape(shape)


def generate(rule: str, size: int, dtype: np.dtype[Any]) -> np.ndarray:
    """``zeros``, ``ones``, ``arange``, ``randint:low:high:seed`` or ``uniform:seed``."""
    word, *numbers = rule.split(":")
    if word in ("zeros", "ones"):
        return np.full(size, word == "ones").astype(dtype)
    if word == "arange":
        return np.arange(size).astype(dtype)
    rng = np.random.default_rng(int(numbers[-1]))
    if word == "uniform":
        return rng.random(size).astype(dtype)
    assert word == "randint"
    flat = np.empty(size, dtype)
    for start in range(0, size, 1 << 20):  # equals one draw, without eight bytes for every item
        stop = min(start + (1 << 20), size)
        flat[start:stop] = rng.integers(int(numbers[0]), int(numbers[1]), size=stop - start)
    return flat


def mentions(text: str, word: str) -> bool:
    """Whether `word` occurs; a number only as a number of its own, with its sign."""
    if not re.fullmatch(r"-?\d+", word):
        return word.lower() in text.lower()
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?!\w|\.\d)", text) is not None


def memory_available() -> int:
    """Bytes that can be allocated without swapping."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux: fall back on what is installed
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# --- values for generated tests -----------------------------------------------------------------


def random_values(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Values of any dtype in which ties, NaN, infinities, -0.0 and extremes are common."""
    size = math.prod(shape)
    if dtype.kind in _reference.STRING_KINDS:
        words = ["", "a", "ab", "é", "zebra"] if dtype.kind != "S" else [b"", b"a", b"xyz", b"\xff"]
        flat = np.array([words[k] for k in rng.integers(0, len(words), size)], dtype)
    elif dtype.kind == "c":
        part = dtype.type(0).real.dtype
        flat = np.empty(size, dtype)
        flat.real, flat.imag = (random_values(rng, part, (size,)) for _ in range(2))
    elif dtype.kind == "f" and dtype.itemsize > 1:
        special = [0.0, -0.0, 1.0, -1.0, 0.1, 3.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max]
        flat = np.array(special, np.longdouble)[rng.integers(0, len(special), size)].astype(dtype)
        plain = rng.random(size) < 0.5
        flat[plain] = rng.normal(size=size)[plain].astype(dtype)
    elif dtype.name in ML_DTYPES:
        flat = random_codes(rng, dtype, size)
    elif dtype.kind == "b" or dtype.names:
        flat = np.empty(size, dtype)
        for part in [flat] if not dtype.names else [flat[name] for name in dtype.names]:
            part[...] = rng.integers(0, 2, size)
    else:
        flat = rng.integers(0, 256, size * dtype.itemsize, dtype=np.uint8).view(dtype)
        if dtype.kind in "iu":
            small = rng.random(size) < 0.5
            flat[small] = rng.integers(0, 4, size)[small]
    return flat.reshape(shape)


def random_codes(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Any code of a type of ml_dtypes; the ones of less than a byte have their value range."""
    if "int" in dtype.name:
        low, high = ml_dtypes.iinfo(dtype).min, ml_dtypes.iinfo(dtype).max
        return rng.integers(low, high + 1, size).astype(np.int8).astype(dtype)
    bits = ml_dtypes.finfo(dtype).bits
    codes = rng.integers(0, 1 << bits, size)
    return codes.astype(f"u{dtype.itemsize}").view(dtype)


def every_code(dtype: np.dtype[Any]) -> np.ndarray:
    """Every value of a one-byte dtype, in the order of its codes."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.name in ML_DTYPES and "int" in dtype.name:
        info = ml_dtypes.iinfo(dtype)
        return np.arange(info.min, info.max + 1, dtype=np.int8).astype(dtype)
    bits = ml_dtypes.finfo(dtype).bits if dtype.name in ML_DTYPES else 8
    return np.arange(1 << bits, dtype=np.uint8).view(dtype)


def reductions_of(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """The reductions that a dtype has; foreign byte order moves, and is refused otherwise."""
    return _reference.allowed_reductions(dtype) if dtype.isnative else ("none",)


def sample_call(
    operator: str, dtype: np.dtype[Any], scale: int = 1, seed: int = 0
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A good call with repeated indices: inputs, and the attributes without a reduction."""
    rng = np.random.default_rng(seed)

    def values(*shape: int) -> np.ndarray:
        return random_values(rng, dtype, shape)

    n = 6 * scale
    match operator:
        case "gather":
            return {"data": values(n, 4, 5), "indices": rng.integers(-n, n, (3, n))}, {"axis": 0}
        case "gather_elements":
            return {"data": values(4, n, 5), "indices": rng.integers(-n, n, (4, n, 5))}, {"axis": 1}
        case "gather_nd":
            return {"data": values(n, 4, 5), "indices": rng.integers(-4, 4, (3, n, 2))}, {}
        case "scatter" | "scatter_elements":
            indices = rng.integers(-n, n, (4, n, 5))
            return {"data": values(4, n, 5), "indices": indices, "updates": values(4, n, 5)}, {
                "axis": 1
            }
        case "scatter_nd":
            indices = rng.integers(-n, n, (n, 3, 1))
            return {"data": values(n, 5), "indices": indices, "updates": values(n, 3, 5)}, {}
        case "tensor_scatter":
            starts = rng.integers(0, n, 4)
            cache = {"past_cache": values(4, 2, n, 5), "update": values(4, 2, 2, 5)}
            return {**cache, "write_indices": starts}, {"mode": "circular"}
    raise ValueError(operator)
