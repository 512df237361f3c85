"""``sowreap run``: models, their inputs, times and comparisons."""

from __future__ import annotations

import re
import sys
import zipfile
from types import ModuleType, SimpleNamespace

import ml_dtypes
import numpy as np
import onnx
import pytest
from command_line import SCATTER, error_line

from sowreap._cli.model import Model, Timing

# An .npy file of an array without items.
SAVED = (
    b"\x93NUMPY\x01\x00\x3b\x00"
    + b"{'descr': '<i8', 'fortran_order': False, 'shape': (0,)}".ljust(58)
    + b"\n"
)
TABLE = ["Inputs", "Outputs", "Time"]


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_prints_inputs_outputs_and_times(command, scatter_model, scatter_inputs):
    result = command("run", scatter_model, "--inputs", scatter_inputs)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = rows(result.stdout)
    assert ["updates", "float32", "(3,", "3)", "0", "to", "8"] in lines
    assert ["indices", "int64", "(3,", "1)", "-1", "to", "1"] in lines
    assert ["doubled", "float32", "(4,", "3)", "0", "to", "16"] in lines
    assert [line[0] for line in lines if line and line[0] in TABLE] == TABLE
    assert re.search(r"^total +[\d.]+ (s|ms|us) +100.0 %", result.stdout, re.M)
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_outputs_are_written(command, scatter_model, scatter_inputs, scatter_outputs, tmp_path):
    path = tmp_path / "outputs"  # written under exactly this name
    result = command("run", scatter_model, "--inputs", scatter_inputs, "--outputs", path)
    assert result.exit_code == 0
    with np.load(path, allow_pickle=False) as file:
        assert set(file.files) == {"summed", "doubled"}
        for name, expected in scatter_outputs.items():
            np.testing.assert_array_equal(file[name], expected)


def test_profile_lists_operators_and_nodes(command, scatter_model, scatter_inputs):
    options = ("--inputs", scatter_inputs, "--profile", "--order", "graph")
    result = command("run", scatter_model, *options)
    assert result.exit_code == 0
    by_operator, by_node = result.stdout.split("Time by operator")[1].split("Time by node")
    assert {tuple(row[:2]) for row in rows(by_operator)} >= {("ScatterND", "1"), ("Add", "1")}
    assert [row[:3] for row in rows(by_node) if row and row[0].isdigit()] == [
        ["0", "summed", "ScatterND"],
        ["1", "doubled", "Add"],
    ]


@pytest.mark.parametrize(
    ("options", "title", "order"),
    [
        ((), "the slowest first", ["b", "c", "a"]),
        (("--order", "time"), "the slowest first", ["b", "c", "a"]),
        (("--order", "graph"), "in the order of the graph", ["a", "b", "c"]),
    ],
)
def test_order_of_profiled_nodes(command, scatter_model, monkeypatch, options, title, order):
    nodes = [
        SimpleNamespace(name=name, op_type="Add", seconds=seconds)
        for name, seconds in (("a", 0.25), ("b", 1.0), ("c", 0.5))
    ]
    monkeypatch.setattr(Model, "run", lambda *_: ({}, Timing(1.75, 0.0, nodes)))
    result = command("run", scatter_model, "--random", "--profile", *options)
    assert result.exit_code == 0
    by_node = result.stdout.split("Time by node, ")[1]
    assert by_node.startswith(title)
    numbered = [line for line in rows(by_node) if line and line[0].isdigit()]
    assert [line[1] for line in numbered] == order
    assert [line[0] for line in numbered] == [str("abc".index(name)) for name in order]


def test_order_belongs_to_profile(command, scatter_model):
    text = error_line(command("run", scatter_model, "--random", "--order", "graph"))
    assert "--order belongs to --profile" in text


