"""Pictures of gather and scatter: where each element came from and went.

One function for each operator, with the arguments of the function of that name in :mod:`sowreap`.
Each runs the operator and returns an :class:`Explanation`, to print, to draw or to look at in a
browser or notebook.
"""

from sowreap.explain._explanation import (
    Explanation,
    gather,
    gather_elements,
    gather_nd,
    scatter,
    scatter_elements,
    scatter_nd,
    tensor_scatter,
)

__all__ = [
    "Explanation",
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]
