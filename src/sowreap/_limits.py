"""How large a new result may be."""

from __future__ import annotations

import os
import warnings

from sowreap import _core

_VARIABLE = "SOWREAP_MAX_RESULT_BYTES"


def _read_environment() -> None:
    text = os.environ.get(_VARIABLE, "").strip()
    if not text:
        return
    if text.isdecimal() and int(text) < 2**63:
        _core.set_result_limit(int(text))
        return
    warnings.warn(
        f"{_VARIABLE}={text!r} is not a whole number of bytes below 2**63; "
        f"results may have {_core.result_limit()} bytes",
        RuntimeWarning,
        stacklevel=2,
    )


_read_environment()
