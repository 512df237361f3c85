"""Whole models of the kinds that gather and scatter, small, with seeded random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, numpy_helper
from onnx.parser import parse_model

HEADER = '<ir_version: 10, opset_import: ["": 18]> main'
SOWREAP, FOLDED, ONNXRUNTIME = "sowreap", "sowreap, without the Expand", "onnxruntime"
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Case:
    """A model, feeds for it, and where its nodes of the family run: by graph and name."""

    model: ModelProto
    feeds: Arrays
    placement: dict[tuple[str, str], str]
    wrong_on_onnxruntime: frozenset[str] = frozenset()
    multiplies: bool = True  # matrices, whose sums have no order in the standard


def _model(text: str, **weights: np.ndarray[Any, Any]) -> ModelProto:
    model = parse_model(text)
    for name, value in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model


def _normal(generator: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return generator.standard_normal(shape, np.float32)


def detector() -> Case:
    """Decode boxes of anchors, keep the best with NonMaxSuppression, pick them by its triples."""
    anchors, classes, width = 60, 3, 8
    generator = np.random.default_rng(1)
    centres = generator.uniform(0, 100, (1, anchors, 2))
    model = _model(
        f"""{HEADER}
        (float[1, {anchors}, {width}] features)
          => (float[k, 4] boxes, float[k] scores, int64[k] labels, float[k, {width}] embeddings)
          <int64 class_column = {{1}}, int64[2] box_columns = {{0, 2}}, int64[1] most = {{30}},
           float[1] overlap = {{0.3}}, float[1] least = {{0.55}}>
        {{
            moves = MatMul (features, to_moves)
            all_boxes = Add (anchors, moves)
            logits = MatMul (features, to_classes)
            chances = Sigmoid (logits)
            by_class = Transpose <perm = [0, 2, 1]> (chances)
            chosen = NonMaxSuppression <center_point_box = 1>
                (all_boxes, by_class, most, overlap, least)
            scores = GatherND (by_class, chosen)
            labels = Gather <axis = 1> (chosen, class_column)
            at = Gather <axis = 1> (chosen, box_columns)
            boxes = GatherND (all_boxes, at)
            embeddings = GatherND (features, at)
        }}""",
        anchors=np.concatenate([centres, np.full((1, anchors, 2), 25)], -1).astype(np.float32),
        to_moves=_normal(generator, width, 4),
        to_classes=_normal(generator, width, classes),
    )
    names = ("scores", "labels", "at", "boxes", "embeddings")
    return Case(
        model,
        {"features": _normal(generator, 1, anchors, width)},
        {("main", name): SOWREAP for name in names},
    )


BATCH, HEADS, POSITIONS, HEAD_WIDTH = 2, 2, 6, 4
DECODER = """<ir_version: {ir}, opset_import: ["": {opset}]> main
    (float[2, 1, 8] x, float[2, {cache}, 4] keys, float[2, {cache}, 4] values, int64[2] lengths)
      => (float[2, 1, 8] y, float[2, {cache}, 4] keys_now, float[2, {cache}, 4] values_now)
      <int64[4] heads = {{2, 1, 2, 4}}, int64[3] joined = {{2, 1, 8}}, int64[1] last = {{1}},
       int64[2] both = {{1, 2}}, float never = {{-10000.0}}>
    {{
        query_flat = MatMul (x, to_query)
        query_wide = Reshape (query_flat, heads)
        query = Transpose <perm = [0, 2, 1, 3]> (query_wide)
        key_flat = MatMul (x, to_key)
        key_wide = Reshape (key_flat, heads)
        value_flat = MatMul (x, to_value)
        value_wide = Reshape (value_flat, heads)
        {update}
        scores = MatMul (query, keys_across)
        column = Unsqueeze (lengths, last)
        future = Greater (positions, column)
        mask = Unsqueeze (future, both)
        masked = Where (mask, never, scores)
        weights = Softmax (masked)
        mixed = MatMul (weights, values_by_head)
        mixed_wide = Transpose <perm = [0, 2, 1, 3]> (mixed)
        y = Reshape (mixed_wide, joined)
    }}"""
TENSOR_SCATTER = """
        key = Transpose <perm = [0, 2, 1, 3]> (key_wide)
        value = Transpose <perm = [0, 2, 1, 3]> (value_wide)
        keys_now = TensorScatter (keys, key, lengths)
        values_now = TensorScatter (values, value, lengths)
        keys_across = Transpose <perm = [0, 1, 3, 2]> (keys_now)
        values_by_head = Identity (values_now)"""
SCATTER_ND = """
        places = Unsqueeze (lengths, both)
        at = Concat <axis = -1> (sequences, places)
        keys_now = ScatterND (keys, at, key_wide)
        values_now = ScatterND (values, at, value_wide)
        keys_across = Transpose <perm = [0, 2, 3, 1]> (keys_now)
        values_by_head = Transpose <perm = [0, 2, 1, 3]> (values_now)"""


def decoder(operator: str) -> Case:
    """Write keys and values of one token into their caches, and attend to what the caches hold."""
    generator = np.random.default_rng(2)
    width = HEADS * HEAD_WIDTH
    sequences = {"sequences": np.arange(BATCH)[:, None, None]} if operator == "ScatterND" else {}
    versions, update, shape = {
        "TensorScatter": ((11, 24), TENSOR_SCATTER, (HEADS, POSITIONS)),
        "ScatterND": ((10, 18), SCATTER_ND, (POSITIONS, HEADS)),
    }[operator]
    model = _model(
        DECODER.format(
            ir=versions[0], opset=versions[1], update=update, cache=", ".join(map(str, shape))
        ),
        positions=np.arange(POSITIONS)[None],
        **sequences,
        **{f"to_{name}": _normal(generator, width, width) for name in ("query", "key", "value")},
    )
    cache = np.zeros((BATCH, *shape, HEAD_WIDTH), np.float32)
    feeds = {
        "x": _normal(generator, BATCH, 1, width),
        "keys": cache,
        "values": cache.copy(),
        "lengths": np.array([0, 2]),
    }
    names = ("keys_now", "values_now")
    return Case(model, feeds, {("main", name): SOWREAP for name in names})


def strings() -> Case:
    """Look tokens up, several strings a row, hide some of them, and read single ones."""
    model = _model(
        f"""{HEADER}
        (string[n, 2] table, int64[m] ids, int64[m, 1] hidden, int64[k, 2] asked)
          => (string[m, 2] rows, string[m, 2] masked, string[k] single)
          <string[1] blank = {{"<mask>"}}>
        {{
            rows = Gather (table, ids)
            shape = Shape (hidden)
            blanks = Expand (blank, shape)
            masked = ScatterElements <axis = 1> (rows, hidden, blanks)
            single = GatherND (table, asked)
        }}"""
    )
    table = [["the", "DET"], ["größte", "ADJ"], ["", "X"], ["a long token of this table", "NOUN"]]
    feeds = {
        "table": np.array(table, object),
        "ids": np.array([3, 0, -1, 1]),
        "hidden": np.array([[0], [1], [-1], [-2]]),
        "asked": np.array([[1, 0], [3, 1], [-1, 0]]),
    }
    placement = {("main", name): ONNXRUNTIME for name in ("masked", "single")}
    placement["main", "rows"] = SOWREAP
    return Case(model, feeds, placement, frozenset({"rows", "masked"}), multiplies=False)


def loop() -> Case:
    """Greedy decoding: each pass writes the best successor of the last token into the sequence."""
    words, batch, length = 11, 3, 7
    generator = np.random.default_rng(3)
    model = _model(
        f"""{HEADER} (int64[batch, length] start, int64 steps)
          => (int64[batch, length] tokens, float[passes, batch] scores)
          <bool go = {{1}}, int64 one = {{1}}, int64[1] across = {{1}}, int64[1] whole = {{-1}}>
        {{
            size = Shape <start = 0, end = 1> (start)
            count = Concat <axis = 0> (size, across)
            tokens, scores = Loop (steps, go, start) <
                body = step (int64 i, bool again, int64[batch, length] known)
                  => (bool more, int64[batch, length] longer, float[batch] score)
                {{
                    more = Identity (again)
                    last = Gather <axis = 1> (known, i)
                    logits = Gather (successors, last)
                    best = ArgMax <axis = 1> (logits)
                    next = Add (i, one)
                    flat = Reshape (next, whole)
                    places = Expand (flat, count)
                    longer = ScatterElements <axis = 1> (known, places, best)
                    picked = GatherElements <axis = 1> (logits, best)
                    score = Squeeze (picked, across)
                }}
            >
        }}""",
        successors=_normal(generator, words, words),
    )
    start = np.zeros((batch, length), np.int64)
    start[:, 0] = generator.integers(0, words, batch)
    title = "body of 'tokens' in main"
    names = ("last", "logits", "picked")
    return Case(
        model,
        {"start": start, "steps": np.array(length - 1)},
        {**{(title, name): SOWREAP for name in names}, (title, "longer"): FOLDED},
        multiplies=False,
    )


def branches() -> list[Case]:
    """Pool the messages of a graph network by sum or by maximum, as an input says."""
    nodes, edges, width = 9, 40, 4
    generator = np.random.default_rng(4)
    model = _model(
        f"""{HEADER} (bool by_sum, float[nodes, {width}] h, int64[2, edges] ends)
          => (float[nodes, {width}] pooled)
          <int64[1] last = {{-1}}, int64 first = {{0}}, int64 second = {{1}}, float zero = {{0.0}}>
        {{
            source = Gather (ends, first)
            target = Gather (ends, second)
            sent = Gather (h, source)
            message = MatMul (sent, weight)
            column = Unsqueeze (target, last)
            shape = Shape (message)
            wide = Expand (column, shape)
            empty = Mul (h, zero)
            pooled = If (by_sum) <
                then_branch = sums () => (float[nodes, {width}] sum)
                {{ sum = ScatterElements <axis = 0, reduction = "add"> (empty, wide, message) }},
                else_branch = maxima () => (float[nodes, {width}] largest)
                {{ largest = ScatterElements <axis = 0, reduction = "max"> (h, wide, message) }}
            >
        }}""",
        weight=_normal(generator, width, width),
    )
    placement = {("main", name): SOWREAP for name in ("source", "target", "sent")}
    placement["then_branch of 'pooled' in main", "sum"] = FOLDED
    placement["else_branch of 'pooled' in main", "largest"] = FOLDED
    feeds = {
        "h": _normal(generator, nodes, width),
        "ends": generator.integers(-nodes, nodes, (2, edges)),
    }
    return [
        Case(model, {**feeds, "by_sum": np.array(by_sum)}, placement) for by_sum in (True, False)
    ]


def scan() -> Case:
    """A network over time: each step's edges carry messages between nodes that keep their state."""
    steps, nodes, edges, width = 5, 6, 8, 4
    generator = np.random.default_rng(5)
    model = _model(
        f"""{HEADER}
        (float[nodes, {width}] h, int64[steps, edges] sources, int64[steps, edges, 1] targets,
         int64[steps, 1] asked)
          => (float[nodes, {width}] kept, float[steps, 1, {width}] answers)
        {{
            kept, answers = Scan (h, sources, targets, asked) <
                num_scan_inputs = 3,
                body = step (float[nodes, {width}] state, int64[edges] source,
                             int64[edges, 1] target, int64[1] at)
                  => (float[nodes, {width}] changed, float[1, {width}] answer)
                {{
                    sent = Gather (state, source)
                    mixed = MatMul (sent, weight)
                    message = Tanh (mixed)
                    shape = Shape (message)
                    wide = Expand (target, shape)
                    changed = ScatterElements <axis = 0, reduction = "add"> (state, wide, message)
                    answer = Gather (changed, at)
                }}
            >
        }}""",
        weight=_normal(generator, width, width),
    )
    title = "body of 'kept' in main"
    return Case(
        model,
        {
            "h": _normal(generator, nodes, width),
            "sources": generator.integers(0, nodes, (steps, edges)),
            "targets": generator.integers(-nodes, nodes, (steps, edges, 1)),
            "asked": generator.integers(0, nodes, (steps, 1)),
        },
        {
            (title, "sent"): SOWREAP,
            (title, "changed"): FOLDED,
            (title, "answer"): ONNXRUNTIME,
        },
    )


CASES: dict[str, Callable[[], Case]] = {
    "detector": detector,
    "strings": strings,
    "loop": loop,
    "if by sum": lambda: branches()[0],
    "if by maximum": lambda: branches()[1],
    "scan": scan,
}
"""Builders by name; the decoders are run step by step."""
