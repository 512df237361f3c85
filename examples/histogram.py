"""A histogram in two dimensions: scatter_nd adds 1 to the cell of each point.

NumPy's ``histogram2d`` is the check. Weights, minima and maxima of a cell are the same call with
other updates or another reduction.
"""

import numpy as np

import sowreap as sr

POINTS, BINS = 10_000, 6


def main() -> None:
    generator = np.random.default_rng(0)
    points = generator.random((POINTS, 2))
    heights = generator.standard_normal(POINTS)
    cells = (points * BINS).astype(np.int8)  # one index tuple a point, of any integer dtype

    counts = sr.scatter_nd(
        np.zeros((BINS, BINS), np.int64), cells, np.ones(POINTS, np.int64), "add"
    )
    expected, _, _ = np.histogram2d(*points.T, bins=BINS, range=[[0, 1], [0, 1]])
    assert np.array_equal(counts, expected)

    highest = sr.scatter_nd(np.full((BINS, BINS), -np.inf), cells, heights, "max")
    print(counts)
    print(f"highest point: {highest.max():.3f} in cell {divmod(int(highest.argmax()), BINS)}")
    assert highest.max() == heights.max()


if __name__ == "__main__":
    main()
