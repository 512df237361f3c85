#!/usr/bin/env python3
"""An atheris target: DirectML descriptors from bytes, validated and executed between guards."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import atheris

from instrument import instrument

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "directml"))
from test_fuzz import fuzz_bytes, fuzz_values


class BytesRandom(random.Random):
    """Random numbers that are the bytes of the fuzzer, then zeros."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self.bytes = atheris.FuzzedDataProvider(data)

    def getrandbits(self, k: int) -> int:
        """Take the next `k` bits."""
        size = -(-k // 8)
        taken = self.bytes.ConsumeBytes(size).ljust(size, b"\0")
        return int.from_bytes(taken, "little") & ((1 << k) - 1)

    def random(self) -> float:
        """Take the next 53 bits."""
        return self.getrandbits(53) / (1 << 53)


def fuzz(data: bytes) -> None:
    """Make one descriptor."""
    rng = BytesRandom(data)
    (fuzz_bytes if rng.getrandbits(1) else fuzz_values)(rng)


if __name__ == "__main__":
    instrument("sowreap", "test_fuzz")
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
