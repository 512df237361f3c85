"""Whatever bytes come as a descriptor, as tensors or as buffers: an answer or a refusal, no crash.

The work is done in a process of its own, so that a crash is seen as one, with a traceback.
"""

from __future__ import annotations

import faulthandler
import random
import subprocess
import sys

import numpy as np
import pytest

from descriptors import changed, good
from sowreap import SowreapError
from sowreap.directml import Binding, OperatorDesc, Tensor, execute, validate
from sowreap.directml.schema import DATA_TYPES, FEATURE_LEVELS, OPERATORS

SHORT = [row.short_name for row in OPERATORS.values()]
POISON = 0xA5
GUARD = 64
MOST_BYTES = 1 << 16  # of what one tensor of a fuzzed descriptor may take
INTERESTING = (0, 1, 2, 3, 4, 5, 7, 8, 9, 255, 2**31 - 1, 2**31, 2**32 - 1)


def fuzz_bytes(rng: random.Random) -> str:
    """A good descriptor as bytes, some of which change; now and then any bytes at all."""
    arch = rng.choice(("x64", "x86"))
    written = good(rng.choice(SHORT)).to_struct(arch)
    block = bytearray(written.to_bytes())
    kind = rng.randrange(4)
    if kind == 0:
        block = bytearray(rng.randbytes(rng.randrange(300)))
    elif kind == 1:
        del block[rng.randrange(len(block)) :]
    for _ in range(rng.randrange(3)):
        if len(block) >= 4:
            at = rng.randrange(len(block) // 4) * 4
            block[at : at + 4] = rng.choice(INTERESTING).to_bytes(4, "little")
    return attempt(lambda: OperatorDesc.from_bytes(block, arch, base=written.base), rng)


def fuzz_values(rng: random.Random) -> str:
    """A good descriptor with values that change."""

    def make() -> OperatorDesc:
        desc = good(rng.choice(SHORT))
        for _ in range(rng.randrange(4)):
            name = rng.choice([*desc.tensors, *desc.attributes])
            if name in desc.attributes:
                desc = changed(desc, name, to=rng.choice((*INTERESTING, -1, 2**70)))
            else:
                field = rng.choice(("data_type", "sizes", "strides", "total_bytes", "alignment"))
                desc = changed(desc, name, **{field: value_of(field, desc.tensors[name], rng)})
        return desc

    return attempt(make, rng)


def value_of(field: str, tensor: Tensor, rng: random.Random) -> object:
    if field == "data_type":
        return rng.choice([*DATA_TYPES, 0, 14, -1])
    if field in ("sizes", "strides"):
        values = list(
            tensor.sizes if field == "sizes" or tensor.strides is None else tensor.strides
        )
        if values:
            values[rng.randrange(len(values))] = rng.choice((*INTERESTING, -1, 2**40))
        return values[: rng.randrange(9)] if rng.randrange(5) == 0 else values
    return rng.choice((*INTERESTING, 16, 2**64, -4))


def attempt(make, rng: random.Random) -> str:
    """Validate, and execute what is small enough; return how far it came."""
    level, strict = rng.choice(list(FEATURE_LEVELS)[-4:]), rng.randrange(2) == 0
    try:
        desc = make()
        validate(desc, level, strict)
    except SowreapError:
        return "refused"
    if max(tensor.total_bytes for tensor in desc.tensors.values()) > MOST_BYTES:
        return "large"
    if max(np.prod(tensor.sizes, dtype=float) for tensor in desc.tensors.values()) > MOST_BYTES:
        return "large"
    return execute_between_guards(desc, rng, feature_level=level, strict=strict)


def execute_between_guards(desc: OperatorDesc, rng: random.Random, **options) -> str:
    buffers, memory = {}, {}
    for name, tensor in desc.tensors.items():
        size = tensor.total_bytes - (rng.randrange(20) == 0) * rng.randrange(1, 4)
        content = rng.randbytes(size) if rng.randrange(2) else bytes(size)
        memory[name] = bytearray([POISON]) * GUARD + content + bytearray([POISON]) * GUARD
        step = max(16, tensor.alignment)  # a promise of more than the guard is not kept
        buffers[name] = Binding(memory[name], -(-GUARD // step) * step, size)
    before = {name: bytes(content) for name, content in memory.items()}
    output = buffers.pop("OutputTensor")
    outcome = "executed"
    try:
        execute(
            desc,
            buffers,
            output,
            out_of_range=rng.choice((None, "clamp", "raise")),
            duplicates=rng.choice((None, "first", "shuffle")),
            **options,
        )
    except SowreapError:
        outcome = "stopped"
    written = memory.pop("OutputTensor")
    assert all(before[name] == content for name, content in memory.items())
    assert written[:GUARD] == written[-GUARD:] == bytearray([POISON]) * GUARD
    assert outcome == "executed" or written == before["OutputTensor"]
    return outcome


def main(kind: str, rounds: int) -> None:
    faulthandler.enable()
    counts: dict[str, int] = {}
    for seed in range(rounds):
        try:
            outcome = {"bytes": fuzz_bytes, "values": fuzz_values}[kind](random.Random(seed))
        except Exception as error:
            error.add_note(f"seed {seed} of {kind}")
            raise
        counts[outcome] = counts.get(outcome, 0) + 1
    print(*(f"{outcome}={count}" for outcome, count in sorted(counts.items())))


@pytest.mark.parametrize("kind", ["bytes", "values"])
def test_never_crashes(kind):
    done = subprocess.run(
        [sys.executable, __file__, kind, "3000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = {key: int(n) for key, n in (pair.split("=") for pair in done.stdout.split())}
    assert counts["refused"] > 300
    assert counts["executed"] > 100
    assert counts["stopped"] > 10


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
