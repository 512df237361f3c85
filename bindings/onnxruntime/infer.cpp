// The shape of an output before anything runs, where it is known.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operators.hpp"

namespace sowreap::ort {
namespace {

using std::int64_t;

struct Size {
  int64_t value;  // negative: the size has a name instead
  std::string name;
};
using Sizes = std::vector<Size>;

// All operators of one name share the inference of the first: nothing here may depend on its types.
class Inference {
 public:
  Inference(const TypedOp& op, InferContext* context) : op_(op), context_(context) {}

  void run() const {
    const std::optional<Sizes> data = input(0);
    if (!data) return;
    if (!is_gather(op_.op->kind)) return put(*data);
    std::size_t given = 0;
    if (!good(get_inferred_input_count(op_.runtime->table, context_, &given)) || given > 2) return;
    if (const std::optional<Sizes> indices = input(1)) put_gathered(*data, *indices);
  }

 private:
  bool good(Status* status) const { return succeeded(op_.runtime->table, status); }

  // A shape that is not known in all dimensions is given up: onnxruntime would write an unknown
  // size without a name down as the number -1. So is rank 0, which stands for no shape at all too.
  std::optional<Sizes> input(std::size_t position) const {
    TensorInfo* info = nullptr;
    std::size_t rank = 0;
    if (!good(get_inferred_input(op_.runtime->table, context_, position, &info)) ||
        !good(get_rank(op_.runtime->table, info, &rank)) || rank == 0)
      return std::nullopt;
    std::vector<int64_t> values(rank);
    std::vector<const char*> names(rank);
    if (!good(get_dimensions(op_.runtime->table, info, values.data(), rank)) ||
        !good(get_symbols(op_.runtime->table, info, names.data(), rank)))
      return std::nullopt;
    Sizes sizes;
    for (std::size_t d = 0; d < rank; ++d) {
      sizes.push_back({values[d], names[d] == nullptr ? "" : names[d]});
      if (values[d] < 0 && sizes.back().name.empty()) return std::nullopt;
    }
    return sizes;
  }

  int64_t attribute(const char* name) const {
    const OpAttr* found = nullptr;
    int64_t value = 0;
    std::size_t bytes = 0;
    if (!good(get_inferred_attribute(op_.runtime->table, context_, name, &found)) ||
        found == nullptr ||
        !good(read_attribute(op_.runtime->table, found, attribute_is_int, &value, sizeof value,
                             &bytes)))
      return 0;
    return value;
  }

  // What breaks a rule is left for the run to report.
  void put_gathered(const Sizes& data, const Sizes& indices) const {
    const auto rank = static_cast<int64_t>(data.size());
    Sizes sizes;
    const auto append = [&](const Sizes& from, int64_t begin, int64_t end) {
      sizes.insert(sizes.end(), from.begin() + begin, from.begin() + end);
    };
    const auto all = static_cast<int64_t>(indices.size());
    if (op_.op->kind == Kind::gather_elements) {
      append(indices, 0, all);
    } else if (op_.op->kind == Kind::gather) {
      int64_t axis = attribute("axis");
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) return;
      append(data, 0, axis);
      append(indices, 0, all);
      append(data, axis + 1, rank);
    } else {
      const int64_t batch_dims = attribute("batch_dims"), k = indices.back().value;
      if (k < 0 || batch_dims < 0 || k > rank || batch_dims > rank - k) return;
      append(indices, 0, all - 1);
      append(data, batch_dims + k, rank);
    }
    put(sizes);
  }

  void put(const Sizes& sizes) const {
    if (sizes.empty()) return;
    std::vector<int64_t> values;
    std::vector<const char*> names;
    for (const Size& size : sizes) {
      values.push_back(size.value);
      names.push_back(size.name.c_str());
    }
    int type = 0;
    TensorInfo *data = nullptr, *info = nullptr;
    if (!good(get_inferred_input(op_.runtime->table, context_, 0, &data)) ||
        !good(get_element_type(op_.runtime->table, data, &type)) ||
        !good(create_info(op_.runtime->table, &info)))
      return;
    if (good(set_element_type(op_.runtime->table, info, type)) &&
        good(set_dimensions(op_.runtime->table, info, values.data(), values.size())) &&
        good(set_symbols(op_.runtime->table, info, names.data(), names.size())))
      good(set_inferred_output(op_.runtime->table, context_, 0, info));
    release_info(op_.runtime->table, info);
  }

  const TypedOp& op_;
  InferContext* context_;
};

}  // namespace

Status* SOWREAP_ORT_CALL infer_shape(const CustomOp* op, InferContext* context) {
  try {
    Inference(*static_cast<const TypedOp*>(op), context).run();
  } catch (...) {
    return nullptr;  // out of memory: the shape stays unknown
  }
  return nullptr;
}

}  // namespace sowreap::ort
