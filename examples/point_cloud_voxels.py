"""A point cloud as a grid of voxels: count, mean point, and highest point of each.

The cloud is a scan of a scene made here: a floor, a wall and a ball, with noise, and some points
beyond the grid, as every scanner returns them. Mode "drop" leaves those out.
"""

import numpy as np

import sowreap as sr

POINTS = 60_000
VOXEL = 0.25  # metres
LOW, SHAPE = np.array([-4.0, -4.0, 0.0]), (32, 32, 12)


def scan(generator: np.random.Generator) -> np.ndarray:
    """Return points (n, 3) in metres."""
    ground, wall, ball = np.split(generator.random((POINTS, 3)), [POINTS // 2, POINTS * 3 // 4])
    ground = np.column_stack([ground[:, :2] * 10 - 5, np.zeros(len(ground))])
    wall = np.column_stack([wall[:, 0] * 8 - 4, np.full(len(wall), 3.0), wall[:, 1] * 2.5])
    direction = ball - 0.5
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    points = np.concatenate([ground, wall, direction * 0.8 + [0.0, 0.0, 1.0]])
    return points + generator.normal(scale=0.02, size=points.shape)


def main() -> None:
    points = scan(np.random.default_rng(0)).astype(np.float32)
    voxels = np.floor((points - LOW) / VOXEL).astype(np.int32)
    # Below the grid a negative index would count from the end, so it is sent past the end instead.
    voxels[voxels < 0] = max(SHAPE)

    counts = sr.scatter_nd(
        np.zeros(SHAPE, np.int32), voxels, np.ones(len(points), np.int32), "add", mode="drop"
    )
    centres = sr.scatter_nd(
        np.zeros((*SHAPE, 3), np.float32), voxels, points, "mean", include_self=False, mode="drop"
    )
    columns = sr.scatter_nd(
        np.full(SHAPE[:2], -np.inf, np.float32), voxels[:, :2], points[:, 2], "max", mode="drop"
    )

    within = (voxels < SHAPE).all(axis=1)
    expected, _ = np.histogramdd(voxels[within], bins=SHAPE, range=[(0, n) for n in SHAPE])
    assert np.array_equal(counts, expected)
    # A mean lies in its voxel, and there alone is one where points are.
    filled = np.argwhere(counts)
    from_middle = (sr.gather_nd(centres, filled) - LOW) / VOXEL - filled - 0.5
    assert (np.abs(from_middle) < 0.5 + 1e-3).all()
    assert not centres[counts == 0].any()

    print(f"{len(points)} points, {within.sum()} of them in the grid of {counts.size} voxels")
    print(f"{len(filled)} voxels are filled, the fullest by {counts.max()} points")
    print(f"the highest point of all stands at {columns.max():.2f} m")


if __name__ == "__main__":
    main()
