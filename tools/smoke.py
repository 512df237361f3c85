"""Check an installed wheel by itself: the package, NumPy, and nothing else is needed.

    python tools/smoke.py

Each operator is compared with the loop that defines it, on small arrays and on one large enough for
threads; an index out of range is refused by name.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import numpy as np

import sowreap as sr
from sowreap import _core, _reference

SOURCES = Path(__file__).resolve().parents[1] / "src"


def calls(rows: int, width: int) -> list[tuple[str, tuple[object, ...], dict[str, object]]]:
    """Return one call of each operator."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(rows, width)).astype(np.float32)
    picks = rng.integers(-rows, rows, rows)
    cells = rng.integers(0, rows, (rows, width))
    cache = np.zeros((2, rows, width), np.float32)
    return [
        ("gather", (data, picks), {"axis": 0}),
        ("gather_elements", (data, cells), {"axis": 0}),
        ("gather_nd", (data, picks[:, None]), {}),
        ("scatter", (data, cells, data), {"axis": 0}),
        ("scatter_elements", (data, cells, data), {"axis": 0, "reduction": "add"}),
        ("scatter_nd", (data, picks[:, None], data), {"reduction": "max"}),
        ("tensor_scatter", (cache, cache[:, :1] + 1, [1, 2]), {}),
    ]


def check_results(rows: int, width: int) -> None:
    """Compare with the loops."""
    for name, arguments, attributes in calls(rows, width):
        got = getattr(sr, name)(*arguments, **attributes)
        want = getattr(_reference, name)(*map(np.asarray, arguments), **attributes)
        np.testing.assert_array_equal(got, want, err_msg=name)


def check_threads() -> None:
    """Results are the same on any number of threads."""
    rng = np.random.default_rng(1)
    data, picks = rng.normal(size=(4000, 64)), rng.integers(0, 4000, (20_000, 1))
    updates = rng.normal(size=(20_000, 64))
    results = []
    for count in (1, 2, 5):
        sr.set_num_threads(count)
        results.append(sr.scatter_nd(data, picks, updates, reduction="add"))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def check_refusal() -> None:
    """An index out of range is named, and nothing is written."""
    out = np.zeros(3)
    try:
        sr.gather(np.arange(3.0), [0, 7, 1], out=out)
    except sr.OutOfRangeError as error:
        if "indices[1] = 7" not in str(error) or out.any():
            raise AssertionError(f"not refused as it should be: {error}, {out}") from error
    else:
        raise AssertionError("an index out of range was not refused")


def main() -> None:
    """Run the checks and say of what."""
    place = Path(_core.__file__).resolve()
    if Path(sr.__file__).resolve().is_relative_to(SOURCES):
        raise AssertionError(f"this is the checkout, not an installed wheel: {sr.__file__}")
    check_results(rows=7, width=5)
    check_results(rows=60, width=40)
    check_threads()
    check_refusal()
    print(
        f"sowreap {sr.__version__} ({place.name}, {_core.isa()}) works: Python "
        f"{sys.version.split()[0]}, NumPy {np.__version__}, {sysconfig.get_platform()}"
    )


if __name__ == "__main__":
    main()
