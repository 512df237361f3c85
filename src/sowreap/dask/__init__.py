"""The seven functions on Dask arrays: data, indices and updates larger than memory.

Each has the signature of its namesake in :mod:`sowreap` and gives its result, bit for bit, for any
chunks and any number of workers. Arguments may be Dask arrays, Zarr arrays or anything that NumPy
reads, in any mixture. ``docs/scale.md`` says how the work is divided and what it costs.

>>> import dask.array as da
>>> import sowreap.dask as sd
>>> indices = da.arange(1000, chunks=300)[:, None] % 10
>>> sd.scatter_nd(da.zeros(10, chunks=4), indices, da.ones(1000, chunks=250), "add").compute()
array([100., 100., 100., 100., 100., 100., 100., 100., 100., 100.])
"""

from sowreap.dask._functions import (
    gather,
    gather_elements,
    gather_nd,
    scatter,
    scatter_elements,
    scatter_nd,
    tensor_scatter,
)
from sowreap.dask._journal import recover

__all__ = [
    "gather",
    "gather_elements",
    "gather_nd",
    "recover",
    "scatter",
    "scatter_elements",
    "scatter_nd",
    "tensor_scatter",
]
