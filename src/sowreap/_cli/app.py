"""The command group: its options, its exit status, its one-line errors."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click

import sowreap
from sowreap._cli.bench import bench
from sowreap._cli.directml import directml
from sowreap._cli.errors import InputError, reason
from sowreap._cli.info import info
from sowreap._cli.op import op
from sowreap._cli.run import run
from sowreap._errors import SowreapError

INTERRUPTED = 130
PIPE_CLOSED = 141  # as a shell reports a program that SIGPIPE ended


class Application(click.Group):
    """A group whose errors are one line on stderr.

    Status 0: done; 1: differences found; 2: bad input; 130: interrupted. Anything that is not the
    user's input is a defect of ours and keeps its traceback.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command; turn errors about the input into :class:`InputError`."""
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
            return status
        except BrokenPipeError:
            # Nobody reads on. What Python still holds back at exit must not raise again.
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            return PIPE_CLOSED
        except (SowreapError, OSError, MemoryError, click.ClickException) as error:
            if ctx.params.get("show_traceback"):
                traceback.print_exc()
            if isinstance(error, click.ClickException):
                raise
            raise InputError(_text(error)) from error

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line and leave the process with its status."""
        kwargs["standalone_mode"] = False
        try:
            status = super().main(*args, **kwargs)
        except click.Abort:
            status = INTERRUPTED
        except click.ClickException as error:
            click.echo(f"sowreap: error: {_line(error)}", err=True)
            status = error.exit_code
        sys.exit(status or 0)


def _text(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"not enough memory: {reason(error)}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join([str(error), *(f"({note})" for note in getattr(error, "__notes__", ()))])


def _line(error: click.ClickException) -> str:
    """Return the message of `error` on one line, with the help to look at for a usage error."""
    line = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        line += f" See: {error.ctx.command_path} --help"
    return line


@click.group(cls=Application, name="sowreap", no_args_is_help=False)
@click.version_option(sowreap.__version__, message="sowreap %(version)s")
@click.option(
    "--traceback",
    "show_traceback",
    is_flag=True,
    help="Before the line of an error, print where in the code it arose.",
)
def cli(show_traceback: bool) -> None:
    """Gather and scatter: run ONNX models and single operators, exactly.

    Status on exit: 0 when all went well, 1 when results differ from those expected, 2 when an
    argument or a file cannot be used, 130 when interrupted, 141 when nobody reads the output.
    """


cli.add_command(run)
cli.add_command(op)
cli.add_command(info)
cli.add_command(bench)
cli.add_command(directml)
