// A tensor of the runtime as a view of the core.
#pragma once

#include "api.hpp"
#include "operators.hpp"
#include "sowreap/array_view.hpp"

namespace sowreap::ort {

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Runtime& runtime, const Value* value, const ElementType& type) {
    read(runtime, value, type);
  }
  // Where the shape is known already.
  Tensor(const Runtime& runtime, const Value* value, const ElementType& type, const Shape& shape);
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  void read(const Runtime& runtime, const Value* value, const ElementType& type);

  const Value* value() const { return value_; }
  const View& view() const { return view_; }
  std::int64_t count() const { return count_; }

  // Gives the tensor the shape that Expand would, by strides of 0. Throws Error where the shapes do
  // not go together.
  void expand(const char* op, const Runtime& runtime, const Value* shape);

  bool overlaps(const Tensor& other) const;

 private:
  void describe(const Runtime& runtime, const ElementType& type);

  const Value* value_ = nullptr;
  View view_;
  Shape shape_;
  std::int64_t strides_[max_rank];
  std::int64_t count_ = 0;  // items in memory
};

Shape shape_of(const View& view);
void set_c_order(const Shape& shape, std::int64_t item, std::int64_t* strides);

}  // namespace sowreap::ort
