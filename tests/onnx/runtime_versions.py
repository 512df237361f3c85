"""Run the tests of the engine on several versions of onnxruntime.

    python tests/onnx/runtime_versions.py 1.18.1 1.23.2 newest

Each version is installed into a temporary folder, from which converted models run with the plain
library alone, against outputs of the reference engine. Those before 1.19 cannot be loaded beside
NumPy 2, which sowreap needs; they get NumPy 1 in the folder. On the others the tests of the engine
run too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from family import reference_session
from onnx.parser import parse_model

from sowreap.onnx import InferenceSession, convert, custom_ops_library

HERE = Path(__file__).parent
TESTS = [
    HERE / f"test_{name}.py" for name in ("onnxruntime_session", "onnxruntime_types", "convert")
]
FIRST_WITH_NUMPY_2 = (1, 19)

RNG = np.random.default_rng(0)
HEADER = '<ir_version: 9, opset_import: ["": 18]> main'
CASES = {
    "repeated": (
        """(float[n, 4] x, int64[m, 1] at, float[m, 4] news) => (float[n, 4] y)
        { y = ScatterND <reduction = "add"> (x, at, news) }""",
        {
            "x": np.zeros((50, 4), np.float32),
            "at": RNG.integers(-50, 50, (100_000, 1)),
            "news": np.ones((100_000, 4), np.float32),
        },
    ),
    "expanded": (
        """(double[n, 3] x, int64[m, 1] at, int64[2] shape, double[m, 3] news)
        => (double[n, 3] y, double[m, 3] z) {
        wide = Expand (at, shape)
        y = ScatterElements <reduction = "max"> (x, wide, news)
        z = GatherElements (y, wide) }""",
        {
            "x": RNG.normal(size=(9, 3)),
            "at": RNG.integers(-9, 9, (20, 1)),
            "shape": np.array([20, 3]),
            "news": RNG.normal(size=(20, 3)),
        },
    ),
    "halves": (
        """(float16[n, 3] x, int32[m, 3] at, float16[m, 3] news) => (float16[n, 3] y)
        { a = Identity (x)  y = ScatterElements <reduction = "mul"> (a, at, news) }""",
        {
            "x": RNG.normal(size=(9, 3)).astype(np.float16),
            "at": RNG.integers(-9, 9, (20, 3)).astype(np.int32),
            "news": RNG.normal(size=(20, 3)).astype(np.float16),
        },
    ),
    "texts": (
        """(string[n] x, int64[m] at, string[m] news, string[k, 2] table, int64[p, 1] tuples)
        => (string[m] y, string[n] z, string[m, 2] rows, string[p, 2] slices, string[k, 1] single)
        { y = Gather (x, at)  z = ScatterElements (x, at, news)  rows = Gather (table, at)
          slices = GatherND (table, tuples)
          single = GatherElements <axis = 1> (table, tuples) }""",
        {
            "table": np.array([["a", "b"], ["", "längeres Wort"], ["c", ""]], object),
            "tuples": np.array([[1], [-2], [0]]),
            "x": np.array(["a", "zwölf", ""], object),
            "at": np.array([2, -2]),
            "news": np.array(["neu", "x"], object),
        },
    ),
    "bodies": (
        """(float[4] x, int64[2, 1] at, float[2] news, int64 times) => (float[4] z) {
        always = Constant <value = bool {1}> ()
        z = Loop (times, always, x) <body = step (int64 i, bool go, float[4] old)
          => (bool more, float[4] new)
          { more = Identity (go)  new = ScatterND <reduction = "add"> (old, at, news) }> }""",
        {
            "x": np.zeros(4, np.float32),
            "at": np.array([[1], [-1]]),
            "news": np.array([1, 2], np.float32),
            "times": np.array(3),
        },
    ),
    "bodies behind an Expand": (
        """(float[4, 2] x, int64[3, 1] at, float[3, 2] news, int64 times) => (float[4, 2] z) {
        always = Constant <value = bool {1}> ()
        shape = Shape (news)
        wide = Expand (at, shape)
        z = Loop (times, always, x) <body = step (int64 i, bool go, float[4, 2] old)
          => (bool more, float[4, 2] new)
          { more = Identity (go)
            new = ScatterElements <reduction = "add"> (old, wide, news) }> }""",
        {
            "x": np.zeros((4, 2), np.float32),
            "at": np.array([[1], [-1], [1]]),
            "news": np.array([[1, 2], [3, 4], [5, 6]], np.float32),
            "times": np.array(3),
        },
    ),
}

# What runs where there is neither sowreap nor onnx.
CHECK = """
import sys
from pathlib import Path
import numpy as np
import onnxruntime
folder, library = sys.argv[1:]
models = sorted(Path(folder).glob("*.onnx"))
for path in models:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(str(path), options)
    arrays = np.load(path.with_suffix(".npz"))
    feeds = {each.name: arrays[each.name] for each in session.get_inputs()}
    feeds = {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in feeds.items()}
    for each, found in zip(session.get_outputs(), session.run(None, feeds)):
        np.testing.assert_array_equal(found, arrays["expected_" + each.name], err_msg=path.name)
