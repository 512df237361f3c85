"""Every statement of the check about another runtime, shown again by a small model.

Run as a script it prints which statements hold for the installed versions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from numpy.testing import assert_array_equal
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import sowreap
from sowreap.onnx._check.runtimes import ORT, STATEMENTS

Feeds = dict[str, np.ndarray]
PATIENCE = 60  # seconds; a race is lost many times in one
SHOWN: dict[str, Callable[[], None]] = {}


def shows(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register what shows a statement: it raises where the statement does not hold."""

    def register(function: Callable[[], None]) -> Callable[[], None]:
        assert name not in SHOWN
        SHOWN[name] = function
        return function

    return register


def installed(name: str) -> str | None:
    """Return the version of the statement's runtime that is installed here, None for none."""
    if STATEMENTS[name].runtime != ORT:
        return onnx.__version__
    try:
        import onnxruntime
    except ImportError:
        return None
    return str(onnxruntime.__version__)


# --- models and runtimes ---


def model(signature: str, body: str, opset: int = 18) -> bytes:
    """Return a model with the output ``out``."""
    header = f'<ir_version: 10, opset_import: ["": {opset}]> g '
    return bytes(parse_model(f"{header} {signature} {{ {body} }}").SerializeToString())


SCATTER_TYPES = "({0}[n] data, int64[m] indices, {0}[m] updates) => ({0}[n] out)"
ROWS = "({0}[n, w] data, int64[m, 1] indices, {0}[m, w] updates) => ({0}[n, w] out)"


def scatter(element: str, reduction: str, opset: int = 18) -> bytes:
    body = f'out = ScatterElements <reduction = "{reduction}"> (data, indices, updates)'
    return model(SCATTER_TYPES.format(element), body, opset)


def scatter_rows(element: str, reduction: str, opset: int = 18) -> bytes:
    body = f'out = ScatterND <reduction = "{reduction}"> (data, indices, updates)'
    return model(ROWS.format(element), body, opset)


def cast_scatter(operator: str, element: int, reduction: str) -> bytes:
    """Return a model of float inputs and outputs that scatters another element type."""
    indices = "int64[m, 1]" if operator == "ScatterND" else "int64[m]"
    return model(
        f"(float[n] data, {indices} indices, float[m] updates) => (float[n] out)",
        f"""a = Cast <to = {element}> (data)
            b = Cast <to = {element}> (updates)
            c = {operator} <reduction = "{reduction}"> (a, indices, b)
            out = Cast <to = {onnx.TensorProto.FLOAT}> (c)""",
    )


def ort_session(content: bytes, threads: int = 1) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def on_ort(content: bytes, feeds: Feeds) -> np.ndarray:
    return ort_session(content).run(None, feeds)[0]


def on_reference(content: bytes, feeds: Feeds) -> np.ndarray:
    return ReferenceEvaluator(onnx.load_model_from_string(content)).run(None, feeds)[0]


def fails(function: Callable[..., Any], *arguments: Any) -> str:
    """Return the text of the error that a call must raise."""
    try:
        function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("it ran")


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


PLAIN = {
    "data": floats(1, 2, 3),
    "indices": np.array([0, 2]),
    "updates": floats(8, 9),
}


def columns(feeds: Feeds) -> Feeds:
    """Return the feeds of ScatterElements as those of ScatterND on rows of one item."""
    return {name: array[:, None] for name, array in feeds.items()}


# --- reductions ---


def check_reduction_is_ignored(run: Callable[[bytes, Feeds], np.ndarray]) -> None:
    assert_array_equal(run(scatter("float", "sum"), PLAIN), [8, 2, 9])
    assert_array_equal(run(scatter_rows("float", "sum"), columns(PLAIN)).ravel(), [8, 2, 9])


