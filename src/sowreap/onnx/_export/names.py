"""Identifiers for the names of a model, which may be any text."""

from __future__ import annotations

import builtins
import keyword
import re

# Modules, and names that the frame of every script uses.
_TAKEN = {
    *dir(builtins),
    *keyword.kwlist,
    *keyword.softkwlist,
    *("np", "sr", "ml_dtypes", "math", "itertools", "argparse", "base64", "io", "zipfile"),
    *("Path", "backend", "helper", "numpy_helper", "GraphProto", "main", "weights"),
    *("INPUTS", "OUTPUTS", "WEIGHTS", "W"),
    *("onnx_op", "load", "converted", "storable", "save"),
    *("l", "I", "O"),  # linters take them for digits
}
MAX_LENGTH = 24


def identifier(name: str, fallback: str) -> str:
    """Return an identifier close to `name`, in small letters; its last words where it is long.

    Examples
    --------
    >>> identifier("/encoder/layer.0/MatMul_output_0", "matmul"), identifier("12", "add")
    ('encoder_layer_0_matmul', 'add_12')
    """
    words = [word for word in re.split(r"[^0-9A-Za-z]+", name) if word]
    if len(words) > 2 and words[-2:] == ["output", "0"]:  # as exporters call what a node gives
        del words[-2:]
    while len(words) > 1 and len("_".join(words)) > MAX_LENGTH:
        del words[0]
    text = "_".join(words).lower()[-MAX_LENGTH:].strip("_")
    if not text:
        return fallback
    return text if text[0].isalpha() else f"{fallback}_{text}"


class Names:
    """Identifiers handed out once each.

    Functions and their variables are in small letters, constants in capitals, so that no variable
    hides a constant; and no variable has the name of a function.

    Parameters
    ----------
    functions : set of str
        First words of the names of functions; they stay free for them.
    """

    def __init__(self, functions: set[str]) -> None:
        self._functions = functions
        self._used: set[str] = set()

    def variable(self, name: str, fallback: str) -> str:
        """Return a new name for a variable."""
        return self._new(identifier(name, fallback), self._functions)

    def function(self, name: str) -> str:
        """Return a new name for a function."""
        return self._new(identifier(name, "function"), set())

    def constant(self, name: str) -> str:
        """Return a new name for a constant."""
        return self._new(identifier(name, "constant").upper(), set())

    def _new(self, base: str, forbidden: set[str]) -> str:
        if base in forbidden or re.sub(r"_\d+$", "", base) in forbidden:
            base += "_value"
        text, count = base, 1
        while text in self._used or text in _TAKEN:
            count += 1
            text = f"{base}_{count}"
        self._used.add(text)
        return text
