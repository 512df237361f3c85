"""The seven functions on Dask arrays."""
from sowreap.dask._journal import recover
from sowreap.dask._functions import gather, gather_elements, gather_nd, scatter, scatter_elements, scatter_nd, tensor_scatter
