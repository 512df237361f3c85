"""Models as Python scripts: what they compute, how they read, what they never do."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import subprocess
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from exported import assert_as_session, assert_same, call, namespace, run_script
from family import FAMILY
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.parser import parse_model

import sowreap
from sowreap.onnx import ModelError, to_python
from sowreap.onnx._export import graph
from sowreap.onnx._export.operators import UNPACKED, WRITERS
from sowreap.onnx._export.text import wrapped

HEAD = '<ir_version: 10, opset_import: ["": 18, "local": 1]>'
X = np.array([1, -2, 3], np.float32)
SPELLED = {*WRITERS, *UNPACKED, *graph._CONTROL}
CASES_PER_OPERATOR = 3
IN_NO_CASE = {"ConcatFromSequence", "Optional", "SequenceAt", "SequenceConstruct"}
IN_NO_CASE |= {"SequenceEmpty", "SequenceLength"}
# Scan 8 has a batch axis; neither onnx's evaluator nor anything else here runs it.
NOT_WRITTEN = {"test_scan_sum"}


@functools.cache
def official_cases() -> dict[str, Any]:
    """Return onnx's own tests of spelled operators, the first of each; the family's are all there.

    What they expect is the standard's word, from which onnx's evaluator departs here and there.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        cases = load_model_tests(kind="node")
    count: Counter[str] = Counter()
    chosen = {}
    for case in cases:
        operators = {node.op_type for node in case.model.graph.node} & SPELLED
        if "_expanded" in case.name or case.name in NOT_WRITTEN:
            continue
        if any(name in FAMILY or count[name] < CASES_PER_OPERATOR for name in operators):
            chosen[case.name] = case
        count.update(operators)
    return chosen


def test_official_cases_reach_the_operators():
    reached = {node.op_type for case in official_cases().values() for node in case.model.graph.node}
    assert SPELLED - reached == IN_NO_CASE


@pytest.mark.parametrize("part", range(8))
def test_official_cases(part: int):
    for name, case in list(official_cases().items())[part::8]:
        names = namespace(case.model)
        for values, expected in case.data_sets:
            feeds = dict(zip(names["INPUTS"], map(_array, values), strict=True))
            try:
                assert_same(call(names, feeds), list(map(_array, expected)), case.rtol, case.atol)
            except Exception as error:
                error.add_note(name)
                raise


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def body(model: Any) -> list[str]:
    """Return the statements of the main function."""
    source = to_python(model)
    (function,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    )
    return [ast.unparse(statement) for statement in function.body[1:]]


def test_a_line_for_each_node():
    model = parse_model(
        f"""{HEAD} layer (float[n, 4] x, int64[m] i, float[m, 3] u) => (float[n, 3] y) {{
            w = Constant <value = float[4, 3] {{1,2,3,4,5,6,7,8,9,10,11,12}}> ()
            half = Constant <value = float {{0.1}}> ()
            axis = Constant <value = int64[1] {{-1}}> ()
            shape = Constant <value = int64[2] {{0, -1}}> ()
            h = MatMul (x, w)
            scaled = Mul (h, half)
            p = Softmax (scaled)
            rows = Unsqueeze (i, axis)
            s = ScatterND <reduction = "add"> (p, rows, u)
            m = ReduceMean (s, axis)
            d = Sub (s, m)
            y = Reshape (d, shape)
        }}"""
    )
    assert body(model) == [
        "h = x @ W['w']",
        "scaled = h * 0.1",
        "p = softmax(scaled, -1)",
        "rows = np.expand_dims(i, -1)",
        "s = sr.scatter_nd(p, rows, u, reduction='add')",
        "m = np.mean(s, axis=-1, keepdims=True)",
        "d = s - m",
        "y = d.reshape(d.shape[0], -1)",
        "return y",
    ]
    feeds = {
        "x": np.arange(20, dtype=np.float32).reshape(5, 4),
        "i": np.array([0, 0, -1]),
        "u": np.ones((3, 3), np.float32),
    }
    assert_as_session(model, feeds)


