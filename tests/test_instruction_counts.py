"""Small kernels take as many instructions as recorded, within 5 %."""

import json

import pytest

import instructions

TOLERANCE = 0.05


def test_counts():
    if not instructions.is_possible():
        pytest.skip(instructions.WHAT_IS_MISSING)
    record = json.loads(instructions.RECORD.read_text())
    if instructions.compiler() != record["compiler"]:
        pytest.skip(f"counts are recorded for {record['compiler']}")
    counts = instructions.count()
    assert counts.keys() == record["counts"].keys()
    off = {
        name: f"{counts[name]} instructions, {recorded} recorded"
        for name, recorded in record["counts"].items()
        if abs(counts[name] - recorded) > TOLERANCE * recorded
    }
    assert not off, "run python tests/instructions.py if this is meant"
