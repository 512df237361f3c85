"""Tasks are as many as docs/scale.md says, and wait for what they must."""

from collections import Counter

import dask
import dask.array as da
import numpy as np
import pytest
from chunked import compute

import sowreap as sr
import sowreap.dask as sd
from cases import assert_same
from sowreap.dask import _blocks


def tasks_of(array):
    return dict(array.dask.layers[array.name])


def kind_of(key):
    return (key[0] if isinstance(key, tuple) else key).split("-")[1]


def arrays(data_blocks, index_blocks, free_blocks):
    data = da.zeros((60, 6), chunks=(60 // data_blocks, 6 // free_blocks))
    indices = da.zeros((120, 1), chunks=(120 // index_blocks, 1), dtype=int)
    updates = da.zeros((120, 6), chunks=(120 // index_blocks, 6 // free_blocks))
    return data, indices, updates


@pytest.mark.parametrize(("d", "i", "f"), [(1, 1, 1), (5, 3, 1), (4, 6, 2), (2, 120, 1)])
def test_number_of_tasks(d, i, f):
    data, indices, updates = arrays(d, i, f)
    tree = -(-i // 64) if i > 64 else 0
    count = Counter(map(kind_of, tasks_of(sd.scatter_nd(data, indices, updates, "add"))))
    assert count == {"check": i, "sort": i, "ok": 1, "take": d * i * f, "apply": d * f} | (
        {"checks": tree} if tree else {}
    )
    count = Counter(map(kind_of, tasks_of(sd.gather_nd(data, indices))))
    assert count["ask"] == d * i
    assert count["read"] == d * i * f
    assert count["merge"] == i * f


def test_aligned_blocks_do_not_meet():
    data = da.zeros((4, 60), chunks=(1, 20))
    indices = da.zeros((4, 50), chunks=(1, 25), dtype=int)
    count = Counter(map(kind_of, tasks_of(sd.gather_elements(data, indices, 1))))
    assert count["read"] == 4 * 3 * 2


def test_every_part_of_a_result_waits_for_all_checks():
    data, indices, updates = arrays(5, 3, 1)
    for result in (sd.scatter_nd(data, indices, updates), sd.gather_nd(data, indices)):
        tasks = tasks_of(result)
        for key in dask.core.flatten(result.__dask_keys__()):
            wanted, found = [key], set()
            while wanted:
                one = wanted.pop()
                if one in tasks and one not in found:
                    found.add(one)
                    wanted.extend(tasks[one].dependencies)
            assert sum(kind_of(one) == "check" for one in found) == 3


def test_an_owner_takes_no_more_than_it_can_hold():
    data, indices, updates = arrays(2, 24, 1)  # a block of updates is 240 bytes
    with dask.config.set({"array.chunk-size": 80}):
        result = sd.scatter_nd(data, indices, updates, "add")
    tasks = tasks_of(result)
    steps = [task for key, task in tasks.items() if kind_of(key) in ("step", "apply")]
    takes = [sum(kind_of(key) == "take" for key in s.dependencies if key in tasks) for s in steps]
    assert takes == [2] * 24


def test_an_owner_copies_its_block_once_for_many_pieces():
    block, cells = np.zeros((3, 1)), np.array([2], np.uint32)
    piece = _blocks.Piece(cells, np.ones((1, 1)))  # 12 bytes
    rule = _blocks.Apply((0,), block.dtype, "add", True, room=30)
    waiting = _blocks.hold(True, block, [piece, None], rule)
    waiting = _blocks.hold(True, waiting, [piece], rule)
    assert waiting.block is block
    applied = _blocks.hold(True, waiting, [piece], rule)
    assert applied.tolist() == [[0], [0], [3]]
    assert _blocks.apply(True, applied, [piece], rule).tolist() == [[0], [0], [4]]
    assert _blocks.apply(True, waiting, [], rule).tolist() == [[0], [0], [2]]
    assert (block.sum(), applied.sum()) == (0, 3)


def test_indices_in_memory_have_only_the_tasks_they_need():
    data = da.random.default_rng(0).random((100, 3), chunks=(10, 3))
    indices, updates = np.array([[5], [7], [93]]), np.ones((3, 3))
    result = sd.scatter_nd(data, indices, da.from_array(updates, chunks=(2, 3)), "add")
    count = Counter(map(kind_of, tasks_of(result)))
    assert (count["take"], count["apply"]) == (2, 10)
    untouched = {key[1] for key, task in tasks_of(result).items() if type(task).__name__ == "Alias"}
    assert untouched == set(range(1, 9))
    assert_same(compute(result), sr.scatter_nd(compute(data), indices, updates, "add"))
    picked = sd.gather(data, indices[:, 0])
    assert Counter(map(kind_of, tasks_of(picked)))["read"] == 2


def test_keys_tell_calls_apart():
    data, indices, updates = arrays(2, 2, 1)
    results = [
        sd.scatter_nd(data, indices, updates),
        sd.scatter_nd(data, indices, updates, "add"),
        sd.scatter_nd(data, indices, updates + 1),
        sd.scatter_nd(data + 1, indices, updates),
        sd.scatter_nd(data, indices + 1, updates),
        sd.scatter_nd(data.rechunk(60), indices, updates),
        sd.gather_nd(data, indices),
        sd.gather(data, indices),
        sd.gather(data, indices, 1),
    ]
    assert len({result.name for result in results}) == len(results)
    again = sd.scatter_nd(data, indices, updates)
    assert again.name == results[0].name
