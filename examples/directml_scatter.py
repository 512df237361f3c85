"""A DirectML scatter, described, checked and run on the CPU of any host.

Three rows of a table get new values. The same descriptor is also written as the bytes that a 32-bit
Windows program would hold, and read back from them.
"""

import numpy as np

from sowreap.directml import DescriptorError, OperatorDesc, execute, layout, validate

table = np.zeros((4, 3), np.float32)
rows = np.array([[0, 0, 0], [2, 2, 2], [-1, -1, -1]], np.int32)  # -1 is the last row, from 3_0 on
values = np.arange(1, 10, dtype=np.float32).reshape(3, 3)

desc = OperatorDesc.from_arrays(
    "SCATTER",
    {"InputTensor": table, "IndicesTensor": rows, "UpdatesTensor": values, "OutputTensor": table},
    Axis=0,
)
validate(desc, feature_level="3_0")
try:
    validate(desc, feature_level="2_1")
except DescriptorError as error:
    print(f"2_1 refuses {error.field}, rule {error.rule}, code {error.code:#x}")

for arch in ("x64", "x86"):
    place = layout(desc.struct, arch)
    print(f"{arch}: {place.size} bytes, Axis at {place.fields[-1].offset}")

written = desc.to_struct("x86")
assert OperatorDesc.from_bytes(written.to_bytes(), "x86", base=written.base) == desc

output = bytearray(desc.tensors["OutputTensor"].total_bytes)
report = execute(desc, [table, rows, values], output)
print(np.frombuffer(output, np.float32).reshape(table.shape))
print(f"repeated targets: {report.duplicates}")
