"""What the extension module asks of Python when an argument is not a plain ``numpy.ndarray``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sowreap import _core
from sowreap._errors import ArgumentError, DtypeError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OVERLAP_WORK = 100_000  # steps that the exact test of shared memory may take


def as_array(operator: str, name: str, value: Any, dtype: np.dtype[Any] | None) -> Any:
    """`value` as an ndarray, without a copy of one; lists and scalars take `dtype`.

    A tensor of PyTorch that is more than its memory comes back as one that is not, where the
    extension module reads those itself.
    """
    if isinstance(value, np.ndarray):
        return _base_of(operator, name, value)
    if value is None:
        raise _refusal(operator, name, "is None; an array is needed.")
    if _is_torch(value):
        return _readable(operator, name, _plain_tensor(operator, name, value))
    if is_jax(value):
        return _from_jax(operator, name, value)
    if _has_dlpack(value):
        return _from_dlpack(operator, name, value)
    try:
        array = np.asarray(value)
        if not hasattr(value, "dtype"):
            array = _converted(array, value, name, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise _refusal(operator, name, f"cannot be read as an array: {error}.") from error
    return array


def _refusal(operator: str, name: str, text: str) -> DtypeError:
    return DtypeError(f"{operator}: {name} {text}", operator=operator, argument=name)


def _converted(
    array: NDArray[Any], value: Any, name: str, dtype: np.dtype[Any] | None
) -> NDArray[Any]:
    """A list or scalar in the dtype it is meant for: none of its own was chosen by the caller."""
    if dtype is None:
        # An empty list becomes float64, which as indices nobody means.
        return array.astype(np.int64) if array.size == 0 and name != "data" else array
    if array.dtype.kind in "US" and array.dtype.kind == dtype.kind:
        return array  # of its own width, so that nothing is cut
    if array.size == 0 or (array.dtype.kind in "biu" and dtype.kind in "iu"):
        return np.asarray(value, dtype=dtype)  # NumPy refuses integers that do not fit
    rule: Literal["same_kind", "safe"] = "same_kind" if array.dtype.kind in "biufc" else "safe"
    if not np.can_cast(array.dtype, dtype, rule):
        return array
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _base_of(operator: str, name: str, value: NDArray[Any]) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise DtypeError(
            f"{operator}: {name} is a masked array, whose mask would be lost. "
            f"Pass {name}.filled() or {name}.data.",
            operator=operator,
            argument=name,
        )
    return value.view(np.ndarray)


def as_fill(operator: str, value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`value` as an array of rank 0 in `dtype`. The int 0 is the zero of any dtype that has one."""
    if dtype.kind == "O":
        item = np.empty((), dtype)
        item[()] = value
        return item
    is_default = type(value) is int and value == 0
    if is_default and (_number_kind(dtype) is None or dtype.kind == "b"):
        return np.zeros((), dtype)
    try:
        array = np.asarray(value, dtype) if isinstance(value, tuple) else np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise _fill_error(operator, value, dtype, f"cannot be read: {error}", DtypeError) from error
    if array.ndim:
        raise _fill_error(operator, value, dtype, f"has shape {array.shape}", ArgumentError)
    if not _is_same_kind(value, array, dtype):
        problem = f"= {_shown(value)} is of another kind"
        raise _fill_error(operator, value, dtype, problem, DtypeError)
    try:
        with np.errstate(all="ignore"):
            item = array.astype(dtype)
            held = _holds(item, array)
    except OverflowError:
        held = False
    if not held:
        problem = f"= {_shown(value)} does not fit"
        raise _fill_error(operator, value, dtype, problem, ArgumentError)
    return item


def _fill_error(
    operator: str,
    value: Any,
    dtype: np.dtype[Any],
    problem: str,
    kind: type[ArgumentError | DtypeError],
) -> Exception:
    return kind(
        f"{operator}: fill_value {problem}; data has dtype {dtype}. Pass a scalar of that dtype.",
        operator=operator,
        argument="fill_value",
        value=value,
    )


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:
        return "(thousands of digits)"


