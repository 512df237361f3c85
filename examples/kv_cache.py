"""The key cache of a language model: each step writes one position of each sequence, in place.

The sequences of a batch are of different length, so each has a write index of its own. Past the end
of the cache, mode "circular" goes on at its start and keeps the last positions.
"""

import numpy as np

import sowreap as sr

BATCH, HEADS, POSITIONS, WIDTH = 2, 4, 8, 16
STEPS = 12


def main() -> None:
    generator = np.random.default_rng(0)
    cache = np.zeros((BATCH, HEADS, POSITIONS, WIDTH), np.float32)
    lengths = np.array([0, 3])
    steps = []
    for _ in range(STEPS):
        keys = generator.standard_normal((BATCH, HEADS, 1, WIDTH), np.float32)
        # out=cache: the call writes BATCH * HEADS rows and copies nothing else.
        written = sr.tensor_scatter(cache, keys, lengths, mode="circular", out=cache)
        assert written is cache
        lengths += 1
        steps.append(keys)

    for row, length in enumerate(lengths):
        newest = [(length - 1 - back) % POSITIONS for back in range(POSITIONS)]
        expected = np.concatenate([keys[row] for keys in steps[: -POSITIONS - 1 : -1]], axis=1)
        assert np.array_equal(sr.gather(cache[row], newest, axis=1), expected)
    print(f"{STEPS} steps into {POSITIONS} positions; lengths now {lengths.tolist()}")
    print(f"cache of {cache.nbytes} bytes, written in place {keys.nbytes} bytes a step")


if __name__ == "__main__":
    main()
