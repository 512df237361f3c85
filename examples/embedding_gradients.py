"""Word vectors trained with NumPy: rows are gathered forward, their gradients added backward.

A skip-gram with negative samples on a small text. A batch names many words several times; each use
adds to the gradient of its row, as ``index_add`` does. In NumPy ``table[words] -= gradient`` would
keep one of them.
"""

import numpy as np

import sowreap as sr

TEXT = """
the king rules the land and the queen rules the land
the king wears a crown and the queen wears a crown
the dog chases the cat and the cat chases the mouse
the dog eats meat and the cat eats meat and the mouse eats grain
the king and the queen live in a castle the dog and the cat live in a house
"""
WIDTH, WINDOW, NEGATIVES, EPOCHS, RATE = 16, 2, 4, 300, 10.0


def pairs(words: np.ndarray) -> np.ndarray:
    """Return each word with each of its neighbours, (n, 2)."""
    both = [
        np.column_stack([words[:-step], words[step:]])[:, order]
        for step in range(1, WINDOW + 1)
        for order in ([0, 1], [1, 0])
    ]
    return np.concatenate(both)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def step(centre: np.ndarray, context: np.ndarray, batch: np.ndarray, wanted: np.ndarray) -> float:
    """Make one step of gradient descent, in place, and return the loss."""
    first, second = batch.T
    left, right = sr.gather(centre, first), sr.gather(context, second)
    chance = sigmoid((left * right).sum(axis=1))
    slope = ((wanted - chance) * RATE / len(batch))[:, np.newaxis]
    # Gradients of all rows first, then both tables: neither may see the other's step.
    for_left, for_right = slope * right, slope * left
    sr.index_add(centre, first, for_left, out=centre)
    sr.index_add(context, second, for_right, out=context)
    return float(-np.log(np.where(wanted, chance, 1 - chance)).mean())


def main() -> None:
    generator = np.random.default_rng(0)
    names, words = np.unique(TEXT.split(), return_inverse=True)
    centre = generator.normal(scale=0.1, size=(len(names), WIDTH))
    context = np.zeros_like(centre)
    seen = pairs(words)

    # The gradient of one step against NumPy's own unbuffered sum.
    expected = centre.copy()
    np.add.at(expected, seen[:, 0], 1.0)
    assert np.array_equal(sr.index_add(centre, seen[:, 0], np.ones((len(seen), WIDTH))), expected)

    losses = []
    for _ in range(EPOCHS):
        noise = np.column_stack(
            [np.repeat(seen[:, 0], NEGATIVES), generator.choice(words, len(seen) * NEGATIVES)]
        )
        wanted = np.repeat([1.0, 0.0], [len(seen), len(noise)])
        losses.append(step(centre, context, np.concatenate([seen, noise]), wanted))

    unit = centre / np.linalg.norm(centre, axis=1, keepdims=True)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -1)
    print(f"{len(names)} words, {len(seen)} pairs, loss {losses[0]:.2f} -> {losses[-1]:.2f}")
    for name in ("king", "cat"):
        nearest = names[likeness[names.tolist().index(name)].argmax()]
        print(f"nearest to {name}: {nearest}")


if __name__ == "__main__":
    main()
