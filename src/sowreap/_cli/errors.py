"""The error that ends the command with status 2 and one line."""

from __future__ import annotations

import click


class InputError(click.ClickException):
    """Something that the user gave cannot be used."""

    exit_code = 2


def reason(error: BaseException) -> str:
    """Return the first line of an error's text, or the name of its class if it has none."""
    for line in str(error).splitlines():
        if line.strip():
            return line.strip()
    return type(error).__name__
