"""Draw the pictures of the documentation: ``python docs/make_pictures.py [FOLDER]``.

Writes one SVG file for each entry of `PICTURES`, to docs/pictures unless told otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sowreap import explain

TABLE = np.arange(12).reshape(4, 3)
TENS = np.arange(10, 50, 10)[:, np.newaxis].repeat(3, axis=1)

PICTURES: dict[str, Callable[[], explain.Explanation]] = {
    "gather": lambda: explain.gather(TABLE, [2, 0, -2]),
    "gather_columns": lambda: explain.gather(TABLE, [0, -1], axis=1),
    "gather_elements": lambda: explain.gather_elements(TABLE, [[0, 1, 2], [3, -1, 0]]),
    "gather_nd": lambda: explain.gather_nd(TABLE, [[0, 1], [2, -1], [3, 0]]),
    "scatter": lambda: explain.scatter([10, 11, 12, 13, 14], [3, 0, 3], [7, 8, 9]),
    "scatter_elements": lambda: explain.scatter_elements(
        TENS[:3], [[0, 1, 1], [2, 0, -1]], [[1, 2, 3], [4, 5, 6]], 1, "add"
    ),
    "scatter_nd": lambda: explain.scatter_nd(
        TENS, [[1], [1], [-1]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]], "add"
    ),
    "tensor_scatter": lambda: explain.tensor_scatter(
        np.zeros((2, 4, 2), int), [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [1, 3], mode="circular"
    ),
    "bad_index": lambda: explain.gather([10, 20, 30], [2, -4, 1]),
    "bad_shape": lambda: explain.scatter_nd(
        np.zeros((4, 3)), [[1], [2]], np.ones((2, 2)), reduction="add"
    ),
    "large": lambda: explain.gather(np.arange(10_000), [5000, 7, 5000, -1]),
    "max": lambda: explain.scatter_nd([3, 1, 4], [[0], [2], [0]], [1, 5, 9], "max"),
}


def main(folder: Path) -> None:
    """Write all pictures to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        picture().save(folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
