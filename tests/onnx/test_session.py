"""InferenceSession: its description of a model, feeds, outputs, failures and profile."""

from __future__ import annotations

import threading

import ml_dtypes
import numpy as np
import pytest
from family import reference_session
from numpy.testing import assert_array_equal
from onnx import TensorProto, helper, numpy_helper
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import sowreap
from sowreap.onnx import InferenceSession, ModelError, ModelMetadata, NodeArg, RunError

TEXT = """<ir_version: 10, opset_import: ["": 18], producer_name: "hand", domain: "test",
  model_version: 7, doc_string: "adds rows", metadata_props: ["author": "us"]>
main (float[n, 2] data, int64[m, 1] indices, float[m, 2] updates)
     => (float[n, 2] output, int64[2] lengths)
{
    output = ScatterND <reduction = "add"> (data, indices, updates)
    lengths = Shape (output)
}"""


@pytest.fixture
def session() -> InferenceSession:
    return reference_session(parse_model(TEXT))


@pytest.fixture
def feeds() -> dict[str, np.ndarray]:
    return {
        "data": np.zeros((3, 2), np.float32),
        "indices": np.array([[1], [1]]),
        "updates": np.array([[1, 2], [3, 4]], np.float32),
    }


SUM = np.array([[0, 0], [4, 6], [0, 0]], np.float32)


def test_run_returns_all_outputs_or_those_asked_for(session, feeds):
    output, lengths = session.run(None, feeds)
    assert_array_equal(output, SUM, strict=True)
    assert_array_equal(lengths, np.array([3, 2]), strict=True)
    lengths, output = session.run(["lengths", "output"], feeds, None)
    assert_array_equal(output, SUM)
    assert len(session.run([], feeds)) == 2


def test_description(session):
    assert session.get_inputs() == [
        NodeArg("data", "tensor(float)", ["n", 2]),
        NodeArg("indices", "tensor(int64)", ["m", 1]),
        NodeArg("updates", "tensor(float)", ["m", 2]),
    ]
    assert [(item.name, item.shape) for item in session.get_outputs()] == [
        ("output", ["n", 2]),
        ("lengths", [2]),
    ]
    assert session.get_overridable_initializers() == []
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.get_modelmeta() == ModelMetadata(
        "hand", "main", "test", "adds rows", "", 7, {"author": "us"}
    )


def test_types_and_shapes_of_every_kind():
    tensor = helper.make_tensor_type_proto(TensorProto.DOUBLE, None)
    infos = [
        helper.make_value_info("unknown_rank", tensor),
        helper.make_tensor_value_info("unknown_length", TensorProto.BFLOAT16, [None, 3]),
        helper.make_tensor_value_info("scalar", TensorProto.STRING, []),
        helper.make_value_info("list", helper.make_sequence_type_proto(tensor)),
        helper.make_value_info("maybe", helper.make_optional_type_proto(tensor)),
        helper.make_value_info("table", helper.make_map_type_proto(TensorProto.INT64, tensor)),
        helper.make_sparse_tensor_value_info("sparse", TensorProto.FLOAT, [2]),
    ]
    nodes = [helper.make_node("Identity", ["scalar"], ["out"])]
    outputs = [helper.make_tensor_value_info("out", TensorProto.STRING, [])]
    model = helper.make_model(
        helper.make_graph(nodes, "kinds", infos, outputs),
        opset_imports=[helper.make_opsetid("", 18)],
    )
    assert [(item.type, item.shape) for item in reference_session(model).get_inputs()] == [
        ("tensor(double)", []),
        ("tensor(bfloat16)", [None, 3]),
        ("tensor(string)", []),
        ("seq(tensor(double))", []),
        ("optional(tensor(double))", []),
        ("map(int64,tensor(double))", []),
        ("sparse_tensor(float)", []),
    ]