print(len(models), "models agree on onnxruntime", onnxruntime.__version__)
"""


def needs_numpy_1(version: str) -> bool:
    """Whether a version of onnxruntime cannot be loaded beside NumPy 2."""
    return version != "newest" and tuple(map(int, version.split(".")[:2])) < FIRST_WITH_NUMPY_2


def install(version: str, folder: Path) -> None:
    """Install onnxruntime, and NumPy where it needs another one, but nothing else of its own."""
    wanted = ["onnxruntime" if version == "newest" else f"onnxruntime=={version}"]
    if needs_numpy_1(version):
        wanted.append("numpy<2")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--target", folder, *wanted], check=True)


def write_cases(folder: Path) -> None:
    for name, (text, feeds) in CASES.items():
        model = parse_model(f"{HEADER} {text}")
        outputs = reference_session(model).run(None, feeds)
        expected = {
            f"expected_{info.name}": value
            for info, value in zip(model.graph.output, outputs, strict=True)
        }
        plain = {
            key: value.astype(str) if value.dtype == object else value
            for key, value in (feeds | expected).items()
        }
        np.savez(folder / f"{name}.npz", **plain)
        convert(model, folder / f"{name}.onnx")


def run_check(version: str, installed: Path, folder: Path) -> str:
    """Run converted models; return what is printed.

    The environment's own packages are out of reach, but for NumPy where the folder has none.
    """
    write_cases(folder)
    path = [str(installed)]
    if not needs_numpy_1(version):
        numpy = folder / "numpy"
        numpy.mkdir()
        for each in Path(np.__file__).parents[1].glob("numpy*"):
            (numpy / each.name).symlink_to(each)
        path.append(str(numpy))
    done = subprocess.run(
        [sys.executable, "-S", "-c", CHECK, folder, custom_ops_library()],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def run_sessions(installed: Path) -> str:
    """Run the models of this file in sessions on the onnxruntime of a folder."""
    done = subprocess.run(
        [sys.executable, __file__, "--sessions"],
        env=os.environ | {"PYTHONPATH": str(installed)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def compare_sessions() -> None:
    import onnxruntime

    for text, feeds in CASES.values():
        model = parse_model(f"{HEADER} {text}")
        session = InferenceSession(model)
        assert "sowreap" in {each.runs_on for each in session.placement()}
        expected = reference_session(model).run(None, feeds)
        for found, wanted in zip(session.run(None, feeds), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
    print(len(CASES), "models agree on onnxruntime", onnxruntime.__version__)


def run_tests(installed: Path) -> None:
    """Run the tests of the engine with another onnxruntime in front of the installed one."""
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--no-header", *TESTS],
        env=os.environ | {"PYTHONPATH": str(installed)},
        check=True,
    )


def main() -> int:
    if sys.argv[1:] == ["--sessions"]:
        compare_sessions()
        return 0
    failed = []
    for version in sys.argv[1:]:
        print(f"== onnxruntime {version}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            installed, cases = Path(folder) / "installed", Path(folder) / "cases"
            cases.mkdir()
            try:
                install(version, installed)
                print(run_check(version, installed, cases), end="", flush=True)
                if not needs_numpy_1(version):
                    run_tests(installed)
            except subprocess.CalledProcessError:
                failed.append(version)
    print(f"failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
