"""Zarr in and out: written once, whole, or not at all."""

import io
import os

import dask
import dask.array as da
import numpy as np
import pytest
from chunked import compute
from dask.diagnostics import ProgressBar

import sowreap as sr
import sowreap.dask as sd
from cases import assert_same
from sowreap.dask import _journal, _storage

zarr = pytest.importorskip("zarr")

RNG = np.random.default_rng(5)
DATA = RNG.normal(size=(40, 6)).astype(np.float32)
INDICES = RNG.integers(-40, 40, (200, 1))
UPDATES = RNG.normal(size=(200, 6)).astype(np.float32)
SUM = sr.scatter_nd(DATA, INDICES, UPDATES, "add")


def lazy_indices(bad=False):
    indices = INDICES.copy()
    if bad:
        indices[170] = 40
    return da.from_array(indices, chunks=(30, 1))


def add(array, out, bad=False, data=None):
    data = array if data is None else data
    return sd.scatter_nd(data, lazy_indices(bad), da.from_array(UPDATES, (50, 4)), "add", out=out)


@pytest.fixture(params=["root", "format 2", "in a group", "in memory", "shards"])
def array(request, tmp_path):
    where = {
        "in memory": (zarr.storage.MemoryStore(), "x"),
        "in a group": (tmp_path / "group.zarr", "deep/x"),
    }.get(request.param, (tmp_path / "x.zarr", None))
    shards = (20, 6) if request.param == "shards" else None
    array = zarr.create_array(
        where[0],
        name=where[1],
        shape=DATA.shape,
        chunks=(10, 3),
        shards=shards,
        dtype=DATA.dtype,
        zarr_format=2 if request.param == "format 2" else 3,
    )
    array[...] = DATA
    return array


# --- results ------------------------------------------------------------------------------------


def test_adds_in_place(array):
    with dask.config.set({"array.chunk-size": 240}):
        write = add(array, array)
        assert_same(array[...], DATA)
        got = compute(write)
    assert got.store_path == array.store_path
    assert_same(array[...], SUM)


def test_progress_bar(array):
    shown = io.StringIO()
    with ProgressBar(out=shown):
        compute(add(array, array))
    assert "100% Completed" in shown.getvalue()
    assert_same(array[...], SUM)


def test_adds_once_however_often_it_is_computed(array):
    write = add(array, array)
    for _ in range(3):
        compute(write)
        assert_same(array[...], SUM)


def test_leaves_nothing_beside_the_array_in_the_end(array, tmp_path):
    before = [path.name for path in tmp_path.iterdir()]
    compute(add(array, array))
    assert [journal.state() for journal in _journal.journals(array)] == ["done"]
    assert sd.recover(array) == 0
    assert _journal.journals(array) == []
    assert [path.name for path in tmp_path.iterdir()] == before


@pytest.mark.parametrize("chunks", [(7, 6), (40, 1), (1, 1), (13, 4)])
def test_chunks_that_are_not_those_of_out(tmp_path, chunks):
    array = zarr.create_array(tmp_path / "x.zarr", shape=(40, 6), chunks=(9, 4), dtype="f4")
    with dask.config.set(scheduler="threads"):  # two writers of one piece would show
        add(None, array, data=da.from_array(DATA, chunks)).compute()
    assert_same(array[...], SUM)


def test_data_that_are_read_from_out_by_dask(tmp_path):
    array = zarr.create_array(tmp_path / "x.zarr", shape=(40, 6), chunks=(9, 4), dtype="f4")
    array[...] = DATA
    write = add(None, array, data=da.from_zarr(array)[::-1])
    compute(write)
    assert_same(array[...], sr.scatter_nd(DATA[::-1], INDICES, UPDATES, "add"))


def test_gather_from_and_into_storage(tmp_path):
    names = ("data", "indices", "out")
    data, indices, out = (
        zarr.create_array(tmp_path / name, shape=shape, chunks=(9,) * len(shape), dtype=dtype)
        for name, shape, dtype in zip(
            names, [(40, 6), (200,), (200, 6)], ["f4", "i8", "f4"], strict=True
        )
    )
    data[...], indices[...] = DATA, INDICES[:, 0]
    compute(sd.gather(data, indices, out=out))
    assert_same(out[...], sr.gather(DATA, INDICES[:, 0]))


