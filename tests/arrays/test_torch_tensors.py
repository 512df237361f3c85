"""Tensors of PyTorch as arguments, results and `out` of the functions."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sowreap as sr
from cases import INDEX_DTYPES, OPERATORS, SCATTERS, as_dtype, assert_same, call, sample_call
from sowreap import _core

torch = pytest.importorskip("torch", reason="the extra torch is large, and optional")

TORCH_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)


def to_torch(array):
    """A tensor of the array's memory, of its strides too where torch has them."""
    if any(step < 0 for step in array.strides) or not array.flags.aligned:
        array = array.copy()
    return torch.from_dlpack(_core.to_dlpack(array, False))


def to_numpy(tensor):
    return _core.from_dlpack(torch.utils.dlpack.to_dlpack(tensor), True)


def all_torch(inputs):
    return {name: to_torch(array) for name, array in inputs.items()}


# --- in and out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_every_dtype(operator, dtype):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    want = call(operator, inputs, attributes)
    got = call(operator, all_torch(inputs), attributes)
    assert type(got) is torch.Tensor
    assert got.dtype == getattr(torch, dtype)
    assert_same(to_numpy(got), want)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_every_index_dtype(dtype):
    indices = torch.tensor([2, 0]).to(getattr(torch, dtype))
    assert sr.gather(torch.arange(3), indices).tolist() == [2, 0]


@pytest.mark.parametrize("operator", OPERATORS)
def test_one_tensor_among_arrays(operator):
    """The result is of the kind of the first argument, whatever the others are."""
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    want = call(operator, inputs, attributes)
    first = next(iter(inputs))
    for name in inputs:
        got = call(operator, {**inputs, name: to_torch(inputs[name])}, attributes)
        assert isinstance(got, torch.Tensor if name == first else np.ndarray)
        assert_same(np.asarray(got), want)


def test_lists_take_the_dtype_of_a_tensor():
    data = torch.zeros(3, dtype=torch.bfloat16)
    assert sr.scatter(data, [1], [2.5]).tolist() == [0, 2.5, 0]


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.t(),
        lambda t: t[:, ::2],
        lambda t: t[1:, 1:],
        lambda t: t[:1].expand(4, 6),
        lambda t: t[:0],
        lambda t: t[:, :0],
        lambda t: t[2],
    ],
)
def test_any_strides(view):
    data = view(torch.arange(24.0).reshape(4, 6))
    indices = torch.arange(data.shape[-1]).flip(0)
    got = sr.gather(data, indices, axis=-1)
    assert torch.equal(got, data.index_select(-1, indices))


def test_result_of_rank_0():
    got = sr.gather(torch.tensor([3, 4]), 1)
    assert (got.shape, got.item()) == ((), 4)


def test_memory_is_not_copied():
    """A tensor larger than what the call may take lies in no second place."""
    data = torch.zeros(1 << 20)
    before = data.data_ptr()
    sr.scatter(data, [5], [1.0], out=data)
    assert (data.data_ptr(), data[5].item()) == (before, 1)


def test_results_outlive_the_call():
    results = [sr.gather(torch.arange(1000.0), torch.arange(1000)) for _ in range(50)]
    assert all(torch.equal(r, torch.arange(1000.0)) for r in results)
    ends = [r[-1] for r in results]  # views keep the memory
    del results
    assert all(end.item() == 999 for end in ends)


def test_large_results_give_their_memory_back():
    """To the pool that results of NumPy come from."""
    before = sr.get_pool_limit()
    sr.set_pool_limit(64 << 20)
    try:
        data, indices = torch.arange(1 << 20), torch.arange(1 << 20)
        result = sr.gather(data, indices)
        assert torch.equal(result, data)
        held = _core.pool_held()
        del result
        assert _core.pool_held() >= held + data.nbytes
    finally:
        sr.set_pool_limit(before)


