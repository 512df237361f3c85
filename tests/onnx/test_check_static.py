"""The check of a model that does not run: every rule once broken and once just kept."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from check_models import (
    CACHE,
    ELEMENTS,
    READ,
    cache,
    constant_read,
    constant_write,
    elements,
    full_check_accepts,
    graph,
    read,
    tuples,
    write,
)
from onnx import helper, numpy_helper
from test_graph_network import network

from sowreap._errors import ArgumentError, SowreapError
from sowreap.onnx import Finding, InferenceSession, ModelError, Severity, check
from sowreap.onnx._check.findings import RULES
from sowreap.onnx._check.static import static_sites

S, N = "ScatterElements", "ScatterND"
F3, I2, F2 = "float[3]", "int64[2]", "float[2]"
M, T = "float[3, 4]", "int64[2, 1]"

# rule, argument, value; a model that breaks it; one that only just does not
CASES = {
    "reduction of no opset": (
        ("reduction-unknown", "reduction", "sum"),
        elements("sum"),
        elements("add"),
    ),
    "reduction of no opset, tuples": (
        ("reduction-unknown", "reduction", "sum"),
        tuples("sum"),
        tuples("mul"),
    ),
    "reduction in capitals": (
        ("reduction-unknown", "reduction", "Add"),
        elements("Add"),
        elements("add"),
    ),
    "max at 16": (
        ("reduction-version", "reduction", "max"),
        elements("max", opset=16),
        elements("max"),
    ),
    "min at 17, tuples": (
        ("reduction-version", "reduction", "min"),
        tuples("min", opset=17),
        tuples("min"),
    ),
    "attribute of a later version": (
        ("attribute", "reduction", "add"),
        elements("add", opset=15),
        elements("add", opset=16),
    ),
    "batch_dims at 11": (
        ("attribute", "batch_dims", 0),
        read("GatherND", M, T, "batch_dims = 0", 11),
        read("GatherND", M, T, "batch_dims = 0", 12),
    ),
    "attribute of the wrong type": (
        ("attribute", "axis", "0"),
        read("Gather", F3, I2, 'axis = "0"'),
        read("Gather", F3, I2, "axis = 0"),
    ),
    "operator of a later opset": (
        ("operator-version", "opset", 10),
        read("GatherND", M, T, opset=10),
        read("GatherND", M, T, opset=11),
    ),
    "Scatter at 11": (
        ("deprecated", "opset", 11),
        write("Scatter", F3, I2, F2, opset=11),
        write("Scatter", F3, I2, F2, opset=10),
    ),
    "missing input": (
        ("inputs", "updates", None),
        graph(READ.format("float"), f"out = {S} (data, indices)"),
        elements("none"),
    ),
    "input left empty": (
        ("inputs", "indices", None),
        graph(READ.format("float"), 'out = Gather (data, "")'),
        read("Gather", F3, I2),
    ),
    "input too many": (
        ("inputs", "inputs", 3),
        graph(ELEMENTS.format("float"), "out = Gather (data, indices, updates)"),
        read("Gather", F3, I2),
    ),
    "mode": (
        ("mode", "mode", "ring"),
        cache(attributes='mode = "ring"'),
        cache(attributes='mode = "circular"'),
    ),
    "int32 tuples": (
        ("type-version", "indices", "int32"),
        read("GatherND", M, "int32[2, 1]"),
        read("GatherND", M, T),
    ),
    "int8 indices": (
        ("type-version", "indices", "int8"),
        read("Gather", F3, "int8[2]"),
        read("Gather", F3, "int32[2]"),
    ),
    "bfloat16 at 11": (
        ("type-version", "data", "bfloat16"),
        read("Gather", "bfloat16[3]", I2, opset=11),
        read("Gather", "bfloat16[3]", I2, opset=13),
    ),
    "updates of another type": (
        ("type-mismatch", "updates", "double"),
        write(S, F3, I2, "double[2]"),
        write(S, F3, I2, F2),
    ),
    "max of strings": (
        ("type-reduction", "reduction", "max"),
        elements("max", "string"),
        elements("add", "string"),
    ),
    "mul of strings, tuples": (
        ("type-reduction", "reduction", "mul"),
        tuples("mul", "string"),
        tuples("add", "string"),
    ),
    "min of complex": (
        ("type-reduction", "reduction", "min"),
        elements("min", "complex64"),
        elements("mul", "complex64"),
    ),
    "scalar data": (("rank", "data", 0), read("Gather", "float", I2), read("Gather", F3, I2)),
    "scalar indices": (
        ("rank", "indices", 0),
        read("GatherND", M, "int64"),
        read("GatherND", M, "int64[1]"),
    ),
    "indices of another rank": (
        ("rank", "indices", 1),
        read("GatherElements", M, I2),
        read("GatherElements", M, "int64[2, 4]"),
    ),
    "update of another rank": (
        ("rank", "update", 2),
        graph(
            CACHE.format("n").replace("[2, n, 4]", "[2, 4]"),
            "out = TensorScatter <axis = 1> (cache, update, starts)",
            24,
        ),
        cache(),
    ),
    "axis of Gather": (
        ("axis", "axis", 1),
        read("Gather", F3, I2, "axis = 1"),
        read("Gather", F3, I2),
    ),
    "axis of GatherElements": (
        ("axis", "axis", -2),
        read("GatherElements", F3, I2, "axis = -2"),
        read("GatherElements", F3, I2, "axis = -1"),
    ),
    "axis of ScatterElements": (
        ("axis", "axis", 1),
        write(S, F3, I2, F2, "axis = 1"),
        write(S, F3, I2, F2, "axis = 0"),
    ),
    "axis of TensorScatter": (
        ("axis", "axis", 0),
        cache(attributes="axis = 0"),
        cache(attributes="axis = -2"),
    ),
    "axis of TensorScatter out of range": (
        ("axis", "axis", 3),
        cache(attributes="axis = 3"),
        cache(attributes="axis = 1"),
    ),
    "batch_dims": (
        ("batch-dims", "batch_dims", 2),
        read("GatherND", M, "int64[3, 1]", "batch_dims = 2"),
        read("GatherND", M, "int64[3, 1]", "batch_dims = 1"),
    ),
    "batch_dims as many as data has axes": (
        ("batch-dims", "batch_dims", 1),
        read("GatherND", "float[3]", "int64[3, 0]", "batch_dims = 1"),
        read("GatherND", "float[3, 4]", "int64[3, 0]", "batch_dims = 1"),
    ),
    "negative batch_dims": (
        ("batch-dims", "batch_dims", -1),
        read("GatherND", M, "int64[3, 1]", "batch_dims = -1"),
        read("GatherND", M, "int64[3, 1]", "batch_dims = 0"),
    ),
    "tuples too long": (
        ("tuple-length", "indices", 3),
        write(N, M, "int64[2, 3]", F2),
        write(N, M, "int64[2, 2]", F2),
    ),
    "tuples too long, batches": (
        ("tuple-length", "indices", 2),
        read("GatherND", M, "int64[3, 2]", "batch_dims = 1"),
        read("GatherND", M, "int64[3, 1]", "batch_dims = 1"),
    ),
    "updates unlike indices": (("shape", "updates", 3), write(S, F3, I2, F3), write(S, F3, I2, F2)),
    "updates of another rank": (
        ("shape", "updates", 0),
        write(S, F3, I2, "float"),
        write(S, F3, I2, "float[m]"),
    ),
    "indices larger off the axis": (
        ("shape", "indices", 5),
        read("GatherElements", M, "int64[2, 5]"),
        read("GatherElements", M, "int64[9, 3]"),
    ),
    "updates of tuples": (
        ("shape", "updates", 3),
        write(N, M, T, "float[2, 3]"),
        write(N, M, T, "float[2, 4]"),
    ),
    "updates of tuples broadcast": (
        ("shape", "updates", 1),
        write(N, M, T, "float[4]"),
        write(N, M, T, "float[m, w]"),
    ),
    "batch sizes": (
        ("shape", "indices", 2),
        read("GatherND", M, T, "batch_dims = 1"),
        read("GatherND", M, "int64[b, 1]", "batch_dims = 1"),
    ),
    "update longer than the cache": (("shape", "update", 9), cache("9"), cache("8")),
    "update of another batch": (
        ("shape", "update", 4),
        graph(CACHE.format("4"), "out = TensorScatter <axis = 2> (cache, update, starts)", 24),
        graph(CACHE.format("8"), "out = TensorScatter <axis = 2> (cache, update, starts)", 24),
    ),
    "write indices": (
        ("shape", "write_indices", [3]),
        graph(
            CACHE.format("4").replace("int64[2]", "int64[3]"),
            "out = TensorScatter <axis = 1> (cache, update, starts)",
            24,
        ),
        cache("4"),
    ),
    "constant index of Gather": (
        ("index-range", "indices", 3),
        constant_read("Gather", F3, "int64[2] {0, 3}"),
        constant_read("Gather", F3, "int64[2] {2, -3}"),
    ),
    "constant index of GatherElements": (
        ("index-range", "indices", -4),
        constant_read("GatherElements", M, "int64[1, 2] {-4, 0}", "axis = 0"),
        constant_read("GatherElements", M, "int64[1, 2] {3, -4}", "axis = 1"),
    ),
    "constant index of GatherND": (
        ("index-range", "indices", 4),
        constant_read("GatherND", M, "int64[2, 2] {2, 3, 0, 4}"),
        constant_read("GatherND", M, "int64[2, 2] {2, 3, -3, -4}"),
    ),
    "constant index of a batch": (
        ("index-range", "indices", 4),
        constant_read("GatherND", M, "int64[3, 1] {0, 4, 1}", "batch_dims = 1"),
        constant_read("GatherND", M, "int64[3, 1] {0, 3, 1}", "batch_dims = 1"),
    ),
    "constant index of ScatterElements": (
        ("index-range", "indices", 3),
        constant_write(S, F3, "int64[2] {0, 3}", F2),
        constant_write(S, "float[n]", "int64[2] {0, 3}", F2),
    ),
    "constant index of ScatterND": (
        ("index-range", "indices", -4),
        constant_write(N, M, "int64[2, 1] {0, -4}", "float[2, 4]"),
        constant_write(N, M, "int64[2, 1] {0, -3}", "float[2, 4]"),
    ),
    "index into an empty axis": (
        ("index-range", "indices", 0),
        constant_read("Gather", "float[0]", "int64[1] {0}"),
        constant_read("Gather", "float[1]", "int64[1] {0}"),
    ),
    "negative write index": (
        ("index-range", "write_indices", -1),
        cache("2", starts="int64[2] {0, -1}"),
        cache("2", starts="int64[2] {0, 6}"),
    ),
    "write index past the end": (
        ("index-range", "write_indices", 7),
        cache("2", starts="int64[2] {0, 7}"),
        cache("2", 'axis = 1, mode = "circular"', "int64[2] {0, 7}"),
    ),
    "write index past the end, whatever the update is": (
        ("index-range", "write_indices", 9),
        cache("n", starts="int64[2] {0, 9}"),
        cache("n", starts="int64[2] {0, 8}"),
    ),
    "repeated place": (
        ("repeated-none", "indices", -1),
        constant_write(S, F3, "int64[2] {2, -1}", F2),
        constant_write(S, F3, "int64[2] {2, -2}", F2),
    ),
    "repeated place of unknown size": (
        ("repeated-none", "indices", 2),
        constant_write(S, "float[n]", "int64[2] {2, 2}", F2),
        constant_write(S, "float[n]", "int64[2] {2, -1}", F2),
    ),
    "repeated place in a column": (
        ("repeated-none", "indices", 1),
        constant_write(S, M, "int64[2, 2] {0, 1, 2, 1}", "float[2, 2]", "axis = 0"),
        constant_write(S, M, "int64[2, 2] {0, 1, 2, 1}", "float[2, 2]", "axis = 1"),
    ),
    "repeated tuple": (
        ("repeated-none", "indices", [0, -1]),
        constant_write(N, M, "int64[3, 2] {0, 3, 1, 1, 0, -1}", "float[3]"),
        constant_write(N, M, "int64[3, 2] {0, 3, 1, 1, 2, 3}", "float[3]"),
    ),
    "two empty tuples": (
        ("repeated-none", "indices", []),
        constant_write(N, F3, "int64[2, 0] {}", "float[2, 3]"),
        constant_write(N, F3, "int64[1, 0] {}", "float[1, 3]"),
    ),
    "repeated tuple, add": (
        ("repeated-reduction", "indices", [0]),
        constant_write(N, F3, "int64[2, 1] {0, 0}", F2, 'reduction = "add"'),
        constant_write(S, F3, "int64[2] {0, 0}", F2, 'reduction = "add"'),
    ),
    "half sums": (("type-runtime", "data", "float16"), elements("add", "float16"), elements("add")),
    "half products": (
        ("type-runtime", "data", "bfloat16"),
        tuples("mul", "bfloat16"),
        tuples("mul", "double"),
    ),
    "bfloat16 max": (
        ("type-runtime", "data", "bfloat16"),
        elements("max", "bfloat16"),
        elements("max", "float16"),
    ),
    "half max of tuples": (
        ("type-runtime", "data", "float16"),
        tuples("max", "float16"),
        tuples("none", "float16"),
    ),
    "bool max": (
        ("type-runtime", "data", "bool"),
        elements("max", "bool"),
        elements("add", "bool"),
    ),
    "complex": (
        ("type-runtime", "data", "complex64"),
        read("Gather", "complex64[3]", I2),
        read("Gather", F3, I2),
    ),
    "rows of strings": (
        ("type-runtime", "data", "string"),
        read("Gather", "string[3, 2]", I2),
        read("Gather", "string[3, 1]", I2),
    ),
    "rows of strings along the last axis": (
        ("type-runtime", "data", "string"),
        read("Gather", "string[3, 2]", I2, "axis = 0"),
        read("Gather", "string[3, 2]", I2, "axis = 1"),
    ),
    "long axis": (
        ("runtime-limit", "data", 64),
        read("GatherElements", "float[64]", I2),
        read("GatherElements", "float[63]", I2),
    ),
    "smaller indices": (
        ("runtime-limit", "indices", 3),
        read("GatherElements", M, "int64[2, 3]"),
        read("GatherElements", M, "int64[2, 4]"),
    ),
    "reduction on DirectML": (("directml", "", None), elements("add"), elements("none")),
    "bool on DirectML": (
        ("directml", "", None),
        read("Gather", "bool[3]", I2),
        read("Gather", "uint8[3]", I2),
    ),
    "nine dimensions on DirectML": (
        ("directml", "", None),
        read("Gather", f"float[{'2, ' * 7}2]", "int64[1, 1]"),
        read("Gather", f"float[{'2, ' * 7}2]", "int64[1]"),
    ),
    "no operator of DirectML": (("directml", "", None), cache("2"), elements("none")),
}


def found(model, rule: str) -> list[Finding]:
    return [finding for finding in check(model) if finding.rule == rule]


@pytest.mark.parametrize(("wanted", "bad", "good"), CASES.values(), ids=CASES)
def test_rule_is_broken_once_and_just_kept(wanted, bad, good):
    rule, argument, value = wanted
    (finding,) = found(bad, rule)
    assert (finding.argument, finding.value) == (argument, value)
    assert (finding.node, finding.path) == ("out", ())
    assert finding.severity is RULES[rule].severity
    assert finding.message.endswith(".")
    assert finding.advice.endswith(".")
    assert not found(good, rule)


def test_every_static_rule_is_among_the_cases():
    dynamic = {"nan", "run-failed", "run-skipped"}
    assert {rule for (rule, _, _), _, _ in CASES.values()} == set(RULES) - dynamic


# What onnx's checker or its shape inference knows of; it accepts all other errors.
KNOWN_TO_ONNX = {
    "attribute of a later version",
    "batch_dims at 11",
    "attribute of the wrong type",
    "operator of a later opset",
    "Scatter at 11",
    "missing input",
    "input left empty",
    "input too many",
    "int32 tuples",
    "int8 indices",
    "bfloat16 at 11",
    "updates of another type",
    "scalar data",
    "scalar indices",
    "update of another rank",
    "axis of Gather",
    "axis of TensorScatter",
    "axis of TensorScatter out of range",
    "batch_dims",
    "tuples too long, batches",
    "update of another batch",
    "write indices",
}


def test_full_check_of_onnx_accepts_all_other_errors():
    errors = {
        name: bad
        for name, ((rule, _, _), bad, _) in CASES.items()
        if RULES[rule].severity is Severity.ERROR
    }
    accepted = {name for name, bad in errors.items() if full_check_accepts(bad)}
    assert set(errors) - accepted == KNOWN_TO_ONNX


# --- where nodes are ---

IF = """c = Constant <value = bool {1}> ()
    out = If (c) <
        then_branch = t () => (float[3] a) { a = Gather <axis = 1> (data, indices) },
        else_branch = e () => (float[3] b) {
            k = Constant <value_ints = [0, 9]> ()
            b = Gather (data, k)
        }
    >"""
FUNCTION = """
    <domain: "local", opset_import: ["": 18]>
    pick <axis, kind: string = "add"> (x, i) => (y) {
        p = GatherElements <axis: int = @axis> (x, i)
        y = ScatterElements <reduction: string = @kind> (x, i, p)
    }"""
OUTER = """
    <domain: "local", opset_import: ["": 18, "local": 1]>
    twice <axis> (x) => (y) {
        k = Constant <value = int64[2] {0, 5}> ()
        y = local.pick <axis: int = @axis> (x, k)
    }"""


def test_subgraphs_are_looked_into_and_named():
    model = graph("(float[3] data, int64[3] indices) => (float out)", IF)
    one, other = check(model)
    assert (one.rule, one.node, one.path) == ("axis", "a", ("out",))
    assert (other.rule, other.node, other.path) == ("index-range", "b", ("out",))


def test_both_branches_are_looked_at_though_their_nodes_have_one_name():
    body = """c = Constant <value = bool {1}> ()
        out = If (c) <
            then_branch = t () => (float[3] a) { a = Gather <axis = 1> (data, indices) },
            else_branch = e () => (float[3] a) { a = Gather <axis = 2> (data, indices) }
        >"""
    findings = check(graph("(float[3] data, int64[3] indices) => (float out)", body))
    assert [finding.value for finding in findings] == [1, 2]


def test_a_function_has_its_own_opset():
    functions = """
        <domain: "local", opset_import: ["": 16]>
        put (x, i, u) => (y) { y = ScatterElements <reduction = "max"> (x, i, u) }"""
    model = graph(
        ELEMENTS.format("float"), "out = local.put (data, indices, updates)", functions=functions
    )
    (error,) = [f for f in check(model) if f.severity is Severity.ERROR]
    assert (error.rule, error.path) == ("reduction-version", ("out",))


def test_each_wrong_size_is_told():
    model = read("GatherElements", "float[3, 4, 5]", "int64[2, 6, 7]", "axis = 0")
    assert [(f.position, f.value) for f in found(model, "shape")] == [((1,), 6), ((2,), 7)]


def test_values_of_the_outer_graph_are_known_inside():
    body = """k = Constant <value = int64[1] {7}> ()
        """ + IF.replace("Gather (data, k)", "GatherElements (data, k)").replace(
        "k = Constant <value_ints = [0, 9]> ()", ""
    ).replace("<axis = 1>", "")
    (finding,) = check(graph("(float[3] data, int64[3] indices) => (float out)", body))
    assert (finding.node, finding.value) == ("b", 7)


def call(body: str, functions: str = FUNCTION):
    return graph("(float[3] data, int64[2] indices) => (float[z] out)", body, functions=functions)


def test_a_function_is_checked_with_what_each_call_gives():
    good = call("out = local.pick <axis = 0> (data, indices)")
    assert not [f for f in check(good) if f.severity is Severity.ERROR]
    bad = call(
        "one = local.pick <axis = 0> (data, indices) out = local.pick <axis = 2> (one, indices)"
    )
    errors = [f for f in check(bad) if f.severity is Severity.ERROR]
    assert [(f.rule, f.node, f.path, f.value) for f in errors] == [("axis", "p", ("out",), 2)]


def test_a_default_of_a_function_and_its_value_in_a_call():
    model = call('out = local.pick <axis = 0, kind = "sum"> (data, indices)')
    (error,) = [f for f in check(model) if f.severity is Severity.ERROR]
    assert (error.rule, error.node, error.value) == ("reduction-unknown", "y", "sum")


def test_a_function_in_a_function_sees_its_constants():
    model = call("out = local.twice <axis = 0> (data)", FUNCTION + OUTER)
    model.graph.node[0].name = "outer"
    errors = [f for f in check(model) if f.severity is Severity.ERROR]
    found = {(f.rule, f.node, f.path, f.position, f.value) for f in errors}
    path = ("outer", "y")
    assert found == {
        ("index-range", "p", path, (1,), 5),
        ("index-range", "y", path, (1,), 5),
    }


def test_a_function_that_calls_itself_ends():
    body = FUNCTION.replace("p = Gather", "q = local.pick <axis = 0> (x, i) p = Gather")
    model = call("out = local.pick <axis = 0> (data, indices)", body)
    with pytest.raises(ModelError, match="recursive"):
        check(model)
    assert len([*static_sites(model)]) == 2


def test_names():
    model = elements("sum")
    assert check(model)[0].node == "out"
    model.graph.node[0].name = "scatter_7"
    assert check(model)[0].node == "scatter_7"


def test_node_without_name_or_output():
    model = elements("sum")
    del model.graph.output[:]
    model.graph.node[0].output[0] = ""
    model.graph.output.append(helper.make_tensor_value_info("data", 1, ["n"]))
    assert check(model)[0].node == ""


def test_operators_of_other_domains_are_none_of_ours():
    body = "out = other.Gather <axis = 7> (data, indices)"
    model = graph("(float[3] data, int64[2] indices) => (float[z] out)", body)
    model.opset_import.append(helper.make_opsetid("other", 1))
    assert check(model) == []


def test_long_name_of_the_default_domain():
    model = elements("sum")
    model.opset_import[0].domain = model.graph.node[0].domain = "ai.onnx"
    assert check(model)[0].rule == "reduction-unknown"


# --- what is certain ---


def test_symbols_and_unknown_ranks_are_no_findings():
    model = graph(
        "(float[a, b] data, int64[c, d] indices, float[e, f] updates) => (float out)",
        "out = ScatterND (data, indices, updates)",
    )
    assert check(model) == []
    for value in model.graph.input:
        value.type.tensor_type.ClearField("shape")
    assert check(model) == []


def test_shapes_are_inferred():
    model = graph(
        "(float[3, 4] x, int64[2, 5] indices) => (float out)",
        "data = Transpose <perm = [1, 0]> (x) out = GatherElements <axis = 0> (data, indices)",
    )
    (finding,) = found(model, "shape")
    assert (finding.position, finding.value) == ((1,), 5)


@pytest.mark.parametrize("is_input", [False, True])
def test_an_initializer_that_may_be_fed_is_no_constant(is_input):
    model = graph("(float[3] data) => (float out)", "out = Gather (data, i)")
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 5]), "i"))
    if is_input:
        model.graph.input.append(helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [2]))
    assert len(found(model, "index-range")) == (not is_input)
    model.ir_version = 3  # such a model must list its initializers as inputs, and never feeds them
    if is_input:
        assert len(found(model, "index-range")) == 1


@pytest.mark.parametrize("reduction", ["max", "min", "add"])
def test_nan_in_constants(reduction):
    model = elements(reduction)
    updates = np.array([1, np.nan], np.float32)
    model.graph.initializer.append(numpy_helper.from_array(updates, "updates"))
    del model.graph.input[2]
    findings = found(model, "nan")
    assert len(findings) == (reduction != "add")
    for finding in findings:
        assert (finding.argument, finding.position) == ("updates", (1,))
        assert np.isnan(finding.value)
        assert finding.to_dict()["value"] == "nan"


def test_minimal_64_bit_index_takes_no_longer_than_any_other():
    (finding,) = found(
        constant_read("Gather", "float[3]", "int64[1] {-9223372036854775808}"), "index-range"
    )
    assert finding.value == -(2**63)
    assert not found(
        constant_read("Gather", "float[n]", "int64[1] {-9223372036854775808}"), "index-range"
    )


def test_graph_network_has_no_false_alarm():
    assert {f.rule for f in check(network())} == {"directml"}


def test_model_without_the_family():
    model = graph("(float[n] x) => (float[n] out)", "out = Relu (x)")
    assert check(model) == []


# --- input that is no model ---


def test_broken_models():
    with pytest.raises(ModelError, match="no ONNX model"):
        check(b"no model")
    with pytest.raises(ModelError, match="does not exist"):
        check("/nowhere/model.onnx")
    model = graph("(float[n] x) => (float[n] out)", "out = Relu (x)")
    model.graph.node[0].input[0] = "nothing"
    with pytest.raises(ModelError, match="nothing"):
        check(model)


def test_a_model_broken_elsewhere_tells_of_its_scatters():
    model = elements("sum")
    model.graph.node.append(helper.make_node("Relu", ["nothing"], ["more"]))
    assert [f.rule for f in check(model) if f.severity is Severity.ERROR] == ["reduction-unknown"]


def test_negative_batch_dims_given_by_a_call():
    """Inference in onnx 1.23.2 ends the process at such a value."""
    functions = """
        <domain: "local", opset_import: ["": 18]>
        pick <batch> (x, i) => (y) { y = GatherND <batch_dims: int = @batch> (x, i) }"""
    signature = "(float[3, 4] data, int64[3, 1] indices) => (float[3, 1, 4] out)"
    for batch in (-999_425, -1):
        body = f"out = local.pick <batch = {batch}> (data, indices)"
        (finding,) = check(graph(signature, body, functions=functions))
        assert (finding.rule, finding.node, finding.value) == ("batch-dims", "y", batch)


def test_constant_whose_items_do_not_fit_its_shape():
    model = constant_read("Gather", "float[3]", "int64[2] {0, 1}")
    model.graph.node[0].attribute[0].t.dims[0] = 3
    with pytest.raises(ModelError, match="model is broken"):
        check(model)


def test_changed_bytes_are_findings_or_errors_of_ours():
    rng = np.random.default_rng(11)
    models = [bad for _, bad, _ in CASES.values()] + [call("out = local.pick (data, indices)")]
    errors = 0
    for model in models:
        content = model.SerializeToString()
        for _ in range(5):
            changed = bytearray(content)
            changed[rng.integers(len(changed))] = rng.integers(256)
            try:
                for finding in check(bytes(changed)):
                    assert finding.to_dict()
            except SowreapError:
                errors += 1
    assert 0 < errors < 5 * len(models)


def test_unknown_feature_level():
    with pytest.raises(ValueError, match="7_0"):
        check(elements("add"), feature_level="7_0")


def test_feature_level_counts():
    model = read("Gather", "double[3]", "int64[2]")
    at = {level: [f.rule for f in check(model, feature_level=level)] for level in ("1_0", "6_4")}
    assert at == {"1_0": ["directml"], "6_4": []}


def test_the_session_refuses_too():
    for name in ("reduction of no opset", "max at 16", "mode"):
        with pytest.raises(ArgumentError):
            InferenceSession(CASES[name][1], engine="reference")


# --- how findings look ---


def test_text_and_dict():
    (finding, *_) = check(elements("sum"))
    assert str(finding).splitlines() == [
        "error [reduction-unknown] out (ScatterElements): ScatterElements (opset 18): "
        "reduction='sum' is not one of 'none', 'add', 'mul', 'max', 'min'.",
        "  what to do: Use one of none, add, mul, max, min.",
        "  onnxruntime (CPU) 1.32.0 takes an unknown reduction for none, without a word.",
        "  onnx's reference evaluator 1.23.2 takes an unknown reduction for none, without a word.",
    ]
    content = finding.to_dict()
    assert list(content) == [
        "rule",
        "severity",
        "path",
        "node",
        "operator",
        "argument",
        "position",
        "value",
        "message",
        "advice",
        "runtimes",
    ]
    assert list(content["runtimes"][0]) == ["id", "runtime", "version", "does"]
    assert content["severity"] == "error"
    with pytest.raises(AttributeError):
        finding.rule = "other"