LOOP = f"""{HEAD} rounds (int64 n, float[k] x) => (float[k] total, float[m, k] history) {{
    yes = Constant <value = bool {{1}}> ()
    total, history = Loop (n, yes, x) <
        body = b (int64 i, bool go, float[k] acc) => (bool on, float[k] out, float[k] copy) {{
            on = Identity (go)
            f = Cast <to = 1> (i)
            out = Add (acc, f)
            copy = Identity (acc)
        }}>
}}"""
WHILE = f"""{HEAD} doubling (float limit, float x) => (float y, int64 z) {{
    go = Less (x, limit)
    zero = Constant <value = int64 {{0}}> ()
    one = Constant <value = int64 {{1}}> ()
    y, z = Loop (, go, x, zero) <
        body = b (int64 i, bool go, float a, int64 c) => (bool on, float a2, int64 c2) {{
            a2 = Add (a, a)
            c2 = Add (c, one)
            on = Less (a2, limit)
        }}>
}}"""
UNTIL = f"""{HEAD} until (int64 n, bool go, float x, float y) => (float u, float v, int64 last) {{
    minus = Constant <value = int64 {{-1}}> ()
    u, v, last = Loop (n, go, x, y, minus) <
        body = b (int64 i, bool g, float p, float q, int64 l) =>
                 (bool on, float q2, float p2, int64 l2) {{
            l2 = Identity (i)
            q2 = Identity (q)
            p2 = Identity (p)
            three = Constant <value = int64 {{3}}> ()
            on = Less (i, three)
        }}>
}}"""
BRANCHES = f"""{HEAD} choose (bool c, bool d, float[n] x) => (float[n] y, float[n] z) {{
    y, z = If (c) <
        then_branch = t () => (float[n] a, float[n] b) {{
            a = If (d) <
                then_branch = tt () => (float[n] k) {{ k = Neg (x) }},
                else_branch = te () => (float[n] k) {{ k = Abs (x) }}>
            b = Identity (x)
        }},
        else_branch = e () => (float[n] a, float[n] b) {{
            a = Constant <value = float[3] {{7, 8, 9}}> ()
            b = Add (x, a)
        }}>
}}"""
SCAN = f"""{HEAD} sums (float[k] start, float[m, k] xs) => (float[k] last, float[m, k] all) {{
    last, all = Scan <num_scan_inputs = 1,
        body = b (float[k] s, float[k] x) => (float[k] s2, float[k] o) {{
            s2 = Add (s, x)
            o = Mul (s2, x)
        }}> (start, xs)
}}"""
FUNCTIONS = f"""{HEAD} g (float[n] x, float w) => (float[n] y) {{
    a = local.scaled <alpha = 0.25> (x, w)
    b = local.scaled <alpha = 4.0> (a, w)
    c = local.scaled <alpha = 0.25> (b, w)
    y = local.twice (c)
}}
<opset_import: ["": 18], domain: "local">
scaled <alpha> (x, w) => (y) {{
    f = Constant <value_float: float = @alpha> ()
    g = Mul (x, f)
    y = Clip (g, w)
}}
<opset_import: ["": 18, "local": 1], domain: "local">
twice (x) => (twice) {{
    one = Constant <value = bool {{1}}> ()
    h = If (one) <
        then_branch = t () => (float[n] a) {{ a = local.scaled <alpha = 2.0> (x, x) }},
        else_branch = e () => (float[n] a) {{ a = Identity (x) }}>
    twice = Max (h, x)
}}"""
MAP = f"""{HEAD} each (float[n] a, float[n] b, float s) => (float[n] first, float[k] all) {{
    pair = SequenceConstruct (a, b)
    scaled = SequenceMap (pair, s) <
        body = m (float[n] item, float f) => (float[n] out) {{ out = Mul (item, f) }}>
    longer = SequenceInsert (scaled, a)
    zero = Constant <value = int64 {{0}}> ()
    first = SequenceAt (longer, zero)
    all = ConcatFromSequence <axis = 0> (longer)
}}"""


