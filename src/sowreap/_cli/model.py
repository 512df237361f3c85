"""A model: opened, its inputs checked, run and timed."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sowreap._cli import files
from sowreap._cli.errors import InputError, reason

if TYPE_CHECKING:
    from sowreap.onnx import NodeArg, NodeRecord

Array = NDArray[Any]
LOG_FATAL = 4


class Declared(NamedTuple):
    """An input as the model declares it; a size is a number, a symbol, or None for neither."""

    name: str
    dtype: np.dtype[Any]
    shape: Sequence[int | str | None]


class Node(NamedTuple):
    """A node of the main graph and its time in seconds."""

    name: str
    op_type: str
    seconds: float


class Timing(NamedTuple):
    """Seconds of a run, in gather and scatter, and of each node; medians over several runs."""

    total: float
    family: float
    nodes: list[Node]


class Model:
    """An ONNX model: what it wants, and what it gives."""

    def __init__(self, name: str, engine: str) -> None:
        path = files.find_model(name)
        try:
            from sowreap.onnx import InferenceSession
        except ImportError as error:  # says which package to install
            raise InputError(str(error)) from error
        self.name = name
        self.path = path
        self._engine = engine
        with _one_line_errors(name):
            self._session = InferenceSession(path, quiet_options(engine), engine=engine)
        self.inputs = [_declared(node) for node in self._session.get_inputs()]
        defaults = [_declared(node) for node in self._session.get_overridable_initializers()]
        self._dtypes = {each.name: each.dtype for each in (*self.inputs, *defaults)}

    def read_inputs(self, path: Path) -> dict[str, Array]:
        """Return the arrays of an ``.npz`` file, each as the type that the model declares."""
        arrays = files.read_arrays(path)
        for name in arrays:
            if name not in self._dtypes:
                raise InputError(
                    f"{path}: {name} is not an input of the model; its inputs are "
                    f"{', '.join(self._dtypes) or 'none'}"
                )
        return {name: files.with_dtype(array, self._dtypes[name]) for name, array in arrays.items()}

    def check_complete(self, feeds: Mapping[str, Array]) -> None:
        """Raise if an input of the model is missing."""
        missing = [declared.name for declared in self.inputs if declared.name not in feeds]
        if missing:
            raise InputError(
                f"{self.name}: no array for {', '.join(missing)}; give each in the file of "
                "--inputs, or pass --random to make up what is missing"
            )

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs, in the order of the model."""
        return [node.name for node in self._session.get_outputs()]

    def warm_up(self, feeds: Mapping[str, Array]) -> None:
        """Run once."""
        with _one_line_errors(self.name):
            self._session.run(None, feeds)

    def run(
        self, feeds: Mapping[str, Array], repeat: int, done: Callable[[], None]
    ) -> tuple[dict[str, Array], Timing]:
        """Run `repeat` times, call `done` after each; return outputs by name, and times."""
        totals: list[float] = []
        profiles: list[list[NodeRecord]] = []
        with _one_line_errors(self.name):
            for _ in range(repeat):
                start = time.perf_counter()
                if self._engine == "onnxruntime":
                    values = self._session.run(None, feeds)
                else:
                    values, records = self._session.run_profiled(None, feeds)
                    profiles.append(records)
                totals.append(time.perf_counter() - start)
                done()
            if not profiles:  # writing a profile takes time, so it is not part of the total
                profiles.append(self._session.run_profiled(None, feeds, repeat)[1])
        names = [node.name for node in self._session.get_outputs()]
        return named_tensors(names, values), _medians(totals, profiles)


def default_engine() -> str:
    """Return the engine of a command that names none."""
    return "reference" if importlib.util.find_spec("onnxruntime") is None else "onnxruntime"


def quiet_options(engine: str) -> Any:
    """Return options with which onnxruntime does not log the errors that it raises."""
    if engine != "onnxruntime" or importlib.util.find_spec("onnxruntime") is None:
        return None
    from sowreap.onnx._onnxruntime_engine import own_options

    options = own_options()
    options.log_severity_level = LOG_FATAL
    return options


@contextmanager
def _one_line_errors(name: str) -> Iterator[None]:
    """Turn the errors of onnxruntime, which have no common class, into our own."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        raise InputError(f"{name}: {reason(error)}") from error


def _declared(node: NodeArg) -> Declared:
    """Read a type such as ``tensor(float)``: in brackets stands a name of ONNX's TensorProto."""
    from onnx import TensorProto, helper

    element = node.type.removeprefix("tensor(").removesuffix(")")
    try:
        number = TensorProto.DataType.Value(element.upper())
    except ValueError:
        raise InputError(
            f"input {node.name} is a {node.type}; the command can give tensors only"
        ) from None
    return Declared(node.name, helper.tensor_dtype_to_np_dtype(number), node.shape)


def named_tensors(names: Sequence[str], values: Sequence[Any]) -> dict[str, Array]:
    """Return the tensors of a model's outputs, those inside sequences and maps too, by name."""
    return dict(
        item for name, value in zip(names, values, strict=True) for item in _tensors(name, value)
    )


def _tensors(name: str, value: Any) -> Iterator[tuple[str, Array]]:
    """Yield the tensors of an output; those inside sequences and maps as ``name[key]``."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _tensors(f"{name}[{key}]", item)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _tensors(f"{name}[{position}]", item)
    elif value is not None:
        yield name, np.asarray(value)


def _medians(totals: Sequence[float], profiles: Sequence[Sequence[NodeRecord]]) -> Timing:
    nodes = [
        Node(
            runs[0].name,
            f"{runs[0].domain}.{runs[0].op_type}" if runs[0].domain else runs[0].op_type,
            statistics.median(record.seconds for record in runs),
        )
        for runs in zip(*profiles, strict=True)
    ]
    family = statistics.median(
        sum(record.family_seconds for record in records) for records in profiles
    )
    return Timing(statistics.median(totals), family, nodes)
