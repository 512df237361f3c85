"""Models on onnxruntime, with the family's nodes on sowreap's kernels."""

from __future__ import annotations

import functools
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto, TensorProto

from sowreap import _core
from sowreap._errors import DtypeError
from sowreap.onnx._errors import MissingEngineError, ModelError, one_line
from sowreap.onnx._evaluator import NodeRecord
from sowreap.onnx._loading import (
    check_names,
    is_external,
    load_external_data,
    name_of,
    settle_locations,
)
from sowreap.onnx._ort_values import has_foreign_types, run_with_foreign_types
from sowreap.onnx._profile import read_profile
from sowreap.onnx._rewrite import Placement, has_family, name_nodes, rewrite
from sowreap.onnx._values import Feeds

CPU_PROVIDERS = frozenset({"CPUExecutionProvider", "AzureExecutionProvider"})
EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
FIRST_WITH_EXTERNAL_FOLDER = (1, 22)
COPIED_OPTIONS = (
    "execution_mode",
    "graph_optimization_level",
    "inter_op_num_threads",
    "intra_op_num_threads",
    "log_severity_level",
)
MOST_BYTES = 2**31 - 1  # of one protobuf message

Source = str | os.PathLike[str] | bytes | ModelProto

# Options that the library is registered with: registering twice fails. They hash by identity.
_registered: weakref.WeakSet[Any] = weakref.WeakSet()
_registering = threading.Lock()
_own: weakref.WeakSet[Any] = weakref.WeakSet()  # options that no user holds


