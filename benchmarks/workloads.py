"""The workloads: shapes that users reported, and the families that show how time grows.

Shapes marked with a project and a number are those of public reports there. Indices are random
unless the name says otherwise. Where all items of a row have one index, "stored" has it once for
each item, as exporters write it, for every engine to read; "stride 0" has it once for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from sowreap._bench.workload import Arrays, Workload, draw, picks


def elements(
    data: tuple[int, ...],
    indices: tuple[int, ...],
    axis: int = 0,
    dtype: Any = np.float32,
    kind: str = "random",
    updates: bool = True,
) -> Callable[[np.random.Generator], Arrays]:
    def make(rng: np.random.Generator) -> Arrays:
        arrays = (draw(rng, data, dtype), picks(rng, indices, data[axis], kind))
        return (*arrays, draw(rng, indices, dtype)) if updates else arrays

    return make


def rows(
    cells: int,
    width: int,
    count: int,
    dtype: Any = np.float32,
    kind: str = "random",
    stored: bool = True,
) -> Callable[[np.random.Generator], Arrays]:
    """Row indices expanded over the columns, as exporters write them: stored, or by stride 0."""

    def make(rng: np.random.Generator) -> Arrays:
        index = np.broadcast_to(picks(rng, (count,), cells, kind)[:, None], (count, width))
        if stored:
            index = np.ascontiguousarray(index)
        return draw(rng, (cells, width), dtype), index, draw(rng, (count, width), dtype)

    return make


def taken(
    data: tuple[int, ...], count: int, axis: int = 0, dtype: Any = np.float32, kind: str = "random"
) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: (draw(rng, data, dtype), picks(rng, (count,), data[axis], kind))


def tuples(
    data: tuple[int, ...], count: int, k: int = 1, dtype: Any = np.float32, kind: str = "random"
) -> Callable[[np.random.Generator], Arrays]:
    def make(rng: np.random.Generator) -> Arrays:
        columns = [picks(rng, (count, 1), data[axis], kind) for axis in range(k)]
        shape = (count, *data[k:])
        return draw(rng, data, dtype), np.concatenate(columns, axis=1), draw(rng, shape, dtype)

    return make


def batched_tuples(rng: np.random.Generator) -> Arrays:
    index = np.stack([rng.integers(0, n, (2, 16, 16)) for n in (64, 56, 56)], axis=-1)
    return draw(rng, (2, 64, 56, 56), np.int32), index


def from_mask(rng: np.random.Generator) -> Arrays:
    mask = rng.random((1000, 100)) < 0.5
    index = np.argwhere(mask)
    return draw(rng, (1000, 100), np.float32), index, draw(rng, (len(index),), np.float32)


def triangle(rng: np.random.Generator) -> Arrays:
    lower = np.flatnonzero(np.tri(79, dtype=bool))
    index = np.ascontiguousarray(np.broadcast_to(lower, (8000, len(lower))))
    return draw(rng, (8000, 6241), np.float32), index, draw(rng, index.shape, np.float32)


def outer_product(rng: np.random.Generator) -> Arrays:
    first, second = np.sort(rng.integers(0, 10000, (2, 1000)), axis=1)
    index = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1)
    return draw(rng, (10000, 10000), np.int32), index


def one_each(rng: np.random.Generator) -> Arrays:
    index = np.stack([np.arange(256), rng.integers(0, 1000, 256)], axis=1)
    return draw(rng, (256, 1000), np.float32), index


def expanded_last(dtype: Any, stored: bool) -> Callable[[np.random.Generator], Arrays]:
    def make(rng: np.random.Generator) -> Arrays:
        shape = (10, 128, 50, 50)
        index = np.broadcast_to(rng.integers(0, 50, 50), shape)
        if stored:
            index = np.ascontiguousarray(index)
        return draw(rng, shape, dtype), index, draw(rng, shape, dtype)

    return make


def window(dtype: Any) -> Callable[[np.random.Generator], Arrays]:
    def make(rng: np.random.Generator) -> Arrays:
        return (
            draw(rng, (100, 1_000_000), dtype),
            rng.integers(500_000, 500_004, (100, 300_000)),
            draw(rng, (100, 300_000), dtype),
        )

    return make


def cache(dtype: Any) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: (
        draw(rng, (1, 8, 4096, 128), dtype),
        draw(rng, (1, 8, 1, 128), dtype),
        np.array([1234]),
    )


def scatters(name: str, make: Any, source: str = "", **options: Any) -> Workload:
    return Workload(name, "scatter_elements", make, options, source)


def expanded(
    name: str, make: Callable[[bool], Any], source: str, **options: Any
) -> Iterator[Workload]:
    """A scatter whose indices are one of each row, twice: stored for each item, and by stride 0."""
    for stored in (True, False):
        form = "stored" if stored else "stride 0"
        yield scatters(f"{name}, {form}", make(stored), source, **options)


def rows_of(
    cells: int, width: int, count: int, dtype: Any = np.float32, kind: str = "random"
) -> Callable[[bool], Any]:
    return lambda stored: rows(cells, width, count, dtype, kind, stored)


def reports() -> Iterator[Workload]:
    image = (2, 64, 56, 56)
    add = "add"
    yield scatters(
        "elements of (556416, 80)",
        elements((556416, 80), (481385, 80)),
        "onnxruntime 28584",
        reduction=add,
    )
    yield from expanded(
        "edges of a graph", rows_of(135361, 256, 477263), "pytorch 82703", reduction=add
    )
    yield Workload(
        "gather of (1, 4, 353, 128), axis 1",
        "gather_elements",
        elements((1, 4, 353, 128), (1, 4, 353, 128), 1, updates=False),
        {"axis": 1},
        "onnxruntime 11195",
    )
    for axis, dtype, reduction in (
        (0, np.float32, "none"),
        (1, np.int32, add),
        (-2, np.int64, "mul"),
        (2, np.float32, "max"),
    ):
        yield scatters(
            f"image, axis {axis}, {reduction}",
            elements(image, image, axis, dtype),
            "onnxruntime 27139",
            axis=axis,
            reduction=reduction,
        )
    yield Workload(
        "scatter of (2, 64, 28, 28)",
        "scatter",
        elements((2, 64, 28, 28), (2, 64, 28, 28), 1),
        {"axis": 1},
        "onnxruntime 27140",
    )
    yield Workload(
        "tuples with a batch", "gather_nd", batched_tuples, {"batch_dims": 1}, "onnxruntime 27053"
    )
    yield scatters(
        "1e5 into 1000, float64",
        elements((1000,), (100000,), dtype=np.float64),
        "numpy 5922",
        reduction=add,
    )
    for name, make, reduction in (
        ("1e5 rows into 100", rows_of(100, 64, 100000), add),
        ("1e6 rows into 10", rows_of(10, 64, 1_000_000), add),
        ("1e4 rows into 1000", rows_of(1000, 64, 10000), add),
        ("1e5 rows into 100, max", rows_of(100, 64, 100000), "max"),
    ):
        yield from expanded(name, make, "mlx 506", reduction=reduction)
    yield Workload("1e5 rows of 100", "gather", taken((100, 64), 100000), source="mlx 518")
    yield Workload("1e6 rows of 10", "gather", taken((10, 64), 1_000_000), source="mlx 518")
    yield Workload(
        "1e5 rows of (100, 1024)", "gather", taken((100, 1024), 100000), source="mlx 682"
    )
    yield scatters("lower triangles", triangle, "jax 695", axis=1, reduction=add)
    yield from expanded("41k rows into 399", rows_of(399, 128, 40960), "xla 46225", reduction=add)
    yield from expanded(
        "41k rows into one", rows_of(399, 128, 40960, kind="equal"), "jax 38806", reduction=add
    )
    for axis in (0, 1):
        yield Workload(
            f"4096 of (4096, 5120), axis {axis}",
            "gather",
            taken((4096, 5120), 4096, axis),
            {"axis": axis},
            "pytorch 151612",
        )
    yield Workload(
        "4096 of (4096, 5120), bfloat16",
        "gather",
        taken((4096, 5120), 4096, 0, ml_dtypes.bfloat16),
        source="pytorch 151612",
    )
    for dtype in (np.float32, ml_dtypes.bfloat16):
        yield from expanded(
            f"last axis of 50, {np.dtype(dtype)}",
            partial(expanded_last, dtype),
            "pytorch 88729",
            axis=-1,
            reduction=add,
        )
    yield Workload("4000 rows of 200", "gather", taken((200, 64), 4000), source="numpy 31940")
    for dtype in (np.float32, np.float16):
        yield Workload(
            f"one row of a cache, {np.dtype(dtype)}",
            "tensor_scatter",
            cache(dtype),
            {"axis": 2},
            "onnx 7114",
            in_place=True,
        )
    yield Workload("cells of a mask", "scatter_nd", from_mask, source="pytorch 57515")
    yield Workload("outer product", "gather_nd", outer_product, source="dask 11018")
    yield Workload("one of each row", "gather_nd", one_each, source="tinygrad 4521")
    yield Workload(
        "one row of (4, 65536)", "gather", taken((4, 65536), 1), source="onnxruntime 17625"
    )
    for dtype in (np.float32, np.float16):
        yield scatters(
            f"window of four cells, {np.dtype(dtype)}",
            window(dtype),
            "pytorch_scatter 279",
            axis=1,
            reduction=add,
        )
    for dtype in (ml_dtypes.bfloat16, np.float16, np.int32, np.int64):
        yield from expanded(
            f"5e5 rows, min, {np.dtype(dtype)}",
            rows_of(100_000, 128, 500_000, dtype),
            "pytorch 183594",
            reduction="min",
        )
    yield Workload(
        "gather of (256, 8192), axis 0",
        "gather_elements",
        elements((256, 8192), (256, 8192), updates=False),
        source="pytorch 34690",
    )


def families() -> Iterator[Workload]:
    n = 4096
    square = (n, n)

    def member(
        name: str, operator: str, make: Any, in_place: bool = False, **options: Any
    ) -> Workload:
        return Workload(name, operator, make, options, family="families", in_place=in_place)

    for axis in (0, 1):
        yield member(
            f"gather_elements 4096², axis {axis}",
            "gather_elements",
            elements(square, square, axis, updates=False),
            axis=axis,
        )
        for reduction in ("none", "add", "max", "mul"):
            yield member(
                f"scatter_elements 4096², axis {axis}, {reduction}",
                "scatter_elements",
                elements(square, square, axis),
                axis=axis,
                reduction=reduction,
            )
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float64, np.int64, np.uint8):
        yield member(
            f"scatter_elements 2048², axis 0, add, {np.dtype(dtype)}",
            "scatter_elements",
            elements((2048, 2048), (2048, 2048), 0, dtype),
            reduction="add",
        )
    yield member(
        "gather_elements (1e6, 16)",
        "gather_elements",
        elements((1_000_000, 16), (1_000_000, 16), updates=False),
    )
    yield member(
        "scatter_elements (1e6, 16), add",
        "scatter_elements",
        elements((1_000_000, 16), (1_000_000, 16)),
        reduction="add",
    )
    short = ((1_000_000, 8), (1_000_000, 2), 1)
    yield member(
        "gather_elements, two of eight", "gather_elements", elements(*short, updates=False), axis=1
    )
    yield member(
        "scatter_elements, two of eight, add",
        "scatter_elements",
        elements(*short),
        axis=1,
        reduction="add",
    )
    yield member("gather 1e6 rows of 4", "gather", taken((1_000_000, 4), 1_000_000))
    for kind in ("random", "sorted", "equal"):
        yield member(
            f"gather 8e6 of 16e6, {kind}", "gather", taken((16_000_000,), 8_000_000, kind=kind)
        )
        yield member(
            f"scatter_elements 8e6 into 16e6, add, {kind}",
            "scatter_elements",
            elements((16_000_000,), (8_000_000,), kind=kind),
            reduction="add",
        )
    yield member(
        "histogram, 8e6 into 1000",
        "scatter_elements",
        elements((1000,), (8_000_000,), dtype=np.int64),
        reduction="add",
    )
    for kind in ("random", "sorted", "equal"):
        yield member(
            f"scatter_nd 500k rows of 64, add, {kind}",
            "scatter_nd",
            tuples((1_000_000, 64), 500_000, kind=kind),
            in_place=True,
            reduction="add",
        )
    for reduction in ("none", "max"):
        yield member(
            f"scatter_nd 500k rows of 64, {reduction}",
            "scatter_nd",
            tuples((1_000_000, 64), 500_000),
            in_place=True,
            reduction=reduction,
        )
    yield member("gather 500k rows of 64", "gather", taken((1_000_000, 64), 500_000))
    yield member("gather_nd pairs", "gather_nd", lambda r: tuples(square, 2_000_000, 2)(r)[:2])
    for size in (8, 256):
        yield member(f"gather {size} of {size}", "gather", taken((size,), size))
        yield member(
            f"scatter_elements {size} into {size}, add",
            "scatter_elements",
            elements((size,), (size,)),
            reduction="add",
        )


def all_workloads() -> list[Workload]:
    return [*reports(), *families()]
