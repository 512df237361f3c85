#include "strings.hpp"

#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace sowreap::ort {
namespace {

using std::int64_t;

class Strings {
 public:
  Strings(Table table, const Tensor& tensor)
      : begins_(static_cast<std::size_t>(tensor.count()) + 1) {
    const std::size_t count = begins_.size() - 1;
    if (count == 0) return;
    std::size_t bytes = 0;
    check(table, get_string_bytes(table, tensor.value(), &bytes));
    text_.resize(bytes);
    check(table, get_strings(table, tensor.value(), text_.data(), bytes, begins_.data(), count));
    begins_.back() = bytes;
  }

  std::string_view operator[](int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return std::string_view(text_).substr(begins_[at], begins_[at + 1] - begins_[at]);
  }

 private:
  std::string text_;  // all of them, one after the other
  std::vector<std::size_t> begins_;
};

// An array of positions with the shape of a tensor.
class Positions {
 public:
  Positions(const Shape& shape, int64_t first) : shape_(shape) {
    int64_t count = 1;
    for (int d = 0; d < shape.rank; ++d) count *= shape.sizes[d];
    values_.resize(static_cast<std::size_t>(count));
    std::iota(values_.begin(), values_.end(), first);
    set_c_order(shape_, sizeof(int64_t), strides_);
    view_ = {reinterpret_cast<char*>(values_.data()),
             shape_.rank,
             shape_.sizes,
             strides_,
             Dtype::int64,
             sizeof(int64_t)};
  }
  Positions(const Positions&) = delete;
  Positions& operator=(const Positions&) = delete;

  const View& view() const { return view_; }
  const std::vector<int64_t>& values() const { return values_; }

 private:
  Shape shape_;
  std::vector<int64_t> values_;
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
  for (std::size_t i = 0; i < picked.values().size(); ++i)
    put(table, output, i, strings[picked.values()[i]]);
}

void scatter_text(Table table, const Tensor& data, const Tensor& updates, bool append,
                  const Gather& gather, const MakeOutput& make_output) {
  // A gather of the positions of all cells, by the same indices, tells where each update goes.
  const Positions all(shape_of(data.view()), 0), cells(shape_of(updates.view()), 0);
  gather(all.view(), cells.view());
  const Strings strings(table, data), news(table, updates);
  std::vector<std::string> result(all.values().size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = strings[static_cast<int64_t>(i)];
  for (std::size_t i = 0; i < cells.values().size(); ++i) {
    std::string& cell = result[static_cast<std::size_t>(cells.values()[i])];
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
  for (std::size_t i = 0; i < picked.values().size(); ++i) {
    const int64_t from = picked.values()[i];
    put(table, output, i,
        from < past_cache.count() ? old_strings[from] : new_strings[from - past_cache.count()]);
  }
}

}  // namespace sowreap::ort
