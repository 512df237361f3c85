"""Histogram equalisation by tiles: contrast for each part of an image by itself.

The histograms of all tiles are one scatter: a pixel adds 1 to the cell (tile row, tile column, grey
level). What each level becomes is a table, and applying all tables is one gather. Between tiles the
four nearest tables are blended, so that no edges show.
"""

import numpy as np

import sowreap as sr

SIZE, TILES, LEVELS = 256, 4, 256
CLIP = 3.0  # no level counts more than so many times the average


def picture() -> np.ndarray:
    """Return a dim photograph-like image: hills under a gradient, in shadow on the left."""
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    noise = np.random.default_rng(0).normal(scale=0.01, size=(SIZE, SIZE))
    hills = 0.5 + 0.3 * np.sin(9 * x + 3 * np.sin(5 * y)) * np.cos(7 * y)
    return (np.clip(hills * (0.15 + 0.4 * x) + noise, 0, 1) * (LEVELS - 1)).astype(np.uint8)


def tables(image: np.ndarray) -> np.ndarray:
    """Return for each tile what each grey level becomes, (TILES, TILES, LEVELS)."""
    row, column = np.indices(image.shape) * TILES // SIZE
    cells = np.stack([row, column, image], axis=-1)
    histograms = np.zeros((TILES, TILES, LEVELS))
    sr.scatter_nd(histograms, cells, np.ones(image.shape), "add", out=histograms)

    limit = CLIP * histograms.sum(axis=2, keepdims=True) / LEVELS
    excess = np.maximum(histograms - limit, 0).sum(axis=2, keepdims=True)
    histograms = np.minimum(histograms, limit) + excess / LEVELS
    share = histograms.cumsum(axis=2)
    return share / share[..., -1:] * (LEVELS - 1)


def equalise(image: np.ndarray) -> np.ndarray:
    """Return the image with each pixel mapped by the four tables around it."""
    table = tables(image)
    place = (np.indices(image.shape) + 0.5) * TILES / SIZE - 0.5
    corner = np.floor(place).astype(np.int64)
    result = np.zeros(image.shape)
    for step in np.ndindex(2, 2):
        tile = corner + np.reshape(step, (2, 1, 1))
        weight = np.prod(1 - np.abs(place - tile), axis=0)
        # mode="clip": pixels at the border have no tile further out, and use the outermost.
        cells = np.stack([*tile, image.astype(np.int64)], axis=-1)
        cells[..., :2] = np.maximum(cells[..., :2], 0)
        result += weight * sr.gather_nd(table, cells, mode="clip")
    return result.round().astype(np.uint8)


def main() -> None:
    image = picture()
    counts = sr.bincount(image.reshape(-1), minlength=LEVELS)
    assert np.array_equal(counts, np.bincount(image.reshape(-1), minlength=LEVELS))

    equal = equalise(image)
    assert (np.diff(tables(image), axis=2) >= 0).all()  # no table turns the order of greys round
    for name, pixels in (("before", image), ("after", equal)):
        left, right = np.split(pixels, 2, axis=1)
        print(f"{name}: standard deviation left {left.std():.1f}, right {right.std():.1f}")


if __name__ == "__main__":
    main()