def check_reduction_is_early(run: Callable[[bytes, Feeds], np.ndarray]) -> None:
    for reduction, wanted in (("max", [8, 2, 9]), ("min", [1, 2, 3])):
        assert_array_equal(run(scatter("float", reduction, 16), PLAIN), wanted)
        found = run(scatter_rows("float", reduction, 16), columns(PLAIN))
        assert_array_equal(found.ravel(), wanted)


@shows("ort-reduction-unknown")
def _() -> None:
    check_reduction_is_ignored(on_ort)


@shows("ref-reduction-unknown")
def _() -> None:
    check_reduction_is_ignored(on_reference)


@shows("ort-reduction-early")
def _() -> None:
    check_reduction_is_early(on_ort)


@shows("ref-reduction-early")
def _() -> None:
    check_reduction_is_early(on_reference)


# --- the operator Scatter ---

WITHDRAWN = "out = Scatter (data, indices, updates)"


@shows("ort-scatter-withdrawn")
def _() -> None:
    old, new = (model(SCATTER_TYPES.format("float"), WITHDRAWN, opset) for opset in (10, 11))
    assert_array_equal(on_ort(old, PLAIN), [8, 2, 9])
    assert "deprecated" in fails(ort_session, new)


@shows("ref-scatter-missing")
def _() -> None:
    old = model(SCATTER_TYPES.format("float"), WITHDRAWN, 10)
    assert "'Scatter'" in fails(on_reference, old, PLAIN)


# --- indices out of range ---

READ = "(float[n] data, int64[m] indices) => (float[m] out)"
READ_TUPLES = "(float[n] data, int64[m, 1] indices) => (float[m] out)"


def out_of_range() -> dict[str, tuple[bytes, Feeds]]:
    """Return one model and its feeds for each operator; the second index is out of range."""
    read = {"data": PLAIN["data"], "indices": np.array([0, 3])}
    write = {**read, "updates": PLAIN["updates"]}
    return {
        "Gather": (model(READ, "out = Gather (data, indices)"), read),
        "GatherElements": (model(READ, "out = GatherElements (data, indices)"), read),
        "GatherND": (
            model(READ_TUPLES, "out = GatherND (data, indices)"),
            {**read, "indices": read["indices"][:, None]},
        ),
        "ScatterElements": (scatter("float", "none"), write),
        "ScatterND": (scatter_rows("float", "none"), columns(write)),
    }


@shows("ort-index-range")
def _() -> None:
    cases = out_of_range()
    old = model(SCATTER_TYPES.format("float"), WITHDRAWN, 10)
    cases["Scatter"] = (old, cases["ScatterElements"][1])
    for operator, case in cases.items():
        error = fails(on_ort, *case)
        assert f"{operator} node" in error
        assert "[1]" not in error


@shows("ref-index-range")
def _() -> None:
    cases = out_of_range()
    del cases["GatherElements"]
    for case in cases.values():
        assert fails(on_reference, *case).startswith("IndexError")


@shows("ref-index-wraps")
def _() -> None:
    content, feeds = out_of_range()["GatherElements"]
    assert_array_equal(on_reference(content, feeds), [1, 1])


# --- several updates of one place ---


