"""Coverage of Python code for atheris."""

from __future__ import annotations

import sys
import types

import atheris


def instrument(*prefixes: str) -> None:
    """Instrument every function and method of the loaded modules whose names begin so.

    (``atheris.instrument_imports`` does not reach modules of an editable install.)
    """
    for name, module in list(sys.modules.items()):
        if not name.startswith(prefixes):
            continue
        for value in list(vars(module).values()):
            owner = getattr(value, "__module__", None)
            if owner != name:
                continue
            members = vars(value).values() if isinstance(value, type) else (value,)
            for member in members:
                inner = getattr(member, "__func__", getattr(member, "fget", member))
                if isinstance(inner, types.FunctionType):
                    atheris.instrument_func(inner)
