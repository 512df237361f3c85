"""sowreap.torch: gradients, tracing, export."""

from itertools import combinations

import numpy as np
import pytest

import sowreap as sr
from cases import OPERATORS, assert_same, sample_call
from sowreap import _core

torch = pytest.importorskip("torch", reason="the extra torch is large, and optional")

import sowreap.torch as st  # noqa: E402

REDUCE = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax", "mean": "mean"}
REDUCTIONS = ("none", *REDUCE)
DUPLICATES = torch.tensor([[0, 1, 1], [0, -1, 1], [0, 2, 3]])
SMALLER = torch.tensor([[3, -4], [3, 0]])
TUPLES = torch.tensor([[0], [0], [-1]])
BEYOND = torch.tensor([5, 1, -9])

# Torch's own machinery warns of itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def values(*shape, seed=0, dtype=torch.float64):
    make = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=make, dtype=dtype).requires_grad_()


def calls():
    """One call of each operator and kind, by name: the function of its differentiable inputs."""
    data, update3, update2 = values(4, 3), values(3, 3, seed=1), values(2, 2, seed=2)
    cache, steps = values(2, 4, 2), values(2, 2, 2, seed=3)
    picks = torch.tensor([[0, 1], [1, -1]])
    yield "gather-0", lambda d: st.gather(d, picks), (data,)
    yield "gather-1", lambda d: st.gather(d, picks, -1), (data,)
    yield "gather-scalar", lambda d: st.gather(d, torch.tensor(-1), 1), (data,)
    yield "gather-nothing", lambda d: st.gather(d, picks[:0], 1), (data,)
    yield "gather_elements", lambda d: st.gather_elements(d, DUPLICATES), (data,)
    yield "gather_elements-smaller", lambda d: st.gather_elements(d, SMALLER), (data,)
    yield "gather_nd", lambda d: st.gather_nd(d, TUPLES), (data,)
    yield "gather_nd-whole", lambda d: st.gather_nd(d, TUPLES[:, :0]), (data,)
    column = torch.tensor([[0], [2], [2], [-1]], dtype=torch.int8)
    yield "gather_nd-batch", lambda d: st.gather_nd(d, column, 1), (data,)
    yield "scatter", lambda d, u: st.scatter(d, DUPLICATES, u), (data, update3)
    for reduction in REDUCTIONS:
        yield (
            f"scatter_elements-{reduction}",
            lambda d, u, r=reduction: st.scatter_elements(d, DUPLICATES, u, 0, r),
            (data, update3),
        )
        yield (
            f"scatter_elements-smaller-{reduction}",
            lambda d, u, r=reduction: st.scatter_elements(d, SMALLER, u, 0, r),
            (data, update2),
        )
        yield (
            f"scatter_nd-{reduction}",
            lambda d, u, r=reduction: st.scatter_nd(d, TUPLES, u, r),
            (data, update3),
        )
        yield (
            f"scatter_elements-alone-{reduction}",
            lambda d, u, r=reduction: st.scatter_elements(
                d, DUPLICATES, u, 0, r, include_self=False
            ),
            (data, update3),
        )
        for mode in ("wrap", "clip", "drop"):
            yield (
                f"scatter_nd-{mode}-{reduction}",
                lambda d, u, r=reduction, m=mode: st.scatter_nd(d, BEYOND[:, None], u, r, mode=m),
                (data, update3),
            )
    for mode in ("wrap", "clip", "fill"):
        yield (
            f"gather-{mode}",
            lambda d, m=mode: st.gather(d, BEYOND, mode=m, fill_value=7 * (m == "fill")),
            (data,),
        )
        yield (
            f"gather_elements-{mode}",
            lambda d, m=mode: st.gather_elements(d, BEYOND[None, :], 1, mode=m),
            (data,),
        )
    starts = torch.tensor([1, 3], dtype=torch.int32)
    yield "tensor_scatter-first", st.tensor_scatter, (cache, steps)
    yield (
        "tensor_scatter-circular",
        lambda c, u: st.tensor_scatter(c, u, starts, mode="circular"),
        (cache, steps),
    )
    yield (
        "tensor_scatter-linear",
        lambda c, u: st.tensor_scatter(c, u, starts - 1, axis=1),
        (cache, steps),
    )


CALLS = {name: (function, inputs) for name, function, inputs in calls()}


@pytest.mark.parametrize("name", CALLS)
def test_gradcheck(name):
    """Backward and forward, each against differences of values."""
    function, inputs = CALLS[name]
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True)


