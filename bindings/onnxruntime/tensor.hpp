// A tensor of the runtime as a view of the core.
#pragma once

#include "api.hpp"
#include "operators.hpp"
#include "sowreap/array_view.hpp"

namespace sowreap::ort {

[[noreturn]] void refuse_rank();

// (Inline, but for what is rare: nodes on a few items spend most of their time here.)
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Runtime& runtime, const Value* value, const ElementType& type) {
    read(runtime, value, type);
  }
  // Where the shape is known already; it has to live as long.
  Tensor(const Runtime& runtime, const Value* value, const ElementType& type, const Shape& shape)
      : value_(value) {
    describe(runtime, type, shape.sizes, shape.rank);
  }
  // Likewise of the shape and type of another one.
  Tensor(const Runtime& runtime, const Value* value, const Tensor& like)
      : value_(value), view_(like.view_), count_(like.count_) {
    view_.bytes = bytes(runtime);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  void read(const Runtime& runtime, const Value* value, const ElementType& type) {
    value_ = value;
    if (!runtime.has_shape_reference) {
      copy_shape(runtime.table);
      return describe(runtime, type, shape_.sizes, shape_.rank);
    }
    int element = 0;
    const std::int64_t* sizes = nullptr;
    std::size_t rank = 0;
    check(runtime.table, get_shape_reference(runtime.table, value, &element, &sizes, &rank));
    if (rank > max_rank) refuse_rank();
    describe(runtime, type, sizes, static_cast<int>(rank));
  }

  const Value* value() const { return value_; }
  const View& view() const { return view_; }
  std::int64_t count() const { return count_; }

  // Gives the tensor the shape that Expand would, by strides of 0. Throws Error where the shapes do
  // not go together.
  void expand(const char* op, const Runtime& runtime, const Value* shape);

  bool overlaps(const Tensor& other) const {
    return count_ > 0 && other.count_ > 0 && view_.bytes < other.end() && other.view_.bytes < end();
  }

 private:
  void copy_shape(Table table);

  void describe(const Runtime& runtime, const ElementType& type, const std::int64_t* sizes,
                int rank) {
    std::int64_t count = 1;
    for (int d = rank - 1; d >= 0; --d) {
      strides_[d] = count * type.bytes;
      count *= sizes[d];
    }
    count_ = count;
    view_ = {nullptr, rank, sizes, strides_, type.dtype, type.bytes};
    if (type.bytes != 0) view_.bytes = bytes(runtime);  // that of strings is not ours to read
  }

  char* bytes(const Runtime& runtime) const {
    void* bytes = nullptr;
    check(runtime.table, get_data(runtime.table, const_cast<Value*>(value_), &bytes));
    return static_cast<char*>(bytes);
  }

  const char* end() const { return view_.bytes + count_ * view_.item; }

  const Value* value_ = nullptr;
  View view_;
  Shape shape_;  // where the runtime has none that can be read in place
  std::int64_t strides_[max_rank];
  std::int64_t count_ = 0;  // items in memory
};

Shape shape_of(const View& view);
void set_c_order(const Shape& shape, std::int64_t item, std::int64_t* strides);

}  // namespace sowreap::ort
