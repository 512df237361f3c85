"""How many threads a call may use."""

from __future__ import annotations

import operator
import os
import warnings

from sowreap import _core
from sowreap._errors import ArgumentError, DtypeError

_VARIABLE = "SOWREAP_NUM_THREADS"


def set_num_threads(n: int) -> None:
    """Let each call use up to `n` threads, its own included.

    The results do not depend on it, to the last bit. Calls too small to gain from several threads
    stay on one.

    Parameters
    ----------
    n : int
        At least 1; more than the machine has cores is allowed.

    Raises
    ------
    ArgumentError
        If `n` is below 1 or above 1024.
    DtypeError
        If `n` is not an integer.

    See Also
    --------
    get_num_threads

    Examples
    --------
    >>> import sowreap as sr
    >>> before = sr.get_num_threads()
    >>> sr.set_num_threads(1)
    >>> sr.get_num_threads()
    1
    >>> sr.set_num_threads(before)
    """
    try:
        count = operator.index(n)
    except TypeError as error:
        raise DtypeError(
            f"set_num_threads: n must be an integer, not {n!r}.",
            operator="set_num_threads",
            argument="n",
            value=n,
        ) from error
    if not 1 <= count <= 1024:
        raise ArgumentError(
            f"set_num_threads: n = {count} is not in [1, 1024].",
            operator="set_num_threads",
            argument="n",
            value=count,
        )
    _core.set_thread_count(count)


def get_num_threads() -> int:
    """Return the number of threads that a call may use.

    At import it is the value of the environment variable ``SOWREAP_NUM_THREADS``, or the number of
    processors that this process may run on.

    Examples
    --------
    >>> import sowreap as sr
    >>> sr.get_num_threads() >= 1
    True
    """
    return _core.thread_count()


def _read_environment() -> None:
    text = os.environ.get(_VARIABLE, "").strip()
    if not text:
        return
    try:
        set_num_threads(int(text))
    except ValueError:
        warnings.warn(
            f"{_VARIABLE}={text!r} is not a whole number in [1, 1024]; "
            f"using {get_num_threads()} threads",
            RuntimeWarning,
            stacklevel=2,
        )


_read_environment()