_NUMBER_KINDS = "bifc"  # each can be cast to the later ones


def _number_kind(dtype: np.dtype[Any]) -> str | None:
    if dtype.kind in "biufc":
        return "i" if dtype.kind == "u" else dtype.kind
    if dtype.kind == "V" and not issubclass(dtype.type, np.void):  # of ml_dtypes
        return "i" if "int" in dtype.name else "f"
    return None


def _is_same_kind(value: Any, array: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """NumPy's casting rule of that name, but that integers of any sign may turn out to fit."""
    wanted = _number_kind(dtype)
    if wanted is not None:
        is_long = isinstance(value, int) and array.dtype.kind == "O"  # beyond 64 bits
        kind = "i" if is_long else _number_kind(array.dtype)
        return kind is not None and _NUMBER_KINDS.index(kind) <= _NUMBER_KINDS.index(wanted)
    if dtype.kind == "T":
        return isinstance(value, str) or value is getattr(dtype, "na_object", str)
    if dtype.kind in "USMm":
        return array.dtype.kind == dtype.kind and np.can_cast(array.dtype, dtype, "same_kind")
    return np.can_cast(array.dtype, dtype, "equiv")


def _holds(item: NDArray[Any], array: NDArray[Any]) -> bool:
    """Whether `item` is `array` but for rounding."""
    kind = _number_kind(item.dtype)
    if kind == "i":
        return int(item) == int(array)
    if item.dtype.kind in "US":
        return bool(item == array)
    if kind is None or kind == "b":
        return True
    wide, given = item.astype(np.clongdouble), array.astype(np.clongdouble)
    if item.dtype.kind == "V":
        # Some types have no infinity and stop at their largest number.
        largest = np.array(np.finfo(np.float64).max).astype(item.dtype).astype(np.longdouble)
        if np.isfinite(given) and np.isfinite(largest) and abs(given) > largest:
            return False
    return all(
        test(a) == test(b)
        for test in (np.isnan, np.isinf)
        for a, b in ((wide.real, given.real), (wide.imag, given.imag))
    )


def as_out(operator: str, value: Any) -> Any:
    """`out` as an ndarray of the same memory, or as a tensor as `as_array` does."""
    if isinstance(value, np.ndarray):
        return _base_of(operator, "out", value)
    if _is_torch(value):
        if value.is_conj() or value.is_neg():
            raise _refusal(
                operator,
                "out",
                "is a lazy conjugate or negative, whose memory holds other values. Pass a tensor "
                "of its own, such as out.resolve_conj().resolve_neg().",
            )
        return _readable(operator, "out", _plain_tensor(operator, "out", value))
    if is_jax(value):
        raise _refusal(
            operator, "out", "is a JAX array, which cannot be written to. Use what is returned."
        )
    if _has_dlpack(value):
        return _from_dlpack(operator, "out", value)
    raise _refusal(
        operator,
        "out",
        f"must be a numpy.ndarray or a torch.Tensor, not {type(value).__name__}.",
    )


# --- arrays of other libraries ------------------------------------------------------------------
#
# None of them is imported here: whoever passes an array has done so.

_HOST_DEVICES = (1, 3, 11)  # of DLPack: CPU, and CPU memory that CUDA or ROCm has pinned
_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA", 14: "oneAPI"}
_EXPORT_ERRORS = (BufferError, TypeError, ValueError, RuntimeError, NotImplementedError)


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def is_jax(value: Any) -> bool:
    """Whether it is an array of JAX, traced or not."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, getattr(jax, "Array", ()))


def _has_dlpack(value: Any) -> bool:
    kind = type(value)  # not the object: it may have attributes of any name
    return hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__")


def is_foreign(value: Any) -> bool:
    """Whether results are given back as an array of another library than NumPy."""
    if isinstance(value, np.ndarray):
        return False
    if _is_torch(value) or is_jax(value):
        return True
    return _has_dlpack(value) and hasattr(type(value), "__array_namespace__")


def _library(value: Any) -> str:
    if _is_torch(value):
        return "torch"
    return "jax" if is_jax(value) else type(value).__module__.partition(".")[0]


def check_kinds(operator: str, arrays: Sequence[tuple[str, Any]]) -> None:
    """Refuse arrays of two libraries; those of NumPy are not among `arrays`."""
    (first, base), *others = arrays
    for name, value in others:
        if _library(value) != _library(base):
            raise _refusal(
                operator,
                name,
                f"is an array of {_library(value)} but {first} is one of {_library(base)}; two "
                f"libraries are not mixed. Convert one, such as numpy.asarray({name}).",
            )


def as_kind(given: Any, result: NDArray[Any]) -> Any:
    """A new `result` as an array of the library of `given`."""
    if _is_torch(given):
        return sys.modules["torch"].utils.dlpack.from_dlpack(_core.to_dlpack(result, False))
    if is_jax(given):
        devices = given.devices()
        # Only a committed array ties the result to its device, as in JAX.
        target = next(iter(devices)) if len(devices) == 1 and given.committed else None
        return sys.modules["jax"].device_put(result, target)
    return given.__array_namespace__().from_dlpack(_Lent(result))


def note_write(out: Any) -> None:
    """Tell the library that the memory of `out` was written, where it wants to know."""
    if _is_torch(out) and not out.is_inference():
        # Gradients that were to be computed from the old values are then refused, not wrong.
        sys.modules["torch"].autograd.graph.increment_version(out)


def read(operator: str, name: str, value: Any) -> NDArray[Any]:
    """`value` of any kind as an ndarray, for functions that are written in Python."""
    if type(value) is np.ndarray:
        return value
    array = as_array(operator, name, value, None)
    if _is_torch(array):
        array = _core.from_dlpack(sys.modules["torch"].utils.dlpack.to_dlpack(array), True)
    plain: NDArray[Any] = array
    return plain


def give(operator: str, arrays: Sequence[tuple[str, Any]], result: NDArray[Any]) -> Any:
    """A new `result` as an array of the library of the first of `arrays`."""
    foreign = [(name, value) for name, value in arrays if is_foreign(value)]
    if foreign:
        check_kinds(operator, foreign)
    return as_kind(arrays[0][1], result) if is_foreign(arrays[0][1]) else result


class _Lent:
    """An ndarray, of dtypes too that NumPy itself does not export."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return _core.to_dlpack(self._array, max_version is not None and max_version[0] >= 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _from_dlpack(operator: str, name: str, value: Any) -> NDArray[Any]:
    try:
        device = int(value.__dlpack_device__()[0])
    except (*_EXPORT_ERRORS, IndexError) as error:
        raise _refusal(operator, name, f"does not say where its memory is: {error}.") from error
    if device not in _HOST_DEVICES:
        where = _DEVICES.get(device, f"DLPack's number {device}")
        raise _refusal(
            operator,
            name,
            f"is in memory of another device ({where}); only memory of the CPU is read. "
            "Copy it there first.",
        )
    try:
        return _core.from_dlpack(_capsule(value), False)
    except _EXPORT_ERRORS as error:
        if hasattr(type(value), "__array__") and name != "out":
            return np.asarray(value)
        raise _refusal(operator, name, f"cannot be read by DLPack: {error}.") from error


def _capsule(value: Any) -> Any:
    try:
        return value.__dlpack__(max_version=(1, 3))
    except TypeError:  # from before DLPack 1.0
        return value.__dlpack__()


def _from_jax(operator: str, name: str, value: Any) -> NDArray[Any]:
    jax = sys.modules["jax"]
    if isinstance(value, jax.core.Tracer):
        raise _refusal(
            operator,
            name,
            f"is traced by JAX and has no values yet. Use sowreap.jax.{operator}, which works in "
            "jit, grad and vmap.",
        )
    try:
        platforms = {device.platform for device in value.devices()}
        if platforms <= {"cpu"}:
            return np.asarray(value)  # the same memory
    except _EXPORT_ERRORS as error:
        raise _refusal(operator, name, f"cannot be read as an array: {error}.") from error
    raise _refusal(
        operator,
        name,
        f"is in memory of another device ({', '.join(sorted(platforms))}); only memory of the CPU "
        f'is read. Pass jax.device_put({name}, jax.devices("cpu")[0]).',
    )


def _plain_tensor(operator: str, name: str, tensor: Any) -> Any:
    """A tensor whose values are its memory; refused where that would change what it means."""
    torch = sys.modules["torch"]

    def refuse(text: str) -> None:
        raise _refusal(operator, name, text)

    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        refuse(
            f"is a {type(tensor).__qualname__}, and what a subclass of torch.Tensor means is not "
            f"known here. Pass the plain tensor; in torch.compile, torch.export and torch.vmap "
            f"use sowreap.torch.{operator}."
        )
    if tensor.is_quantized:
        refuse(f"is quantized. Pass {name}.int_repr() or {name}.dequantize().")
    if tensor.is_nested:
        refuse(f"is nested: its rows differ in length. Pass {name}.to_padded_tensor(0) or one row.")
    if tensor.layout is not torch.strided:
        refuse(f"has layout {tensor.layout}, not one of strides. Pass {name}.to_dense().")
    if tensor.device.type == "meta":
        refuse("is on device meta and has no values. Pass a tensor on the CPU.")
    if tensor.device.type != "cpu":
        refuse(f"is on device {tensor.device}; only the CPU's memory is read. Pass {name}.cpu().")
    if tensor.requires_grad:
        refuse(
            f"requires gradients, which sowreap.{operator} does not record. Use "
            f"sowreap.torch.{operator}, which does, or pass {name}.detach()."
        )
    return tensor.detach().resolve_conj().resolve_neg()


def _readable(operator: str, name: str, tensor: Any) -> Any:
    """A plain tensor as `as_array` gives it back."""
    try:
        array = _core.from_dlpack(sys.modules["torch"].utils.dlpack.to_dlpack(tensor), True)
    except _EXPORT_ERRORS as error:
        raise _refusal(
            operator,
            name,
            f"has dtype {tensor.dtype} and its memory cannot be read: {error}. Inside torch.vmap "
            f"use sowreap.torch.{operator}.",
        ) from error
    return tensor if hasattr(type(tensor), "__dlpack_c_exchange_api__") else array


def share_memory(out: NDArray[Any], array: NDArray[Any]) -> bool:
    """Whether the two have a byte in common; True where finding out would take too long."""
    try:
        # NumPy takes any bound, its annotation only two of them.
        return np.shares_memory(out, array, max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def check_result(
    operator: str,
    out: Any,
    result: NDArray[Any],
    inputs: Sequence[NDArray[Any]],
    base: NDArray[Any] | None,
) -> NDArray[Any]:
    """`out` checked against a result that is there already, for items that hold references.

    It may share no memory with `inputs`, but be `base`.
    """

    def problem(text: str, kind: type[ShapeError | ArgumentError | DtypeError]) -> Exception:
        return kind(f"{operator}: out {text}", operator=operator, argument="out")

    target: NDArray[Any] = as_out(operator, out)
    if target.shape != result.shape:
        raise problem(f"has shape {target.shape} but the result {result.shape}.", ShapeError)
    if target.dtype != result.dtype:
        raise problem(f"has dtype {target.dtype} but the result {result.dtype}.", DtypeError)
    if not target.flags.writeable:
        raise problem("is read-only. Pass a writable array, such as out.copy().", ArgumentError)
    if _core.repeats_memory(target):
        raise problem("has strides by which several items share memory.", ArgumentError)
    for array in inputs:
        if array is base and _core.is_same_memory(target, array):
            continue
        if share_memory(target, array):
            raise problem("shares memory with an input. Pass another array.", ArgumentError)
    return target
