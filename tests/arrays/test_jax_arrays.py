"""Arrays of JAX as arguments and results, and sowreap.jax."""

import numpy as np
import pytest

import sowreap as sr
from cases import OPERATORS, as_dtype, assert_same, call, sample_call

jax = pytest.importorskip("jax", reason="JAX has no wheels for every platform and Python")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import sowreap.jax as sj  # noqa: E402

JAX_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4"),
)


@pytest.fixture(autouse=True)
def _wide_numbers():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def all_jax(inputs):
    return {name: jnp.asarray(array) for name, array in inputs.items()}


# --- the functions on arrays of JAX -------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", JAX_DTYPES)
def test_every_dtype(operator, dtype):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    want = call(operator, inputs, attributes)
    got = call(operator, all_jax(inputs), attributes)
    assert isinstance(got, jax.Array)
    assert_same(np.asarray(got), want)


@pytest.mark.parametrize("operator", OPERATORS)
def test_among_arrays_of_numpy(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    first = next(iter(inputs))
    for name in inputs:
        got = call(operator, {**inputs, name: jnp.asarray(inputs[name])}, attributes)
        assert isinstance(got, jax.Array if name == first else np.ndarray)


def test_memory_is_not_copied():
    data = jnp.arange(1000.0)
    assert np.shares_memory(np.asarray(data), sr._arrays.read("gather", "data", data))


def test_out_is_refused():
    data = jnp.zeros(3)
    with pytest.raises(sr.DtypeError, match="scatter: out is a JAX array, which cannot be written"):
        sr.scatter(data, [0], [1.0], out=data)
    assert data.tolist() == [0, 0, 0]


def test_torch_is_not_mixed_in():
    torch = pytest.importorskip("torch", reason="the extra torch is large, and optional")
    with pytest.raises(sr.DtypeError, match="indices is an array of torch but data is one of jax"):
        sr.gather(jnp.zeros(3), torch.tensor([0]))
    with pytest.raises(sr.DtypeError, match="indices is an array of jax but data is one of torch"):
        sr.gather(torch.zeros(3), jnp.array([0]))
    with pytest.raises(sr.DtypeError, match="out is an array of torch but data is one of jax"):
        sr.scatter(jnp.zeros(3), [0], [1.0], out=torch.zeros(3, dtype=torch.float64))


def test_deleted_arrays_are_refused():
    data = jnp.zeros(3)
    data.delete()
    with pytest.raises(sr.DtypeError, match=r"gather: data cannot be read.*deleted"):
        sr.gather(data, [0])


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad])
def test_traced_arrays_are_refused(transform):
    with pytest.raises(sr.DtypeError, match=r"gather: data is traced by JAX.*sowreap\.jax\.gather"):
        transform(lambda d: sr.gather(d, [0]).sum())(jnp.zeros((3, 3)))


# --- the same as JAX ----------------------------------------------------------------------------


def test_modes():
    """What JAX does with indices out of range without being asked."""
    data, updates = jnp.arange(5.0), jnp.array([7.0, 8.0, 9.0])
    indices = jnp.array([6, -1, -8])
    for mode in ("clip", "wrap", "fill"):
        filled = {"mode": mode, "fill_value": 3.0 if mode == "fill" else 0}
        want = data.at[indices % 5 if mode == "wrap" else indices].get(
            mode=mode if mode == "fill" else "clip", fill_value=3.0
        )
        if mode == "clip":
            want = data[jnp.clip(indices, 0, 4)]  # JAX counts from the end first
        assert jnp.array_equal(sr.gather(data, indices, **filled), want)
    want = data.at[indices].set(updates, mode="drop")
    assert jnp.array_equal(sr.scatter_nd(data, indices[:, None], updates, mode="drop"), want)


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_at(reduction):
    rng = np.random.default_rng(0)
    data, updates = (jnp.asarray(rng.integers(-3, 4, n).astype(float)) for n in (9, 40))
    indices = jnp.asarray(rng.integers(-9, 9, 40))
    name = {"mul": "multiply"}.get(reduction, reduction)
    want = getattr(data.at[indices], name)(updates)
    assert jnp.array_equal(sr.scatter_elements(data, indices, updates, 0, reduction), want)
    assert jnp.array_equal(sr.scatter_nd(data, indices[:, None], updates, reduction), want)
    assert jnp.array_equal(sj.scatter_nd(data, indices[:, None], updates, reduction), want)


