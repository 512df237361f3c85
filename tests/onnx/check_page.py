"""The tables of ``docs/check.md``, from those of the package. Run as a script it writes them."""

from __future__ import annotations

import re
from pathlib import Path

from sowreap.onnx._check.findings import RULES
from sowreap.onnx._check.runtimes import STATEMENTS

PAGE = Path(__file__).parents[2] / "docs/check.md"
SCATTER = "({0}[3] data, int64[2] indices, {0}[2] updates) => ({0}[3] out)"
READ = "(float[3] data, int64[2] indices) => (float[2] out)"

# opset and graph of a model that breaks the rule
EXAMPLES = {
    "operator-version": (
        10,
        "(float[3, 4] data, int64[2, 1] indices) => (float[2, 4] out)",
        "out = GatherND (data, indices)",
    ),
    "deprecated": (11, SCATTER.format("float"), "out = Scatter (data, indices, updates)"),
    "inputs": (18, READ, "out = ScatterElements (data, indices)"),
    "attribute": (
        13,
        SCATTER.format("float"),
        'out = ScatterElements <reduction = "add"> (data, indices, updates)',
    ),
    "reduction-unknown": (
        18,
        SCATTER.format("float"),
        'out = ScatterElements <reduction = "sum"> (data, indices, updates)',
    ),
    "reduction-version": (
        16,
        SCATTER.format("float"),
        'out = ScatterElements <reduction = "max"> (data, indices, updates)',
    ),
    "mode": (
        24,
        "(float[2, 8, 4] past, float[2, 1, 4] new) => (float[2, 8, 4] out)",
        'out = TensorScatter <mode = "ring"> (past, new)',
    ),
    "type-version": (
        13,
        "(float[3, 4] data, int32[2, 1] indices) => (float[2, 4] out)",
        "out = GatherND (data, indices)",
    ),
    "type-mismatch": (
        18,
        "(float[3] data, int64[2] indices, double[2] updates) => (float[3] out)",
        "out = ScatterElements (data, indices, updates)",
    ),
    "type-reduction": (
        18,
        SCATTER.format("string"),
        'out = ScatterElements <reduction = "max"> (data, indices, updates)',
    ),
    "rank": (
        18,
        "(float[3, 4] data, int64[2] indices) => (float[2] out)",
        "out = GatherElements (data, indices)",
    ),
    "axis": (18, READ, "out = GatherElements <axis = -2> (data, indices)"),
    "batch-dims": (
        18,
        "(float[3, 4] data, int64[3, 1] indices) => (float[3, 1, 4] out)",
        "out = GatherND <batch_dims = -1> (data, indices)",
    ),
    "tuple-length": (
        18,
        "(float[3] data, int64[2, 2] indices, float[2] updates) => (float[3] out)",
        "out = ScatterND (data, indices, updates)",
    ),
    "shape": (
        18,
        "(float[3, 4] data, int64[2, 1] indices, float[4] updates) => (float[3, 4] out)",
        "out = ScatterND (data, indices, updates)",
    ),
    "index-range": (
        18,
        "(float[3] data) => (float[2] out)",
        "i = Constant <value_ints = [0, 3]> () out = Gather (data, i)",
    ),
    "repeated-none": (
        18,
        "(float[3] data, float[2] updates) => (float[3] out)",
        "i = Constant <value_ints = [2, -1]> () out = ScatterElements (data, i, updates)",
    ),
    "repeated-reduction": (
        18,
        "(float[3] data, float[2] updates) => (float[3] out)",
        "i = Constant <value = int64[2, 1] {0, 0}> () "
        'out = ScatterND <reduction = "add"> (data, i, updates)',
    ),
    "type-runtime": (
        18,
        SCATTER.format("float16"),
        'out = ScatterElements <reduction = "add"> (data, indices, updates)',
    ),
    "runtime-limit": (
        18,
        "(float[64] data, int64[2] indices) => (float[2] out)",
        "out = GatherElements (data, indices)",
    ),
    "directml": (
        18,
        "(bool[3] data, int64[2] indices) => (bool[2] out)",
        "out = Gather (data, indices)",
    ),
}
# Its model needs a NaN, which the text form of models lacks.
IN_WORDS = {"nan": "`max` of data that holds NaN", "run-failed": "-", "run-skipped": "-"}


def rules_table() -> str:
    lines = ["| rule | severity | what is right | broken by |", "|---|---|---|---|"]
    for name, rule in RULES.items():
        example = IN_WORDS.get(name)
        if example is None:
            opset, signature, body = EXAMPLES[name]
            example = f"opset {opset}: `{signature} {{ {body} }}`"
        lines.append(f"| `{name}` | {rule.severity.value} | {rule.text} | {example} |")
    return "\n".join(lines)


def statements_table() -> str:
    lines = ["| statement | runtime | seen on | what it does |", "|---|---|---|---|"]
    lines += [
        f"| `{each.id}` | {each.runtime} | {each.version} | {each.does} |"
        for each in STATEMENTS.values()
    ]
    return "\n".join(lines)


TABLES = {"rules": rules_table, "statements": statements_table}


def written(name: str) -> str:
    """Return what the page has in the place of a table."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", PAGE.read_text("utf-8"), re.S)
    assert found is not None
    return found[1].strip()


def main() -> None:
    text = PAGE.read_text("utf-8")
    for name, table in TABLES.items():
        parts = re.split(
            rf"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", text, maxsplit=1, flags=re.S
        )
        text = f"\n{table()}\n\n".join(parts)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
