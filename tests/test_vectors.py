"""Values from other projects' test suites, on every path."""

import pytest

import sowreap
from cases import PATHS, load_cases

CASES = load_cases("vectors")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_vector(path, case):
    placed = case.place_inputs()
    inputs = {name: p.array for name, p in placed.items()}
    before = {name: p.snapshot() for name, p in placed.items()}
    if case.error:
        with pytest.raises(getattr(sowreap, case.error)):
            PATHS[path](case, inputs)
    else:
        case.make_judge(inputs)(PATHS[path](case, inputs))
    assert {name: p.snapshot() for name, p in placed.items()} == before
