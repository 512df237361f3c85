"""All workloads, sowreap beside its peers: ``python -m benchmarks``.

Prints one row for each workload and number of threads, and writes all as JSON with ``--json``;
``python -m benchmarks.report`` makes the table and the plots of the documentation from it.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys

import numpy as np

from benchmarks.workloads import all_workloads
from sowreap._bench import measure, peers
from sowreap._bench.rows import LEGEND, machine, row, shown


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--engines", nargs="*", default=list(peers.PEERS))
    parser.add_argument("--seconds", type=float, default=1.0, help="for each engine of a row")
    parser.add_argument("--json", help="file to write the rows to")
    options = parser.parse_args()
    about = machine()
    about["copy bandwidth"] = {t: measure.copy_bandwidth(t) for t in options.threads}
    print(json.dumps(about, indent=1), flush=True)
    print(LEGEND)
    results = []
    for workload in all_workloads():
        if options.only not in workload.name:
            continue
        for threads in options.threads:
            result = row(
                workload,
                threads,
                options.engines,
                options.seconds,
                about["copy bandwidth"][threads],
            )
            results.append(result)
            print(shown(result), flush=True)
            if options.json:  # after each row, so that a run that is ended early is of use
                with open(options.json, "w") as file:
                    json.dump({"machine": about, "rows": results}, file, indent=1)
            gc.collect()
    ratios = [r["ratio"] for r in results if r["ratio"]]
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios: {np.exp(np.mean(np.log(ratios))):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
