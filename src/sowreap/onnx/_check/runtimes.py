"""What other runtimes do where the standard is open or they leave it, and where that was seen.

One table for the messages of the check, the page ``docs/check.md`` and the script that shows every
line of it again, ``tests/onnx/runtime_statements.py``.
"""

from __future__ import annotations

from typing import NamedTuple

ORT = "onnxruntime (CPU)"
REFERENCE = "onnx's reference evaluator"
ORT_VERSION = "1.32.0"
ONNX_VERSION = "1.23.2"


class Statement(NamedTuple):
    """What one version of a runtime was seen to do."""

    id: str
    runtime: str
    version: str
    does: str


def _table(runtime: str, version: str, **texts: str) -> dict[str, Statement]:
    return {
        name: Statement(name, runtime, version, text)
        for name, text in ((name.replace("_", "-"), text) for name, text in texts.items())
    }


STATEMENTS = {
    **_table(
        ORT,
        ORT_VERSION,
        ort_reduction_unknown="takes an unknown reduction for none, without a word.",
        ort_reduction_early="runs min and max at opset 16 as if they were there.",
        ort_scatter_withdrawn="refuses to load a model with Scatter from opset 11 on.",
        ort_index_range="stops at an index out of range, and does not say where it stands.",
        ort_repeated_none="lets any of several updates of a place win in ScatterND, with two "
        "threads or more and enough updates for both.",
        ort_repeated_elements="lets the last of several updates of a place win in ScatterElements "
        "and Scatter.",
        ort_lost_updates="loses some of several updates of a place in ScatterND, with two threads "
        "or more and enough updates for both.",
        ort_nan_dropped="replaces a NaN by the next update in min and max.",
        ort_half_add="refuses add and mul of ScatterElements and ScatterND on float16 and "
        "bfloat16 when the model runs.",
        ort_half_max="refuses min and max of ScatterND on float16 and bfloat16, and those of "
        "ScatterElements on bfloat16, when the model runs.",
        ort_bool_max="refuses min and max on bool when the model runs.",
        ort_complex="refuses to load a model with complex numbers.",
        ort_text_reduction="refuses mul, min and max on strings when the model runs.",
        ort_text_gather="leaves every string after the first of a slice empty in Gather, where a "
        "slice has more than one.",
    ),
    **_table(
        REFERENCE,
        ONNX_VERSION,
        ref_reduction_unknown="takes an unknown reduction for none, without a word.",
        ref_reduction_early="runs min and max at opset 16 as if they were there.",
        ref_scatter_missing="has no operator Scatter.",
        ref_index_range="stops at an index out of range with NumPy's IndexError.",
        ref_index_wraps="wraps an index out of range in GatherElements and goes on.",
        ref_repeated="lets the last of several updates of a place win in ScatterElements and "
        "ScatterND.",
        ref_nan_ignored="ignores a NaN of updates in min and max of ScatterElements.",
        ref_text_order="compares strings in min and max of ScatterElements.",
        ref_complex_order="orders complex numbers by their parts in min and max.",
        ref_updates_broadcast="broadcasts updates that are too small in ScatterND.",
        ref_updates_left_out="leaves out updates that are too many in ScatterElements.",
        ref_gather_elements_long="fails in GatherElements where the axis has a length of 64 or "
        "more, with NumPy 2.",
        ref_gather_elements_small="fails in GatherElements where indices are smaller than data "
        "off the axis.",
    ),
}
"""Statements by id."""
