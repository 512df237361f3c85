// Tensors of strings. The core moves their positions, which are numbers; then the strings follow.
#pragma once

#include <functional>

#include "sowreap/execute.hpp"
#include "tensor.hpp"

namespace sowreap::ort {

// Gathers `data` by the indices of the node into `output`.
using Gather = std::function<void(const View& data, const View& output)>;
using MakeOutput = std::function<Value*()>;

void gather_text(Table table, const Tensor& data, const Shape& shape, const Gather& gather,
                 const MakeOutput& make_output);
// With `append` each update is added at the end of what is there; otherwise it replaces that.
void scatter_text(Table table, const Tensor& data, const Tensor& updates, bool append,
                  const Gather& gather, const MakeOutput& make_output);
void write_text_cache(Table table, const Tensor& past_cache, const Tensor& update,
                      const View* write_indices, int axis, bool circular,
                      const MakeOutput& make_output);

}  // namespace sowreap::ort