def import_onnxruntime() -> Any:
    """Return the package onnxruntime.

    Raises
    ------
    MissingEngineError
        If it is not installed.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingEngineError(
            "engine='onnxruntime' needs the package onnxruntime "
            f'({one_line(error)}); run: pip install "sowreap[ort]", or pass engine="reference".',
            argument="engine",
            value="onnxruntime",
        ) from error
    return onnxruntime


def own_options() -> Any:
    """Return options for one session, which nobody else will see."""
    options = import_onnxruntime().SessionOptions()
    _own.add(options)
    return options


class OnnxruntimeEngine:
    """What :class:`sowreap.onnx.InferenceSession` documents, with ``engine="onnxruntime"``."""

    def __init__(
        self,
        model: Source,
        sess_options: Any,
        providers: Sequence[Any] | None,
        keywords: Mapping[str, Any],
    ) -> None:
        self._ort = import_onnxruntime()
        options = own_options() if sess_options is None else sess_options
        self._source = model
        self._arguments: dict[str, Any] = {"providers": providers, **keywords}
        self._feeds: Feeds | None = None
        self.session, self._placements = self._open(options)
        self.run = self._runner(self.session)

    def placement(self) -> list[Placement]:
        """Return where each node of the family runs."""
        return list(self._placements)

    def explain(self, input_feed: Any) -> None:
        """Raise an error that names the input which does not fit, if there is one."""
        if self._feeds is not None:
            self._feeds.checked(input_feed)

    def _runner(self, session: Any) -> Callable[..., list[Any]]:
        """Return what runs a session: its own method if possible, for small models count calls."""
        if self._feeds is not None and has_foreign_types(session):
            return functools.partial(run_with_foreign_types, self._ort, session, self._feeds)
        run: Callable[..., list[Any]] = session.run
        return run

    def run_profiled(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], repeat: int = 1
    ) -> tuple[list[Any], list[NodeRecord]]:
        """Run the model in a session of its own, which writes a profile."""
        with tempfile.TemporaryDirectory() as folder:
            options = own_options()
            given = self.session.get_session_options()
            for name in COPIED_OPTIONS:
                setattr(options, name, getattr(given, name))
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(folder, "profile")
            session, _ = self._open(options, name_all=True)
            run = self._runner(session)
            for _ in range(repeat + 1):  # the first one warms up
                outputs = run(output_names, input_feed, None)
            records = read_profile(Path(session.end_profiling()), repeat)
            del run, session
        return outputs, records

    def _open(self, options: Any, name_all: bool = False) -> tuple[Any, list[Placement]]:
        model, placements, folder = self._prepared(options, name_all)
        if placements:
            with _registering:
                if options not in _registered:
                    options.register_custom_ops_library(_core.__file__)
                    _registered.add(options)
        with _external_folder(options, folder):
            return self._ort.InferenceSession(model, options, **self._arguments), placements

    def _prepared(self, options: Any, name_all: bool) -> tuple[str | bytes, list[Placement], str]:
        """Return the model for onnxruntime, placements, and the folder of its external data."""
        source = self._source
        proto = read_model(source)
        if proto is None:
            return _unchanged(source), [], ""
        self._feeds = Feeds(_without_tensors(proto))
        folder = _settled_folder(proto, source, options) if is_external(proto) else None
        moves = (has_family(proto) or name_all) and self._on_cpu()
        if not moves and (folder is None or _path_of(source) is not None):
            return _unchanged(source), [], ""
        if folder is not None and self._version() < FIRST_WITH_EXTERNAL_FOLDER:
            load_external_data(proto, folder, "model")
            folder = None
        if name_all:
            name_nodes(proto)
        placements = rewrite(proto, options.intra_op_num_threads) if moves else []
        return _serialized(proto), placements, "" if folder is None else str(folder)

    def _version(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self._ort.__version__.split(".")[:2])

    def _on_cpu(self) -> bool:
        names = [
            entry[0] if isinstance(entry, tuple) else entry
            for entry in self._arguments["providers"] or ()
        ]
        return all(name in CPU_PROVIDERS for name in names)


def read_model(source: Source) -> ModelProto | None:
    """Return a model of our own, None for what onnxruntime shall refuse or knows better.

    Raises
    ------
    ModelError
        If a name in it is not UTF-8.
    """
    proto = _read(source)
    if proto is not None:
        check_names(proto, name_of(source))
    return proto


def _read(source: Source) -> ModelProto | None:
    if isinstance(source, ModelProto):
        copy = ModelProto()
        copy.CopyFrom(source)
        return copy
    if isinstance(source, str | os.PathLike):
        try:
            content = Path(source).read_bytes()
        except (OSError, ValueError):
            return None
    elif isinstance(source, bytes | bytearray | memoryview):
        content = bytes(source)
    else:
        raise DtypeError(
            f"model is a {type(source).__name__}; it must be a path, bytes or an onnx.ModelProto.",
            argument="model",
            value=source,
        )
    try:
        return onnx.load_model_from_string(content)
    except Exception:  # protobuf's class of error is not public
        return None


def _unchanged(source: Source) -> str | bytes:
    if isinstance(source, ModelProto):
        return _serialized(source)
    return os.fspath(source) if isinstance(source, str | os.PathLike) else bytes(source)


def _without_tensors(proto: ModelProto) -> ModelProto:
    """Return what a model tells of its inputs."""
    light = ModelProto(ir_version=proto.ir_version)
    light.graph.input.extend(proto.graph.input)
    light.graph.initializer.extend(TensorProto(name=each.name) for each in proto.graph.initializer)
    return light


def _path_of(source: Source) -> Path | None:
    return Path(source) if isinstance(source, str | os.PathLike) else None


def check_external_data(path: Path) -> None:
    """Check what a session checks of a model file before onnxruntime is given its path.

    Raises
    ------
    ModelError
        If external data of the model lies outside its folder.
    """
    proto = read_model(path)
    if proto is not None and is_external(proto):
        _settled_folder(proto, path, None)


def _settled_folder(proto: ModelProto, source: Source, options: Any) -> Path:
    """Return where the external data of a model lies, of which nothing lies elsewhere."""
    path = _path_of(source)
    if path is not None:
        return settle_locations(
            proto, path.parent, name_of(source), path.resolve().parent
        ).resolve()
    given = _external_folder_of(options)
    if not given:
        raise ModelError(
            "model has external data, which only its path tells where to find. Give the path, load "
            f"the data with onnx.load first, or set the entry {EXTERNAL_FOLDER!r} of sess_options.",
            argument="model",
        )
    return settle_locations(proto, Path(given), "model")


def _serialized(proto: ModelProto) -> bytes:
    try:
        content: bytes = proto.SerializeToString()
    except Exception as error:
        raise ModelError(
            f"model is larger than the {MOST_BYTES} bytes of a protobuf message: save it with its "
            "tensors as external data, and give the path.",
            argument="model",
        ) from error
    return content


def _external_folder_of(options: Any) -> str:
    try:
        entry: str = options.get_session_config_entry(EXTERNAL_FOLDER)
    except Exception:  # there is none
        return ""
    return entry


@contextmanager
def _external_folder(options: Any, folder: str) -> Iterator[None]:
    """Tell a session that is made of bytes where external data lies.

    Options of a user are left as they were, though onnxruntime warns of an entry set twice.
    """
    before = _external_folder_of(options)
    if folder in ("", before):
        yield
        return
    options.add_session_config_entry(EXTERNAL_FOLDER, folder)
    try:
        yield
    finally:
        if options not in _own:
            options.add_session_config_entry(EXTERNAL_FOLDER, before)
