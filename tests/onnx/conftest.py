"""What the ONNX tests share."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from family import FUNCTIONS

import sowreap


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calls of sowreap's functions: proof of who computed a result."""
    counter: Counter[str] = Counter()

    def counted(name: str) -> Any:
        function = getattr(sowreap, name)

        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            counter[name] += 1
            return function(*arguments, **keywords)

        return wrapper

    for name in FUNCTIONS.values():
        monkeypatch.setattr(sowreap, name, counted(name))
    return counter
