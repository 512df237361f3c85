"""The memory of large dead results is used again, within a limit."""

import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import sowreap as sr
from cases import assert_same
from forks import run_in_child
from sowreap import _core

LARGE = 1_000_000  # items of 8 bytes


@pytest.fixture(autouse=True)
def empty_pool():
    before = sr.get_pool_limit()
    sr.set_pool_limit(0)
    sr.set_pool_limit(256 << 20)
    yield
    sr.set_pool_limit(before)


def result(size=LARGE):
    return sr.gather(np.arange(10), np.arange(size) % 10)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_of_a_dead_result_is_used_again():
    first = result()
    where = address(first)
    assert _core.pool_held() == 0
    del first
    assert _core.pool_held() >= 8 * LARGE
    again = result()
    assert address(again) == where
    assert _core.pool_held() == 0
    assert_same(again, np.arange(LARGE) % 10)


def test_a_view_keeps_the_memory():
    part = result()[5:10]
    for _ in range(3):
        assert address(result()) != address(part) - 40
    assert part.tolist() == [5, 6, 7, 8, 9]


def test_results_own_their_memory():
    array = result()
    assert array.flags.owndata
    assert array.flags.writeable
    assert array.flags.c_contiguous
    array.resize(2 * LARGE, refcheck=False)
    assert_same(array[:LARGE], np.arange(LARGE) % 10)
    array.resize(7, refcheck=False)
    assert array.tolist() == list(range(7))
    assert_same(pickle.loads(pickle.dumps(result())), result())


@pytest.mark.parametrize("size", [1, 1000, 32_767])
def test_small_results_are_left_to_numpy(size):
    result(size)
    assert _core.pool_held() == 0


def test_much_larger_memory_is_not_wasted_on_a_result():
    del_me = result(8 * LARGE)
    where = address(del_me)
    del del_me
    assert address(result()) != where
    assert address(result(7 * LARGE)) == where


def test_the_limit_holds_and_the_oldest_goes_first():
    sr.set_pool_limit(20 << 20)
    old, new = result(), result()
    newest = result()
    wanted = address(new), address(newest)
    del old
    del new
    del newest
    assert _core.pool_held() <= 20 << 20
    kept = [result(), result()]
    assert {address(a) for a in kept} == set(wanted)
    huge = result(4 * LARGE)
    del huge  # larger than the limit
    assert _core.pool_held() == 0


def test_lowering_the_limit_gives_memory_back():
    del_me = [result() for _ in range(4)]
    del del_me
    assert _core.pool_held() >= 32 * LARGE
    sr.set_pool_limit(10 << 20)
    assert 0 < _core.pool_held() <= 10 << 20
    sr.set_pool_limit(0)
    assert _core.pool_held() == 0
    result()
    assert _core.pool_held() == 0


def test_a_failed_call_gives_its_memory_back():
    indices = np.arange(LARGE) % 10
    indices[-1] = 10
    with pytest.raises(sr.OutOfRangeError):
        sr.gather(np.arange(10), indices)
    gc.collect()
    assert _core.pool_held() >= 8 * LARGE


def test_a_size_that_cannot_be_had_is_a_memory_error():
    with pytest.raises(MemoryError):
        sr.gather(np.zeros(1), np.broadcast_to(np.int8(0), (2**55,)))


def test_no_values_of_another_result_show():
    sr.scatter_elements(np.full(LARGE, 9), np.arange(5), np.arange(5))
    assert_same(sr.gather(np.arange(3), np.zeros(LARGE, np.int8)), np.zeros(LARGE, int))


def test_arrays_die_in_other_threads():
    def work(seed):
        for step in range(20):
            assert result(LARGE // 10 + 100 * seed + step)[3] == 3

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _core.pool_held() <= sr.get_pool_limit()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_after_fork():
    kept, del_me = result(), result()
    del del_me

    def child():
        assert_same(result(), kept)
        kept[0] = 77

    run_in_child(child)
    assert kept[0] == 0
    assert_same(result(), kept)


@pytest.mark.parametrize(
    ("value", "error"), [(-1, ValueError), (2**63, ValueError), (1.5, TypeError)]
)
def test_bad_limits(value, error):
    with pytest.raises(error, match="limit"):
        sr.set_pool_limit(value)


@pytest.mark.parametrize(("text", "limit"), [("0", 0), ("1048576", 1 << 20)])
def test_environment(text, limit):
    code = "import sowreap as sr; print(sr.get_pool_limit())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"SOWREAP_POOL_LIMIT": text},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == limit
    assert not done.stderr


def test_default_limit():
    done = subprocess.run(
        [sys.executable, "-c", "import sowreap as sr; print(sr.get_pool_limit())"],
        env={name: text for name, text in os.environ.items() if name != "SOWREAP_POOL_LIMIT"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0 < int(done.stdout) <= 1 << 30


def test_a_bad_environment_warns():
    done = subprocess.run(
        [sys.executable, "-c", "import sowreap"],
        env=os.environ | {"SOWREAP_POOL_LIMIT": "much"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "SOWREAP_POOL_LIMIT='much' is not a whole number" in done.stderr
