"""Arrays of any library that speaks DLPack, by producers made for the purpose."""

import ctypes
import gc
import subprocess
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

import sowreap as sr
from cases import OPERATORS, SCATTERS, as_dtype, assert_same, call, sample_call
from sowreap import _core

DLPACK_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int2", "int4", "uint2", "uint4"),
)


class Foreign:
    """An array of a library of its own."""

    def __init__(self, array, versioned=True):
        self.array = array
        self.versioned = versioned

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("from before DLPack 1.0")
        return _core.to_dlpack(self.array, self.versioned)

    def __dlpack_device__(self):
        return (1, 0)

    def __array_namespace__(self, api_version=None):
        return Namespace


class Namespace:
    """What gives back arrays of it."""

    @staticmethod
    def from_dlpack(lent):
        return Foreign(_core.from_dlpack(lent.__dlpack__(max_version=(1, 0)), False))


class Elsewhere(Foreign):
    """An array on another device; touching it fails the test."""

    def __init__(self, device):
        self.device = device

    def __dlpack__(self, **options):
        raise AssertionError("the memory of another device was asked for")

    def __dlpack_device__(self):
        return (self.device, 0)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", DLPACK_DTYPES)
def test_every_dtype_comes_and_goes(operator, dtype):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    want = call(operator, inputs, attributes)
    got = call(operator, {name: Foreign(a) for name, a in inputs.items()}, attributes)
    assert isinstance(got, Foreign)
    assert_same(got.array, want)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize(
    "view", [np.s_[::-1], np.s_[:, ::2], np.s_[1:, -1:0:-2], np.s_[:0], np.s_[2:3]]
)
def test_any_strides(view, versioned):
    if not versioned and view == np.s_[:0]:
        view = np.s_[:, :0]
    data = np.arange(24.0).reshape(4, 6)[view]
    indices = np.arange(data.shape[1])[::-1]
    got = sr.gather(Foreign(data, versioned), Foreign(indices, versioned), axis=1)
    assert_same(got.array, data[:, ::-1].copy())


def test_memory_is_not_copied():
    data = np.zeros(8)
    array = _core.from_dlpack(Foreign(data).__dlpack__(), False)
    assert np.shares_memory(array, data)
    data[3] = 7
    assert array[3] == 7


def test_memory_lives_as_long_as_what_shows_it():
    class Watched(np.ndarray):
        pass

    data = np.arange(5.0).view(Watched)
    gone = weakref.ref(data)
    array = _core.from_dlpack(_core.to_dlpack(data, True), False)
    del data
    gc.collect()
    assert gone() is not None
    assert array.tolist() == [0, 1, 2, 3, 4]
    del array
    gc.collect()
    assert gone() is None


def test_a_capsule_is_used_once():
    capsule = _core.to_dlpack(np.zeros(3), True)
    _core.from_dlpack(capsule, False)
    with pytest.raises(BufferError, match="no capsule of DLPack"):
        _core.from_dlpack(capsule, False)


def test_a_capsule_that_nobody_takes_frees_its_array():
    data = np.zeros(3)
    before = sys.getrefcount(data)
    _core.to_dlpack(data, True)
    _core.to_dlpack(data, False)
    assert sys.getrefcount(data) == before


@pytest.mark.parametrize("device", [2, 4, 8, 10, 13, 14, 99])
@pytest.mark.parametrize("operator", OPERATORS)
def test_other_devices_are_refused_by_name(operator, device):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    for name in inputs:
        with pytest.raises(sr.DtypeError, match=f"^{operator}: {name} .*another device.*Copy it"):
            call(operator, {**inputs, name: Elsewhere(device)}, attributes)


@pytest.mark.parametrize("device", [1, 3, 11])
def test_pinned_memory_is_the_processor_s(device):
    class Pinned(Foreign):
        def __dlpack_device__(self):
            return (device, 0)

    assert sr.gather(Pinned(np.arange(3)), [2]).array.tolist() == [2]


