"""Models from files, bytes and protos, made ready for the evaluator."""

from __future__ import annotations

import os
import reprlib
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import onnx
import onnx.checker
import onnx.external_data_helper
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
)

from sowreap._errors import DtypeError
from sowreap.onnx._errors import ModelError, one_line

LONG_DOMAIN = "ai.onnx"

FunctionKey = tuple[str, str]
MOST_CALLS = 50_000  # of functions in a model, each call within a call counted
MOST_NESTED = 100  # functions that call one another

# Fields that nothing is found by, in which old tools wrote whatever the encoding of their host was.
PROSE = frozenset({"doc_string", "metadata_props", "producer_name", "producer_version"})

# What onnxruntime takes for memory of the process, not for a file; any offset in it is an address.
MEMORY_LOCATION = "*/_ORT_"


def load_model(model: str | os.PathLike[str] | bytes | ModelProto) -> ModelProto:
    """Read and check a model, and give it the form that onnx's evaluator runs.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        External data is read from the folder of a path and from nowhere else.

    Raises
    ------
    ModelError
        If the file does not exist, is no model, is broken, or its external data is missing or lies
        outside its folder.
    DtypeError
        If `model` is none of these kinds of object.
    """
    proto, name = read_model(model)
    check_calls(proto, name)
    check_model(proto, name)
    return _with_plain_functions(proto)


def read_model(model: str | os.PathLike[str] | bytes | ModelProto) -> tuple[ModelProto, str]:
    """Read a model as :func:`load_model` does, without the checks that it meets the standard.

    Returns
    -------
    proto : onnx.ModelProto
        With "" as the name of the default domain.
    name : str
        What to call it in errors.
    """
    name = name_of(model)
    if isinstance(model, str | os.PathLike):
        proto = _read(Path(model), name)
    elif isinstance(model, bytes | bytearray | memoryview):
        proto = _parse(bytes(model), name)
    elif isinstance(model, ModelProto):
        proto = model
        check_names(proto, name)
    else:
        raise DtypeError(
            f"model is a {type(model).__name__}; it must be a path, bytes or an onnx.ModelProto.",
            argument="model",
            value=model,
        )
    proto = _standard_form(proto)
    _check_opsets(proto, name)
    return proto, name