ENOUGH = [n for n in CALLS if not any(w in n for w in ("nothing", "alone", "wrap", "clip"))]


@pytest.mark.parametrize("name", ENOUGH)
def test_gradients_of_gradients(name):
    function, inputs = CALLS[name]
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "mean"])
def test_complex(reduction):
    inputs = values(4, 3, dtype=torch.complex128), values(3, 3, seed=1, dtype=torch.complex128)
    assert torch.autograd.gradcheck(
        lambda d, u: st.scatter_elements(d, DUPLICATES, u, 0, reduction),
        inputs,
        check_forward_ad=True,
    )


@pytest.mark.parametrize("reduction", REDUCE)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", ["random", "ties and zeros"])
@pytest.mark.parametrize("include_self", [True, False])
def test_same_as_scatter_reduce(reduction, dim, kind, include_self):
    """Duplicates, zeros in mul, ties in min and max: what torch makes of them."""
    if not include_self and kind != "random" and reduction in ("min", "max"):
        pytest.skip("torch gives a share to self, which takes no part; the next test is ours")
    make = torch.Generator().manual_seed(dim)
    for _ in range(8):
        data = torch.randn(5, 4, generator=make, dtype=torch.float64)
        updates = torch.randn(5, 4, generator=make, dtype=torch.float64)
        if kind != "random":
            data, updates = data.round().clamp(-1, 1), updates.round().clamp(-1, 1)
        indices = torch.randint(0, (5, 4)[dim], (5, 4), generator=make)
        weights = torch.randn(5, 4, generator=make, dtype=torch.float64)
        results = []
        for run in (
            lambda d, u, i: st.scatter_elements(d, i, u, dim, reduction, include_self=include_self),
            lambda d, u, i: d.scatter_reduce(
                dim, i, u, REDUCE[reduction], include_self=include_self
            ),
        ):
            leaves = data.clone().requires_grad_(), updates.clone().requires_grad_()
            (run(*leaves, indices) * weights).sum().backward()
            results.append([leaf.grad for leaf in leaves])
        for ours, theirs in zip(*results, strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("reduction", ["min", "max"])
def test_self_that_takes_no_part_has_no_share(reduction):
    data = torch.tensor([1.0, 1.0], requires_grad=True)
    updates = torch.tensor([1.0, 1.0], requires_grad=True)
    places = torch.tensor([0, 0])
    st.scatter_elements(data, places, updates, 0, reduction, include_self=False).sum().backward()
    assert (data.grad.tolist(), updates.grad.tolist()) == ([0, 1], [0.5, 0.5])


def test_the_last_update_has_the_gradient():
    updates = torch.zeros(3, requires_grad=True)
    st.scatter(torch.zeros(2), torch.tensor([1, 1, 0]), updates).sum().backward()
    assert updates.grad.tolist() == [0, 1, 1]


def test_counting_zeros_in_narrow_indices():
    """More zeros meet than an 8-bit index counts."""
    updates = torch.zeros(257, requires_grad=True)
    indices = torch.zeros(257, dtype=torch.int8)
    st.scatter_elements(torch.ones(1), indices, updates, 0, "mul").sum().backward()
    assert updates.grad.count_nonzero() == 0


@pytest.mark.parametrize("operator", OPERATORS)
def test_forward_is_the_function(operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32))
    tensors = [torch.from_dlpack(_core.to_dlpack(a.copy(), False)) for a in inputs.values()]
    want = getattr(sr, operator)(*tensors, **attributes)
    assert_same(getattr(st, operator)(*tensors, **attributes).numpy(), want.numpy())


def test_any_dtype_goes_forward():
    for dtype in (torch.bfloat16, torch.bool, torch.uint8, torch.float8_e5m2, torch.complex64):
        data = torch.ones(3).to(dtype)
        got = st.scatter_elements(data, torch.tensor([1, 1]), data[:2], reduction="add")
        want = sr.scatter_elements(data, torch.tensor([1, 1]), data[:2], reduction="add")
        assert got.dtype == dtype
        assert torch.equal(got.to(torch.complex64), want.to(torch.complex64))


