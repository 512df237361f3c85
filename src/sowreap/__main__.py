"""Entry of the command ``sowreap`` and of ``python -m sowreap``."""

from __future__ import annotations

import io
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command and leave the process with its status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal cannot show
    try:
        from sowreap._cli.app import cli
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in {"click", "rich"}:
            raise
        print(
            f"sowreap: error: the command needs {missing}, which is not installed; "
            'run: pip install "sowreap[onnx]"',
            file=sys.stderr,
        )
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(cli.main(prog_name="sowreap"))


if __name__ == "__main__":
    main()