def name_of(model: object) -> str:
    """Return what to call a model in errors."""
    if isinstance(model, str | os.PathLike):
        return f"model file {os.fspath(model)!r}"
    return "model"


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs in the attributes of a node."""
    for attribute in node.attribute:
        yield from graphs_of(attribute)


def graphs_of(attribute: AttributeProto) -> Iterator[GraphProto]:
    """Yield the graphs of an attribute."""
    if attribute.type == AttributeProto.GRAPH:
        yield attribute.g
    elif attribute.type == AttributeProto.GRAPHS:
        yield from attribute.graphs


def walk(nodes: Any) -> Iterator[NodeProto]:
    """Yield nodes and, after each, those of its subgraphs at any depth."""
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from walk(graph.node)


def _read(path: Path, name: str) -> ModelProto:
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or one_line(error)
        if isinstance(error, FileNotFoundError):
            reason = "it does not exist"
        raise ModelError(
            f"{name} cannot be read: {reason}.", argument="model", value=str(path)
        ) from error
    proto = _parse(content, name)
    folder = settle_locations(proto, path.parent, name, path.resolve().parent)
    load_external_data(proto, folder, name)
    return proto


def is_external(proto: ModelProto) -> bool:
    """Return whether a tensor of the model lies in a file of its own."""
    return any(True for _ in _external_tensors(proto))


def load_external_data(proto: ModelProto, folder: Path, name: str) -> None:
    """Read the external data of a model, whose locations are checked, into it."""
    try:
        for tensor in list(_external_tensors(proto)):
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
            tensor.data_location = TensorProto.DEFAULT
            del tensor.external_data[:]
    except Exception as error:
        raise ModelError(
            f"{name}: external data cannot be read: {one_line(error)}",
            argument="model",
            value=str(folder),
        ) from error


def settle_locations(proto: ModelProto, folder: Path, name: str, real: Path | None = None) -> Path:
    """Check that the external data of a model lies in its folder, and tell where to look for it.

    What reads external data follows no link, so each location that leads over one is changed to
    that of the file behind it.

    Parameters
    ----------
    proto : onnx.ModelProto
        The model, of which locations may change.
    folder : Path
        Where locations begin.
    name : str
        What to call the model in errors.
    real : Path, optional
        Folder of the file behind the path of the model. Caches keep links to a model and its data
        in one folder, and the files in another: a link in `folder` may lead there too.

    Returns
    -------
    Path
        Where the locations begin now.

    Raises
    ------
    ModelError
        If a location leads elsewhere.
    """
    # All entries of the key, since readers differ in which of several they go by.
    entries = [
        (tensor, entry)
        for tensor in _external_tensors(proto)
        for entry in tensor.external_data
        if entry.key == "location" and entry.value
    ]
    places: dict[str, Path] = {}
    for tensor, entry in entries:
        place = _place_of(entry.value, folder, real)
        if place is None or entry.value.startswith(MEMORY_LOCATION):
            raise _outside(name, tensor, entry.value)
        places[entry.value] = place
    base = folder.resolve()
    if all(place == base / location for location, place in places.items()):
        return folder
    if not all(place.is_relative_to(base) for place in places.values()):
        base = Path(os.path.commonpath([place.parent for place in places.values()]))
    for tensor, entry in entries:
        location = places[entry.value].relative_to(base).as_posix()
        if location.startswith(MEMORY_LOCATION):
            raise _outside(name, tensor, entry.value)
        entry.value = location
    return base


def _place_of(location: str, folder: Path, real: Path | None) -> Path | None:
    """Return the file at a location, None for one that no model may read."""
    path = folder / location
    try:
        place, own = path.resolve(), folder.resolve()
        if place.is_relative_to(own):
            return place
        if real is None or not place.is_relative_to(real.resolve()):
            return None
        return place if path.parent.resolve().is_relative_to(own) else None
    except (OSError, RuntimeError, ValueError):  # a NUL in it, or a loop of links
        return None


def _outside(name: str, tensor: TensorProto, location: str) -> ModelError:
    return ModelError(
        f"{name}: external data of tensor {tensor.name!r} is at {location!r}, which is outside "
        "the folder of the model. Move it there, and correct the location.",
        argument="model",
        value=location,
    )


def _external_tensors(proto: ModelProto) -> Iterator[TensorProto]:
    return (t for t in all_tensors(proto) if t.data_location == TensorProto.EXTERNAL)


def _parse(content: bytes, name: str) -> ModelProto:
    try:
        proto = onnx.load_model_from_string(content)
    except Exception as error:
        raise ModelError(
            f"{name}: {len(content)} bytes that are no ONNX model, or a truncated one.",
            argument="model",
        ) from error
    check_names(proto, name)
    return proto


def check_names(message: Any, model: str) -> None:
    """Check that the names in a model are text: protobuf gives a string that is not as bytes.

    Raises
    ------
    ModelError
        If one is not UTF-8. onnxruntime would take it, and could then tell nobody of it.
    """
    for field, parts in _fields(message):
        if field.name in PROSE:
            continue
        for part in parts:
            if field.message_type is not None:
                check_names(part, model)
            elif isinstance(part, bytes):
                raise ModelError(
                    f"{model} is broken: {message.DESCRIPTOR.name}.{field.name} is "
                    f"{reprlib.repr(part)}, which is not UTF-8. Give it another name where the "
                    "model is made.",
                    argument="model",
                    value=part,
                )


def _check_opsets(proto: ModelProto, name: str) -> None:
    """Check that onnx knows the opsets of ONNX's own domains that the model asks for."""
    newest: dict[str, int] = {}
    for domain, version in onnx.helper.OP_SET_ID_VERSION_MAP:
        domain = "" if domain == LONG_DOMAIN else domain
        newest[domain] = max(version, newest.get(domain, 0))
    for owner in (proto, *proto.functions):
        for entry in owner.opset_import:
            limit = newest.get(entry.domain)
            if limit is not None and entry.version > limit:
                raise ModelError(
                    f"{name}: opset {entry.version} of domain {entry.domain or LONG_DOMAIN} is "
                    f"newer than onnx {onnx.__version__} knows, which ends at {limit}. Install a "
                    "newer onnx, or convert the model with onnx.version_converter.",
                    argument="model",
                    value=entry.version,
                )


def check_model(proto: ModelProto, name: str) -> None:
    """Run onnx's checker, which takes no model beyond the size of one protobuf message."""
    size = 0
    for tensor in all_tensors(proto):
        size += len(tensor.raw_data)
        if tensor.data_location == TensorProto.EXTERNAL:
            raise ModelError(
                f"{name}: tensor {tensor.name!r} has external data, which only the path of a model "
                "tells where to find. Give the path, or load the data with onnx.load first.",
                argument="model",
            )
    if size > onnx.checker.MAXIMUM_PROTOBUF:
        return
    try:
        onnx.checker.check_model(_with_shapes(proto), skip_opset_compatibility_check=True)
    except (onnx.checker.ValidationError, ValueError) as error:  # its parser takes less than ours
        raise ModelError(f"{name} is broken: {one_line(error)}", argument="model") from error