def test_results_may_be_freed_by_any_thread():
    results = [sr.gather(torch.arange(100.0), [3]) for _ in range(100)]
    threads = [threading.Thread(target=results.pop) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == []


# --- out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool"])
def test_out(operator, dtype):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    want = call(operator, inputs, attributes)
    out = to_torch(np.zeros_like(want))
    assert call(operator, all_torch(inputs), attributes, out=out) is out
    assert_same(to_numpy(out), want)


@pytest.mark.parametrize("operator", SCATTERS)
def test_in_place(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    want = call(operator, inputs, attributes)
    tensors = all_torch({name: array.copy() for name, array in inputs.items()})
    data = next(iter(tensors.values()))
    assert call(operator, tensors, attributes, out=data) is data
    assert_same(data.numpy(), want)


def test_out_of_another_kind():
    out = np.zeros(2)
    assert sr.gather(torch.arange(3.0, dtype=torch.float64), [2, 0], out=out) is out
    tensor = torch.zeros(2, dtype=torch.float64)
    assert sr.gather(np.arange(3.0), [2, 0], out=tensor) is tensor
    assert out.tolist() == tensor.tolist() == [2, 0]


def test_writing_makes_old_gradients_an_error():
    """Autograd counts writes of torch's own; it must know of ours."""
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    sr.scatter(y.detach(), [0], [5.0], out=y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_out_of_an_inference_tensor():
    with torch.inference_mode():
        data = torch.zeros(3)
        assert sr.scatter(data, [0], [5.0], out=data).tolist() == [5, 0, 0]


def test_failed_call_leaves_out():
    data = torch.arange(4.0)
    version = data._version
    with pytest.raises(sr.OutOfRangeError):
        sr.scatter(data, [0, 4], [7.0, 7.0], out=data)
    assert (data.tolist(), data._version) == ([0, 1, 2, 3], version)


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (lambda: torch.zeros(2), sr.ShapeError, "out has shape"),
        (lambda: torch.zeros(3, dtype=torch.int32), sr.DtypeError, "out has dtype int32"),
        (lambda: torch.zeros(1).expand(3), sr.ArgumentError, "out has strides"),
        (lambda: torch.zeros(3, requires_grad=True), sr.DtypeError, "out requires gradients"),
        (lambda: torch.zeros(3, device="meta"), sr.DtypeError, "out is on device meta"),
        (lambda: torch.eye(3)[0].to_sparse(), sr.DtypeError, "out has layout torch.sparse_coo"),
        (
            lambda: torch.zeros(3, dtype=torch.complex64).conj().imag,
            sr.DtypeError,
            "out is a lazy conjugate",
        ),
    ],
)
def test_out_that_cannot_be_written(out, error, words):
    with pytest.raises(error, match=f"^scatter: {words}"):
        sr.scatter(torch.zeros(3), [0], [1.0], out=out())


def test_out_that_overlaps():
    base = torch.zeros(4)
    with pytest.raises(sr.ArgumentError, match="out shares memory with data"):
        sr.scatter(base[:3], [0], [1.0], out=base[1:])


# --- refused, or made plain ---------------------------------------------------------------------


class Subclass(torch.Tensor):
    pass


def quantized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and must still not be misread
        return torch.quantize_per_tensor(torch.ones(3), 0.5, 0, torch.qint8)


def sparse_csr():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in beta state
        return torch.eye(3).to_sparse_csr()


REFUSED = {
    "requires_grad": (lambda: torch.ones(3, requires_grad=True), r"sowreap\.torch\..*detach\(\)"),
    "parameter": (lambda: torch.nn.Parameter(torch.ones(3)), r"requires gradients"),
    "computed": (lambda: torch.ones(3, requires_grad=True) * 2, r"requires gradients"),
    "meta": (lambda: torch.ones(3, device="meta"), r"on device meta"),
    "sparse": (lambda: torch.eye(3).to_sparse(), r"to_dense\(\)"),
    "sparse_csr": (sparse_csr, r"to_dense\(\)"),
    "quantized": (quantized, r"dequantize\(\)"),
    "subclass": (lambda: torch.ones(3).as_subclass(Subclass), r"is a Subclass"),
    "packed": (lambda: torch.zeros(3, dtype=torch.float4_e2m1fn_x2), r"dtype torch.float4"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("operator", OPERATORS)
def test_refused_by_name(operator, what):
    make, words = REFUSED[what]
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    for name in inputs:
        with pytest.raises(sr.DtypeError, match=rf"(?s)^{operator}: {name} .*{words}"):
            call(operator, {**inputs, name: make()}, attributes)


def test_fake_tensors_are_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.ones(3))
    with pytest.raises(sr.DtypeError, match=r"is a FakeTensor.*sowreap\.torch\.gather"):
        sr.gather(fake, [0])


@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("transform", ["vmap", "grad", "jvp"])
def test_inside_transforms_plain_functions_are_refused(transform):
    def run(x):
        return sr.gather(x, [0]).sum()

    x = torch.ones(3, 3)
    call = {
        "vmap": lambda: torch.vmap(run)(x),
        "grad": lambda: torch.func.grad(run)(x),
        "jvp": lambda: torch.func.jvp(run, (x,), (x,)),
    }[transform]
    with pytest.raises(sr.DtypeError, match=r"gather: data .*sowreap\.torch\.gather"):
        call()


def test_lazy_bits_are_resolved():
    z = torch.tensor([1 + 2j, 3 - 4j])
    assert z.conj().is_conj()
    assert z.conj().imag.is_neg()
    assert sr.gather(z.conj(), [1, 0]).tolist() == [3 + 4j, 1 - 2j]
    assert sr.gather(z.conj().imag, [1, 0]).tolist() == [4, -2]
    added = sr.scatter_elements(z, [0], z.conj()[:1], reduction="add")
    assert added.tolist() == [2, 3 - 4j]


def test_parameters_without_gradients_are_plain():
    weight = torch.nn.Parameter(torch.arange(3.0), requires_grad=False)
    got = sr.gather(weight, [2])
    assert (type(got), got.tolist()) == (torch.Tensor, [2])
    assert sr.scatter(weight, [0], [9.0], out=weight) is weight
    assert weight.tolist() == [9, 1, 2]


def test_a_tensor_moved_while_arguments_are_read():
    """No pointer from before is used once code of the caller has run."""
    data = torch.arange(3.0)

    class Indices:
        dtype = np.dtype(np.int64)

        def __array__(self, dtype=None, copy=None):
            data.set_(torch.arange(1e6, 1e6 + 50000).untyped_storage())
            return np.array([49999])

    assert sr.gather(data, Indices()).tolist() == [1049999]


@pytest.mark.parametrize("operator", ["gather", "scatter"])
def test_a_tensor_moved_by_a_mode_of_torch(operator):
    """Such a mode meets the questions that a tensor is asked."""
    data, updates = torch.arange(3.0), torch.tensor([5.0])

    class Moving(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if data.numel() == 3:
                data.set_(torch.arange(1e6, 1e6 + 50000).untyped_storage())
            return func(*args, **(kwargs or {}))

    with Moving():
        if operator == "gather":
            assert sr.gather(data, torch.tensor([49999])).tolist() == [1049999]
        else:
            got = sr.scatter(data, torch.tensor([49999]), updates)
            assert (got[0].item(), got[-1].item()) == (1e6, 5)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.set_(torch.UntypedStorage(0), 0, (0,)),
        lambda t: setattr(t, "data", torch.zeros(3, dtype=torch.int32)),
    ],
)
def test_a_tensor_changed_while_arguments_are_read(change):
    data = torch.arange(3.0)

    class Indices:
        dtype = np.dtype(np.int64)

        def __array__(self, dtype=None, copy=None):
            change(data)
            return np.array([2])

    with pytest.raises(sr.SowreapError, match="gather"):
        sr.gather(data, Indices())


# --- concurrency --------------------------------------------------------------------------------


def test_calls_from_several_threads():
    data, updates = torch.zeros(1000, 8), torch.ones(5000, 8)
    indices = torch.arange(5000)[:, None] % 1000
    start = threading.Barrier(4)

    def run(_):
        start.wait()
        for _ in range(20):
            assert torch.equal(
                sr.scatter_nd(data, indices, updates, "add"), torch.full((1000, 8), 5.0)
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))


