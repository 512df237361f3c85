"""The operators as operators of PyTorch: with gradients, in ``torch.compile`` and ``torch.export``.

The functions have the names and arguments of those of `sowreap`, without ``out``, and take
``torch.Tensor`` alone. They are ``torch.ops.sowreap.gather`` and so on, computed on the CPU by the
same kernels: results are the same bit for bit at any number of threads, backward too.

Examples
--------
>>> import torch
>>> import sowreap.torch as st
>>> data = torch.zeros(3, dtype=torch.float64, requires_grad=True)
>>> updates = torch.tensor([1.0, 5.0, 5.0], dtype=torch.float64, requires_grad=True)
>>> st.scatter_elements(data, torch.tensor([0, 2, 2]), updates, reduction="max").sum().backward()
>>> data.grad, updates.grad
(tensor([0., 1., 0.], dtype=torch.float64), tensor([1.0000, 0.5000, 0.5000], dtype=torch.float64))
"""

from sowreap.torch._functions import (
    gather,
    gather_elements,
    gather_nd,
    scatter,
    scatter_elements,
    scatter_nd,
    tensor_scatter,
)
from sowreap.torch._onnx import onnx_translations

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "onnx_translations",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]
