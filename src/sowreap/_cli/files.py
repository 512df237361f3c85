"""Models, ``.npy`` and ``.npz`` files: found, read and written, never unpickled."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sowreap._cli.errors import InputError, reason

Array = NDArray[Any]

# The value of numpy.dtype.isbuiltin for types that another package registers, as ml_dtypes does.
USER_DEFINED = 2
_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK"


def find_model(name: str) -> Path:
    """Return the path of a model given as a path or as ``package:file``.

    A package is located by the import system's finders and never imported. The file must lie in
    the folder of the package.
    """
    path = Path(name)
    if path.is_dir():
        raise InputError(f"{name}: is a folder, not a model")
    if path.exists():
        return path
    package, colon, file = name.partition(":")
    # One letter before the colon is a Windows drive.
    if colon and re.fullmatch(r"[^\W\d]\w+(\.\w+)*", package):
        return _find_in_package(name, package, file)
    raise InputError(f"{name}: no such file")


def _find_in_package(name: str, package: str, file: str) -> Path:
    top, *below = package.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise InputError(f"{name}: no package named {top} is installed here")
    if spec.submodule_search_locations is None:
        raise InputError(f"{name}: {top} is a single module, not a package with files")
    models: list[str] = []
    for location in spec.submodule_search_locations:
        folder = Path(location, *below).resolve()
        path = (folder / file).resolve()
        if not path.is_relative_to(folder):
            raise InputError(f"{name}: {file} lies outside the folder of {package}")
        if path.is_file():
            return path
        models += sorted(str(model.relative_to(folder)) for model in folder.rglob("*.onnx"))
    holds = f"its models are {', '.join(models[:5])}" if models else "it holds no .onnx file"
    raise InputError(f"{name}: package {package} has no file {file or '(empty name)'}; {holds}")


def read_array(path: Path) -> Array:
    """Return the array of a ``.npy`` file."""
    loaded = read_any(path)
    if isinstance(loaded, dict):
        raise InputError(f"{path}: is an .npz file of several arrays; one .npy file is needed")
    return loaded


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of an ``.npz`` file by name."""
    loaded = read_any(path)
    if not isinstance(loaded, dict):
        raise InputError(f"{path}: is an .npy file of one array; an .npz file is needed")
    return loaded


def read_any(path: Path) -> Array | dict[str, Array]:
    """Return the array of a ``.npy`` file, or the arrays of an ``.npz`` file by name."""
    with path.open("rb") as file:
        start = file.read(len(_NPY_MAGIC))
        if start != _NPY_MAGIC and not start.startswith(_ZIP_MAGIC):
            raise InputError(f"{path}: is neither an .npy nor an .npz file")
        file.seek(0)
        try:
            loaded = np.load(file, allow_pickle=False)
        except MemoryError:
            raise
        except Exception as error:  # what bytes can make the readers raise has no common class
            raise InputError(f"{path}: cannot be read: {reason(error)}") from error
        if isinstance(loaded, np.ndarray):
            return loaded
        return {name: _member(path, loaded, name) for name in loaded.files}


def _member(path: Path, file: Any, name: str) -> Array:
    try:
        member = file[name]
    except MemoryError:
        raise
    except Exception as error:
        raise InputError(f"{path}: array {name} cannot be read: {reason(error)}") from error
    if not isinstance(member, np.ndarray):
        raise InputError(f"{path}: {name} is not an array")
    return member


def with_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return `array` as `dtype` where the file holds its items as raw bytes of that width.

    ``numpy.save`` writes bfloat16 and most other types of ml_dtypes so.
    """
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize and _is_raw(array.dtype):
        return array.view(dtype)
    return array


def _is_raw(dtype: np.dtype[Any]) -> bool:
    return dtype.type is np.void and dtype.names is None


def write_array(path: Path, array: Array) -> None:
    """Write `array` as an ``.npy`` file under exactly that name."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, _storable(array), allow_pickle=False)


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write `arrays` as an ``.npz`` file under exactly that name.

    Names are free here; ``numpy.savez`` takes them as keywords and has some of its own.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _storable(array), allow_pickle=False)


def _storable(array: Array) -> Array:
    """Return what a file can hold and NumPy can read again.

    Strings get a fixed width, since objects would have to be pickled; the types of ml_dtypes become
    raw bytes.
    """
    if array.dtype.kind in "OT":
        return array.astype(np.str_)
    if array.dtype.isbuiltin == USER_DEFINED:
        return array.view(f"V{array.dtype.itemsize}")
    return array