@pytest.mark.parametrize("operator", SCATTERS)
def test_out_in_place(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    want = call(operator, inputs, attributes)
    first = next(iter(inputs))
    out = Foreign(inputs[first].copy())
    got = call(operator, {**inputs, first: out}, attributes, out=out)
    assert got is out
    assert_same(out.array, want)


@pytest.mark.parametrize("versioned", [True, False])
def test_read_only_out_is_refused(versioned):
    array = np.zeros(3)
    if versioned:
        array.flags.writeable = False  # before 1.0 there is no saying, so that counts as read-only
    with pytest.raises(sr.ArgumentError, match="scatter: out is read-only"):
        sr.scatter(np.zeros(3), [1], [5.0], out=Foreign(array, versioned))
    assert array.tolist() == [0, 0, 0]


def test_read_only_inputs_are_good():
    data = np.arange(3)
    data.flags.writeable = False
    assert sr.gather(Foreign(data), [2]).array.tolist() == [2]


def test_two_libraries_are_not_mixed():
    class Another(Foreign):
        __module__ = "another"

    with pytest.raises(sr.DtypeError, match=r"gather: indices is an array of another but data is"):
        sr.gather(Foreign(np.zeros(3)), Another(np.array([0])))
    with pytest.raises(sr.DtypeError, match=r"scatter: out is an array of another but data is"):
        sr.scatter(Foreign(np.zeros(3)), [0], [1.0], out=Another(np.zeros(3)))


def test_numpy_goes_with_any_library():
    assert isinstance(sr.gather(Foreign(np.arange(3)), np.array([2])), Foreign)
    assert isinstance(sr.gather(np.arange(3), Foreign(np.array([2]))), np.ndarray)
    assert isinstance(sr.scatter(Foreign(np.zeros(3)), [2], [1.0]), Foreign)


def test_without_a_namespace_the_result_is_numpy_s():
    class Plain:
        def __dlpack__(self, **options):
            return _core.to_dlpack(np.arange(3), True)

        def __dlpack_device__(self):
            return (1, 0)

    assert_same(sr.gather(Plain(), [2, 0]), np.array([2, 0]))


@pytest.mark.parametrize("error", [BufferError, TypeError, ValueError, RuntimeError])
def test_a_producer_that_fails(error):
    class Failing(Foreign):
        def __dlpack__(self, **options):
            raise error("no export today")

    with pytest.raises(sr.DtypeError, match="gather: data cannot be read by DLPack: no export"):
        sr.gather(Failing(np.zeros(3)), [0])


@pytest.mark.parametrize("device", [None, (), ("cpu", 0), 5])
def test_a_producer_that_lies_about_its_device(device):
    class Odd(Foreign):
        def __dlpack_device__(self):
            return device

    with pytest.raises(sr.DtypeError, match="gather: data does not say where its memory is"):
        sr.gather(Odd(np.zeros(3)), [0])


@pytest.mark.parametrize("capsule", [None, 5, b"dltensor", object()])
def test_a_producer_that_returns_no_capsule(capsule):
    class Odd(Foreign):
        def __dlpack__(self, **options):
            return capsule

    with pytest.raises(sr.DtypeError, match="no capsule of DLPack"):
        sr.gather(Odd(np.zeros(3)), [0])


NDIM, SHAPE = 16, 24  # where they lie in a DLTensor: behind pointer and device; behind the dtype


@pytest.mark.parametrize(
    ("offset", "kind", "value", "message"),
    [
        (NDIM, ctypes.c_int32, 65, "more than 64 axes"),
        (NDIM, ctypes.c_int32, 2**31 - 1, "more than 64 axes"),
        (NDIM, ctypes.c_int32, -1, "more than 64 axes"),
        (SHAPE, ctypes.c_void_p, None, "no shape"),
    ],
)
def test_a_producer_whose_tensor_is_broken(offset, kind, value, message):
    class Broken(Foreign):
        def __dlpack__(self, **options):
            capsule = _core.to_dlpack(self.array, False)
            kind.from_address(address(capsule, b"dltensor") + offset).value = value
            return capsule

    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    with pytest.raises(sr.DtypeError, match=f"gather: data cannot be read by DLPack: .*{message}"):
        sr.gather(Broken(np.zeros(3)), [0])


def test_a_dtype_that_dlpack_has_not():
    with pytest.raises(BufferError, match="datetime64"):
        _core.to_dlpack(np.zeros(3, "M8[s]"), True)
    with pytest.raises(BufferError, match="whole items"):
        _core.to_dlpack(np.zeros(3, "i1,f4")["f1"], True)


def test_without_ml_dtypes_small_floats_still_move_and_add():
    code = """
import sys
sys.modules["ml_dtypes"] = None  # an import of it fails
import numpy as np
import pytest
torch = pytest.importorskip("torch")
import sowreap as sr
for dtype in (torch.bfloat16, torch.float8_e4m3fn):
    x = torch.arange(4.0).to(dtype)
    y = sr.scatter_elements(x, [1, 1], x[2:], reduction="add")
    assert y.dtype == dtype and y.float().tolist() == [0, 6, 2, 3], y
    assert sr.gather(x, [3]).float().tolist() == [3]
print("moved")
"""
    pytest.importorskip("torch", reason="only torch has these dtypes without ml_dtypes")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "moved\n", done.stderr


def test_array_api_strict():
    xp = pytest.importorskip("array_api_strict", reason="a namespace to check against, if present")
    got = sr.scatter_elements(xp.zeros(3), xp.asarray([1, 1]), xp.asarray([2.0, 3.0]), 0, "add")
    assert type(got) is type(xp.zeros(1))
    assert np.from_dlpack(got).tolist() == [0, 5, 0]


def test_bfloat16_keeps_its_dtype():
    got = sr.gather(Foreign(np.arange(3).astype(ml_dtypes.bfloat16)), [1])
    assert got.array.dtype == ml_dtypes.bfloat16
