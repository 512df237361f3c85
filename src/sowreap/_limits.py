"""How large a new result may be."""

from __future__ import annotations

from sowreap import _core
from sowreap._settings import read_environment


def _set_result_limit(text: str) -> None:
    if not text.isdecimal() or int(text) >= 2**63:
        raise ValueError(text)
    _core.set_result_limit(int(text))


read_environment(
    "SOWREAP_MAX_RESULT_BYTES",
    _set_result_limit,
    lambda: f"a whole number of bytes below 2**63; results may have {_core.result_limit()} bytes",
)