def test_cache_step_writes_only_the_blocks_it_meets(tmp_path):
    cache = np.arange(2 * 40 * 3.0).reshape(2, 40, 3)
    array = zarr.create_array(tmp_path / "x.zarr", shape=cache.shape, chunks=(1, 10, 3), dtype="f8")
    array[...] = cache
    steps = -np.ones((2, 2, 3))
    chunks = {path: path.stat().st_mtime_ns for path in (tmp_path / "x.zarr").rglob("c/*/*/*")}
    with dask.config.set({"array.chunk-size": 240}):
        write = sd.tensor_scatter(array, steps, [9, 30], out=array)
    compute(write)
    assert_same(array[...], sr.tensor_scatter(cache, steps, [9, 30]))
    touched = {
        p.parent.parent.name + p.parent.name for p, t in chunks.items() if p.stat().st_mtime_ns != t
    }
    assert (len(chunks), touched) == (8, {"00", "01", "13"})


def test_writes_of_other_calls_stay(array):
    compute(add(array, array))
    compute(add(array, array))
    assert_same(array[...], sr.scatter_nd(SUM, INDICES, UPDATES, "add"))


# --- errors -------------------------------------------------------------------------------------


def test_index_out_of_range_is_found_before_anything_is_stored(array, tmp_path):
    write = add(array, array, bad=True)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with pytest.raises(sr.OutOfRangeError, match=r"indices\[170\] = \[40\]"):
        compute(write)
    assert_same(array[...], DATA)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


class Refuses(Exception):
    """What a failing disk raises."""


def fail_at(monkeypatch, name, count):
    """The `count`-th call of a task's function fails, and all after it."""
    function, calls = getattr(_journal, name), []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) >= count:
            raise Refuses
        return function(*arguments)

    monkeypatch.setattr(_journal, name, failing)


@pytest.mark.parametrize("task", ["stage", "complete"])
def test_failure_before_the_result_is_complete_leaves_out_as_it_was(array, monkeypatch, task):
    with monkeypatch.context() as patch, dask.config.set({"array.chunk-size": 240}):
        fail_at(patch, task, 2 if task == "stage" else 1)
        with pytest.raises(Refuses):
            compute(add(array, array))
    assert_same(array[...], DATA)
    assert [journal.state() for journal in _journal.journals(array)] == ["open"]
    compute(add(array, array))  # not in the way
    assert_same(array[...], SUM)
    assert sd.recover(array) == 0
    assert _journal.journals(array) == []


@pytest.mark.parametrize("again", ["recover", "compute"])
@pytest.mark.parametrize("task", ["copy", "finish"])
def test_failure_of_the_copy_can_be_made_good(array, monkeypatch, task, again):
    with monkeypatch.context() as patch, dask.config.set({"array.chunk-size": 240}):
        fail_at(patch, task, 2 if task == "copy" else 1)
        write = add(array, array)
        with pytest.raises(Refuses):
            compute(write)
    half = array[...]
    assert (half != DATA).any()
    assert (half != SUM).any() or task == "finish"
    with pytest.raises(sr.ArgumentError, match=r"^scatter_nd: out is half written.*recover\(out\)"):
        add(array, array)
    if again == "recover":
        assert sd.recover(array) == 1
    else:
        # The same graph, on the half-written array: tasks that failed come from the module again.
        with dask.config.set({"array.chunk-size": 240}):
            fresh = _with_functions_of_the_module(write)
        compute(fresh)
    assert_same(array[...], SUM)
    sd.recover(array)
    assert_same(array[...], SUM)


def _with_functions_of_the_module(write):
    from dask.delayed import Delayed

    graph = dict(write.dask)
    for key, task in graph.items():
        name = key[0] if isinstance(key, tuple) else key
        for part in ("copy", "store"):
            if f"-{part}-" in name:
                function = getattr(_journal, {"store": "finish"}.get(part, part))
                graph[key] = type(task)(key, function, *task.args)
    return Delayed(write.key, graph)


def test_memory_of_another_process(monkeypatch):
    array = zarr.create_array(
        zarr.storage.MemoryStore(), name="x", shape=(4,), chunks=2, dtype="i8"
    )
    write = sd.gather(da.arange(4), [3, 2, 1, 0], out=array)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(sr.ArgumentError, match="memory of another process"):
        compute(write)


# --- grids --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunks", "step", "want"),
    [
        ((5, 5, 5), 5, (5, 5, 5)),
        ((7, 7, 1), 5, (5, 10)),
        ((1,) * 12, 5, (5, 5, 2)),
        ((12,), 5, (12,)),
        ((2, 10), 5, (12,)),
        ((0,), 5, (0,)),
        ((3, 3), 100, (6,)),
    ],
)
def test_to_grid(chunks, step, want):
    assert _storage.to_grid([chunks], [step]) == (want,)
