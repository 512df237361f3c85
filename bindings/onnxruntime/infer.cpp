// The shape of an output before anything runs, where it is known.
#include <string>
#include <vector>

#include "operators.hpp"

namespace sowreap::ort {
namespace {

// A scatter's output has the shape of data. A shape that is not known in all dimensions is given
// up: onnxruntime would write an unknown size without a name down as the number -1. So is rank 0,
// which stands for no shape at all; data of that rank is an error of the run.
bool is_known(Table table, const TensorInfo* info) {
  std::size_t rank = 0;
  if (!succeeded(table, get_rank(table, info, &rank)) || rank == 0) return false;
  std::vector<std::int64_t> sizes(rank);
  std::vector<const char*> symbols(rank);
  if (!succeeded(table, get_dimensions(table, info, sizes.data(), rank)) ||
      !succeeded(table, get_symbols(table, info, symbols.data(), rank)))
    return false;
  for (std::size_t d = 0; d < rank; ++d) {
    if (sizes[d] < 0 && (symbols[d] == nullptr || *symbols[d] == '\0')) return false;
  }
  return true;
}

}  // namespace

Status* SOWREAP_ORT_CALL infer_shape(const CustomOp* self, InferContext* context) {
  const TypedOp& op = *static_cast<const TypedOp*>(self);
  if (is_gather(op.op->kind)) return nullptr;
  try {
    TensorInfo* info = nullptr;
    if (!succeeded(op.table, get_inferred_input(op.table, context, 0, &info))) return nullptr;
    if (is_known(op.table, info))
      succeeded(op.table, set_inferred_output(op.table, context, 0, info));
  } catch (...) {
    return nullptr;  // out of memory: the shape stays unknown
  }
  return nullptr;
}

}  // namespace sowreap::ort