def _with_shapes(proto: ModelProto) -> ModelProto:
    """Return the model with a type and shape for each input and output.

    The checker demands them, though ONNX lets a rank be unknown; it reads no more of a shape than
    that it exists.
    """

    def is_incomplete(info: ValueInfoProto) -> bool:
        kind = info.type.WhichOneof("value")
        is_tensor = kind in ("tensor_type", "sparse_tensor_type")
        return kind is None or (is_tensor and not getattr(info.type, kind).HasField("shape"))

    if not any(is_incomplete(info) for info in (*proto.graph.input, *proto.graph.output)):
        return proto
    completed = ModelProto()
    completed.CopyFrom(proto)
    for info in filter(is_incomplete, (*completed.graph.input, *completed.graph.output)):
        tensor = getattr(info.type, info.type.WhichOneof("value") or "tensor_type")
        tensor.elem_type = tensor.elem_type or TensorProto.FLOAT
        tensor.shape.SetInParent()
    return completed


def all_nodes(proto: ModelProto) -> Iterator[NodeProto]:
    """Yield the nodes of the graph, its subgraphs, and the functions."""
    for body in (proto.graph, *proto.functions):
        yield from walk(body.node)


def all_tensors(message: Any) -> Iterator[TensorProto]:
    """Yield every tensor of a model, wherever in it: a place left out could name any file."""
    if isinstance(message, TensorProto):
        yield message
        return
    for field, parts in _fields(message):
        if field.message_type is not None:
            for part in parts:
                yield from all_tensors(part)


def _fields(message: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each field of a message that is set and is text or messages, with its values."""
    for field, value in message.ListFields():
        if field.message_type is not None or field.type == field.TYPE_STRING:
            alone = isinstance(value, str | bytes) or hasattr(value, "ListFields")
            yield field, [value] if alone else value


def _standard_form(proto: ModelProto) -> ModelProto:
    """Return the model with "" as the name of the default domain, a copy if that is a change."""
    owners = [proto, *proto.functions]
    if not any(entry.domain == LONG_DOMAIN for owner in owners for entry in owner.opset_import):
        return proto
    standard = ModelProto()
    standard.CopyFrom(proto)
    for owner in (standard, *standard.functions):
        for entry in owner.opset_import:
            if entry.domain == LONG_DOMAIN:
                entry.domain = ""
    for node in all_nodes(standard):
        if node.domain == LONG_DOMAIN:
            node.domain = ""
    return standard


def _with_plain_functions(proto: ModelProto) -> ModelProto:
    """Return the model with functions as onnx's evaluator can run them.

    It wants each function behind those that it calls, and all attributes set where one is called.
    """
    if not proto.functions:
        return proto
    plain = ModelProto()
    plain.CopyFrom(proto)
    by_key = {(function.domain, function.name): function for function in plain.functions}
    for node in all_nodes(plain):
        if (node.domain, node.op_type) in by_key:
            given = {attribute.name for attribute in node.attribute}
            defaults = by_key[node.domain, node.op_type].attribute_proto
            node.attribute.extend(default for default in defaults if default.name not in given)
    for function in plain.functions:
        function.attribute.extend(default.name for default in function.attribute_proto)
    ordered = [copied(by_key[key]) for key in _calls(proto)]
    del plain.functions[:]
    plain.functions.extend(ordered)
    return plain


def copied(function: FunctionProto) -> FunctionProto:
    """Return a copy, which lives on where its model lets go of it."""
    copy = FunctionProto()
    copy.CopyFrom(function)
    return copy


def check_calls(proto: ModelProto, name: str) -> None:
    """Check that functions stay within bounds where each call is written out.

    Each may call the next one twice: their number is then the power of 2 that a few lines ask for.
    """
    try:
        calls = _calls(proto)
    except CycleError as error:
        cycle = " calls ".join(".".join(key) for key in error.args[1])
        raise ModelError(
            f"{name} is broken: its functions are recursive: {cycle}.", argument="model"
        ) from error
    written_out: dict[FunctionKey, int] = {}
    depths: dict[FunctionKey, int] = {}
    for key, called in calls.items():
        written_out[key] = sum(n * (1 + written_out[each]) for each, n in called.items())
        depths[key] = 1 + max((depths[each] for each in called), default=0)
    keys = ((node.domain, node.op_type) for node in walk(proto.graph.node))
    count = sum(1 + written_out[key] for key in keys if key in written_out)
    depth = max(depths.values(), default=0)
    if count > MOST_CALLS or depth > MOST_NESTED:
        raise ModelError(
            f"{name}: its functions call each other {count} times, up to {depth} deep; at most "
            f"{MOST_CALLS} calls and {MOST_NESTED} levels are read. Write the functions out first.",
            argument="model",
            value=count,
        )


def _calls(proto: ModelProto) -> dict[FunctionKey, Counter[FunctionKey]]:
    """Return how often each function calls each other one, those that are called first."""
    functions = {(each.domain, each.name): each for each in proto.functions}
    calls = {
        key: Counter(
            called
            for node in walk(function.node)
            if (called := (node.domain, node.op_type)) in functions
        )
        for key, function in functions.items()
    }
    return {key: calls[key] for key in TopologicalSorter(calls).static_order()}