def with_default(ir_version: int) -> InferenceSession:
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 13]>
        main (float[3] x, int64[k] i) => (float[k] y) { y = Gather (x, i) }"""
    )
    model.ir_version = ir_version
    model.graph.initializer.append(numpy_helper.from_array(np.array([2]), "i"))
    return reference_session(model)


def test_overridable_initializers():
    x = np.array([5, 6, 7], np.float32)
    session = with_default(10)
    assert [item.name for item in session.get_inputs()] == ["x"]
    assert session.get_overridable_initializers() == [NodeArg("i", "tensor(int64)", ["k"])]
    assert_array_equal(session.run(None, {"x": x})[0], [7])
    assert_array_equal(session.run(None, {"x": x, "i": np.array([0, 1])})[0], [5, 6])
    assert_array_equal(session.run(None, {"x": x})[0], [7])


def test_initializers_are_constant_before_ir_4():
    session = with_default(3)
    assert session.get_overridable_initializers() == []
    with pytest.raises(sowreap.ArgumentError, match="unknown input 'i'; the model has 'x'"):
        session.run(None, {"x": np.zeros(3, np.float32), "i": np.array([0])})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"data": None}, sowreap.DtypeError, r"'data' is a NoneType; .*\(tensor\(float\)\)"),
        ({"extra": 1}, sowreap.ArgumentError, r"unknown input 'extra'; .*'data', 'indices'"),
        (
            {"data": np.zeros((3, 2))},
            sowreap.DtypeError,
            r"'data' has dtype float64; the model wants float32 \(tensor\(float\)\)",
        ),
        ({"indices": np.array([[1.0]])}, sowreap.DtypeError, "'indices' has dtype float64"),
        ({"indices": [[1.0]]}, sowreap.DtypeError, "'indices' has dtype float64"),
        (
            {"data": np.zeros(3, np.float32)},
            sowreap.ShapeError,
            r"'data' has rank 1, shape \(3,\); the model wants rank 2, shape \(n, 2\)",
        ),
        (
            {"data": np.zeros((3, 4), np.float32)},
            sowreap.ShapeError,
            r"'data' has shape \(3, 4\); .* \(n, 2\), and they first differ at axis 1 \(4, 2\)",
        ),
        ({"data": [[1.0], [1.0, 2.0]]}, sowreap.ShapeError, "input 'data': .*inhomogeneous"),
        ({"data": "text"}, sowreap.DtypeError, "'data' has dtype <U4"),
    ],
)
def test_bad_feeds_are_refused(session, feeds, change, error, message):
    with pytest.raises(error, match=message):
        session.run(None, feeds | change)


def test_missing_feed_and_unknown_output_are_refused(session, feeds):
    with pytest.raises(sowreap.ArgumentError, match=r"unknown output 'sum'; .*'output', 'lengths'"):
        session.run(["sum"], feeds)
    del feeds["updates"]
    with pytest.raises(sowreap.ArgumentError, match=r"input 'updates' is missing; .*'updates'"):
        session.run(None, feeds)


def test_names_and_feeds_of_the_wrong_kind_are_refused(session, feeds):
    with pytest.raises(sowreap.DtypeError, match="output_names='output' is one text"):
        session.run("output", feeds)
    with pytest.raises(sowreap.DtypeError, match="input_feed is a list; wanted is a dict"):
        session.run(None, list(feeds.values()))


def test_array_likes_and_other_layouts_are_taken(session, feeds):
    variants = [
        {"data": [[0, 0]] * 3, "indices": [[1], [1]], "updates": [[1, 2], [3, 4]]},
        {"data": np.zeros((3, 2), ">f4")},
        {"indices": np.array([[1], [1]], ">i8")},
        {"updates": np.asfortranarray(feeds["updates"])},
    ]
    for variant in variants:
        assert_array_equal(session.run(None, feeds | variant)[0], SUM, strict=True)


def test_feeds_stay_as_they_are(session, feeds):
    before = {name: value.copy() for name, value in feeds.items()}
    for value in feeds.values():
        value.flags.writeable = False
    session.run(None, feeds)
    for name, value in feeds.items():
        assert_array_equal(value, before[name], strict=True)


def test_outputs_are_new_memory():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (float[2, 2] x, seq(float[n]) s)
          => (float[4] flat, float[2, 2] x, float[2] kept, float[1] fixed, seq(float[n]) s,
              float[1, 2] picked)
        <float[2] kept = {1.0, 2.0}, int64[1] row = {0}>
        {
            shape = Constant <value = int64[1] {4}> ()
            flat = Reshape (x, shape)
            fixed = Constant <value = float[1] {5.0}> ()
            picked = Gather (x, row)
        }"""
    )
    session = reference_session(model)
    x, s = np.ones((2, 2), np.float32), [np.ones(3, np.float32)]
    for output in session.run(None, {"x": x, "s": s}):
        for array in output if isinstance(output, list) else [output]:
            assert array.flags.writeable
            array[:] = 9
    assert_array_equal(x, np.ones((2, 2)))
    assert_array_equal(s[0], np.ones(3))
    kept, fixed = session.run(["kept", "fixed"], {"x": x, "s": s})
    assert_array_equal(kept, [1, 2])
    assert_array_equal(fixed, [5])


