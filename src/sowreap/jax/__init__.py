"""The operators for JAX: in ``jit``, ``grad`` and ``vmap``, computed on the CPU.

The functions have the names and arguments of those of `sowreap`, without ``out``. Under ``jit`` the
same kernels run through ``jax.pure_callback``; an index out of range then raises JAX's error, which
has the message of ours. ``vmap`` makes one call for each sample.

Examples
--------
>>> import jax, jax.numpy as jnp
>>> import sowreap.jax as sj
>>> add = jax.jit(lambda *arrays: sj.scatter_elements(*arrays, reduction="add"))
>>> add(jnp.zeros(3), jnp.array([2, 0, 2]), jnp.array([1.0, 2.0, 3.0])).tolist()
[2.0, 0.0, 4.0]
>>> jax.grad(lambda data: sj.gather(data, jnp.array([1, 1])).sum())(jnp.zeros(3)).tolist()
[0.0, 2.0, 0.0]
"""

from sowreap.jax._functions import (
    gather,
    gather_elements,
    gather_nd,
    scatter,
    scatter_elements,
    scatter_nd,
    tensor_scatter,
)

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]
