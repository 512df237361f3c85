"""What users of other libraries reported, on every path."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sowreap
from cases import PATHS, SCATTERS, load_cases, memory_available, mentions, place
from forks import run_in_child
from measure import RESIDENT_NOISE, resident_extra, traced_extra

CASES = load_cases("reports.jsonl")
CALLS_AT_ONCE = 4


def ids(case):
    return case.id


def skip_unless_room(case):
    # gigabytes of inputs: minutes on a small machine, so only on request
    if case.needs_bytes and os.environ.get("SOWREAP_TEST_BIG") != "1":
        pytest.skip("needs gigabytes of memory; set SOWREAP_TEST_BIG=1 to run it")
    if case.needs_bytes > memory_available():
        pytest.skip(f"needs {case.needs_bytes} bytes of memory")


@pytest.mark.parametrize(
    ("path", "case"),
    [(path, case) for case in CASES for path in PATHS if case.only in (None, path)],
    ids=lambda value: getattr(value, "id", value),
)
def test_report(path, case):
    skip_unless_room(case)
    placed = case.place_inputs()
    inputs = {name: p.array for name, p in placed.items()}
    before = {name: p.snapshot() for name, p in placed.items()}
    if case.error:
        check_refused(path, case, inputs)
    else:
        check_result(path, case, inputs)
    assert {name: p.snapshot() for name, p in placed.items()} == before


def check_refused(path, case, inputs):
    with pytest.raises(getattr(sowreap, case.error)) as caught:
        PATHS[path](case, inputs)
    assert isinstance(caught.value, sowreap.SowreapError)
    assert [word for word in case.mentions if not mentions(str(caught.value), word)] == []


def check_result(path, case, inputs):
    judge = case.make_judge(inputs)
    results = []

    def once():
        results.append(PATHS[path](case, inputs))
        judge(results[-1])

    # the loops of the reference know nothing of threads, processes and memory
    is_reference = path == "reference"
    rounds = {
        None: once,
        "concurrent-calls": lambda: at_once(once),
        "fork-after-run": lambda: (once(), run_in_child(once)),
    }
    for threads in (None,) if is_reference else case.threads:
        if threads is not None:
            sowreap.set_num_threads(threads)
        for _ in range(1 if is_reference else case.repeat):
            rounds[None if is_reference else case.run]()
    if case.bitwise_repeatable:
        assert len({result.tobytes() for result in results}) == 1
    if case.extra_bytes is not None and not is_reference:
        assert traced_extra(lambda: PATHS[path](case, inputs)) <= case.extra_bytes
        resident = resident_extra(lambda: PATHS[path](case, inputs))
        assert resident <= case.extra_bytes + RESIDENT_NOISE


def at_once(run):
    start = threading.Barrier(CALLS_AT_ONCE)

    def one():
        start.wait()
        run()

    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        for call in [pool.submit(one) for _ in range(CALLS_AT_ONCE)]:
            call.result()


@pytest.mark.parametrize("case", [c for c in CASES if c.out], ids=ids)
def test_report_over_an_input(case):
    """The result goes where an input lies; only the base of a scatter must accept that."""
    placed = case.place_inputs()
    inputs = {name: p.array for name, p in placed.items()}
    judge = case.make_judge(inputs)
    out = inputs[case.out]
    before, beside = placed[case.out].snapshot(), placed[case.out].beside()
    must_accept = case.operator in SCATTERS and case.out == "data"
    try:
        result = PATHS["functions"](case, inputs, out=out)
    except sowreap.ArgumentError:
        assert not must_accept
        assert placed[case.out].snapshot() == before
    else:
        assert result is out
        judge(out)
        assert placed[case.out].beside() == beside


OUT_OF_RANGE = [c for c in CASES if c.error == "OutOfRangeError"]


@pytest.mark.parametrize("case", OUT_OF_RANGE, ids=ids)
def test_refused_report_leaves_fresh_out_untouched(case):
    inputs = {name: p.array for name, p in case.place_inputs().items()}
    out = place(np.zeros(result_shape(case, inputs), inputs["data"].dtype))
    before = out.snapshot()
    with pytest.raises(sowreap.OutOfRangeError):
        PATHS["functions"](case, inputs, out=out.array)
    assert out.snapshot() == before


@pytest.mark.parametrize("case", [c for c in OUT_OF_RANGE if c.operator in SCATTERS], ids=ids)
def test_refused_report_leaves_data_untouched(case):
    placed = case.place_inputs()
    inputs = {name: p.array for name, p in placed.items()}
    before = placed["data"].snapshot()
    with pytest.raises(sowreap.OutOfRangeError):
        PATHS["functions"](case, inputs, out=inputs["data"])
    assert placed["data"].snapshot() == before


def result_shape(case, inputs):
    """The shape that a call would have if its indices were good."""
    if case.operator in SCATTERS:
        return inputs["data"].shape
    roomy = np.zeros([max(n, 1) for n in inputs["data"].shape])
    good = {"data": roomy, "indices": np.zeros_like(inputs["indices"])}
    return PATHS["reference"](case, good).shape