def test_sequences_optionals_and_maps():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (seq(float[n]) parts, optional(float[n]) maybe, int64[1] i)
          => (float[1] y, bool has, seq(float[n]) more)
        {
            all = ConcatFromSequence <axis = 0> (parts)
            y = Gather (all, i)
            has = OptionalHasElement (maybe)
            more = SequenceInsert (parts, y)
        }"""
    )
    session = reference_session(model)
    parts = [np.array([1], np.float32), np.array([2, 3], np.float32)]
    feeds = {"parts": parts, "maybe": None, "i": np.array([-1])}
    y, has, more = session.run(None, feeds)
    assert_array_equal(y, [3])
    assert not has
    assert [item.tolist() for item in more] == [[1], [2, 3], [3]]
    assert session.run(["has"], feeds | {"maybe": parts[0]})[0]
    with pytest.raises(sowreap.DtypeError, match="'parts' is a ndarray; the model wants a list"):
        session.run(None, feeds | {"parts": parts[1]})
    with pytest.raises(sowreap.DtypeError, match=r"input 'parts\[1\]' has dtype float64"):
        session.run(None, feeds | {"parts": [parts[0], np.zeros(2)]})
    with pytest.raises(sowreap.DtypeError, match="'maybe' has dtype int64"):
        session.run(None, feeds | {"maybe": np.zeros(2, np.int64)})


def test_map_input():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18, "ai.onnx.ml": 1]>
        main (map(string, float) table) => (float[1, 3] y)
        { y = ai.onnx.ml.DictVectorizer <string_vocabulary = ["a", "b", "c"]> (table) }"""
    )
    session = reference_session(model)
    with pytest.raises(sowreap.DtypeError, match="'table' is a list; the model wants a dict"):
        session.run(None, {"table": [1]})


@pytest.mark.parametrize("engine", ["tensorrt", "", None])
def test_other_engines_are_refused(engine):
    with pytest.raises(sowreap.ArgumentError, match=r"engine=.* is unknown; .*'reference'"):
        reference_session(parse_model(TEXT), engine=engine)


def test_options_of_onnxruntime_are_refused_not_ignored(session, feeds):
    with pytest.raises(sowreap.ArgumentError, match="sess_options: the reference engine has none"):
        reference_session(parse_model(TEXT), object())
    with pytest.raises(sowreap.ArgumentError, match="run_options"):
        session.run(None, feeds, object())
    with pytest.raises(sowreap.ArgumentError, match=r"providers=.*'CUDAExecutionProvider'"):
        reference_session(parse_model(TEXT), providers=["CUDAExecutionProvider"])


@pytest.mark.parametrize(
    "providers",
    [[], ["CPUExecutionProvider"], ["CUDAExecutionProvider", ("CPUExecutionProvider", {})]],
)
def test_cpu_provider_is_accepted(providers, feeds):
    session = reference_session(parse_model(TEXT), providers=providers, engine="reference")
    assert_array_equal(session.run(None, feeds)[0], SUM)


def test_failure_of_the_family_is_its_own_error_and_names_the_node(session, feeds):
    feeds["indices"][1] = 3
    with pytest.raises(sowreap.OutOfRangeError, match="3") as caught:
        session.run(None, feeds)
    assert caught.value.__notes__ == ["in node 'output' (ScatterND)"]


def test_failure_of_another_node_names_it_and_its_inputs():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (float[n] a, float[m] b) => (float[n] y) { y = Add (a, b) }"""
    )
    session = reference_session(model)
    with pytest.raises(
        RunError, match=r"Add: node 'y' failed on inputs float32\[2\], float32\[3\]"
    ):
        session.run(None, {"a": np.zeros(2, np.float32), "b": np.zeros(3, np.float32)})


def test_failure_on_a_sequence_names_its_kind():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (seq(float[n]) parts, int64 at) => (float[n] y) { y = SequenceAt (parts, at) }"""
    )
    with pytest.raises(RunError, match=r"SequenceAt: .* failed on inputs list, int64\[\]"):
        reference_session(model).run(None, {"parts": [], "at": 3})


def test_running_out_of_memory_stays_a_memory_error(session, feeds, monkeypatch):
    def exhausted(*arguments: object, **keywords: object) -> None:
        raise MemoryError

    monkeypatch.setattr(sowreap, "scatter_nd", exhausted)
    with pytest.raises(MemoryError):
        session.run(None, feeds)


