"""The same call in other libraries: what a user of each would write.

A maker gets a workload and its arrays and returns a function without arguments that makes a fresh
result (or changes its own copy in place where the workload does), or None where the library has no
such call.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sowreap._bench.workload import Array, Arrays, Workload

Call = Callable[[], Any]


def axis_of(workload: Workload) -> int:
    return int(workload.options.get("axis", 0))


def row_index(workload: Workload, arrays: Arrays) -> Array | None:
    """The one-dimensional index that a caller has, where `indices` is a view that repeats it."""
    indices = arrays[1]
    if workload.operator == "scatter_nd":
        return indices[:, 0] if indices.ndim == 2 and indices.shape[1] == 1 else None
    if workload.operator != "scatter_elements" or indices.ndim < 2:
        return None
    axis = axis_of(workload) % indices.ndim
    others = [d for d in range(indices.ndim) if d != axis]
    if any(indices.strides[d] or indices.shape[d] != arrays[0].shape[d] for d in others):
        return None
    return indices[tuple(slice(None) if d == axis else 0 for d in range(indices.ndim))]


# ---- sowreap ----


def sowreap(workload: Workload, arrays: Arrays, threads: int) -> Call:
    import sowreap as sr

    sr.set_num_threads(threads)
    function = getattr(sr, workload.operator)
    if workload.in_place:
        target = arrays[0].copy()
        return partial(function, target, *arrays[1:], **workload.options, out=target)
    return partial(function, *arrays, **workload.options)


# ---- NumPy ----

_UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _places(indices: Array, axis: int) -> tuple[Any, ...]:
    grid = np.ogrid[tuple(slice(n) for n in indices.shape)]
    return tuple(indices if d == axis % indices.ndim else g for d, g in enumerate(grid))


def numpy(workload: Workload, arrays: Arrays, threads: int) -> Call | None:
    operator, axis = workload.operator, axis_of(workload)
    data, indices = arrays[0], arrays[1]
    if operator == "gather":
        return lambda: np.take(data, indices, axis)
    if operator == "gather_elements":
        return lambda: np.take_along_axis(data, indices, axis)
    if operator == "gather_nd":
        if workload.options.get("batch_dims"):
            batch = np.arange(len(data)).reshape(-1, *[1] * (indices.ndim - 2))
            return lambda: data[(batch, *np.moveaxis(indices, -1, 0))]
        return lambda: data[tuple(np.moveaxis(indices, -1, 0))]
    target = data.copy()
    fresh: Callable[[], Array] = (lambda: target) if workload.in_place else data.copy
    if operator == "tensor_scatter":
        positions = arrays[2]

        def write() -> Any:
            position = int(positions[0])
            target[:, :, position : position + indices.shape[2]] = indices
            return target

        return write
    updates = arrays[2]
    line = row_index(workload, arrays)
    if operator == "scatter_nd":
        places = tuple(np.moveaxis(indices, -1, 0))
    elif line is not None:
        places = (*tuple([slice(None)] * (axis % data.ndim)), line)
    else:
        places = _places(indices, axis)
    if workload.reduction == "none":

        def assign() -> Any:
            result = fresh()
            result[places] = updates
            return result

        return assign
    ufunc = _UFUNCS[workload.reduction]

    def combine() -> Any:
        result = fresh()
        ufunc.at(result, places, updates)
        return result

    return combine


# ---- PyTorch ----

_TORCH = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}


def _tensor(array: Array) -> Any:
    torch: Any = importlib.import_module("torch")

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    if 0 in array.strides and array.size:
        once = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)]
        return torch.from_numpy(once.copy()).expand(array.shape)
    return torch.from_numpy(array)


def torch(workload: Workload, arrays: Arrays, threads: int) -> Call | None:
    library: Any = importlib.import_module("torch")

    library.set_num_threads(threads)
    operator, axis = workload.operator, axis_of(workload)
    data, indices = _tensor(arrays[0]), _tensor(arrays[1])
    if operator == "gather":
        return lambda: library.index_select(data, axis, indices)
    if operator == "gather_elements":
        return lambda: library.gather(data, axis, indices)
    if operator == "gather_nd":
        if workload.options.get("batch_dims"):
            batch = library.arange(len(data)).reshape(-1, *[1] * (indices.ndim - 2))
            return lambda: data[(batch, *indices.movedim(-1, 0))]
        return lambda: data[tuple(indices.movedim(-1, 0))]
    target = data.clone()
    if operator == "tensor_scatter":
        position = library.from_numpy(arrays[2])
        return lambda: target.index_copy_(2, position, indices)
    updates = _tensor(arrays[2])
    line = row_index(workload, arrays)
    rows = None if line is None else library.from_numpy(np.ascontiguousarray(line))
    reduction = workload.reduction
    inner = library.Tensor
    if rows is not None and reduction in ("none", "add"):
        method = inner.index_copy_ if reduction == "none" else inner.index_add_
        if workload.in_place:
            return lambda: method(target, axis, rows, updates)
        return lambda: method(data.clone(), axis, rows, updates)
    if rows is not None:
        mode = _TORCH[reduction]
        shape = [-1 if d == axis % data.ndim else 1 for d in range(data.ndim)]
        spread = rows.reshape(shape).expand(updates.shape)
        if workload.in_place:
            return lambda: target.scatter_reduce_(axis, spread, updates, mode)
        return lambda: data.scatter_reduce(axis, spread, updates, mode)
    if operator == "scatter_nd":
        places = tuple(indices.movedim(-1, 0))
        return lambda: data.index_put(places, updates, accumulate=reduction == "add")
    if reduction == "none":
        return lambda: library.scatter(data, axis, indices, updates)
    if reduction == "add":
        return lambda: library.scatter_add(data, axis, indices, updates)
    return lambda: library.scatter_reduce(data, axis, indices, updates, _TORCH[reduction])


# ---- onnxruntime ----

_NAMES = {
    "gather": ("Gather", 13),
    "gather_elements": ("GatherElements", 13),
    "gather_nd": ("GatherND", 13),
    "scatter": ("Scatter", 9),
    "scatter_elements": ("ScatterElements", 18),
    "scatter_nd": ("ScatterND", 18),
    "tensor_scatter": ("TensorScatter", 24),
}


def onnxruntime(workload: Workload, arrays: Arrays, threads: int) -> Call | None:
    library: Any = importlib.import_module("onnxruntime")
    from onnx import helper

    if any(a.dtype.name == "bfloat16" for a in arrays):
        return None  # its Python interface takes no bfloat16 arrays
    name, opset = _NAMES[workload.operator]
    feeds = {f"input{i}": np.ascontiguousarray(a) for i, a in enumerate(arrays)}
    inputs = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for k, a in feeds.items()
    ]
    node = helper.make_node(name, list(feeds), ["output"], **workload.options)
    output = helper.make_tensor_value_info(
        "output", helper.np_dtype_to_tensor_dtype(arrays[0].dtype), None
    )
    model = helper.make_model(
        helper.make_graph([node], "one", inputs, [output]),
        opset_imports=[helper.make_opsetid("", opset)],
    )
    model.ir_version = min(model.ir_version, 10)
    options = library.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        session = library.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception:  # a type that it has no kernel for
        return None
    if not workload.in_place:
        return lambda: session.run(None, feeds)[0]
    binding = session.io_binding()
    # The value shares the array's memory.
    target = library.OrtValue.ortvalue_from_numpy(feeds["input0"].copy())
    binding.bind_ortvalue_input("input0", target)
    binding.bind_ortvalue_output("output", target)
    for key, value in list(feeds.items())[1:]:
        binding.bind_cpu_input(key, value)

    def run() -> Any:
        session.run_with_iobinding(binding)
        return target

    return run


# ---- JAX ----


def jax(workload: Workload, arrays: Arrays, threads: int) -> Call | None:
    """On all processors, so it is left out on one thread. Wide integers as 64 bits."""
    if threads == 1 and os.cpu_count() != 1:
        return None
    library: Any = importlib.import_module("jax")
    library.config.update("jax_enable_x64", True)
    jnp = library.numpy
    operator, axis = workload.operator, axis_of(workload)
    if workload.in_place:
        return None  # its arrays do not change
    held = [jnp.asarray(a) for a in arrays]
    if operator == "gather":
        function = library.jit(lambda d, i: jnp.take(d, i, axis))
    elif operator == "gather_elements":
        function = library.jit(lambda d, i: jnp.take_along_axis(d, i, axis))
    elif operator == "gather_nd":
        if workload.options.get("batch_dims"):
            return None
        function = library.jit(lambda d, i: d[tuple(jnp.moveaxis(i, -1, 0))])
    else:
        method = {"none": "set", "mul": "multiply"}.get(workload.reduction, workload.reduction)
        line = row_index(workload, arrays)
        if line is not None:
            held[1] = jnp.asarray(line)
        grid = [jnp.asarray(g) for g in np.ogrid[tuple(slice(n) for n in arrays[1].shape)]]

        def places(i: Any) -> tuple[Any, ...]:
            if line is not None:
                return (*[slice(None)] * (axis % arrays[0].ndim), i)
            if operator == "scatter_nd":
                return tuple(jnp.moveaxis(i, -1, 0))
            return tuple(i if d == axis % i.ndim else g for d, g in enumerate(grid))

        function = library.jit(lambda d, i, u: getattr(d.at[places(i)], method)(u))
    return lambda: function(*held).block_until_ready()


PEERS: dict[str, Callable[[Workload, Arrays, int], Call | None]] = {
    "onnxruntime": onnxruntime,
    "torch": torch,
    "numpy": numpy,
    "jax": jax,
}


def is_installed(name: str) -> bool:
    """Whether a peer can be imported, without importing it."""
    return importlib.util.find_spec(name) is not None