@pytest.mark.parametrize(
    ("text", "feeds", "pattern"),
    [
        (LOOP, {"n": np.array(3), "x": X}, r"for i_ in range\(n\.item\(\)\):"),
        (WHILE, {"limit": np.float32(100), "x": np.float32(3)}, r"while go_\d:"),
        (UNTIL, {"n": np.array(9), "go": np.array(True)}, r"if not g:\n\s+break"),
        (UNTIL, {"n": np.array(0), "go": np.array(True)}, r"u, v, last, g = v, u, i, on"),
        (UNTIL, {"n": np.array(2), "go": np.array(False)}, r"last = np\.int64\(-1\)"),
        (BRANCHES, {"c": np.array(True), "d": np.array(True), "x": X}, r"if c:\n\s+if d:"),
        (BRANCHES, {"c": np.array(True), "d": np.array(False), "x": X}, r"else:\n\s+a = np\.abs"),
        (
            BRANCHES,
            {"c": np.array([False]), "d": np.array(True), "x": X},
            r"z = x \+ A\n",
        ),
        (SCAN, {"start": X, "xs": np.ones((4, 3), np.float32)}, r"for x in xs:"),
        (FUNCTIONS, {"x": X, "w": np.float32(-1)}, r"b = scaled_2\(a, w\)\n    c = scaled\(b, w\)"),
        (MAP, {"a": X, "b": X + 1, "s": np.float32(2)}, r"for item in pair:"),
    ],
)
def test_control_flow_and_functions(text: str, feeds: dict[str, Any], pattern: str):
    model = parse_model(text)
    if text is UNTIL:
        feeds = {**feeds, "x": np.float32(1), "y": np.float32(2)}
    if text is BRANCHES:
        del model.graph.input[0].type.tensor_type.shape.dim[:]
        model.graph.input[0].type.tensor_type.ClearField("shape")
    feeds = {name: np.asarray(value) for name, value in feeds.items()}
    assert_as_session(model, feeds)
    assert re.search(pattern, to_python(model))


def test_rounds_of_a_loop_that_never_runs_have_their_dtype():
    names = namespace(parse_model(LOOP))
    total, history = call(names, {"n": np.array(0), "x": X})
    assert_same(total, X)
    assert (history.dtype, history.shape[0]) == (np.float32, 0)


def test_what_is_not_used_is_not_written():
    model = parse_model(
        f"""{HEAD} part (int64 n, bool c, float[k] x) => (float[k] last, float[k] b, float[j] s) {{
            yes = Constant <value = bool {{1}}> ()
            last, unused = Loop (n, yes, x) <
                body = w (int64 i, bool go, float[k] acc) => (bool on, float[k] o, float[k] lost) {{
                    on = Identity (go)
                    o = Add (acc, acc)
                    lost = Exp (acc)
                }}>
            a, b = If (c) <
                then_branch = t () => (float[k] p, float[k] q) {{ p = Exp (x) q = Neg (x) }},
                else_branch = e () => (float[k] p, float[k] q) {{ p = Exp (x) q = Abs (x) }}>
            r, s, t = Split <num_outputs = 3> (x)
            dead = Exp (x)
        }}"""
    )
    feeds = {"n": np.array(2), "c": np.array(True), "x": X}
    assert_as_session(model, feeds)
    assert body(model) == [
        "last = x",
        "for _ in range(n.item()):\n    o = last + last\n    last = o",
        "if c:\n    b = -x\nelse:\n    b = np.abs(x)",
        "_, s, _ = split(x, 3, 0)",
        "return (last, b, s)",
    ]


