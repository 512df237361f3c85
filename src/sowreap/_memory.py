"""How much memory of results that nobody uses any more is kept for the next ones."""

from __future__ import annotations

from sowreap import _core
from sowreap._settings import read_environment, whole_number


def set_pool_limit(limit: int) -> None:
    """Keep at most `limit` bytes of results that are no longer used.

    The system hands out the pages of a large new array one by one as they are first touched,
    which costs about as much as filling them. So when a result of 256 KB or more dies, its memory
    is kept and the next result of about its size lives there: a call in a loop then costs what it
    costs with ``out=``. The pool is shared by all threads; a forked child has its own copy.

    Parameters
    ----------
    limit : int
        Bytes. 0 returns all of them to the system now, and each result when it dies. At import it
        is a sixteenth of the machine's memory, at most 1 GB, or the value of the environment
        variable ``SOWREAP_POOL_LIMIT``.

    Raises
    ------
    ArgumentError
        If `limit` is negative or does not fit 63 bits.
    DtypeError
        If `limit` is not an integer.

    See Also
    --------
    get_pool_limit

    Examples
    --------
    >>> import sowreap as sr
    >>> before = sr.get_pool_limit()
    >>> sr.set_pool_limit(0)
    >>> sr.get_pool_limit()
    0
    >>> sr.set_pool_limit(before)
    """
    _core.set_pool_limit(whole_number("set_pool_limit", "limit", limit, 0, 2**63 - 1))


def get_pool_limit() -> int:
    """Return how many bytes of unused results are kept at most.

    Examples
    --------
    >>> import sowreap as sr
    >>> sr.get_pool_limit() >= 0
    True
    """
    return _core.pool_limit()


read_environment(
    "SOWREAP_POOL_LIMIT",
    lambda text: set_pool_limit(int(text)),
    lambda: f"a whole number of bytes, at least 0; keeping {get_pool_limit()}",
)