# --- the same as torch --------------------------------------------------------------------------

REDUCE = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax", "mean": "mean"}


@pytest.mark.parametrize("reduction", REDUCE)
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(reduction, dim, dtype, include_self):
    make = torch.Generator().manual_seed(dim)
    data = torch.randint(-4, 5, (5, 6, 7), generator=make).to(dtype)
    updates = torch.randint(-4, 5, (4, 5, 6), generator=make).to(dtype)
    indices = torch.randint(0, (5, 6, 7)[dim], (4, 5, 6), generator=make)
    got = sr.scatter_elements(data, indices, updates, dim, reduction, include_self=include_self)
    want = data.scatter_reduce(dim, indices, updates, REDUCE[reduction], include_self=include_self)
    assert torch.equal(got, want)


@pytest.mark.parametrize("dim", [0, 1])
def test_gather_scatter_index_select_index_add(dim):
    make = torch.Generator().manual_seed(dim)
    data = torch.randn(6, 7, generator=make)
    picks = torch.randint(0, 6, (4, 5), generator=make)
    row = torch.randint(0, 6, (9,), generator=make)
    values = torch.randn(9, 7, generator=make) if dim == 0 else torch.randn(6, 9, generator=make)
    unique = torch.randperm(5, generator=make)[:, None].expand(5, 5).contiguous()
    assert torch.equal(sr.gather_elements(data, picks, dim), data.gather(dim, picks))
    assert torch.equal(sr.gather(data, row, dim), data.index_select(dim, row))
    assert torch.equal(sr.index_add(data, row, values, dim), data.index_add(dim, row, values))
    wide = torch.randn(5, 5, generator=make)
    index = unique if dim == 0 else unique.t()
    assert torch.equal(sr.scatter(data, index, wide, dim), data.scatter(dim, index, wide))
    assert torch.equal(
        sr.gather_nd(data, torch.stack([row % 6, row % 7], 1)), data[row % 6, row % 7]
    )
