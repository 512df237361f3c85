"""Settings of the process: whole numbers that functions set, and variables that they start with."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable
from typing import Any

from sowreap._errors import ArgumentError, DtypeError


def whole_number(function: str, argument: str, value: Any, least: int, most: int) -> int:
    """Return `value` as an int in [least, most], or raise the error of `function`."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise DtypeError(
            f"{function}: {argument} must be an integer, not {value!r}.",
            operator=function,
            argument=argument,
            value=value,
        ) from error
    if not least <= number <= most:
        raise ArgumentError(
            f"{function}: {argument} = {number} is not in [{least}, {most}].",
            operator=function,
            argument=argument,
            value=number,
        )
    return number


def read_environment(
    variable: str, apply: Callable[[str], None], problem: Callable[[], str]
) -> None:
    """Call `apply` with the text of a variable that is set; warn of the `problem` if it cannot."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return
    try:
        apply(text)
    except ValueError:
        warnings.warn(f"{variable}={text!r} is not {problem()}", RuntimeWarning, stacklevel=2)
