"""A masked edit of an image: blur what a mask covers, in place, and stamp a brush stroke on it.

Only pixels under the mask are read and written. The mask is soft: its values are how much of the
new colour a pixel takes.
"""

import numpy as np

import sowreap as sr

HEIGHT, WIDTH, RADIUS = 120, 160, 3


def picture() -> np.ndarray:
    """Return stripes and a disc in colour, (HEIGHT, WIDTH, 3)."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    stripes = 96 + 80 * ((x // 8 + y // 8) % 2)
    disc = (x - 110) ** 2 + (y - 40) ** 2 < 25**2
    return np.stack([stripes, np.where(disc, 220, stripes), 255 - stripes], -1).astype(np.uint8)


def soft_mask(row: int, column: int, radius: float) -> np.ndarray:
    """Return 1 in the middle of a circle, 0 outside, and values between at its edge."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return np.clip((radius - np.hypot(x - column, y - row)) / 6 + 0.5, 0, 1).astype(np.float32)


def blurred(image: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """Return the mean colour around each pixel; at the border the last pixel counts again."""
    around = np.stack(np.mgrid[-RADIUS : RADIUS + 1, -RADIUS : RADIUS + 1], -1).reshape(-1, 2)
    wanted = np.maximum(pixels[:, np.newaxis] + around, 0)  # (n, 49, 2)
    return sr.gather_nd(image, wanted, mode="clip").mean(axis=1, dtype=np.float32)


def main() -> None:
    image = picture()
    before = image.copy()
    mask = soft_mask(40, 110, 30)
    pixels = np.argwhere(mask > 0)

    amount = sr.gather_nd(mask, pixels)[:, np.newaxis]
    old, new = sr.gather_nd(image, pixels), blurred(image, pixels)
    mixed = (old + amount * (new - old)).round().astype(np.uint8)
    assert sr.scatter_nd(image, pixels, mixed, out=image) is image
    assert np.array_equal(image[mask == 0], before[mask == 0])
    changed = (image != before).any(axis=2).sum()

    # A stroke of overlapping discs that leaves the image; of several colours the last one stays.
    disc = np.argwhere(np.hypot(*(np.mgrid[:9, :9] - 4)) <= 4) - 4
    path = np.stack([np.linspace(100, 116, 40), np.linspace(60, 170, 40)], -1).round().astype(int)
    stroke = path[:, np.newaxis] + disc  # (40, 49, 2)
    colours = np.linspace([255, 200, 0], [200, 0, 90], 40).astype(np.uint8)
    paint = np.broadcast_to(colours[:, np.newaxis], (*stroke.shape[:2], 3))
    expected = image.copy()
    sr.scatter_nd(image, stroke, paint, mode="drop", out=image)

    inside = ((stroke >= 0) & (stroke < (HEIGHT, WIDTH))).all(axis=2)
    touched = np.unique(stroke[inside], axis=0)
    for stamp, colour in zip(stroke, colours, strict=True):
        for row, column in stamp:
            if row < HEIGHT and column < WIDTH:
                expected[row, column] = colour
    assert np.array_equal(image, expected)
    print(f"{len(pixels)} of {mask.size} pixels under the mask, {changed} changed")
    print(f"stroke of {inside.size} stamps, {inside.sum()} in the image, on {len(touched)} pixels")


if __name__ == "__main__":
    main()
