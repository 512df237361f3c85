"""The end of a script: its command line, and the files of inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sowreap.onnx._export.text import dtype_text, quoted, wrapped

# Arguments of numpy.savez, which takes arrays by name too.
_SAVEZ_ARGUMENTS = {"file", "allow_pickle"}

_LOAD = '''def load(path):
    """Return the arrays of a file by the arguments that they are for."""
    with np.load(path) as arrays:
        return {
            argument: {convert}
            for name, (argument, dtype) in INPUTS.items()
            if name in arrays
        }'''
_LOAD_LISTS = '''def load(path):
    """Return the arrays of a file by the arguments that they are for; lists from [0] on."""
    found = {}
    with np.load(path) as arrays:
        for name, (argument, dtype) in INPUTS.items():
            if name in arrays:
                found[argument] = {convert}
            elif dtype is list:
                items = (f"{name}[{i}]" for i in itertools.count())
                present = itertools.takewhile(arrays.files.__contains__, items)
                found[argument] = [arrays[item] for item in present]
    return found'''
_CAST = 'arrays[name].astype(dtype, casting="same_kind", copy=False)'

_CONVERTED = '''def converted(array, dtype):
    """Return an array as `dtype`; files hold the types that NumPy lacks as raw bytes."""
    if array.dtype.kind == "V":
        return array.view(dtype)
    return array.astype(dtype, casting="same_kind", copy=False)'''

_STORABLE = '''def storable(outputs):
    """Yield what a file can hold: text of a fixed width, raw bytes, items of lists."""
    for name, value in outputs.items():
        if isinstance(value, list):
            parts = {f"{name}[{i}]": item for i, item in enumerate(value)}
            yield from storable(parts)
        elif value is not None:
            array = np.asarray(value)
            if array.dtype.kind in "OT":
                array = array.astype(str)
            elif array.dtype.isbuiltin == 2:
                array = array.view(f"V{array.dtype.itemsize}")
            yield name, array'''

_ZIPPED = '''def save(file, outputs):
    """Write arrays as numpy.savez does, under any name."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in outputs.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(value), allow_pickle=False)'''


@dataclass(frozen=True)
class Input:
    """An input: its name in the model, the argument for it, what it is."""

    name: str
    argument: str
    dtype: np.dtype[Any] | None
    is_optional: bool
    is_sequence: bool


@dataclass(frozen=True)
class Output:
    """An output: its name in the model and its dtype where it is a tensor of a known one."""

    name: str
    dtype: np.dtype[Any] | None


def blocks(function: str, inputs: Sequence[Input], outputs: Sequence[Output]) -> list[str]:
    """Return the tables, the functions for files, and ``main``."""
    raw = any(not _is_plain(each.dtype) for each in inputs)
    stored = any(not _is_plain(each.dtype) for each in outputs)
    zipped = any(each.name in _SAVEZ_ARGUMENTS for each in outputs)
    convert = "converted(arrays[name], dtype)" if raw else _CAST
    found = [_tables(inputs, outputs)]
    found += [_CONVERTED] if raw else []
    load = _LOAD_LISTS if any(each.is_sequence for each in inputs) else _LOAD
    found.append(load.replace("{convert}", convert))
    found += [_STORABLE] if stored else []
    found += [_ZIPPED] if zipped else []
    found.append(_main(function, inputs, outputs, stored, zipped))
    return found


def _is_plain(dtype: np.dtype[Any] | None) -> bool:
    return dtype is not None and dtype.kind in "iufcb" and dtype.isbuiltin == 1


def _table_dtype(each: Input) -> str:
    return "list" if each.is_sequence else dtype_text(each.dtype or np.dtype(object))


def _tables(inputs: Sequence[Input], outputs: Sequence[Output]) -> str:
    entries = [
        f"{quoted(each.name)}: ({quoted(each.argument)}, {_table_dtype(each)})" for each in inputs
    ]
    lines = wrapped(f"INPUTS = {{{', '.join(entries)}}}", 0)
    lines += wrapped(f"OUTPUTS = [{', '.join(quoted(each.name) for each in outputs)}]", 0)
    return "\n".join(lines)


def _main(
    function: str,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    stored: bool,
    zipped: bool,
) -> str:
    lines = [
        "def main():",
        '    """Run the model on a file of inputs."""',
        "    parser = argparse.ArgumentParser(description=main.__doc__)",
        *wrapped('parser.add_argument("inputs", help=".npz file with the inputs")', 1),
        "    parser.add_argument(",
        '        "-o", "--outputs", default="outputs.npz", help=".npz file to write"',
        "    )",
        "    options = parser.parse_args()",
        "    arguments = load(options.inputs)",
    ]
    required = [each for each in inputs if not each.is_optional]
    if required:
        condition = "argument not in arguments"
        if len(required) < len(inputs):
            names = [quoted(each.argument) for each in inputs if each.is_optional]
            condition += f" and argument not in ({', '.join(names)},)"
        lines += [
            "    for name, (argument, _) in INPUTS.items():",
            *wrapped(f"if {condition}:", 2),
            '            parser.error(f"{options.inputs}: no array is named {name!r}")',
        ]
    lines += [f"    results = {function}(**arguments)"]
    if len(outputs) > 1:
        lines += ["    outputs = dict(zip(OUTPUTS, results, strict=True))"]
    else:
        lines += ["    outputs = {OUTPUTS[0]: results}"]
    if stored:
        lines += ["    outputs = dict(storable(outputs))"]
    lines += ['    with open(options.outputs, "wb") as file:']
    lines += ["        save(file, outputs)" if zipped else "        np.savez(file, **outputs)"]
    return "\n".join(lines)