def many_updates(reduction: str) -> Feeds:
    """Return updates that meet in one row, half of them as large as any, last in either half."""
    count, width = 20_000, 64
    ramp = np.tile(np.arange(count // 2), 2)[:, None] + np.zeros((1, width), int)
    updates = {"min": -ramp, "mul": 2 * ramp + 1, "none": np.arange(count)[:, None] + 0 * ramp}
    return {
        "data": np.ones((1, width), np.int64),
        "indices": np.zeros((count, 1), np.int64),
        "updates": updates.get(reduction, ramp),
    }


def check_race(reduction: str) -> None:
    """Run with two threads until a result is wrong; with one thread none ever is."""
    feeds = many_updates(reduction)
    content = scatter_rows("int64", reduction)
    wanted = sowreap.scatter_nd(*feeds.values(), reduction)
    for _ in range(3):
        assert_array_equal(on_ort(content, feeds), wanted)
    session = ort_session(content, threads=2)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not np.array_equal(session.run(None, feeds)[0], wanted):
            return
    raise AssertionError(f"{reduction}: every result was right")


@shows("ort-repeated-none")
def _() -> None:
    check_race("none")


@shows("ort-lost-updates")
def _() -> None:
    for reduction in ("add", "mul", "min", "max"):
        check_race(reduction)


REPEATED = {**PLAIN, "indices": np.array([1, 1])}


@shows("ort-repeated-elements")
def _() -> None:
    old = model(SCATTER_TYPES.format("float"), WITHDRAWN, 10)
    indices = np.zeros(200_000, np.int64)
    feeds = {"data": floats(0), "indices": indices, "updates": floats(*range(indices.size))}
    for content in (scatter("float", "none"), old):
        assert_array_equal(on_ort(content, REPEATED), [1, 9, 3])
        session = ort_session(content, threads=2)
        for _ in range(20):
            assert_array_equal(session.run(None, feeds)[0], [indices.size - 1])


@shows("ref-repeated")
def _() -> None:
    assert_array_equal(on_reference(scatter("float", "none"), REPEATED), [1, 9, 3])
    found = on_reference(scatter_rows("float", "none"), columns(REPEATED))
    assert_array_equal(found.ravel(), [1, 9, 3])


# --- NaN ---

# Places 0 and 1: NaN is there, NaN comes. Place 2: NaN comes, then a number.
WITH_NAN = {
    "data": floats(np.nan, 1, 1),
    "indices": np.array([0, 1, 2, 2]),
    "updates": floats(2, np.nan, np.nan, 2),
}


@shows("ort-nan-dropped")
def _() -> None:
    for reduction in ("min", "max"):
        wanted = [2, np.nan, 2]
        assert_array_equal(on_ort(scatter("float", reduction), WITH_NAN), wanted)
        found = on_ort(scatter_rows("float", reduction), columns(WITH_NAN))
        assert_array_equal(found.ravel(), wanted)


@shows("ref-nan-ignored")
def _() -> None:
    for reduction, wanted in (("min", [np.nan, 1, 1]), ("max", [np.nan, 1, 2])):
        assert_array_equal(on_reference(scatter("float", reduction), WITH_NAN), wanted)


# --- element types ---

HALF, BFLOAT16 = onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16


def check_refused(operator: str, element: int, reduction: str) -> None:
    feeds = PLAIN if operator == "ScatterElements" else {**PLAIN, "indices": np.array([[0], [2]])}
    session = ort_session(cast_scatter(operator, element, reduction))
    assert "not supported" in fails(session.run, None, feeds)


@shows("ort-half-add")
def _() -> None:
    for operator in ("ScatterElements", "ScatterND"):
        for element in (HALF, BFLOAT16):
            for reduction in ("add", "mul"):
                check_refused(operator, element, reduction)


@shows("ort-half-max")
def _() -> None:
    for reduction in ("min", "max"):
        check_refused("ScatterND", HALF, reduction)
        check_refused("ScatterND", BFLOAT16, reduction)
        check_refused("ScatterElements", BFLOAT16, reduction)
    taken = on_ort(cast_scatter("ScatterElements", HALF, "max"), PLAIN)
    assert_array_equal(taken, [8, 2, 9])


@shows("ort-bool-max")
def _() -> None:
    for operator in ("ScatterElements", "ScatterND"):
        for reduction in ("min", "max"):
            check_refused(operator, onnx.TensorProto.BOOL, reduction)


@shows("ort-complex")
def _() -> None:
    for operator in ("Gather", "GatherElements"):
        signature = "(complex64[n] data, int64[m] indices) => (complex64[m] out)"
        content = model(signature, f"out = {operator} (data, indices)")
        assert "complex64" in fails(ort_session, content)
    for element in ("complex64", "complex128"):
        for reduction in ("none", "add"):
            assert element in fails(ort_session, scatter(element, reduction))
            assert element in fails(ort_session, scatter_rows(element, reduction))


TEXTS = {
    "data": np.array(["a", "b", "c"], object),
    "indices": np.array([0, 2]),
    "updates": np.array(["x", "0"], object),
}


@shows("ort-text-reduction")
def _() -> None:
    for reduction in ("mul", "min", "max"):
        assert "string" in fails(on_ort, scatter("string", reduction), TEXTS)
        assert "string" in fails(on_ort, scatter_rows("string", reduction), columns(TEXTS))


@shows("ref-text-order")
def _() -> None:
    for reduction, wanted in (("min", ["a", "b", "0"]), ("max", ["x", "b", "c"])):
        assert_array_equal(on_reference(scatter("string", reduction), TEXTS), wanted)


@shows("ref-complex-order")
def _() -> None:
    feeds = {**PLAIN, **{k: PLAIN[k].astype(np.complex64) for k in ("data", "updates")}}
    for reduction, wanted in (("min", [1, 2, 3]), ("max", [8, 2, 9])):
        assert_array_equal(on_reference(scatter("complex64", reduction), feeds), wanted)
        found = on_reference(scatter_rows("complex64", reduction), columns(feeds))
        assert_array_equal(found.ravel(), wanted)


@shows("ort-text-gather")
def _() -> None:
    signature = "(string[n, w] data, int64[m] indices) => (string[m, w] out)"
    feeds = {
        "data": np.array([["a", "b", "c"], ["d", "e", "f"]], object),
        "indices": np.array([1, 0]),
    }
    content = model(signature, "out = Gather (data, indices)")
    assert_array_equal(on_ort(content, feeds), [["d", "", ""], ["a", "", ""]])
    one = {**feeds, "data": feeds["data"][:, :1]}
    assert_array_equal(on_ort(content, one), [["d"], ["a"]])


# --- shapes ---


@shows("ref-updates-broadcast")
def _() -> None:
    content = model(
        "(float[2, 2] data, int64[2, 1] indices, float[m] updates) => (float[2, 2] out)",
        "out = ScatterND (data, indices, updates)",
    )
    feeds = {"data": np.zeros((2, 2), np.float32), "indices": np.array([[0], [1]])}
    found = on_reference(content, {**feeds, "updates": floats(8, 9)})
    assert_array_equal(found, [[8, 8], [9, 9]])


@shows("ref-updates-left-out")
def _() -> None:
    content = model(
        "(float[n] data, int64[m] indices, float[k] updates) => (float[n] out)",
        "out = ScatterElements (data, indices, updates)",
    )
    found = on_reference(content, {**PLAIN, "updates": floats(8, 9, 5)})
    assert_array_equal(found, [8, 2, 9])


@shows("ref-gather-elements-long")
def _() -> None:
    content = model(READ, "out = GatherElements (data, indices)")
    long = {"data": np.arange(64, dtype=np.float32), "indices": np.array([63])}
    fails(on_reference, content, long)
    shorter = {"data": long["data"][1:], "indices": np.array([62])}
    assert_array_equal(on_reference(content, shorter), [63])


@shows("ref-gather-elements-small")
def _() -> None:
    content = model(
        "(float[n, w] data, int64[m, k] indices) => (float[m, k] out)",
        "out = GatherElements (data, indices)",
    )
    feeds = {"data": np.ones((2, 2), np.float32), "indices": np.array([[1]])}
    assert "size" in fails(on_reference, content, feeds)


def main() -> None:
    """Print whether each statement holds here."""
    for name, statement in STATEMENTS.items():
        version = installed(name)
        if version is None:
            result = "not installed"
        else:
            try:
                SHOWN[name]()
                result = f"holds for {version}"
            except AssertionError as error:
                result = f"DOES NOT HOLD for {version}: {str(error).strip().splitlines()[:1]}"
        print(f"{name} (seen on {statement.version}): {result}")


if __name__ == "__main__":
    main()
