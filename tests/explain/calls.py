"""One small call of each operator, and more that are hard to draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from sowreap import explain

TABLE = np.arange(12.0).reshape(4, 3)

CALLS = {
    "gather": ((TABLE, [2, 0, -2]), {}),
    "gather_elements": ((TABLE, [[0, 1, 2], [3, -1, 0]]), {"axis": 0}),
    "gather_nd": ((TABLE, [[0, 1], [2, -1]]), {}),
    "scatter": ((TABLE[:, 0], [3, 0, 3], [10.0, 20.0, 30.0]), {}),
    "scatter_elements": (
        (np.zeros((3, 3)), [[0, 1, 1], [2, 0, -1]], np.arange(1.0, 7.0).reshape(2, 3)),
        {"axis": 1, "reduction": "add"},
    ),
    "scatter_nd": (
        (np.zeros((4, 3)), [[1], [1], [-1]], np.arange(1.0, 10.0).reshape(3, 3)),
        {"reduction": "add"},
    ),
    "tensor_scatter": (
        (np.zeros((2, 6, 2)), np.arange(8.0).reshape(2, 2, 2), [1, 5]),
        {"mode": "circular"},
    ),
}

# (operator, arguments, keywords) of calls whose indices are not all in range.
BAD = {
    "gather": ("gather", ([10, 20, 30], [2, -4, 5]), {}),
    "gather_elements": ("gather_elements", (TABLE, [[0, 1, 2], [3, 4, -5]]), {"axis": 0}),
    "gather_nd": ("gather_nd", (TABLE, [[0, 1], [2, 3], [-5, 0]]), {}),
    "scatter": ("scatter", ([1, 2, 3], [0, 3], [7, 8]), {}),
    "scatter_elements": ("scatter_elements", (TABLE, [[0, 4]], [[1.0, 2.0]]), {}),
    "scatter_nd": ("scatter_nd", (TABLE, [[1], [7]], np.ones((2, 3))), {}),
    "tensor_scatter": ("tensor_scatter", (np.zeros((2, 4, 1)), np.ones((2, 2, 1)), [1, 3]), {}),
    "axis of length 0": ("gather", (np.zeros((0, 3)), [1]), {}),
    "far away": ("gather", (np.arange(10), np.where(np.arange(100_000) == 77_777, 10, 3)), {}),
}

# Calls whose shapes or types do not fit: these have no cells.
UNFIT = {
    "updates": ("scatter_nd", (np.zeros((4, 3)), [[1], [2]], np.ones((2, 2))), {}),
    "float indices": ("gather", (TABLE, [0.5]), {}),
    "scalar data": ("gather", (np.float32(1), [0]), {}),
    "no array": ("gather", ([[1], [1, 2]], [0]), {}),
    "axis": ("gather", (TABLE, [0]), {"axis": 5}),
    "reduction": ("scatter_nd", (np.zeros(3), [[1]], [1.0]), {"reduction": "<b>sum</b>"}),
}

HOSTILE = [
    "<script>document.title='gone'</script>",
    "</style></script><!--",
    "]]>\x00\x1b[31m",
    "\ud800",
    "\u202eabc\ufffe",
    "&amp;\"'`",
    "行列行列行列行列",
    "\n\t\r\n",
    "x" * 1_000_000,
]


class Broken:
    """An object that cannot be printed."""

    def __repr__(self) -> str:
        raise RuntimeError("<b>no</b>")


HARD = {
    "hostile strings": ("gather", (np.array(HOSTILE, object), np.arange(9)), {}),
    "many long strings": (
        "gather_elements",
        (np.full((2, 3, 5, 5), '"' * 300), np.zeros((2, 3, 5, 5), int)),
        {},
    ),
    "fixed width strings": (
        "scatter_nd",
        (np.array(["a<b", "c"]), [[1], [1]], np.array(["<i>", "\x07"])),
        {"reduction": "add"},
    ),
    "objects": ("gather", (np.array([Broken(), None, 2**80], object), [0, 1, 2]), {}),
    "structured": ("gather", (np.zeros(2, [("a", "<i4"), ("<b>", "U5")]), [1]), {}),
    "nan and infinity": (
        "scatter_nd",
        (np.array([np.nan, np.inf, -np.inf, 1e300]), [[0], [1], [3]], [1.0, np.nan, 2.0]),
        {"reduction": "max"},
    ),
    "complex": ("gather", (np.array([1 + 2.3456789j, 1e10 - 1e-10j]), [0, 1]), {}),
    "long integers": ("gather", (np.array([2**63 - 1, -(2**63)]), [0, 1]), {}),
    "scalar index": ("gather", (np.arange(3), 1), {}),
    "no indices": ("gather", (np.zeros((0, 3)), np.zeros(0, int)), {}),
    "empty slices": ("scatter_nd", (np.zeros((3, 0)), [[1], [1]], np.zeros((2, 0))), {}),
    "empty tuples": ("gather_nd", (np.arange(6).reshape(3, 2), np.zeros((2, 0), int)), {}),
    "empty batch": ("tensor_scatter", (np.zeros((0, 3, 2)), np.zeros((0, 1, 2))), {}),
    "no write_indices": ("tensor_scatter", (np.zeros((2, 3, 2)), np.ones((2, 1, 2))), {}),
    "rank 3": ("gather", (np.zeros((3, 3, 3)), [[0, 1], [2, -1]]), {"axis": 2}),
    "rank 4": (
        "scatter_elements",
        (np.zeros((9,) * 4), np.zeros((7,) * 4, int), np.ones((7,) * 4)),
        {"reduction": "add"},
    ),
    "rank 6": ("gather_nd", (np.zeros((4,) * 6), np.zeros((3, 3, 2), int)), {}),
    "20 components": ("gather_nd", (np.zeros((1,) * 20), np.zeros((3, 20), int)), {}),
    "100 updates of one place": (
        "scatter_nd",
        (np.zeros(2), np.zeros((100, 1), int), np.ones(100)),
        {"reduction": "add"},
    ),
    "large": (
        "gather",
        (np.broadcast_to(np.float32(1), (10**7, 1000)), np.broadcast_to(9_999_999, (1000,))),
        {},
    ),
    "reversed and transposed": ("gather", (np.arange(24).reshape(4, 6)[::-1, ::2].T, [0, -1]), {}),
}

EVERYTHING = {
    **{name: (name, *call) for name, call in CALLS.items()},
    **{f"bad: {name}": call for name, call in BAD.items()},
    **{f"unfit: {name}": call for name, call in UNFIT.items()},
    **{f"hard: {name}": call for name, call in HARD.items()},
}


def explained(operator: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Explain a call."""
    return getattr(explain, operator)(*arguments, **keywords)
