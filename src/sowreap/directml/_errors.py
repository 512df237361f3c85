"""Exception and warning classes of descriptors."""

from __future__ import annotations

from typing import Any

from sowreap._errors import SowreapError
from sowreap.directml.rules import RULES
from sowreap.directml.schema import CONSTANTS


class DescriptorError(SowreapError, ValueError):
    """A descriptor, or what is bound to it, breaks a rule of DirectML.

    Attributes
    ----------
    descriptor, field : str
        The struct, and which of its fields: ``"IndicesTensor.Sizes[1]"``.
    value : object
        What the field holds.
    rule : str
        A name in :data:`sowreap.directml.rules.RULES`.
    code : int
        ``E_INVALIDARG``, which ``CreateOperator`` would return.
    """

    code = CONSTANTS["E_INVALIDARG"]

    def __init__(self, descriptor: str, field: str, value: Any, rule: str, allowed: str) -> None:
        super().__init__(
            f"{descriptor}: {field} is {value}, but {RULES[rule].text}: {allowed}."
            f" (rule {rule}, E_INVALIDARG 0x{self.code:08X})",
            operator=descriptor,
            argument=field,
            value=value,
        )
        self.descriptor = descriptor
        self.field = field
        self.rule = rule


class NoDescriptorError(SowreapError, ValueError):
    """An ONNX node has no DirectML descriptor; `reason` says why."""

    def __init__(self, operator: str, reason: str, *, argument: str = "", value: Any = None):
        super().__init__(
            f"{operator}: no DirectML descriptor exists for this node: {reason}.",
            operator=operator,
            argument=argument,
            value=value,
        )
        self.reason = reason


class IndexWarning(UserWarning):
    """Indices were met for which DirectML promises no result."""
