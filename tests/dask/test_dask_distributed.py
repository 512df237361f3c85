"""Two worker processes: the same results, also when they lack memory, or die."""

import logging
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import pytest
from chunked import compute

import sowreap as sr
import sowreap.dask as sd
from cases import OPERATORS, assert_same, call, sample_call

distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")

from killing import FatalStore, fatal  # noqa: E402  # needs zarr

MEGABYTE = 1 << 20


@contextmanager
def workers(count, folder):
    """A client of so many processes; whoever dies need not come back in time."""
    settings = {
        # Managed memory above 4 MB goes to disk.
        "distributed.worker.memory.target": 0.01,
        "distributed.worker.memory.spill": 0.9,
        "distributed.scheduler.no-workers-timeout": "120s",
        "temporary-directory": str(folder),
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            memory_limit=400 * MEGABYTE,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with workers(2, tmp_path_factory.mktemp("spill")) as client:
        yield client


@pytest.mark.parametrize("operator", OPERATORS)
def test_equals_in_memory(client, operator):
    inputs, attributes = sample_call(operator, np.dtype(np.float32), scale=3)
    arrays = {name: da.from_array(array, chunks=5) for name, array in inputs.items()}
    result = getattr(sd, operator)(*arrays.values(), **attributes)
    assert_same(result.compute(), call(operator, inputs, attributes))


def test_progress_bar(client, capsys):
    result = sd.gather(da.arange(40, chunks=10), da.arange(30, chunks=7))
    future = client.compute(result)
    distributed.progress(future, notebook=False)
    assert_same(future.result(), np.arange(30))
    assert "100% Completed" in capsys.readouterr().out


def test_error_has_its_facts(client):
    indices = da.arange(100, chunks=9) % 60
    with pytest.raises(sr.OutOfRangeError) as caught:
        sd.gather(da.zeros(50, chunks=9), indices).compute()
    error = caught.value
    assert (error.operator, error.position, error.value, error.length) == ("gather", (50,), 50, 50)
    assert str(error).startswith("gather: indices[50] = 50 is out of range: it is not in [-50, 49]")


# --- memory -------------------------------------------------------------------------------------


def spilled_bytes(dask_worker):
    return dask_worker.data.cumulative_metrics["disk-write", "bytes"]


def test_more_updates_than_memory_for_them(client, tmp_path):
    """30 MB of updates into 15 MB, in place, while each worker keeps 4 MB."""
    rows, updates, width = 15_000, 30_000, 250
    array = zarr.create_array(
        tmp_path / "x.zarr", shape=(rows, width), chunks=(3000, width), dtype="f4"
    )
    array[...] = 1
    values = da.arange(updates, chunks=2000, dtype="f4")[:, None] % 5
    values = da.broadcast_to(values, (updates, width)).map_blocks(np.copy)
    indices = da.arange(updates, chunks=2000)[:, None] * 7919 % rows
    before = client.run(spilled_bytes)
    with dask.config.set({"array.chunk-size": 3 * MEGABYTE}):
        sd.scatter_nd(array, indices, values, "add", out=array).compute()
    after = client.run(spilled_bytes)
    assert sum(after.values()) - sum(before.values()) > 10 * MEGABYTE
    where = np.arange(updates) * 7919 % rows
    sums = 1 + np.bincount(where, np.arange(updates) % 5, rows).astype(np.float32)
    assert_same(array[...], np.repeat(sums[:, None], width, axis=1))


# --- death --------------------------------------------------------------------------------------

RNG = np.random.default_rng(5)
DATA = RNG.normal(size=(40, 6)).astype(np.float32)
INDICES = RNG.integers(-40, 40, (200, 1))
UPDATES = RNG.normal(size=(200, 6)).astype(np.float32)
SUM = sr.scatter_nd(DATA, INDICES, UPDATES, "add")


def add(data, order, **out):
    updates = da.from_array(UPDATES, (50, 6)).map_blocks(fatal, order, meta=DATA[:0])
    return sd.scatter_nd(data, da.from_array(INDICES, (30, 1)), updates, "add", **out)


def test_workers_die_after_they_wrote_in_place(tmp_path):
    """What it had of the half-written array, and of the graph, is computed again."""
    store = FatalStore(tmp_path / "x.zarr")
    array = zarr.create_array(store, shape=DATA.shape, chunks=(5, 6), dtype="f4")
    array[...] = DATA
    for number in range(2):
        (tmp_path / f"order-{number}").touch()
    with dask.config.set({"array.chunk-size": 120}):
        write = add(array, tmp_path / "none", out=array)
    with workers(3, tmp_path):
        write.compute()
    assert list(tmp_path.glob("order-*")) == []
    assert_same(array[...], SUM)
    assert sd.recover(array) == 0


def test_one_death_is_made_good_and_too_many_are_an_error(tmp_path):
    """And the array is as it was."""
    array = zarr.create_array(tmp_path / "x.zarr", shape=DATA.shape, chunks=(5, 6), dtype="f4")
    array[...] = DATA
    order = tmp_path / "order"
    write = add(array, order, out=array)
    with workers(3, tmp_path) as client:
        order.touch()
        result = add(da.from_array(DATA, (9, 4)), order).compute()
        assert not order.exists()
        assert_same(result, SUM)

        client.run_on_scheduler(allow_no_failure)
        order.touch()
        with pytest.raises(distributed.KilledWorker):
            write.compute()
    assert_same(array[...], DATA)
    compute(write)
    assert_same(array[...], SUM)


def allow_no_failure(dask_scheduler):
    dask_scheduler.allowed_failures = 0