def test_times_are_medians(monkeypatch, scatter_model):
    """Three runs, timed by a clock of ours."""
    model = Model(str(scatter_model), "reference")
    seconds = iter([5.0, 1.0, 2.0])
    clock = [0.0]

    def run_profiled(names, feeds):
        spent = next(seconds)
        clock[0] += spent
        record = SimpleNamespace(name="n", op_type="Loop", domain="own", is_family=False)
        record.seconds, record.family_seconds = spent / 2, spent / 4
        return [np.zeros(1), np.zeros(1)], [record]

    monkeypatch.setattr(model._session, "run_profiled", run_profiled)
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    runs = []
    _, timing = model.run({}, 3, lambda: runs.append(1))
    assert timing.total == 2.0
    assert timing.family == 0.5
    assert timing.nodes == [("n", "own.Loop", 1.0)]
    assert len(runs) == 3


def test_repeat_is_named(command, scatter_model, scatter_inputs):
    result = command("run", scatter_model, "--inputs", scatter_inputs, "--repeat", "3")
    assert "Time, median of 3 runs" in result.stdout


class TestInputs:
    def test_unknown_name(self, command, gather_model, scatter_inputs):
        assert error_line(command("run", gather_model, "--inputs", scatter_inputs)) == (
            f"{scatter_inputs}: updates is not an input of the model; its inputs are data, indices"
        )

    def test_missing_name(self, command, scatter_model, tmp_path):
        path = tmp_path / "in.npz"
        np.savez(path, data=np.zeros((4, 3), np.float32))
        assert error_line(command("run", scatter_model, "--inputs", path)).startswith(
            f"{scatter_model}: no array for indices, updates; give each in the file of --inputs"
        )

    def test_none_at_all(self, command, scatter_model):
        assert "no array for data, indices, updates" in error_line(command("run", scatter_model))

    def test_model_without_inputs(self, command, save_model):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18]> graph () => (int64[1] one) '
            "{ one = Constant <value_ints = [1]> () }"
        )
        assert command("run", model).exit_code == 0

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"data": np.zeros((4, 3))}, ["data", "float64", "float32"]),
            ({"data": np.zeros((4, 2), np.float32)}, ["data", "(4, 2)", "3"]),
            (
                {"indices": np.array([[4], [0], [0]])},
                ["indices[0", "4 is not in [-4, 3]", "summed"],
            ),
        ],
    )
    def test_value_that_does_not_fit(self, command, scatter_model, scatter_inputs, change, words):
        with np.load(scatter_inputs) as file:
            arrays = dict(file)
        np.savez(scatter_inputs, **{**arrays, **change})
        text = error_line(command("run", scatter_model, "--inputs", scatter_inputs))
        for word in words:
            assert word in text

    def test_default_of_the_model_may_be_replaced(self, command, save_model, tmp_path):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18]> '
            "graph (float[n] x, int64[1] where = {0}) => (float[1] y) { y = Gather (x, where) }"
        )
        path, output = tmp_path / "in.npz", tmp_path / "out.npz"
        for given, expected in (({}, 1), ({"where": np.array([2])}, 3)):
            np.savez(path, x=np.array([1, 2, 3], np.float32), **given)
            assert command("run", model, "--inputs", path, "--outputs", output).exit_code == 0
            with np.load(output) as file:
                assert file["y"].tolist() == [expected]

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda path: path.write_bytes(SAVED), "is an .npy file of one array"),
            (lambda path: path.write_text("text"), "is neither an .npy nor an .npz file"),
            (
                lambda path: np.savez(path, data=np.array([{}]), allow_pickle=True),
                "array data cannot be read: Object arrays cannot be loaded",
            ),
        ],
    )
    def test_unusable_file(self, command, scatter_model, tmp_path, make, words):
        path = tmp_path / "in.npz"
        make(path)
        text = error_line(command("run", scatter_model, "--inputs", path))
        assert text.startswith(f"{path}: {words}")

    def test_damaged_member(self, command, scatter_model, scatter_inputs):
        content = bytearray(scatter_inputs.read_bytes())
        content[150] ^= 0xFF  # inside the first array, whose checksum then fails
        scatter_inputs.write_bytes(content)
        text = error_line(command("run", scatter_model, "--inputs", scatter_inputs))
        assert text.startswith(f"{scatter_inputs}: array data cannot be read: ")

    def test_member_that_is_no_array(self, command, scatter_model, tmp_path):
        path = tmp_path / "in.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data", b"text")
        text = error_line(command("run", scatter_model, "--inputs", path))
        assert text == f"{path}: data is not an array"

    def test_bfloat16_and_strings_there_and_back(self, command, save_model, tmp_path):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18]> '
            "graph (bfloat16[n] x, string[n] s, int64[m] i) => (bfloat16[m] y, string[m] t) "
            "{ y = Gather (x, i)  t = Gather (s, i) }"
        )
        path, output = tmp_path / "in.npz", tmp_path / "out.npz"
        x = np.array([1.5, 2], ml_dtypes.bfloat16)
        np.savez(path, x=x, s=np.array(["a", "bc"]), i=np.array([1, 1, 0]))
        reference = ("--engine", "reference")
        result = command("run", model, "--inputs", path, "--outputs", output, *reference)
        assert result.exit_code == 0
        assert ["y", "bfloat16", "(3,)", "1.5", "to", "2"] in rows(result.stdout)
        assert ["t", "object", "(3,)", "2", "distinct", "strings"] in rows(result.stdout)
        with np.load(output, allow_pickle=False) as file:
            np.testing.assert_array_equal(file["y"].view(x.dtype), x[[1, 1, 0]])
            assert file["t"].tolist() == ["bc", "bc", "a"]
        expect = ("--expect", output, "--tolerance", 0)
        assert command("run", model, "--inputs", path, *expect, *reference).exit_code == 0