def test_scan_axes_and_directions():
    model = parse_model(
        f"""{HEAD} sums (float[k] s0, float[k, m] a, float[m, k] b)
                     => (float[k] s1, float[k, m] y) {{
            s1, y = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0],
                scan_input_directions = [0, 1], scan_output_axes = [1],
                scan_output_directions = [1],
                body = c (float[k] s, float[k] p, float[k] q) => (float[k] t, float[k] o) {{
                    t = Add (s, p)
                    o = Sub (t, q)
                }}> (s0, a, b)
        }}"""
    )
    rng = np.random.default_rng(0)
    s = rng.integers(9, size=2).astype(np.float32)
    a, b = rng.integers(9, size=(2, 3)).astype(np.float32), np.float32([[1, 2], [3, 4], [5, 6]])
    last, out = call(namespace(model), {"s0": s, "a": a, "b": b})
    expected, state = np.zeros((2, 3), np.float32), s
    for step in range(3):
        state = state + a[:, step]
        expected[:, 2 - step] = state - b[2 - step]
    assert_same(last, state)
    assert_same(out, expected)


def test_older_opsets_keep_their_meaning():
    model = parse_model(
        """<ir_version: 3, opset_import: ["": 9]>
        old (float[2, 2, 2] x) => (float[2, 2, 2] p, float[1, 2] y, float[2, 2, 2] z) {
            p = Softmax (x)
            s = Slice <starts = [0, 1], ends = [1, 9], axes = [0, -1]> (x)
            f = Squeeze <axes = [2]> (s)
            y = Unsqueeze <axes = [0]> (r)
            r = Identity (g)
            q = ReduceSum <axes = [0, 1], keepdims = 0> (x)
            g = Max (q, q)
            z = Clip <min = -1.0, max = 5.5> (x)
        }"""
    )
    nodes = {node.output[0]: node for node in model.graph.node}
    order = ["p", "s", "f", "q", "g", "r", "y", "z"]
    del model.graph.node[:]
    model.graph.node.extend(nodes[name] for name in order)
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    p, y, z = call(namespace(model), {"x": x})
    exponents = np.exp(x - 3 - 4 * np.arange(2)[:, None, None])
    np.testing.assert_allclose(p, exponents / exponents.sum((1, 2), keepdims=True), rtol=1e-6)
    assert_same(y, x.sum((0, 1))[None])
    assert_same(z, np.clip(x, -1, 5.5))


def test_strings():
    model = parse_model(
        f"""{HEAD} words (string[n] words, int64[m] picks) => (string[m] y, bool[m] same) {{
            y = Gather (words, picks)
            quote = Constant <value_string = "it's a \\"word\\""> ()
            same = Equal (y, quote)
        }}"""
    )
    words = np.array(["a", 'it\'s a "word"', "é\u202e"], object)
    names = namespace(model)
    expected = [words[[1, 2]], np.array([True, False])]
    assert_same(call(names, {"words": words, "picks": np.array([1, -1])}), expected)


