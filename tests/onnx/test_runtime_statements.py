"""What the check says of other runtimes holds for the versions that it names."""

from __future__ import annotations

import pytest
from runtime_statements import SHOWN, installed

from sowreap.onnx._check.runtimes import STATEMENTS


def test_each_statement_is_shown():
    assert set(SHOWN) == set(STATEMENTS)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, in onnx's evaluator
@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_holds(name):
    seen = STATEMENTS[name].version
    if installed(name) != seen:
        pytest.skip(f"seen on {seen}; installed is {installed(name)}")
    SHOWN[name]()


def test_each_statement_is_a_sentence_without_subject():
    for statement in STATEMENTS.values():
        assert statement.does[0].islower()
        assert statement.does.endswith(".")
