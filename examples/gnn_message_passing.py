"""Message passing on 50 molecules: each atom sums what its neighbours send.

The same sum is written twice, with scatter_nd (rows) and with scatter_elements (single elements, as
exported graph networks have it), and both give the same bits at any number of threads.
"""

from pathlib import Path

import numpy as np

import sowreap as sr

ROUNDS = 3


def main() -> None:
    with np.load(Path(__file__).with_name("molecules.npz"), allow_pickle=False) as file:
        atoms, bonds, molecule_of = file["feat"], file["edge_index"], file["batch"]
    source, target = bonds
    nothing = np.zeros_like(atoms)

    state = atoms
    for _ in range(ROUNDS):
        messages = sr.gather(state, source)
        by_rows = sr.scatter_nd(nothing, target[:, np.newaxis], messages, "add")
        # The expanded index is a view: one column of it is stored.
        every_column = np.broadcast_to(target[:, np.newaxis], messages.shape)
        by_elements = sr.scatter_elements(nothing, every_column, messages, 0, "add")
        assert by_rows.tobytes() == by_elements.tobytes()
        state = np.tanh(by_rows)

    # Of each molecule the greatest value of any of its atoms.
    molecules = np.full((molecule_of.max() + 1, state.shape[1]), -np.inf, state.dtype)
    sr.scatter_nd(molecules, molecule_of[:, np.newaxis], state, "max", out=molecules)

    neighbours = sr.scatter_nd(
        np.zeros(len(atoms), np.int64), target[:, np.newaxis], np.ones_like(target), "add"
    )
    print(f"{len(atoms)} atoms, {len(source)} directed bonds, {len(molecules)} molecules")
    print(f"most neighbours of one atom: {neighbours.max()}")
    print(f"molecule vectors: {molecules.shape}, mean {molecules.mean():.4f}")


if __name__ == "__main__":
    main()
