#include "tensor.hpp"

#include <algorithm>
#include <string>

#include "sowreap/error.hpp"

namespace sowreap::ort {
namespace {

[[noreturn]] void refuse_rank() { throw Failure{"sowreap: a tensor has more than 64 dimensions"}; }

Shape read_shape(const Runtime& runtime, const Value* value) {
  const Table table = runtime.table;
  if (runtime.has_shape_reference) {
    int type = 0;
    const std::int64_t* sizes = nullptr;
    std::size_t rank = 0;
    check(table, get_shape_reference(table, value, &type, &sizes, &rank));
    if (rank > max_rank) refuse_rank();
    Shape shape;
    for (std::size_t d = 0; d < rank; ++d) shape.append(sizes[d]);
    return shape;
  }
  TensorInfo* info = nullptr;
  check(table, get_info(table, value, &info));
  std::size_t rank = 0;
  Shape shape;
  bool good = succeeded(table, get_rank(table, info, &rank)) && rank <= max_rank;
  if (good) {
    shape.rank = static_cast<int>(rank);
    good = succeeded(table, get_dimensions(table, info, shape.sizes, rank));
  }
  release_info(table, info);
  if (!good) refuse_rank();
  return shape;
}

std::int64_t count_of(const Shape& shape) {
  std::int64_t n = 1;
  for (int d = 0; d < shape.rank; ++d) n *= shape.sizes[d];
  return n;
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

Tensor::Tensor(const Runtime& runtime, const Value* value, const ElementType& type)
    : Tensor(runtime, value, type, read_shape(runtime, value)) {}

Tensor::Tensor(const Runtime& runtime, const Value* value, const ElementType& type,
               const Shape& shape)
    : value_(value) {
  std::int64_t strides[max_rank];
  set_c_order(shape, type.bytes, strides);
  set_shape(shape, strides);
  view_.dtype = type.dtype;
  view_.item = type.bytes;
  count_ = count_of(shape);
  if (type.bytes == 0) return;  // strings: the memory is not ours to read
  void* bytes = nullptr;
  check(runtime.table, get_data(runtime.table, const_cast<Value*>(value), &bytes));
  view_.bytes = static_cast<char*>(bytes);
}

Tensor& Tensor::operator=(const Tensor& other) {
  value_ = other.value_;
  view_ = other.view_;
  count_ = other.count_;
  set_shape(other.shape_, other.strides_);
  return *this;
}

void Tensor::set_shape(const Shape& shape, const std::int64_t* strides) {
  shape_.rank = shape.rank;
  std::copy_n(shape.sizes, shape.rank, shape_.sizes);
  std::copy_n(strides, shape.rank, strides_);
  view_.rank = shape.rank;
  view_.shape = shape_.sizes;
  view_.strides = strides_;
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
  Shape shape;
  std::int64_t strides[max_rank];
  for (int d = 0; d < rank; ++d) {
    const int own = d - (rank - given), other = d - (rank - static_cast<int>(wanted.count()));
    const std::int64_t have = own < 0 ? 1 : shape_.sizes[own];
    const std::int64_t want = other < 0 ? 1 : sizes[other];
    if (want < 0 || (have != want && have != 1 && want != 1)) fail();
    shape.append(have == 1 ? want : have);
    strides[d] = have == 1 ? 0 : strides_[own];
  }
  set_shape(shape, strides);
}

bool Tensor::overlaps(const Tensor& other) const {
  const char* end = view_.bytes + count_ * view_.item;
  const char* other_end = other.view_.bytes + other.count_ * other.view_.item;
  return count_ > 0 && other.count_ > 0 && view_.bytes < other_end && other.view_.bytes < end;
}

}  // namespace sowreap::ort
