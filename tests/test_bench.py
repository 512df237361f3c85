"""What is timed is what a user would call, and a wrong peer is seen to be wrong."""

import ml_dtypes
import numpy as np
import pytest

import sowreap as sr
from sowreap._bench import correct, measure, peers, rows
from sowreap._bench.workload import Workload, draw, picks

SHAPES = {
    "gather": ((9, 4), (5,), {"axis": 0}),
    "gather_elements": ((9, 4), (5, 4), {"axis": 0}),
    "gather_nd": ((9, 4), (6, 2), {}),
    "scatter": ((9, 4), (5, 4), {"axis": 0}),
    "scatter_elements": ((9, 4), (9, 4), {"axis": 0}),
    "scatter_nd": ((9, 4), (30, 1), {}),
}
INSTALLED = [name for name in peers.PEERS if peers.is_installed(name)]


def workload(operator, reduction="none", dtype=np.float32, in_place=False, kind="random"):
    data, indices, options = SHAPES[operator]
    if reduction != "none":
        options = options | {"reduction": reduction}

    def make(rng):
        arrays = draw(rng, data, dtype), picks(rng, indices, 4, kind)
        if operator.startswith("gather"):
            return arrays
        shape = indices if operator != "scatter_nd" else (indices[0], data[1])
        return (*arrays, draw(rng, shape, dtype))

    return Workload(operator, operator, make, options, in_place=in_place)


SCATTERS = [
    (operator, reduction)
    for operator in ("scatter_elements", "scatter_nd")
    for reduction in ("add", "mul", "min", "max")
]


@pytest.mark.parametrize(("operator", "reduction"), [*((o, "none") for o in SHAPES), *SCATTERS])
@pytest.mark.parametrize("kind", ["random", "sorted", "equal"])
def test_every_engine_has_the_meaning_of_the_standard(operator, reduction, kind):
    work = workload(operator, reduction, kind=kind)
    arrays = work.make(np.random.default_rng(1))
    wanted = correct.expected(work, arrays)
    assert correct.verdict(peers.sowreap(work, arrays, 1)(), wanted) == "same"
    for name in INSTALLED:
        call = peers.PEERS[name](work, arrays, 1)
        if call is not None:
            assert correct.verdict(call(), wanted) in ("same", "close", "open"), name


@pytest.mark.parametrize("dtype", [np.int64, np.float16, ml_dtypes.bfloat16, np.uint8])
def test_sums_in_place(dtype):
    work = workload("scatter_nd", "add", dtype, in_place=True)
    arrays = work.make(np.random.default_rng(1))
    before = arrays[0].copy()
    wanted = correct.expected(work, arrays)
    assert correct.verdict(peers.sowreap(work, arrays, 1)(), wanted) == "same"
    for name in set(INSTALLED) - {"onnxruntime"}:  # has no sums of these types
        call = peers.PEERS[name](work, arrays, 1)
        if call is not None:
            assert correct.verdict(call(), wanted) in ("same", "close"), name
    assert (arrays[0] == before).all()


def test_the_oracle_agrees():
    for operator, reduction in SCATTERS:
        work = workload(operator, reduction)
        data, indices, updates = work.make(np.random.default_rng(3))
        whole = getattr(sr, operator)(data, indices, updates, **work.options)
        for at, (value, _) in correct.expected(work, (data, indices, updates)).items():
            assert whole[at] == value


def test_verdicts():
    work = workload("scatter_elements", "add", kind="equal")
    arrays = work.make(np.random.default_rng(0))
    wanted = correct.expected(work, arrays)
    right = peers.sowreap(work, arrays, 1)()
    assert correct.verdict(right, wanted) == "same"
    assert correct.verdict(right * np.float32(1 + 1e-6), wanted) == "close"
    assert correct.verdict(arrays[0], wanted) == "wrong"
    open_work = workload("scatter_elements", kind="equal")
    arrays = open_work.make(np.random.default_rng(0))
    first_wins = arrays[0].copy()
    first_wins[2] = arrays[2][0]
    assert correct.verdict(first_wins, correct.expected(open_work, arrays)) == "open"


def test_row_index():
    line = np.array([3, 1, 1])
    spread = np.broadcast_to(line[:, None], (3, 4))
    data = np.zeros((5, 4))
    work = workload("scatter_elements", "add")
    assert peers.row_index(work, (data, spread)).tolist() == [3, 1, 1]
    assert peers.row_index(work, (data, spread + np.arange(4))) is None
    assert peers.row_index(work, (np.zeros((5, 6)), spread)) is None
    assert peers.row_index(workload("scatter_nd"), (data, line[:, None])).tolist() == [3, 1, 1]


def test_cache_rows():
    arrays = np.zeros((1, 8, 16, 8), np.float32), np.ones((1, 8, 1, 8), np.float32), np.array([9])
    work = Workload("cache", "tensor_scatter", lambda rng: arrays, {"axis": 2}, in_place=True)
    wanted = correct.expected(work, arrays)
    for name, make in {"sowreap": peers.sowreap, **{n: peers.PEERS[n] for n in INSTALLED}}.items():
        call = make(work, arrays, 1)
        if call is not None:
            assert correct.verdict(call(), wanted) == "same", name
    assert measure.least_bytes(work, arrays) == (2 * 4 * 64, False)


def test_least_bytes():
    rng = np.random.default_rng(0)
    work = workload("gather_elements")
    assert measure.least_bytes(work, work.make(rng)) == (20 * 8 + 20 * 4 + 20 * 4, False)
    work = workload("scatter_elements", "add")
    assert measure.least_bytes(work, work.make(rng)) == (36 * 8 + 36 * 4 + 2 * 36 * 4, False)
    large = Workload("flat", "gather", lambda rng: (np.zeros(1 << 20), np.zeros(10, np.int64)))
    assert measure.least_bytes(large, large.make(rng)) == (80 + 80 + 640, True)


def test_a_row():
    result = rows.row(workload("scatter_nd", "add"), 2, INSTALLED, 0.01, 1e10)
    assert result["ratio"] > 0
    assert result["best peer"] in INSTALLED
    text = rows.shown(result)
    assert all(name in text for name in ["scatter_nd", "sowreap", *INSTALLED])
    assert "sowreap" in rows.machine()["versions"]


def test_a_peer_that_refuses_is_no_time():
    """Sums of float16: onnxruntime makes a session, and refuses at the call."""
    work = workload("scatter_nd", "add", np.float16)
    result = rows.row(work, 1, ["onnxruntime", "numpy"], 0.01, 1e10)
    assert "onnxruntime" not in result["milliseconds"]
    assert result["verdicts"]["onnxruntime"].startswith("refuses")
    assert "onnxruntime -" in rows.shown(result)