class TestRandom:
    def drawn(self, command, model, tmp_path, *options):
        """Return what a model of Identity nodes was fed with."""
        path = tmp_path / "drawn.npz"
        result = command("run", model, "--random", "--outputs", path, *options)
        assert (result.exit_code, result.stderr) == (0, "")
        with np.load(path) as file:
            return dict(file)

    @pytest.fixture
    def identity(self, save_model):
        """Give back each of four inputs under its name with an o."""
        return save_model(
            '<ir_version: 10, opset_import: ["": 18]> '
            "graph (float[n, 6] x, int64[m] i, int64[m, 5] j, bool[n, 7] b) "
            "=> (float[n, 6] xo, int64[m] io, int64[m, 5] jo, bool[n, 7] bo) "
            "{ xo = Identity(x) io = Identity(i) jo = Identity(j) bo = Identity(b) }"
        )

    def test_sizes_and_ranges(self, command, identity, tmp_path):
        drawn = self.drawn(command, identity, tmp_path, "--size", "n=100", "--size", "m=400")
        assert {name: array.shape for name, array in drawn.items()} == {
            "xo": (100, 6),
            "io": (400,),
            "jo": (400, 5),
            "bo": (100, 7),
        }
        # 5 is the smallest size of any input.
        assert set(drawn["io"].tolist()) == set(drawn["jo"].ravel().tolist()) == set(range(5))
        assert drawn["xo"].min() < 0 < drawn["xo"].max()
        assert 0 < drawn["bo"].mean() < 1

    def test_default_size_and_own_range(self, command, identity, tmp_path):
        drawn = self.drawn(command, identity, tmp_path, "--below", "i=1000")
        assert drawn["io"].shape == (8,)
        assert drawn["io"].max() > 5 > drawn["jo"].max()

    def test_seed(self, command, identity, tmp_path):
        first = self.drawn(command, identity, tmp_path, "--seed", 7)
        again = self.drawn(command, identity, tmp_path, "--seed", 7)
        other = self.drawn(command, identity, tmp_path, "--seed", 8)
        np.testing.assert_array_equal(first["xo"], again["xo"])
        assert not np.array_equal(first["xo"], other["xo"])

    def test_given_inputs_are_kept_and_set_sizes(self, command, identity, tmp_path):
        path = tmp_path / "in.npz"
        given = np.arange(18, dtype=np.float32).reshape(3, 6)
        np.savez(path, x=given)
        drawn = self.drawn(command, identity, tmp_path, "--inputs", path)
        np.testing.assert_array_equal(drawn["xo"], given)
        assert drawn["bo"].shape == (3, 7)
        assert drawn["io"].max() < 3

    def test_indices_of_a_scatter_are_in_range(self, command, scatter_model):
        result = command("run", scatter_model, "--random", "--size", "picks=50")
        assert result.exit_code == 0

    @pytest.mark.parametrize(
        ("engine", "dtype"),
        [
            *(("onnxruntime", name) for name in ("float16", "bfloat16", "float8e5m2", "string")),
            *(("reference", name) for name in ("float16", "bfloat16", "float8e4m3fn", "int4")),
            *(("reference", name) for name in ("uint8", "uint64", "complex64", "string")),
        ],
    )
    def test_every_kind_of_type(self, command, save_model, engine, dtype):
        model = save_model(
            f'<ir_version: 10, opset_import: ["": 21]> graph ({dtype}[20, 9] x) => '
            f"({dtype}[20, 9] y) {{ y = Identity (x) }}"
        )
        result = command("run", model, "--random", "--below", "x=3", "--engine", engine)
        assert (result.exit_code, result.stderr) == (0, "")

    def test_integers_fit_their_type(self, command, save_model, tmp_path):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18]> '
            "graph (int8[900] x) => (int8[900] y) { y = Identity (x) }"
        )
        drawn = self.drawn(command, model, tmp_path)
        assert 0 <= drawn["y"].min() <= drawn["y"].max() <= 127

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (("--size", "k=3"), "--size k: the model has no such name; it has picks, rows"),
            (
                ("--below", "k=3"),
                "--below k: the model has no such name; it has data, indices, updates",
            ),
            (
                ("--below", "indices=0"),
                "--below: there is no integer in [0, 0); give a number above 0",
            ),
            (
                ("--size", f"rows={10**30}"),
                f"input data: shape ({10**30}, 3) is too large",
            ),
        ],
    )
    def test_bad_option(self, command, scatter_model, options, text):
        assert error_line(command("run", scatter_model, "--random", *options)) == text

    def test_size_where_the_model_has_no_symbol(self, command, save_model):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18]> '
            "graph (float[2] x) => (float[2] y) { y = Identity (x) }"
        )
        text = error_line(command("run", model, "--random", "--size", "n=1"))
        assert text == "--size n: the model has no such name; it has none"

    @pytest.mark.parametrize("value", ["n", "=3", "n=", "n=-1", "n=1.5"])
    def test_malformed_size(self, command, scatter_model, value):
        text = error_line(command("run", scatter_model, "--random", "--size", value))
        assert f"{value!r} is not NAME=N with a number N of at least 0." in text

    def test_size_without_random(self, command, scatter_model):
        text = error_line(command("run", scatter_model, "--size", "rows=3"))
        assert text == "--size and --below belong to --random, which is not given"

    def test_sequence_cannot_be_made_up(self, command, save_model):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18]> graph (seq(float[n]) x) => (int64 y) '
            "{ y = SequenceLength (x) }"
        )
        text = error_line(command("run", model, "--random"))
        assert text == "input x is a seq(tensor(float)); the command can give tensors only"


