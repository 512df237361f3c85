"""Ways in which a worker dies; imported by the workers too."""

import os
import signal
from pathlib import Path

import numpy as np
from zarr.storage import LocalStore


def die_once_for(order: Path) -> None:
    """The process that finds the order carries it out, on itself."""
    try:
        order.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def fatal(block: np.ndarray, order: Path) -> np.ndarray:
    """A block, whose maker may die of it."""
    die_once_for(order)
    return block


class FatalStore(LocalStore):
    """A folder; whoever writes a chunk there may die of it, after it is written."""

    async def set(self, key, value):
        await super().set(key, value)
        self._written(key)

    def set_sync(self, key, value):
        super().set_sync(key, value)
        self._written(key)

    def _written(self, key):
        if key.startswith("c/"):
            for order in sorted(self.root.parent.glob("order-*")):
                die_once_for(order)
