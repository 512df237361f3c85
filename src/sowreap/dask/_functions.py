from typing import Any
from sowreap.dask import _call
def gather(data, indices, axis=0, *, mode="raise", fill_value=0, out=None):
    return _call.gather("gather", {"data": data, "indices": indices}, {"axis": axis}, mode, fill_value, out)
def gather_elements(data, indices, axis=0, *, mode="raise", fill_value=0, out=None):
    return _call.gather("gather_elements", {"data": data, "indices": indices}, {"axis": axis}, mode, fill_value, out)
def gather_nd(data, indices, batch_dims=0, *, mode="raise", fill_value=0, out=None):
    return _call.gather("gather_nd", {"data": data, "indices": indices}, {"batch_dims": batch_dims}, mode, fill_value, out)
def scatter(data, indices, updates, axis=0, *, mode="raise", out=None):
    return _call.scatter("scatter", {"data": data, "indices": indices, "updates": updates}, {"axis": axis}, {"mode": mode}, out)
def scatter_elements(data, indices, updates, axis=0, reduction="none", *, include_self=True, mode="raise", out=None):
    return _call.scatter("scatter_elements", {"data": data, "indices": indices, "updates": updates}, {"axis": axis}, {"reduction": reduction, "include_self": include_self, "mode": mode}, out)
def scatter_nd(data, indices, updates, reduction="none", *, include_self=True, mode="raise", out=None):
    return _call.scatter("scatter_nd", {"data": data, "indices": indices, "updates": updates}, {}, {"reduction": reduction, "include_self": include_self, "mode": mode}, out)
def tensor_scatter(past_cache, update, write_indices=None, axis=-2, mode="linear", *, out=None):
    return _call.tensor_scatter({"past_cache": past_cache, "update": update} | ({} if write_indices is None else {"write_indices": write_indices}), axis, mode, out)
