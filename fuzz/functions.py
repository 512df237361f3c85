#!/usr/bin/env python3
"""An atheris target: bytes to a call of a public function, on views that may overlap in any way.

A call either gives what the loop of the standard gives, or raises an error of ours and changes
nothing. Beside `out` no byte of any buffer changes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris
import ml_dtypes
import numpy as np

import sowreap
from instrument import instrument
from sowreap import _reference

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cases import assert_same

OPERATORS = {
    "gather": ("data", "indices"),
    "gather_elements": ("data", "indices"),
    "gather_nd": ("data", "indices"),
    "scatter": ("data", "indices", "updates"),
    "scatter_elements": ("data", "indices", "updates"),
    "scatter_nd": ("data", "indices", "updates"),
    "tensor_scatter": ("past_cache", "update", "write_indices"),
}
# bool is left out: NumPy's assignments, which the reference makes, turn any byte into 0 or 1
NUMBERS = ("f4", "f8", "i8", "i4", "u1", "f2", "c8", "i1", "u2", "V3", ">f4", "M8[s]")
SMALL = (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu)
INDICES = ("i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "f4", ">i8")
BUFFER = 512
MOST_ITEMS = 300


class Drawn(Exception):
    """The bytes make no call."""


class Source:
    """Choices from the bytes of the fuzzer."""

    def __init__(self, data: bytes) -> None:
        self.bytes = atheris.FuzzedDataProvider(data)
        rng = np.random.default_rng(self.below(1 << 16))
        self.buffers = [rng.integers(0, 256, BUFFER, np.uint8) for _ in range(3)]

    def below(self, n: int) -> int:
        """Choose a number in [0, n)."""
        return self.bytes.ConsumeIntInRange(0, n - 1)

    def pick(self, choices):
        """Choose one of a sequence."""
        return choices[self.below(len(choices))]

    def shape(self) -> tuple[int, ...]:
        """Choose up to four small sizes."""
        return tuple(self.pick((2, 3, 1, 4, 0, 7)) for _ in range(self.below(5)))

    def array(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Any place, and any strides that stay in the buffer."""
        if np.prod(shape, dtype=int) > MOST_ITEMS:
            raise Drawn
        strides = None
        if self.below(3) == 0:
            step = dtype.itemsize if self.below(4) else 1
            strides = tuple(step * (self.below(17) - 5) for _ in shape)
        offset = self.below(BUFFER // 2) if self.below(2) else self.below(8) * 64
        try:
            buffer = self.pick(self.buffers)
            return np.ndarray(shape, dtype, buffer, offset, strides)
        except (ValueError, TypeError):
            raise Drawn from None

    def indices(self, shape: tuple[int, ...]) -> np.ndarray:
        """Make an array of indices, mostly of an integer dtype and with small values."""
        array = self.array(np.dtype(self.pick(INDICES)), shape)
        if array.size and self.below(4):
            limit = 1 + self.below(7)  # most indices are small, so that most calls are good
            with np.errstate(all="ignore"):
                array[...] = np.abs(array.astype("f8")) % limit
        return array


def shapes(source: Source, operator: str, axis: int):
    """Mostly shapes that the operator takes."""
    data = source.shape()
    if source.below(8) == 0:
        return data, source.shape(), source.shape()
    rank = len(data)
    match operator:
        case "gather":
            return data, source.shape()[:2], ()
        case "gather_elements" | "scatter" | "scatter_elements":
            indices = list(data)
            if rank and -rank <= axis < rank:
                indices[axis] = source.below(6)
            return data, tuple(indices), tuple(indices)
        case "tensor_scatter":
            update = list(data)
            if rank and -rank <= axis < rank:
                update[axis] = min(update[axis], source.below(4))
            return data, tuple(update), data[:1]
    depth = source.below(rank + 1)
    rows = source.shape()[:2]
    if operator == "gather_nd":
        return data, (*data[:axis], *rows, source.below(rank + 1)), ()
    return data, (*rows, depth), (*rows, *data[depth:])


def draw_attributes(source: Source, operator: str) -> dict[str, object]:
    """Choose attributes, good ones and others."""
    attributes: dict[str, object] = {}
    key = "batch_dims" if operator == "gather_nd" else "axis"
    if operator != "scatter_nd" and source.below(3):
        attributes[key] = source.pick((0, 1, -1, 2, -2, 3, 7, 2**70))
    if operator in ("scatter_elements", "scatter_nd"):
        attributes["reduction"] = source.pick(("none", "add", "mul", "min", "max", "mean", "sum"))
        if source.below(4) == 0:
            attributes["include_self"] = False
    if operator == "tensor_scatter":
        attributes["mode"] = source.pick(("linear", "circular", "raise"))
    elif source.below(3) == 0:
        attributes["mode"] = source.pick(("wrap", "clip", "fill", "drop", "near"))
    return attributes


def fuzz(data: bytes) -> None:
    """Make one call and hold it to the promises."""
    source = Source(data)
    operator = source.pick(list(OPERATORS))
    attributes = draw_attributes(source, operator)
    axis = attributes.get("axis", attributes.get("batch_dims", -2 if "tensor" in operator else 0))
    try:
        sizes = shapes(source, operator, int(axis) if abs(int(axis)) < 8 else 0)
        dtype = np.dtype(source.pick((*NUMBERS, *SMALL)))
        other = dtype if source.below(8) else np.dtype(source.pick(NUMBERS))
        arrays = [source.array(dtype, sizes[0])]
        if operator == "tensor_scatter":
            arrays.append(source.array(other, sizes[1]))
            if source.below(3):
                arrays.append(source.indices(sizes[2]))
        else:
            arrays.append(source.indices(sizes[1]))
            if len(OPERATORS[operator]) == 3:
                arrays.append(source.array(other, sizes[2]))
        out = draw_out(source, arrays[0], sizes, operator)
    except Drawn:
        return
    if operator.startswith("gather") and attributes.get("mode") == "fill" and source.below(2):
        attributes["fill_value"] = source.array(dtype, ())[()]
    sowreap.set_num_threads(1 + source.below(3))
    check(operator, arrays, attributes, out, source.buffers)


def draw_out(source: Source, data: np.ndarray, sizes, operator: str) -> np.ndarray | None:
    """Choose no output, data itself, or any array."""
    match source.below(4):
        case 0:
            return None
        case 1:
            return data
    shape = sizes[1] if operator == "gather_elements" else sizes[0]
    return source.array(data.dtype, shape)


def check(operator, arrays, attributes, out, buffers) -> None:
    """Hold a call to what the reference gives."""
    before = [buffer.copy() for buffer in buffers]
    try:
        want = getattr(_reference, operator)(*[a.copy() for a in arrays], **attributes)
    except (sowreap.SowreapError, TypeError, OverflowError) as error:
        want = error
    keywords = {} if out is None else {"out": out}
    try:
        got = getattr(sowreap, operator)(*arrays, **attributes, **keywords)
    except (sowreap.SowreapError, MemoryError) as error:
        got = error
    if isinstance(got, Exception):
        refusable = out is not None or not all(a.dtype.isnative for a in arrays)
        assert refusable or isinstance(want, Exception), f"refused: {got}"
        assert unchanged(buffers, before), f"changed, though refused: {got}"
        return
    assert not isinstance(want, Exception), f"accepted, but {want!r}"
    if out is None:
        assert unchanged(buffers, before), "an input changed"
    else:
        assert got is out
    assert_same(got, want)
    if out is not None:
        check_beside(out, buffers, before)


def unchanged(buffers, before) -> bool:
    """Return whether no byte changed."""
    return all(np.array_equal(a, b) for a, b in zip(buffers, before, strict=True))


def check_beside(out, buffers, before) -> None:
    """No byte changed but those of the items of `out`."""
    for buffer, old in zip(buffers, before, strict=True):
        changed = np.flatnonzero(buffer != old)
        if not changed.size:
            continue
        mask = np.zeros(BUFFER, bool)
        start = out.__array_interface__["data"][0] - buffer.ctypes.data
        assert 0 <= start <= BUFFER, "an array beside out changed"
        for position in np.ndindex(out.shape):
            at = start + sum(p * s for p, s in zip(position, out.strides, strict=True))
            mask[at : at + out.itemsize] = True
        assert mask[changed].all(), "bytes beside out changed"


if __name__ == "__main__":
    instrument("sowreap", "__main__")
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
