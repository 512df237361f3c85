"""Profiles that onnxruntime writes."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from sowreap.onnx._evaluator import NodeRecord
from sowreap.onnx._rewrite import FAMILY

KERNEL_TIME = "_kernel_time"
MICROSECONDS = 1e-6


def read_profile(path: Path, runs: int) -> list[NodeRecord]:
    """Return what the nodes of the main graph took: medians of the last `runs` runs of a profile.

    A node of a subgraph lies, by its times, inside the node that runs the subgraph.
    """
    events = json.loads(path.read_text(encoding="utf-8"))
    starts = sorted(event["ts"] for event in events if event["name"] == "model_run")[-runs:]
    nodes = [event for event in events if event["name"].endswith(KERNEL_TIME)]
    nodes = [event for event in nodes if event["ts"] >= starts[0]]
    nodes.sort(key=lambda event: (event["ts"], -event["dur"]))
    seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    inside: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    end, key = -1.0, ("", "", "")
    for event in nodes:
        is_family = event["args"]["op_name"] in FAMILY
        if event["ts"] + event["dur"] > end:
            end, key = event["ts"] + event["dur"], _key(event)
            seconds[key].append(event["dur"] * MICROSECONDS)
            inside[key].append(seconds[key][-1] if is_family else 0.0)
        elif is_family:
            inside[key][-1] += event["dur"] * MICROSECONDS
    return [
        NodeRecord(
            name,
            op_type,
            "",
            statistics.median(times),
            op_type in FAMILY,
            statistics.median(inside[name, op_type, index]),
        )
        for (name, op_type, index), times in seconds.items()
    ]


def _key(event: dict[str, Any]) -> tuple[str, str, str]:
    arguments = event["args"]
    name = event["name"].removesuffix(KERNEL_TIME)
    return name, arguments["op_name"], str(arguments.get("node_index", name))