def test_errors_are_those_of_the_functions():
    with pytest.raises(sr.OutOfRangeError, match=r"gather: indices\[1\] = 5"):
        st.gather(torch.zeros(3), torch.tensor([0, 5]))
    with pytest.raises(sr.DtypeError, match=r"gather: data has layout torch\.sparse_coo"):
        st.gather(torch.eye(3).to_sparse(), torch.tensor([0]))
    with pytest.raises(sr.ArgumentError, match="scatter_nd: reduction = 'sum' is unknown"):
        st.scatter_nd(torch.zeros(3), torch.tensor([[0]]), torch.zeros(1), "sum")


class Recorder(torch.utils._python_dispatch.TorchDispatchMode):
    """Keeps the calls of our operators."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        if op.namespace == "sowreap":
            self.calls.append((op, args))
        return op(*args, **(kwargs or {}))


def test_modes_of_torch_see_the_way_back():
    data, updates = values(4, 3), values(3, 3, seed=1)
    result = st.scatter_elements(data, DUPLICATES, updates, 0, "add").sum()
    with Recorder() as seen:
        result.backward()
    assert [op for op, _ in seen.calls] == [torch.ops.sowreap.gather_elements.default]


def outcome(function, inputs):
    """The result of a call and its gradients."""
    result = function(*inputs)
    grad = torch.arange(1.0, result.numel() + 1, dtype=result.dtype).reshape(result.shape)
    return (result.detach(), *torch.autograd.grad(result, inputs, grad))


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_torch_sees_are_the_others(name):
    """With a mode each call goes by way of the dispatcher, and by what torch.library records."""
    alone = outcome(*CALLS[name])
    with Recorder() as seen:
        together = outcome(*CALLS[name])
    assert seen.calls
    for a, b in zip(alone, together, strict=True):
        assert torch.equal(a, b)


def test_profilers_see_operators():
    data = values(4, 3)
    with torch.autograd.profiler.profile() as seen:
        st.gather(data, DUPLICATES[0]).sum().backward()
    names = {event.name for event in seen.function_events}
    assert {"sowreap::gather", "sowreap::scatter_elements"} <= names


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_nothing_is_recorded_where_torch_records_nothing(context):
    data = torch.nn.Parameter(torch.ones(4, 3))
    with context():
        assert not st.gather(data, DUPLICATES[0]).requires_grad
    assert st.gather(data, DUPLICATES[0]).requires_grad
    assert not st.gather(data.detach(), DUPLICATES[0]).requires_grad


@pytest.mark.parametrize("name", ENOUGH)
def test_opcheck(name):
    """Schema, fake tensors, autograd and tracing agree, as torch itself tests operators."""
    function, inputs = CALLS[name]
    with Recorder() as seen:
        function(*(i.detach() for i in inputs))
    ((op, args),) = seen.calls
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(op, args, test_utils=tests)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda d, i, u: st.gather(d, i.double()), "integer dtype"),
        (lambda d, i, u: st.gather(d, i, 2), "axis = 2"),
        (lambda d, i, u: st.gather_elements(d, i[0]), "rank 1"),
        (lambda d, i, u: st.gather_nd(d, i, 2), "batch_dims = 2"),
        (lambda d, i, u: st.gather_nd(d, i), "length 3"),
        (lambda d, i, u: st.scatter_elements(d, i, u.float()), "dtype torch.float32"),
        (lambda d, i, u: st.scatter_elements(d, i, u[:2]), "differ at axis 0"),
        (lambda d, i, u: st.tensor_scatter(d, d, axis=0), "axis = 0 is the batch"),
    ],
)
def test_shapes_are_checked_without_values(bad, words):
    meta = [t.to("meta") for t in (values(4, 3), DUPLICATES, values(3, 3))]
    with pytest.raises(RuntimeError, match=words):
        bad(*meta)


@pytest.mark.parametrize("name", ["gather-1", "gather_nd-batch", "scatter_elements-max"])
def test_compile(name):
    function, inputs = CALLS[name]

    def model(*arrays):
        return function(*(a.sin() for a in arrays)).cos().sum()

    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    grads = [torch.autograd.grad(run(*inputs), inputs) for run in (model, compiled)]
    for eager, traced in zip(*grads, strict=True):
        torch.testing.assert_close(eager, traced)


def test_compile_of_vmap():
    data, picks = values(4, 3).detach(), torch.tensor([2, 0])
    torch._dynamo.reset()
    batched = torch.vmap(lambda d: st.gather(d, picks))
    assert torch.equal(torch.compile(batched, backend="aot_eager")(data), data[:, picks])


class Layer(torch.nn.Module):
    def forward(self, data, indices, updates):
        return st.scatter_elements(data, indices, updates, 0, "add")


def example():
    return values(4, 3).detach(), DUPLICATES, values(3, 3, seed=1).detach()


def test_export_with_a_size_left_open():
    rows = torch.export.Dim("rows")
    program = torch.export.export(Layer(), example(), dynamic_shapes=({0: rows}, None, None))
    (node,) = (n for n in program.graph.nodes if n.op == "call_function")
    assert node.target is torch.ops.sowreap.scatter_elements.default
    data = values(9, 3, seed=4).detach()
    _, indices, updates = example()
    want = sr.scatter_elements(data, indices, updates, 0, "add")
    assert torch.equal(program.module()(data, indices, updates), want)


def test_export_to_onnx():
    pytest.importorskip("onnxscript", reason="torch.onnx needs it, sowreap does not")
    program = torch.onnx.export(
        Layer().eval(),
        example(),
        dynamo=True,
        opset_version=18,
        custom_translation_table=st.onnx_translations(),
        verbose=False,
    )
    (node,) = program.model_proto.graph.node
    assert (node.op_type, node.domain) == ("ScatterElements", "")
    from sowreap.onnx import InferenceSession

    session = InferenceSession(program.model_proto)
    names = [i.name for i in session.get_inputs()]
    (got,) = session.run(None, {n: t.numpy() for n, t in zip(names, example(), strict=True)})
    assert np.array_equal(got, Layer()(*example()).numpy())


def test_what_onnx_has_not_is_not_exported():
    pytest.importorskip("onnxscript", reason="torch.onnx needs it, sowreap does not")
    build = st.onnx_translations()[torch.ops.sowreap.scatter_elements.default]
    with pytest.raises(sr.ArgumentError, match="ScatterElements: mode = 'wrap'"):
        build(None, None, None, mode="wrap")
    with pytest.raises(sr.ArgumentError, match="ScatterElements: include_self"):
        build(None, None, None, reduction="add", include_self=False)


# --- torch.func ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENOUGH)
def test_jacobians(name):
    """Of torch.func, which runs vmap over vjp and over jvp, and of the tested backward alone."""
    function, inputs = CALLS[name]
    plain = tuple(i.detach() for i in inputs)
    want = torch.autograd.functional.jacobian(function, inputs)
    argnums = tuple(range(len(inputs)))
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        for got, expected in zip(jacobian(function, argnums)(*plain), want, strict=True):
            torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("reduction", REDUCE)
def test_func_as_scatter_reduce(reduction):
    data, updates = values(6, 4, 3).detach(), values(6, 3, 3, seed=1).detach()

    indices = DUPLICATES % 4

    def ours(d, u):
        return st.scatter_elements(d, indices, u, 0, reduction).sin().sum()

    def theirs(d, u):
        return d.scatter_reduce(0, indices, u, REDUCE[reduction]).sin().sum()

    got = torch.vmap(torch.func.grad(ours, (0, 1)))(data, updates)
    for sample in range(len(data)):  # one by one, as torch cannot batch its gradient of prod
        want = torch.func.grad(theirs, (0, 1))(data[sample], updates[sample])
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a[sample], b)
    for argnums in (0, 1):
        nested = (torch.func.jacrev(torch.func.grad(f, argnums), argnums) for f in (ours, theirs))
        a, b = (run(data[0], updates[0]) for run in nested)
        torch.testing.assert_close(a, b)


def test_func_as_indexing():
    data, picks = values(4, 3).detach(), torch.tensor([2, 0, 2])
    for transform in (torch.func.grad, torch.func.hessian):
        got = transform(lambda d: st.gather(d, picks).pow(3).sum())(data)
        assert torch.equal(got, transform(lambda d: d[picks].pow(3).sum())(data))
    value, change = torch.func.jvp(lambda d: st.gather(d, picks), (data,), (data * 2,))
    assert torch.equal(value * 2, change)
    _, pull = torch.func.vjp(lambda d: st.gather(d, picks), data)
    assert torch.equal(pull(value)[0], torch.zeros(4, 3).double().index_add(0, picks, value))


def integers(*shape, high):
    make = torch.Generator().manual_seed(high)
    return torch.randint(-high, high, shape, generator=make)


# Every tensor has 4 samples, in front.
SAMPLES = {
    "gather": (lambda *a: st.gather(*a, axis=-1), values(4, 2, 5), integers(4, 3, 2, high=5)),
    "gather-0": (st.gather, values(4, 5, 2), integers(4, 3, 2, high=5)),
    "gather-scalar": (st.gather, values(4, 5, 2), integers(4, high=5)),
    "gather_elements": (
        lambda *a: st.gather_elements(*a, axis=-2),
        values(4, 5, 2),
        integers(4, 3, 2, high=5),
    ),
    "gather_nd": (
        lambda *a: st.gather_nd(*a, batch_dims=1),
        values(4, 3, 5, 2),
        integers(4, 3, 2, 1, high=5),
    ),
    "scatter": (st.scatter, values(4, 5, 2), integers(4, 5, 2, high=5), values(4, 5, 2, seed=1)),
    "scatter_elements": (
        lambda *a: st.scatter_elements(*a, 1, "mul"),
        values(4, 3, 5),
        integers(4, 3, 6, high=5),
        values(4, 3, 6, seed=1),
    ),
    "scatter_nd": (
        lambda *a: st.scatter_nd(*a, "add"),
        values(4, 5, 2),
        integers(4, 3, 1, high=5),
        values(4, 3, 2, seed=1),
    ),
    "tensor_scatter": (
        lambda c, i, u: st.tensor_scatter(c, u, i, mode="circular"),
        values(4, 2, 5, 3),
        integers(4, 2, high=5).abs(),
        values(4, 2, 2, 3, seed=1),
    ),
}


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        (name, shared)
        for name, (_, *tensors) in SAMPLES.items()
        for count in range(len(tensors))
        for shared in combinations(range(len(tensors)), count)
    ],
)
def test_vmap(name, shared):
    """The samples of some arguments are behind; others have one for all."""
    function, *tensors = SAMPLES[name]
    tensors = [t.detach() for t in tensors]
    in_dims = [None if n in shared else n % 2 * (t.dim() - 1) for n, t in enumerate(tensors)]
    want = torch.stack(
        [function(*(t[0 if n in shared else s] for n, t in enumerate(tensors))) for s in range(4)]
    )
    given = [
        t[0] if dim is None else t.movedim(0, dim) for t, dim in zip(tensors, in_dims, strict=True)
    ]
    assert torch.equal(torch.vmap(function, tuple(in_dims))(*given), want)


def test_vmap_of_vmap():
    data, rows = values(3, 2, 5).detach(), integers(3, 4, high=5)
    got = torch.vmap(lambda d, r: torch.vmap(lambda x: st.gather(x, r))(d))(data, rows)
    want = torch.stack([d[:, r] for d, r in zip(data, rows, strict=True)])
    assert torch.equal(got, want)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d, i: st.gather(d, i, 2), "axis = 2"),
        (lambda d, i: st.gather_elements(d, i, -3), "axis = -3"),
        (lambda d, i: st.gather_nd(d, i, -1), "batch_dims = -1"),
        (lambda d, i: st.gather_nd(d, i[0, 0]), "indices"),
        (lambda d, i: st.scatter_nd(d, i[0, 0], d), "indices"),
        (lambda d, i: st.scatter_nd(d, d, d), "indices has dtype"),
        (lambda d, i: st.tensor_scatter(d, d, i[0], 2), "axis = 2"),
        (lambda d, i: st.tensor_scatter(d, d, i[0, 0], 1), "write_indices"),
        (lambda d, i: st.tensor_scatter(d, d[0], None, 1), "update has rank"),
        (lambda d, i: st.gather(d, i + 9), "is out of range"),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, torch.func.grad])
def test_vmap_of_what_is_wrong(call, words, transform):
    def run(data, indices):
        return call(data, indices).sum()

    with pytest.raises(sr.SowreapError, match=words):
        torch.vmap(transform(run))(values(3, 2, 2).detach(), integers(3, 2, 2, high=2))


def test_deterministic_algorithms():
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        bits = []
        for threads in (1, 2, 3):
            sr.set_num_threads(threads)
            data = values(50, 64, dtype=torch.float32)
            updates = values(30000, 64, seed=1, dtype=torch.float32)
            indices = torch.arange(30000)[:, None] % 50
            result = st.scatter_nd(data, indices, updates, "add")
            (result * result.detach()).sum().backward()
            tensors = (result.detach(), data.grad, updates.grad)
            bits.append([tensor.numpy().tobytes() for tensor in tensors])
        assert bits[0] == bits[1] == bits[2]
    finally:
        torch.use_deterministic_algorithms(before)
