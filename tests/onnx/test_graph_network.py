"""A small message-passing network, the kind of model that scatters most."""

from __future__ import annotations

import numpy as np
import pytest
from family import reference_session
from numpy.testing import assert_allclose, assert_array_equal
from onnx import ModelProto, numpy_helper
from onnx.parser import parse_model

LAYERS = 3
NODES, EDGES, GRAPHS, WIDTH = 40, 150, 4, 8
RNG = np.random.default_rng(7)


def network() -> ModelProto:
    """Sum messages over edges, keep the largest of each neighbourhood, pool by graph."""
    layers = "\n".join(
        f"""
        sent_{k} = Gather <axis = 0> (h_{k}, source)
        mixed_{k} = MatMul (sent_{k}, weight_{k})
        message_{k} = Relu (mixed_{k})
        zeros_{k} = Mul (h_{k}, zero)
        summed_{k} = ScatterElements <axis = 0, reduction = "add"> (zeros_{k}, wide, message_{k})
        largest_{k} = ScatterND <reduction = "max"> (summed_{k}, target_column, message_{k})
        h_{k + 1} = Add (h_{k}, largest_{k})"""
        for k in range(LAYERS)
    )
    model = parse_model(
        f"""<ir_version: 10, opset_import: ["": 18]>
        main (float[nodes, {WIDTH}] h_0, int64[2, edges] edges, int64[nodes] graph, float[g] slots)
          => (float[g, {WIDTH}] pooled)
          <float zero = {{0.0}}, int64[1] last = {{-1}}, int64[1] first = {{0}},
           int64[1] second = {{1}}, int64[1] width = {{{WIDTH}}}>
        {{
            source_row = GatherND (edges, first)
            target_row = GatherND (edges, second)
            source = Identity (source_row)
            target_column = Unsqueeze (target_row, last)
            count = Shape (target_row)
            size = Concat <axis = 0> (count, width)
            wide = Expand (target_column, size)
            {layers}
            graphs = Shape (slots)
            pool_size = Concat <axis = 0> (graphs, width)
            empty = ConstantOfShape (pool_size)
            graph_column = Unsqueeze (graph, last)
            pooled = ScatterND <reduction = "add"> (empty, graph_column, h_{LAYERS})
        }}"""
    )
    for k in range(LAYERS):
        weight = (RNG.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, f"weight_{k}"))
    return model


@pytest.fixture(scope="module")
def model() -> ModelProto:
    return network()


@pytest.fixture(scope="module")
def feeds() -> dict[str, np.ndarray]:
    return {
        "h_0": RNG.normal(size=(NODES, WIDTH)).astype(np.float32),
        "edges": RNG.integers(0, NODES, (2, EDGES)),
        "graph": np.sort(RNG.integers(0, GRAPHS, NODES)),
        "slots": np.zeros(GRAPHS, np.float32),
    }


def expected_output(model: ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    weights = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    source, target = feeds["edges"]
    h = feeds["h_0"]
    for k in range(LAYERS):
        message = np.maximum(h[source] @ weights[f"weight_{k}"], 0)
        summed = np.zeros_like(h)
        np.add.at(summed, target, message)
        np.maximum.at(summed, target, message)
        h = h + summed
    pooled = np.zeros((GRAPHS, WIDTH), np.float32)
    np.add.at(pooled, feeds["graph"], h)
    return pooled


def test_network_agrees_with_numpy(model, feeds):
    (pooled,) = reference_session(model).run(None, feeds)
    assert_allclose(pooled, expected_output(model, feeds), rtol=1e-4)


def test_every_family_node_runs_on_sowreap(model, feeds, calls):
    session = reference_session(model)
    (pooled,) = session.run(None, feeds)
    assert dict(calls) == {
        "gather": LAYERS,
        "gather_nd": 2,
        "scatter_elements": LAYERS,
        "scatter_nd": LAYERS + 1,
    }
    again, records = session.run_profiled(None, feeds)
    assert_array_equal(again[0], pooled)
    assert len(records) == len(model.graph.node)
    assert sum(record.is_family for record in records) == 3 * LAYERS + 3
    assert [record.op_type for record in records] == [node.op_type for node in model.graph.node]
