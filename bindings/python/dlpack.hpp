// Arrays of other libraries in memory of the processor, by DLPack.
#pragma once

#include <nanobind/nanobind.h>

#include "numpy.hpp"
#include "sowreap/array_view.hpp"
#include "sowreap/dtype.hpp"

namespace sowreap::python {

namespace nb = nanobind;

// What an ndarray holds.
Dtype dtype_of(PyArray_Descr* descr);

// What items of `descr` are, if it is one that stands in for a dtype of ml_dtypes; else opaque.
Dtype stand_in_of(PyArray_Descr* descr);

// Whether the object is exactly a torch.Tensor of a release that exchanges tensors in C
// (DLPack 1.3): the others are read in Python (sowreap._arrays).
bool is_torch_tensor(nb::handle object);

// The dtype of such a tensor; invalid where there is more to it than memory: it records gradients,
// has lazy bits, no storage, another device or a dtype without a counterpart.
nb::object torch_dtype(nb::handle tensor);

// Such a tensor as an ndarray of the same memory; invalid likewise.
nb::object torch_to_array(nb::handle tensor);

// What was seen of such a tensor, `owner`, as an ndarray.
nb::object view_to_array(const View& view, nb::handle owner);

// A new tensor of the memory of a new ndarray.
nb::object array_to_torch(const nb::object& array);

}  // namespace sowreap::python
