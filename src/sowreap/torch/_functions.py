"""The public functions."""

from __future__ import annotations

from torch import Tensor

from sowreap.torch import _operators as _operators  # which registers them
from sowreap.torch._gradients import call


def gather(
    data: Tensor,
    indices: Tensor,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: complex = 0,
) -> Tensor:
    """``sowreap.gather`` with the gradient of `data`.

    Examples
    --------
    >>> import torch, sowreap.torch as st
    >>> st.gather(torch.tensor([[1, 2], [3, 4], [5, 6]]), torch.tensor([2, -3]))
    tensor([[5, 6],
            [1, 2]])
    """
    return call("gather", data, indices, axis, mode, fill_value)


def gather_elements(
    data: Tensor,
    indices: Tensor,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: complex = 0,
) -> Tensor:
    """``sowreap.gather_elements`` with the gradient of `data`.

    Examples
    --------
    >>> import torch, sowreap.torch as st
    >>> st.gather_elements(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 0], [1, 0]]), axis=1)
    tensor([[1, 1],
            [4, 3]])
    """
    return call("gather_elements", data, indices, axis, mode, fill_value)


def gather_nd(
    data: Tensor,
    indices: Tensor,
    batch_dims: int = 0,
    *,
    mode: str = "raise",
    fill_value: complex = 0,
) -> Tensor:
    """``sowreap.gather_nd`` with the gradient of `data`.

    Examples
    --------
    >>> import torch, sowreap.torch as st
    >>> st.gather_nd(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 1], [1, 0]]))
    tensor([2, 3])
    """
    return call("gather_nd", data, indices, batch_dims, mode, fill_value)


def scatter(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, *, mode: str = "raise"
) -> Tensor:
    """``sowreap.scatter`` with the gradients of `data` and `updates`.

    Examples
    --------
    >>> import torch, sowreap.torch as st
    >>> st.scatter(torch.zeros(4), torch.tensor([1, 3]), torch.tensor([5.0, 6.0]))
    tensor([0., 5., 0., 6.])
    """
    return call("scatter", data, indices, updates, axis, mode)


def scatter_elements(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    axis: int = 0,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
) -> Tensor:
    """``sowreap.scatter_elements`` with the gradients of `data` and `updates`.

    With "none" the gradient goes to the update that stays, the last one. Values that tie for "min"
    or "max" share it evenly, as in ``torch.scatter_reduce``.

    Examples
    --------
    >>> import torch, sowreap.torch as st
    >>> st.scatter_elements(
    ...     torch.zeros(3), torch.tensor([2, 2]), torch.tensor([3.0, 4.0]), reduction="add"
    ... )
    tensor([0., 0., 7.])
    """
    return call("scatter_elements", data, indices, updates, axis, reduction, include_self, mode)


def scatter_nd(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
) -> Tensor:
    """``sowreap.scatter_nd`` with the gradients of `data` and `updates`.

    Examples
    --------
    >>> import torch, sowreap.torch as st
    >>> updates = torch.tensor([[2.0, 3.0], [4.0, 5.0]])
    >>> st.scatter_nd(torch.ones(2, 2), torch.tensor([[1], [1]]), updates, "mul")
    tensor([[ 1.,  1.],
            [ 8., 15.]])
    """
    return call("scatter_nd", data, indices, updates, reduction, include_self, mode)


def tensor_scatter(
    past_cache: Tensor,
    update: Tensor,
    write_indices: Tensor | None = None,
    axis: int = -2,
    mode: str = "linear",
) -> Tensor:
    """``sowreap.tensor_scatter`` with the gradients of `past_cache` and `update`.

    Examples
    --------
    >>> import torch, sowreap.torch as st
    >>> st.tensor_scatter(torch.zeros(1, 3, 1), torch.ones(1, 1, 1), torch.tensor([2])).flatten()
    tensor([0., 0., 1.])
    """
    return call("tensor_scatter", past_cache, update, write_indices, axis, mode)