PAYLOADS = [
    'x"); open("owned", "w") #',
    "x'''\nopen('owned', 'w')\n'''",
    '"""\nopen("owned", "w")\n"""',
    "\\",
    "\\N{DIGIT ONE}{open('owned','w')}",
    "%(prog)s %s {0} {open}",
    "é\u202e\n\r\u2028",
    "class",
    "np",
    "../../owned",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_texts_of_a_model_never_run(payload: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = helper.make_function(
        "local",
        f"f{payload}",
        [payload],
        [f"o{payload}"],
        [helper.make_node("Neg", [payload], [f"o{payload}"])],
        [helper.make_opsetid("", 18)],
    )
    function.doc_string = payload
    weight = numpy_helper.from_array(np.arange(3000, dtype=np.float32), f"w{payload}")
    text = numpy_helper.from_array(np.array([payload, "plain"], object), f"t{payload}")
    nodes = [
        helper.make_node(f"f{payload}", [payload], ["a"], name=payload, domain="local"),
        helper.make_node("Add", ["a", f"w{payload}"], [f"y{payload}"], doc_string=payload),
        helper.make_node("Identity", [f"t{payload}"], [f"z{payload}"]),
    ]
    model = helper.make_model(
        helper.make_graph(
            nodes,
            payload,
            [helper.make_tensor_value_info(payload, TensorProto.FLOAT, [payload])],
            [
                helper.make_tensor_value_info(f"y{payload}", TensorProto.FLOAT, [None]),
                helper.make_tensor_value_info(f"z{payload}", TensorProto.STRING, [2]),
            ],
            [weight, text],
            doc_string=payload,
        ),
        functions=[function],
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("local", 1)],
        producer_name=payload,
        doc_string=payload,
    )
    x = np.ones(3000, np.float32)
    names = assert_as_session(model, {payload: x})
    assert names["OUTPUTS"] == [f"y{payload}", f"z{payload}"]
    script = tmp_path / "script.py"
    script.write_text(to_python(model, weights=script.with_suffix(".npz")), "utf-8")
    assert run_script(script, "--help").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.npz", "script.py"]


def test_any_names_give_distinct_identifiers():
    rng = np.random.default_rng(1)
    alphabet = [*"aAbB01_/.:- '\"\\{}%#\n", "é", "class", "np", "x", "W", "self", "print"]
    tensors = ["".join(rng.choice(alphabet, rng.integers(1, 9))) for _ in range(300)]
    tensors = list(dict.fromkeys(tensors))
    nodes, weights = [], []
    for position, (before, after) in enumerate(itertools.pairwise(tensors)):
        weights.append(numpy_helper.from_array(np.float32([position, 1]), f"{after} w"))
        nodes.append(helper.make_node("Add", [before, f"{after} w"], [after]))
    make = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "names",
        [make(tensors[0], TensorProto.FLOAT, [2])],
        [make(name, TensorProto.FLOAT, [2]) for name in tensors[-9:]],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    assert_as_session(model, {tensors[0]: np.zeros(2, np.float32)})


def test_constants_of_every_dtype(tmp_path: Path):
    rng = np.random.default_rng(2)
    dtypes = [*"?bBhHiIlLefdFD", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4]
    arrays = {}
    for number, dtype in enumerate(dtypes):
        for size in (3, 200):
            values = rng.integers(0, 4, size)
            arrays[f"c{number}_{size}"] = values.astype(np.dtype(dtype))
    arrays["odd"] = np.array([np.nan, -np.inf, -0.0, 1e-45, 3.4028235e38], np.float32)
    arrays["scalar"] = np.array(-0.0, np.float64)
    arrays["empty"] = np.zeros((0, 2), np.int8)
    nodes = [helper.make_node("Identity", [name], [f"y_{name}"]) for name in arrays]
    make = helper.make_empty_tensor_value_info
    outputs = [make(f"y_{name}") for name in arrays]
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "constants", [], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
    found = call(namespace(model), {})
    path = tmp_path / "script.py"
    path.write_text(to_python(model, weights=tmp_path / "weights.npz"), "utf-8")
    names: dict[str, Any] = {"__name__": "script", "__file__": str(path)}
    exec(compile(path.read_text("utf-8"), str(path), "exec"), names)
    for values in (found, call(names, {})):
        for value, array in zip(values, arrays.values(), strict=True):
            value = np.asarray(value)
            assert (value.dtype, value.shape) == (array.dtype, array.shape)
            assert value.tobytes() == array.tobytes()


def test_inputs_with_defaults_are_keywords(tmp_path: Path):
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        g (float[n] x, float[1] scale) => (float[n] y) <float[1] scale = {2}> {
            y = Mul (x, scale)
        }"""
    )
    names = assert_as_session(model, {"x": X})
    assert_same(names["g"](X, scale=np.float32([3])), X * 3)
    script = tmp_path / "g.py"
    script.write_text(to_python(model), "utf-8")
    np.savez(tmp_path / "in.npz", x=X, scale=np.float32([5]))
    assert run_script(script, "in.npz", "-o", "out.npz").returncode == 0
    with np.load(tmp_path / "out.npz") as outputs:
        assert_same(outputs["y"], X * 5)


def test_script_as_a_command(tmp_path: Path):
    model = parse_model(
        f"""{HEAD} g (float[n] my_x, bfloat16[n] half, string[n] word) =>
            (float[n] file, bfloat16[n] half_out, string[n] word_out, seq(float[n]) both) {{
            file = Relu (my_x)
            half_out = Neg (half)
            word_out = Identity (word)
            both = SequenceConstruct (file, my_x)
        }}"""
    )
    script = tmp_path / "g.py"
    script.write_text(to_python(model), "utf-8")
    half = np.array([1, 2, 3], ml_dtypes.bfloat16)
    np.savez(tmp_path / "in.npz", my_x=X, half=half.view("V2"), word=np.array(["a", "b", "ccc"]))
    done = run_script(script, "in.npz", "-o", "out.npz")
    assert (done.returncode, done.stderr) == (0, "")
    with np.load(tmp_path / "out.npz") as outputs:
        assert_same(outputs["file"], np.maximum(X, 0))
        assert_same(outputs["half_out"].view(ml_dtypes.bfloat16), -half)
        assert outputs["word_out"].tolist() == ["a", "b", "ccc"]
        assert_same(outputs["both[1]"], X)
    np.savez(tmp_path / "less.npz", my_x=X)
    done = run_script(script, "less.npz")
    assert done.returncode == 2
    assert "less.npz: no array is named 'half'" in done.stderr
    assert "-o" in run_script(script, "--help").stdout


def test_sequences_in_files(tmp_path: Path):
    model = parse_model(
        f"""{HEAD} g (seq(float[n]) parts, float[n] last) => (float[k] y) {{
            all = SequenceInsert (parts, last)
            y = ConcatFromSequence <axis = 0> (all)
        }}"""
    )
    script = tmp_path / "g.py"
    script.write_text(to_python(model), "utf-8")
    np.savez(tmp_path / "in.npz", **{"parts[0]": X, "parts[1]": X + 1, "last": X + 2})
    done = run_script(script, "in.npz", "-o", "out.npz")
    assert (done.returncode, done.stderr) == (0, "")
    with np.load(tmp_path / "out.npz") as outputs:
        assert_same(outputs["y"], np.concatenate([X, X + 1, X + 2]))


def test_many_operands_and_deep_nesting():
    make = helper.make_tensor_value_info
    names = [f"x{i}" for i in range(3000)]
    infos = [make(name, TensorProto.FLOAT, [3]) for name in names[:1]]
    weights = [numpy_helper.from_array(X, name) for name in names[1:]]
    graph = helper.make_graph(
        [helper.make_node("Sum", names, ["y"])],
        "g",
        infos,
        [make("y", TensorProto.FLOAT, [3])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    assert_as_session(model, {"x0": X})
    model = parse_model(
        f"""{HEAD} g (bool c, float[n] x) => (float[n] r) {{
            {"r = If (c) < then_branch = t () => (float[n] r) {" * 25}
                r = Neg (x)
            {"}, else_branch = e () => (float[n] r) { r = Abs (x) }>" * 25}
        }}"""
    )
    with pytest.raises(ModelError, match="more than 18 deep"):
        to_python(model)


def test_operators_without_a_spelling_run_on_the_evaluator(calls):
    model = parse_model(
        f"""{HEAD} g (float[1, 1, 4, 4] x, int64[1] k)
                  => (float[1, 1, 2, 2] y, float[a] v, int64[a] i) {{
            w = Constant <value = float[1, 1, 3, 3] {{1,2,3,4,5,6,7,8,9}}> ()
            y = Conv <kernel_shape = [3, 3]> (x, w)
            one = Constant <value = int64[1] {{-1}}> ()
            flat = Reshape (x, one)
            v, i = TopK <axis = 0> (flat, k)
        }}"""
    )
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    names = assert_as_session(model, {"x": x, "k": np.array([2])})
    assert "onnx_op" in names
    assert body(model)[0] == "y = onnx_op('Conv', 18, x, W['w'], kernel_shape=[3, 3])"
    custom = parse_model(
        """<ir_version: 10, opset_import: ["": 18, "ai.onnx.ml": 3]>
        g (float[n] x) => (float[n] y) { y = ai.onnx.ml.Binarizer <threshold = 0.5> (x) }"""
    )
    assert_as_session(custom, {"x": X})


def test_what_has_no_form_is_refused_with_its_node():
    model = parse_model(
        """<ir_version: 3, opset_import: ["": 8]>
        g (float[1, k] s, float[1, m, k] x) => (float[1, k] t, float[1, m, k] y) {
            t, y = Scan <num_scan_inputs = 1,
                body = b (float[k] a, float[k] c) => (float[k] d, float[k] e) {
                    d = Add (a, c)
                    e = Identity (d)
                }> (, s, x)
        }"""
    )
    with pytest.raises(ModelError, match=r"node 't' \(Scan\) is of opset 8"):
        to_python(model)
    with pytest.raises(ModelError, match="it does not exist"):
        to_python("absent.onnx")
    with pytest.raises(sowreap.DtypeError, match="must be a path, bytes or an"):
        to_python(3)
    unknown = helper.make_node("Nonesuch", ["x"], ["y"], domain="nowhere")
    make = helper.make_tensor_value_info
    graph = helper.make_graph(
        [unknown],
        "g",
        [make("x", TensorProto.FLOAT, [1])],
        [make("y", TensorProto.FLOAT, [1])],
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("nowhere", 1)]
    with pytest.raises(ModelError, match="Nonesuch"):
        to_python(helper.make_model(graph, opset_imports=imports))


def test_every_statement_survives_its_breaking():
    names = [f"variable_{i}" * 3 for i in range(4)]
    for line in (
        f"{names[0]} = {names[1]} @ W['{names[2]}'].T + W['{names[3]}']",
        f"{', '.join(names)} = split({names[0]}, 4, axis=0)",
        f"{names[0]} = ({names[1]} @ {names[2]}).astype({names[3]}.dtype)",
        f"{names[0]} = f(({names[1]},), [{names[2]}], text=\"a, (b\", **{{'{names[3]}': 1}})",
        f"{names[0]} = np.where({names[1]} > 0, {names[2]}, g(x)).astype({names[1]}.dtype)",
        f"return {', '.join(names)}",
        f"{names[0]} = {names[1]}[:, {names[2]}:, ..., {names[3]}]",
    ):
        text = "\n".join(wrapped(line, 0))
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(line))
        assert max(map(len, text.splitlines())) < len(line)


def test_linters_and_formatters_agree(tmp_path: Path):
    ruff = pytest.importorskip("ruff", reason="ruff is not installed here")
    for name, case in official_cases().items():
        if name == "test_sequence_map_identity_1_sequence":
            continue  # ruff would write list(x) for the loop
        (tmp_path / f"{name}.py").write_text(to_python(case.model), "utf-8")
    for text in (LOOP, WHILE, UNTIL, BRANCHES, SCAN, FUNCTIONS, MAP):
        (tmp_path / f"text_{abs(hash(text))}.py").write_text(to_python(parse_model(text)), "utf-8")
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff.find_ruff_bin(), *command, "--isolated", "--no-cache", str(tmp_path)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout[-3000:]


def test_weights_are_written_only_if_there_are_any(tmp_path: Path):
    small = parse_model(f"{HEAD} g (float[n] x) => (float[n] y) {{ y = Relu (x) }}")
    to_python(small, weights=tmp_path / "w.npz")
    assert not (tmp_path / "w.npz").exists()


def test_saved_model_with_external_data(tmp_path: Path):
    weight = numpy_helper.from_array(np.arange(5000, dtype=np.float32), "w")
    make = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [make("x", TensorProto.FLOAT, [1])],
        [make("y", TensorProto.FLOAT, [5000])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, size_threshold=0)
    assert_as_session(path, {"x": np.float32([1])})