class TestExpect:
    @pytest.fixture
    def call(self, command, scatter_model, scatter_inputs, tmp_path):
        def call(expected, *options):
            path = tmp_path / "expected.npz"
            np.savez(path, **expected)
            return command(
                "run", scatter_model, "--inputs", scatter_inputs, "--expect", path, *options
            )

        return call

    def test_equal(self, call, scatter_outputs):
        result = call(scatter_outputs, "--tolerance", "0")
        assert result.exit_code == 0
        assert ["summed", "agrees", "largest", "difference", "0"] in rows(result.stdout)

    def test_within_and_beyond_the_tolerance(self, call, scatter_outputs):
        scatter_outputs["summed"][3, 1] += 0.25
        for tolerance, status, verdict in ((0.25, 0, "agrees"), (0.24, 1, "DIFFERS")):
            result = call(scatter_outputs, "--tolerance", tolerance)
            assert result.exit_code == status
            assert result.stderr == ""
            found = ["largest", "difference", "0.25", "at", "[3,", "1]"]
            assert ["summed", verdict, *found] in rows(result.stdout)

    def test_default_tolerance(self, call, scatter_outputs):
        scatter_outputs["summed"][1, 0] += 0.001
        assert call(scatter_outputs).exit_code == 1

    def test_some_outputs_may_be_left_out(self, call, scatter_outputs):
        assert call({"doubled": scatter_outputs["doubled"]}).exit_code == 0

    def test_name_that_is_no_output(self, call, scatter_outputs):
        text = error_line(call({"tripled": scatter_outputs["doubled"]}))
        assert text.endswith("tripled is not an output of the model; those are summed, doubled")

    def test_nothing_to_compare(self, call):
        assert error_line(call({})).endswith("holds no array to compare with")

    def test_shape_and_dtype_count(self, call, scatter_outputs):
        changed = {
            "summed": scatter_outputs["summed"][:3],
            "doubled": scatter_outputs["doubled"].astype(np.float64),
        }
        result = call(changed, "--tolerance", "inf")
        assert result.exit_code == 1
        assert "shape (4, 3), expected (3, 3)" in result.stdout
        assert "dtype float32, expected float64" in result.stdout

    def test_single_array_of_one_output(self, command, gather_model, tmp_path):
        inputs, expected = tmp_path / "in.npz", tmp_path / "expected.npy"
        np.savez(inputs, data=np.array([1, 2, 3], np.float32), indices=np.array([2, 0]))
        np.save(expected, np.array([3, 1], np.float32))
        arguments = "run", gather_model, "--inputs", inputs, "--expect", expected
        assert command(*arguments).exit_code == 0
        np.save(expected, np.array([3, 2], np.float32))
        assert command(*arguments).exit_code == 1

    def test_single_array_of_several_outputs(
        self, command, scatter_model, scatter_inputs, scatter_outputs, tmp_path
    ):
        path = tmp_path / "expected.npy"
        np.save(path, scatter_outputs["summed"])
        result = command("run", scatter_model, "--inputs", scatter_inputs, "--expect", path)
        assert error_line(result) == (
            f"{path}: is one array, but the outputs are summed, doubled; give an .npz file"
        )

    def test_unusable_file_is_found_before_the_run(self, command, scatter_model, tmp_path):
        path = tmp_path / "expected.npy"
        path.write_text("text")
        result = command("run", scatter_model, "--random", "--expect", path)
        assert error_line(result) == f"{path}: is neither an .npy nor an .npz file"
        assert result.stdout == ""


