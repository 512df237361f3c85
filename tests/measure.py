"""How much memory a call takes."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

RESIDENT_NOISE = 8 << 20  # the allocator and the kernel's page accounting


def traced_extra(run: Callable[[], Any]) -> int:
    """Peak of Python's and NumPy's memory during `run`, beside what its result keeps."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = run()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    kept = min(max(after - before, 0), np.asarray(result).nbytes)
    return peak - before - kept


def resident_extra(run: Callable[[], Any]) -> int:
    """Peak of the resident memory during `run`, beside its result. Linux alone resets that peak."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)  # so that reused heap shows
    try:
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")
        before = status("VmRSS")
    except OSError:
        pytest.skip("the peak of resident memory cannot be reset on this system")
    result = run()
    return status("VmHWM") - before - np.asarray(result).nbytes


def status(key: str) -> int:
    """Bytes of an entry of this process's status."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    raise OSError(f"no {key}")
