"""``docs/check.md`` says what the package does."""

from __future__ import annotations

import pytest
from check_models import graph
from check_page import EXAMPLES, IN_WORDS, TABLES, written

from sowreap.onnx import check
from sowreap.onnx._check.findings import RULES


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_the_package(name):
    """If not, run tests/onnx/check_page.py."""
    assert written(name) == TABLES[name]()


def test_every_rule_has_an_example():
    assert set(EXAMPLES) | set(IN_WORDS) == set(RULES)


@pytest.mark.parametrize("rule", EXAMPLES)
def test_examples_break_their_rule_alone(rule):
    opset, signature, body = EXAMPLES[rule]
    found = {finding.rule for finding in check(graph(signature, body, opset))}
    assert rule in found
    # A reduction has no descriptor of DirectML; every other finding would be a second fault.
    assert found - {rule} <= {"directml"}