@pytest.mark.parametrize("reduction", ["sum", "prod", "min", "max"])
def test_segments(reduction):
    rng = np.random.default_rng(1)
    rows = jnp.asarray(rng.normal(size=(50, 3)).round(1))
    ids = jnp.asarray(rng.integers(0, 7, 50))
    want = getattr(jax.ops, f"segment_{reduction}")(rows, ids, 9)
    got = getattr(sr, f"segment_{reduction}")(rows, ids, 9)
    assert isinstance(got, jax.Array)
    np.testing.assert_allclose(got, want, rtol=1e-12)


# --- sowreap.jax --------------------------------------------------------------------------------

DUPLICATES = jnp.array([[0, 1, 1], [0, -1, 1], [0, 2, 3]])
TUPLES = jnp.array([[0], [0], [-1]])


def values(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


def calls():
    data, updates = values(4, 3), values(3, 3, seed=1)
    cache, steps, starts = values(2, 4, 2), values(2, 2, 2, seed=2), jnp.array([1, 3])
    yield "gather", lambda d: sj.gather(d, TUPLES, 1), (data,)
    yield "gather_elements", lambda d: sj.gather_elements(d, DUPLICATES), (data,)
    yield "gather_nd", lambda d: sj.gather_nd(d, TUPLES), (data,)
    yield "gather_nd-batch", lambda d: sj.gather_nd(d, jnp.tile(TUPLES[:2], (2, 1)), 1), (data,)
    yield "scatter", lambda d, u: sj.scatter(d, DUPLICATES, u), (data, updates)
    yield "tensor_scatter", sj.tensor_scatter, (cache, steps)
    yield (
        "tensor_scatter-circular",
        lambda c, u: sj.tensor_scatter(c, u, starts, mode="circular"),
        (cache, steps),
    )
    beyond = jnp.array([5, 1, -9])
    yield "gather-fill", lambda d: sj.gather(d, beyond, mode="fill", fill_value=7), (data,)
    yield (
        "scatter_nd-drop",
        lambda d, u: sj.scatter_nd(d, beyond[:, None], u, "add", mode="drop"),
        (data, updates),
    )
    for reduction in ("none", "add", "mul", "min", "max", "mean"):
        yield (
            f"scatter_elements-{reduction}",
            lambda d, u, r=reduction: sj.scatter_elements(d, DUPLICATES, u, 0, r),
            (data, updates),
        )
        yield (
            f"scatter_nd-{reduction}",
            lambda d, u, r=reduction: sj.scatter_nd(d, TUPLES, u, r),
            (data, updates),
        )


CALLS = {name: (function, inputs) for name, function, inputs in calls()}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_under_jit(name):
    function, inputs = CALLS[name]
    inputs = [i.astype(float) for i in inputs]
    check_grads(jax.jit(function), inputs, 1, modes=["rev"])


@pytest.mark.parametrize("name", CALLS)
def test_jit_changes_nothing(name):
    function, inputs = CALLS[name]
    assert jnp.array_equal(jax.jit(function)(*inputs), function(*inputs))


def test_vmap_of_data_and_of_indices():
    data, rows = values(4, 3), jnp.array([[0, 1], [2, 2], [1, 1], [0, 0]])
    got = jax.jit(jax.vmap(sj.gather))(data, rows)
    assert jnp.array_equal(got, jnp.take_along_axis(data, rows, 1))
    weights = jax.vmap(jax.grad(lambda d, r: sj.gather(d, r).sum()))(data, rows)
    assert weights.tolist() == [[1, 1, 0], [0, 0, 2], [0, 2, 0], [2, 0, 0]]


def test_an_index_out_of_range():
    with pytest.raises(sr.OutOfRangeError, match=r"gather: indices\[0\] = 9"):
        sj.gather(jnp.zeros(3), jnp.array([9]))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"gather: indices\[0\] = 9"):
        jax.jit(sj.gather)(jnp.zeros(3), jnp.array([9])).block_until_ready()
