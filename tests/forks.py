"""Run something in a forked child."""

import os
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable

LIMIT = 60  # seconds; only a child that hangs meets it, under a sanitizer too


def run_in_child(run: Callable[[], object]) -> None:
    """Fork, call `run` in the child, and fail with the child's traceback if it has one."""
    with tempfile.TemporaryFile() as said:
        with warnings.catch_warnings():
            # since 3.12 Python warns of every fork beside threads; that this works is the point
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(LIMIT)
            try:
                run()
            except BaseException:
                os.write(said.fileno(), traceback.format_exc().encode())
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        said.seek(0)
        assert (status, said.read().decode()) == (0, "")
