"""Gather and scatter: exact, the same at any thread count, at the speed of memory.

The seven operators of the ONNX standard as functions on arrays, of NumPy and of other libraries,
and what those libraries have by other names. Rules that hold for all of them are in
``docs/semantics.md``.
"""

from sowreap._errors import (
    ArgumentError,
    DtypeError,
    OutOfRangeError,
    ShapeError,
    SowreapError,
)
from sowreap._helpers import (
    bincount,
    index_add,
    put_along_axis,
    scatter_argmax,
    scatter_argmin,
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    take_along_axis,
)
from sowreap._memory import get_pool_limit, set_pool_limit
from sowreap._ops import (
    gather,
    gather_elements,
    gather_nd,
    scatter,
    scatter_elements,
    scatter_nd,
    tensor_scatter,
)
from sowreap._threads import get_num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "DtypeError",
    "OutOfRangeError",
    "ShapeError",
    "SowreapError",
    "__version__",
    "bincount",
    "gather",
    "gather_elements",
    "gather_nd",
    "get_num_threads",
    "get_pool_limit",
    "index_add",
    "put_along_axis",
    "scatter",
    "scatter_argmax",
    "scatter_argmin",
    "scatter_elements",
    "scatter_nd",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "set_num_threads",
    "set_pool_limit",
    "take_along_axis",
    "tensor_scatter",
]
