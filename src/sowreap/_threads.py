"""How many threads a call may use."""

from __future__ import annotations

from sowreap import _core
from sowreap._settings import read_environment, whole_number


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
    _core.set_thread_count(whole_number("set_num_threads", "n", n, 1, 1024))


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


read_environment(
    "SOWREAP_NUM_THREADS",
    lambda text: set_num_threads(int(text)),
    lambda: f"a whole number in [1, 1024]; using {get_num_threads()} threads",
)