def test_numbers_follow_ieee_without_warnings():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (float[n] x) => (float[n] y) { a = Log (x)  y = Div (x, a) }"""
    )
    x = np.array([0, 1, -1], np.float32)
    (y,) = reference_session(model).run(None, {"x": x})
    assert_array_equal(y, np.array([-0.0, np.inf, np.nan], np.float32))


def test_profile(session, feeds):
    outputs, records = session.run_profiled(None, feeds)
    assert_array_equal(outputs[0], SUM)
    assert [(r.name, r.op_type, r.domain, r.is_family) for r in records] == [
        ("output", "ScatterND", "", True),
        ("lengths", "Shape", "", False),
    ]
    scatter, shape = records
    assert scatter.family_seconds == scatter.seconds > 0
    assert shape.family_seconds == 0 < shape.seconds
    _, again = session.run_profiled(["lengths"], feeds)
    assert len(again) == 2


def test_profile_ends_with_a_failure(session, feeds):
    with pytest.raises(sowreap.OutOfRangeError):
        session.run_profiled(None, feeds | {"indices": np.array([[9], [0]])})
    assert len(session.run_profiled(None, feeds)[1]) == 2


def test_one_session_in_several_threads(session, feeds):
    expected = [feeds["updates"] * 2 * k for k in range(8)]
    results: list[np.ndarray | None] = [None] * 8
    barrier = threading.Barrier(8)

    def work(k: int) -> None:
        barrier.wait()
        updates = np.tile(feeds["updates"] * k, (2, 1))
        indices = np.array([[0], [1], [0], [1]])
        results[k] = session.run(None, feeds | {"updates": updates, "indices": indices})[0][:2]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result, wanted in zip(results, expected, strict=True):
        assert_array_equal(result, wanted)


def test_text_inputs_of_every_kind():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (string[n] data, int64[m] indices, string[m] updates) => (string[n] y)
        { y = ScatterElements (data, indices, updates) }"""
    )
    session = reference_session(model)
    words = ["a", "böe", ""]
    for data in (
        words,
        np.array(words),
        np.array(words, object),
        np.array(words, np.dtypes.StringDType()),
        np.char.encode(words, "utf-8"),
    ):
        feeds = {"data": data, "indices": np.array([2]), "updates": np.array(["longer"])}
        (y,) = session.run(None, feeds)
        assert y.dtype == object
        assert y.tolist() == ["a", "böe", "longer"]
    with pytest.raises(sowreap.DtypeError, match=r"holds a int at \(1,\)") as caught:
        session.run(None, feeds | {"data": np.array(["a", 1], object)})
    assert caught.value.position == (1,)
    with pytest.raises(sowreap.DtypeError, match="'data' has dtype int64; the model wants strings"):
        session.run(None, feeds | {"data": np.array([1])})


def test_feed_of_low_precision_is_not_confused():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (bfloat16[n] x, int64[m] i) => (bfloat16[m] y) { y = Gather (x, i) }"""
    )
    session = reference_session(model)
    x = np.array([1, 2], ml_dtypes.bfloat16)
    assert session.run(None, {"x": x, "i": np.array([1])})[0] == 2
    with pytest.raises(sowreap.DtypeError, match=r"'x' has dtype float16; .* bfloat16"):
        session.run(None, {"x": x.astype(np.float16), "i": np.array([1])})


def test_a_masked_feed_is_refused(session, feeds):
    feeds["data"] = np.ma.masked_array(feeds["data"])
    with pytest.raises(sowreap.DtypeError, match="mask would be lost"):
        session.run(None, feeds)


def test_an_output_asked_for_twice_is_two_arrays(session, feeds):
    first, second = session.run(["output", "output"], feeds)
    assert_array_equal(first, second)
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("providers", [[1], "CUDAExecutionProvider", [()]])
def test_providers_of_a_wrong_kind_are_refused(providers):
    with pytest.raises(sowreap.ArgumentError, match="providers="):
        reference_session(parse_model(TEXT), providers=providers)


def test_a_path_with_a_nul_is_no_model():
    with pytest.raises(ModelError, match="cannot be read"):
        reference_session("\0")


ERF = """<ir_version: 8, opset_import: ["": {opset}, "local": 1]> main ({kind} x) => ({kind} y)
{{ y = local.of (x) }}
<domain: "local", opset_import: ["": {opset}]> of (x) => (y) {{ y = Erf (x) }}"""
EDGES = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-38, 3.919, 3.92, 4, -1e30, 0.1]


ERF_TYPES = [(kind, opset) for kind in ("float", "double", "float16", "int32") for opset in (9, 13)]


@pytest.mark.parametrize(("kind", "opset"), [*ERF_TYPES, ("bfloat16", 13), ("float", 20)])
def test_erf_is_that_of_onnx_to_the_last_bit(kind, opset):
    model = parse_model(ERF.format(opset=opset, kind=kind))
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.ClearField("shape")
    dtype = {"float": "f4", "double": "f8", "float16": "f2", "int32": "i4"}.get(kind)
    dtype = np.dtype(dtype or ml_dtypes.bfloat16)
    normal = np.random.default_rng(2).normal(size=(40, 3, 5))
    arrays = [normal, normal.T, normal[::2, ::-1], normal[:, :0], np.array(0.5)]
    if kind != "int32":
        with np.errstate(over="ignore"):
            arrays += [np.array(EDGES).astype(dtype), -np.array(EDGES).astype(dtype)]
    session = InferenceSession(model, engine="reference")
    plain = ReferenceEvaluator(model)
    for array in arrays:
        x = array.astype(dtype)
        (found,), (expected,) = session.run(None, {"x": x}), plain.run(None, {"x": x})
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.tobytes() == expected.tobytes()
