#include "tensor.hpp"

#include <algorithm>
#include <string>

#include "sowreap/error.hpp"

namespace sowreap::ort {
namespace {

[[noreturn]] void refuse_rank() { throw Failure{"sowreap: a tensor has more than 64 dimensions"}; }

void read_shape(const Runtime& runtime, const Value* value, Shape& shape) {
  const Table table = runtime.table;
  if (runtime.has_shape_reference) {
    int type = 0;
    const std::int64_t* sizes = nullptr;
    std::size_t rank = 0;
    check(table, get_shape_reference(table, value, &type, &sizes, &rank));
    if (rank > max_rank) refuse_rank();
    for (std::size_t d = 0; d < rank; ++d) shape.append(sizes[d]);
    return;
  }
  TensorInfo* info = nullptr;
  check(table, get_info(table, value, &info));
  std::size_t rank = 0;
  bool good = succeeded(table, get_rank(table, info, &rank)) && rank <= max_rank;
  if (good) {
    shape.rank = static_cast<int>(rank);
    good = succeeded(table, get_dimensions(table, info, shape.sizes, rank));
  }
  release_info(table, info);
  if (!good) refuse_rank();
}

}  // namespace

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

Tensor::Tensor(const Runtime& runtime, const Value* value, const ElementType& type,
               const Shape& shape)
    : value_(value) {
  for (int d = 0; d < shape.rank; ++d) shape_.append(shape.sizes[d]);
  describe(runtime, type);
}

void Tensor::read(const Runtime& runtime, const Value* value, const ElementType& type) {
  value_ = value;
  shape_.rank = 0;
  read_shape(runtime, value, shape_);
  describe(runtime, type);
}

void Tensor::describe(const Runtime& runtime, const ElementType& type) {
  count_ = 1;
  for (int d = shape_.rank - 1; d >= 0; --d) {
    strides_[d] = count_ * type.bytes;
    count_ *= shape_.sizes[d];
  }
  view_ = {nullptr, shape_.rank, shape_.sizes, strides_, type.dtype, type.bytes};
  if (type.bytes == 0) return;  // strings: the memory is not ours to read
  void* bytes = nullptr;
  check(runtime.table, get_data(runtime.table, const_cast<Value*>(value_), &bytes));
  view_.bytes = static_cast<char*>(bytes);
}

void Tensor::expand(const char* op, const Runtime& runtime, const Value* shape_value) {
  static constexpr ElementType int64_type{7, Dtype::int64, 8, false};
  const Tensor wanted(runtime, shape_value, int64_type);
  const auto* sizes = reinterpret_cast<const std::int64_t*>(wanted.view().bytes);
  const auto fail = [&] {
    std::string text = "indices have shape " + text_of(shape_);
    if (wanted.view().rank == 1 && wanted.count() <= max_rank)
      text +=
          " and cannot be expanded to shape " + text_of(sizes, static_cast<int>(wanted.count()));
    else
      text += " and are to be expanded to a shape that is no list of at most 64 sizes";
    throw Error(Fault::shape, op, "indices", text + ".");
  };
  if (wanted.view().rank != 1 || wanted.count() > max_rank) fail();
  const int given = shape_.rank, rank = std::max(given, static_cast<int>(wanted.count()));
  const auto own_size = [&](int d) {
    return d < rank - given ? 1 : shape_.sizes[d - rank + given];
  };
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
}

bool Tensor::overlaps(const Tensor& other) const {
  const char* end = view_.bytes + count_ * view_.item;
  const char* other_end = other.view_.bytes + other.count_ * other.view_.item;
  return count_ > 0 && other.count_ > 0 && view_.bytes < other_end && other.view_.bytes < end;
}

}  // namespace sowreap::ort