class TestModels:
    @pytest.fixture
    def package(self, tmp_path, monkeypatch):
        """A package that must not be imported, with a model at its top and one below."""
        folder = tmp_path / "site" / "held_models"
        (folder / "below").mkdir(parents=True)
        (folder / "__init__.py").write_text("raise AssertionError('imported')")
        (folder / "below" / "__init__.py").write_text("raise AssertionError('imported')")
        onnx.save(onnx.parser.parse_model(SCATTER), folder / "top.onnx")
        onnx.save(onnx.parser.parse_model(SCATTER), folder / "below" / "low.onnx")
        onnx.save(onnx.parser.parse_model(SCATTER), folder.parent / "outside.onnx")
        monkeypatch.syspath_prepend(folder.parent)
        return folder

    @pytest.mark.parametrize(
        "name",
        [
            "held_models:top.onnx",
            "held_models:below/low.onnx",
            "held_models.below:low.onnx",
            "held_models:below/../top.onnx",
        ],
    )
    def test_inside_a_package(self, command, package, name):
        assert command("run", name, "--random").exit_code == 0
        assert "held_models" not in sys.modules

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("held_models:../outside.onnx", "lies outside the folder of held_models"),
            ("held_models.below:../top.onnx", "lies outside the folder of held_models.below"),
            ("held_models:absent.onnx", "no file absent.onnx; its models are below/low.onnx, top"),
            ("held_models:", "package held_models has no file (empty name)"),
            ("held_models:below", "package held_models has no file below"),
            ("not_there_at_all:x.onnx", "no package named not_there_at_all is installed here"),
            ("re_:x.onnx", "no package named re_ is installed here"),
            ("ast:x.onnx", "ast is a single module, not a package with files"),
            ("json:x.onnx", "package json has no file x.onnx; it holds no .onnx file"),
            ("c:x.onnx", "c:x.onnx: no such file"),
            ("a-b:x.onnx", "a-b:x.onnx: no such file"),
        ],
    )
    def test_not_inside_a_package(self, command, package, name, words):
        text = error_line(command("run", name, "--random"))
        assert text.startswith(f"{name}: ")
        assert words in text

    def test_module_of_unknown_origin(self, command, monkeypatch):
        monkeypatch.setitem(sys.modules, "specless", ModuleType("specless"))
        text = error_line(command("run", "specless:x.onnx", "--random"))
        assert text == "specless:x.onnx: no package named specless is installed here"

    def test_absolute_path_and_link_do_not_leave_the_package(self, command, package):
        outside = package.parent / "outside.onnx"
        (package / "link.onnx").symlink_to(outside)
        for file in (outside, "link.onnx"):
            text = error_line(command("run", f"held_models:{file}", "--random"))
            assert text.endswith("lies outside the folder of held_models")

    def test_path_with_a_colon(self, command, scatter_model, monkeypatch):
        scatter_model.rename(scatter_model.with_name("my:model.onnx"))
        monkeypatch.chdir(scatter_model.parent)
        assert command("run", "my:model.onnx", "--random").exit_code == 0

    def test_folder(self, command, tmp_path):
        assert error_line(command("run", tmp_path)) == f"{tmp_path}: is a folder, not a model"

    @pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x0a"])
    def test_file_that_is_no_model(self, command, tmp_path, content):
        path = tmp_path / "broken.onnx"
        path.write_bytes(content)
        assert "broken.onnx" in error_line(command("run", path, "--random"))

    def test_operator_that_the_engine_lacks(self, command, save_model):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18, "own": 1]> '
            "graph (float[2] x) => (float[2] y) { y = own.Sow (x) }"
        )
        assert "Sow" in error_line(command("run", model, "--random"))

    def test_node_that_fails(self, command, save_model):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18]> '
            "graph (float[a] x, float[b] y) => (float[c] z) { z = Add (x, y) }"
        )
        text = error_line(command("run", model, "--random", "--size", "a=2", "--size", "b=3"))
        assert "Add" in text

    def test_every_engine_runs_and_is_timed(self, command, scatter_model, scatter_inputs):
        pytest.importorskip("onnxruntime", reason="the engine is optional")
        for engine in ("onnxruntime", "reference"):
            result = command(
                "run", scatter_model, "--inputs", scatter_inputs, "--engine", engine, "--profile"
            )
            assert result.exit_code == 0
            assert "ScatterND" in result.stdout

    def test_unknown_engine(self, command, scatter_model):
        text = error_line(command("run", scatter_model, "--random", "--engine", "steam"))
        assert "steam" in text
        assert "reference" in text

    def test_outputs_inside_sequences(self, command, save_model, tmp_path):
        model = save_model(
            '<ir_version: 10, opset_import: ["": 18]> '
            "graph (float[n] x) => (seq(float[n]) pair) { pair = SequenceConstruct (x, x) }"
        )
        path = tmp_path / "out.npz"
        assert command("run", model, "--random", "--outputs", path).exit_code == 0
        with np.load(path) as file:
            assert file.files == ["pair[0]", "pair[1]"]
