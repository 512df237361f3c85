// Arrays of other libraries in memory of the processor, by DLPack.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>

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

// Whether there is more to a tensor that was looked at than its memory: it records gradients or has
// lazy bits.
bool is_more_than_memory(nb::handle tensor, Dtype dtype);

// Whether asking that may run code of the user: a mode of torch is on that meets every call.
bool torch_runs_code();

// The dtype of items that DLPack has too.
nb::object dtype_to_descr(Dtype dtype);

// What was seen of a tensor, `owner`, as an ndarray.
nb::object view_to_array(const View& view, nb::handle owner);

// Tells torch that the memory of a tensor was written: gradients that were to be computed from the
// old values are then refused, not wrong. False where that has to be done in Python.
bool note_write_of_torch(nb::handle tensor);

// Memory for a result, and the tensor of torch that it becomes.
class NewTensor {
 public:
  NewTensor() = default;  // none
  NewTensor(Dtype dtype, std::int64_t item, const Shape& shape);

  char* bytes() const;  // in row-major order
  nb::object release();

 private:
  struct Block;
  struct Free {
    void operator()(Block* block) const;
  };
  std::unique_ptr<Block, Free> block_;
};

}  // namespace sowreap::python
