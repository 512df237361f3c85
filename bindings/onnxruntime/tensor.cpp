#include "tensor.hpp"

#include <algorithm>
#include <string>

#include "sowreap/error.hpp"

namespace sowreap::ort {

void refuse_rank() { throw Failure{"sowreap: a tensor has more than 64 dimensions"}; }

Shape shape_of(const View& view) {
  Shape shape;
  for (int d = 0; d < view.rank; ++d) shape.append(view.shape[d]);
  return shape;
}

void set_c_order(const Shape& shape, std::int64_t item, std::int64_t* strides) {
  for (int d = shape.rank - 1; d >= 0; --d) {
    strides[d] = item;
    item *= shape.sizes[d];
  }
}

void Tensor::copy_shape(Table table) {
  TensorInfo* info = nullptr;
  check(table, get_info(table, value_, &info));
  std::size_t rank = 0;
  bool good = succeeded(table, get_rank(table, info, &rank)) && rank <= max_rank;
  if (good) {
    shape_.rank = static_cast<int>(rank);
    good = succeeded(table, get_dimensions(table, info, shape_.sizes, rank));
  }
  release_info(table, info);
  if (!good) refuse_rank();
}

void Tensor::expand(const char* op, const Runtime& runtime, const Value* shape_value) {
  static constexpr ElementType int64_type{7, Dtype::int64, 8, false};
  const Tensor wanted(runtime, shape_value, int64_type);
  const auto* sizes = reinterpret_cast<const std::int64_t*>(wanted.view().bytes);
  const auto fail = [&] {
    std::string text = "indices have shape " + text_of(view_);
    if (wanted.view().rank == 1 && wanted.count() <= max_rank)
      text +=
          " and cannot be expanded to shape " + text_of(sizes, static_cast<int>(wanted.count()));
    else
      text += " and are to be expanded to a shape that is no list of at most 64 sizes";
    throw Error(Fault::shape, op, "indices", text + ".");
  };
  if (wanted.view().rank != 1 || wanted.count() > max_rank) fail();
  const int given = view_.rank, rank = std::max(given, static_cast<int>(wanted.count()));
  const auto own_size = [&](int d) { return d < rank - given ? 1 : view_.shape[d - rank + given]; };
  const auto wanted_size = [&](int d) {
    const int at = d - rank + static_cast<int>(wanted.count());
    return at < 0 ? 1 : sizes[at];
  };
  for (int d = 0; d < rank; ++d) {
    const std::int64_t have = own_size(d), want = wanted_size(d);
    if (want < 0 || (have != want && have != 1 && want != 1)) fail();
  }
  // From the last axis on, so that no size is overwritten before it is read.
  for (int d = rank - 1; d >= 0; --d) {
    const std::int64_t have = own_size(d);
    strides_[d] = have == 1 ? 0 : strides_[d - rank + given];
    shape_.sizes[d] = have == 1 ? wanted_size(d) : have;
  }
  view_.rank = shape_.rank = rank;
  view_.shape = shape_.sizes;
}

}  // namespace sowreap::ort
