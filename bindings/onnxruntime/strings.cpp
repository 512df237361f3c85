#include "strings.hpp"

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace sowreap::ort {
namespace {

using std::int64_t;

// Memory for items, without a call of the allocator where they are few.
template <class T, std::size_t few>
class Buffer {
 public:
  explicit Buffer(std::size_t size)
      : many_(size > few ? std::make_unique_for_overwrite<T[]>(size) : nullptr), size_(size) {}

  T* begin() { return many_ == nullptr ? few_ : many_.get(); }
  const T* begin() const { return many_ == nullptr ? few_ : many_.get(); }
  T* end() { return begin() + size_; }
  const T* end() const { return begin() + size_; }
  std::size_t size() const { return size_; }

 private:
  T few_[few];
  std::unique_ptr<T[]> many_;
  std::size_t size_;
};

class Strings {
 public:
  Strings(Table table, const Tensor& tensor)
      : text_(byte_count(table, tensor)), begins_(static_cast<std::size_t>(tensor.count()) + 1) {
    const std::size_t count = begins_.size() - 1;
    if (count > 0) {
      check(table, get_strings(table, tensor.value(), text_.begin(), text_.size(), begins_.begin(),
                               count));
    }
    begins_.begin()[count] = text_.size();
  }

  std::string_view operator[](int64_t i) const {
    const std::size_t* begin = begins_.begin() + i;
    return {text_.begin() + begin[0], begin[1] - begin[0]};
  }

 private:
  static std::size_t byte_count(Table table, const Tensor& tensor) {
    std::size_t bytes = 0;
    if (tensor.count() > 0) check(table, get_string_bytes(table, tensor.value(), &bytes));
    return bytes;
  }

  Buffer<char, 1024> text_;  // all of them, one after the other
  Buffer<std::size_t, 65> begins_;
};

// An array of positions with the shape of a tensor.
class Positions {
 public:
  Positions(const Shape& shape, int64_t first) : shape_(shape), values_(item_count(shape)) {
    std::iota(values_.begin(), values_.end(), first);
    set_c_order(shape_, sizeof(int64_t), strides_);
    view_ = {reinterpret_cast<char*>(values_.begin()),
             shape_.rank,
             shape_.sizes,
             strides_,
             Dtype::int64,
             sizeof(int64_t)};
  }
  Positions(const Positions&) = delete;
  Positions& operator=(const Positions&) = delete;

  const View& view() const { return view_; }
  std::size_t size() const { return values_.size(); }
  int64_t operator[](std::size_t i) const { return values_.begin()[i]; }

 private:
  static std::size_t item_count(const Shape& shape) {
    int64_t count = 1;
    for (int d = 0; d < shape.rank; ++d) count *= shape.sizes[d];
    return static_cast<std::size_t>(count);
  }

  Shape shape_;
  Buffer<int64_t, 64> values_;
  int64_t strides_[max_rank];
  View view_;
};

void put(Table table, Value* output, std::size_t i, std::string_view text) {
  char* buffer = nullptr;
  check(table, get_string_buffer(table, output, i, text.size(), &buffer));
  if (!text.empty()) std::memcpy(buffer, text.data(), text.size());
}

}  // namespace

void gather_text(Table table, const Tensor& data, const Shape& shape, const Gather& gather,
                 const MakeOutput& make_output) {
  const Positions all(shape_of(data.view()), 0), picked(shape, 0);
  gather(all.view(), picked.view());
  const Strings strings(table, data);
  Value* output = make_output();
  for (std::size_t i = 0; i < picked.size(); ++i) put(table, output, i, strings[picked[i]]);
}

void scatter_text(Table table, const Tensor& data, const Tensor& updates, bool append,
                  const Gather& gather, const MakeOutput& make_output) {
  // A gather of the positions of all cells, by the same indices, tells where each update goes.
  const Positions all(shape_of(data.view()), 0), cells(shape_of(updates.view()), 0);
  gather(all.view(), cells.view());
  const Strings strings(table, data), news(table, updates);
  std::vector<std::string> result(all.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = strings[static_cast<int64_t>(i)];
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string& cell = result[static_cast<std::size_t>(cells[i])];
    if (!append) cell.clear();
    cell += news[static_cast<int64_t>(i)];
  }
  Value* output = make_output();
  for (std::size_t i = 0; i < result.size(); ++i) put(table, output, i, result[i]);
}

void write_text_cache(Table table, const Tensor& past_cache, const Tensor& update,
                      const View* write_indices, int axis, bool circular,
                      const MakeOutput& make_output) {
  const Positions olds(shape_of(past_cache.view()), 0),
      news(shape_of(update.view()), past_cache.count()), picked(shape_of(past_cache.view()), 0);
  execute(
      CacheWrite{&olds.view(), &news.view(), write_indices, axis, circular, &picked.view(), false});
  const Strings old_strings(table, past_cache), new_strings(table, update);
  Value* output = make_output();
  for (std::size_t i = 0; i < picked.size(); ++i) {
    const int64_t from = picked[i];
    put(table, output, i,
        from < past_cache.count() ? old_strings[from] : new_strings[from - past_cache.count()]);
  }
}

}  // namespace sowreap::ort
