// tensor_scatter: every batch row of a cache is written from a position of its own on.
#include <algorithm>
#include <cstring>
#include <string>

#include "sowreap/error.hpp"
#include "sowreap/execute.hpp"
#include "sowreap/small.hpp"
#include "sowreap/stop.hpp"
#include "sowreap/watch.hpp"

namespace sowreap {
namespace {

using std::int64_t;
using std::uint64_t;

// Planning the moves of so few would take longer than them.
constexpr int64_t small_bytes = 8192, small_rows = 64;
// What a row without many bytes costs, for a Watch.
constexpr int64_t line_bytes = 64, copy_bytes = 4096;

struct WriteIndex {
  bool negative;
  uint64_t value;  // two's complement where negative

  std::string text() const {
    return negative ? std::to_string(static_cast<int64_t>(value)) : std::to_string(value);
  }
};

[[gnu::noinline]] WriteIndex load_any(Dtype dtype, const char* at) {
  return visit_index(dtype, [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return WriteIndex{value < 0, static_cast<uint64_t>(value)};
  });
}

[[gnu::always_inline]] inline WriteIndex load(const View& write_indices, int64_t row) {
  const char* at = write_indices.bytes + row * write_indices.strides[0];
  if (write_indices.dtype != Dtype::int64) return load_any(write_indices.dtype, at);
  int64_t value;  // of ONNX, and so of most
  std::memcpy(&value, at, sizeof value);
  return {value < 0, static_cast<uint64_t>(value)};
}

[[noreturn]] void report(const CacheWrite& call, int64_t row, WriteIndex start) {
  const int64_t length = call.past_cache->shape[call.axis], steps = call.update->shape[call.axis];
  const std::string shapes =
      "past_cache has shape " + text_of(*call.past_cache) + ", update " + text_of(*call.update);
  std::string text = "write_indices[" + std::to_string(row) + "] = " + start.text();
  if (start.negative) {
    text += " is negative; positions on axis " + std::to_string(call.axis) + " (length " +
            std::to_string(length) + ") count from 0. " + shapes +
            ". Add the length if the end was meant.";
  } else {
    text += " would write " + std::to_string(steps) + " positions from there on axis " +
            std::to_string(call.axis) + ", which has length " + std::to_string(length) + "; " +
            shapes + ". Lower it to at most " + std::to_string(length - steps) +
            ", or pass mode=\"circular\".";
  }
  Error error(Fault::index, "tensor_scatter", "write_indices", text);
  error.position = {row};
  error.value = start.text();
  error.axis = call.axis;
  error.length = length;
  throw error;
}

void check_write_indices(const CacheWrite& call) {
  if (call.write_indices == nullptr) return;
  const int64_t length = call.past_cache->shape[call.axis], steps = call.update->shape[call.axis];
  const View& starts = *call.write_indices;
  const int64_t rows =
      starts.strides[0] == 0 ? std::min<int64_t>(starts.shape[0], 1) : starts.shape[0];
  Watch watch(current_stop());
  for (int64_t row = 0; row < rows; ++row) {
    if (watch.leave(line_bytes)) throw Stopped{};
    const WriteIndex start = load(starts, row);
    const bool beyond =
        !call.circular && steps > 0 && start.value > static_cast<uint64_t>(length - steps);
    if (start.negative || beyond) report(call, row, start);
  }
}

// The write index may have been changed by another thread since it was checked: it is folded into
// the axis again. (Division takes longer than all else that a small row does.)
int64_t fold(WriteIndex start, int64_t length) {
  const auto end = static_cast<uint64_t>(length);
  return static_cast<int64_t>(start.value < end ? start.value : start.value % end);
}

// A box of an array: the same strides, other sizes and another first item.
struct Box {
  Shape shape;
  View view;

  explicit Box(const View& whole) : view(whole) {
    shape.rank = whole.rank;
    std::copy_n(whole.shape, whole.rank, shape.sizes);
    view.shape = shape.sizes;
  }
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  void narrow(int axis, int64_t begin, int64_t count) {
    if (count > 0) view.bytes += begin * view.strides[axis];
    shape.sizes[axis] = count;
  }
};

// Batch rows [row, row + rows): steps [from, from + count) of update to position `to` of the cache.
void write_run(const CacheWrite& call, int64_t row, int64_t rows, int64_t from, int64_t to,
               int64_t count) {
  Box source(*call.update), target(*call.output);
  source.narrow(0, row, rows);
  target.narrow(0, row, rows);
  source.narrow(call.axis, from, count);
  target.narrow(call.axis, to, count);
  copy(source.view, target.view);
}

void write_rows(const CacheWrite& call, int64_t row, int64_t rows, WriteIndex start) {
  const int64_t length = call.past_cache->shape[call.axis], steps = call.update->shape[call.axis];
  const int64_t begin = fold(start, length);
  const int64_t before_end = std::min(steps, length - begin);
  write_run(call, row, rows, 0, begin, before_end);
  if (call.circular && before_end < steps)
    write_run(call, row, rows, before_end, 0, steps - before_end);
}

// Arrays in C order, in bytes.
struct Extent {
  int64_t position, row, cache;  // of the cache: a position on the axis, a batch row, all
  int64_t update;
};

// Whether update, cache and output are in C order; then the extent is filled in.
bool find_extent(const CacheWrite& call, Extent* extent) {
  const View &cache = *call.past_cache, &update = *call.update;
  extent->cache = extent->update = cache.item;
  for (int d = cache.rank - 1; d >= 0; --d) {
    if (d == call.axis) extent->position = extent->cache;
    if (d == 0) extent->row = extent->cache;
    const int64_t steps = update.shape[d], length = cache.shape[d];
    if (steps != 1 && update.strides[d] != extent->update) return false;
    if (length != 1 &&
        (cache.strides[d] != extent->cache || call.output->strides[d] != extent->cache))
      return false;
    extent->update *= steps;
    extent->cache *= length;
  }
  return true;
}

// Where each batch row begins; false where one of them does not lie below `end`.
bool find_begins(const CacheWrite& call, int64_t end, int64_t* begins) {
  const int64_t rows = call.past_cache->shape[0];
  if (call.write_indices == nullptr) {
    std::fill_n(begins, rows, 0);
    return true;
  }
  const View starts = *call.write_indices;
  for (int64_t row = 0; row < rows; ++row) {
    const uint64_t start = load(starts, row).value;
    if (start >= static_cast<uint64_t>(end)) return false;  // as all negative ones are
    begins[row] = static_cast<int64_t>(start);
  }
  return true;
}

}  // namespace

double work_bytes(const CacheWrite& call) {
  double items = 1, cache_items = 1;
  for (int d = 0; d < call.update->rank; ++d) {
    items *= static_cast<double>(call.update->shape[d]);
    cache_items *= static_cast<double>(call.past_cache->shape[d]);
  }
  return 2.0 * static_cast<double>(call.update->item) * (items + (call.in_place ? 0 : cache_items));
}

bool write_if_small(const CacheWrite& call) {
  const View &cache = *call.past_cache, &update = *call.update;
  Extent extent{};
  if (!find_extent(call, &extent) || extent.update <= 0 || extent.update > small_bytes)
    return false;
  if (!call.in_place && extent.cache > small_bytes) return false;
  const int64_t rows = cache.shape[0], length = cache.shape[call.axis];
  const int64_t steps = update.shape[call.axis];
  int64_t begins[small_rows];
  if (rows > small_rows || !find_begins(call, call.circular ? length : length - steps + 1, begins))
    return false;
  if (!call.in_place)
    std::memcpy(call.output->bytes, cache.bytes, static_cast<std::size_t>(extent.cache));
  const int64_t cache_run = length * extent.position, update_run = steps * extent.position;
  const char* from = update.bytes;
  char* to = call.output->bytes;
  for (int64_t row = 0; row < rows;) {
    const int64_t begin = begins[row] * extent.position, over = begin + update_run - cache_run;
    const char* end = to + extent.row;  // of the rows that begin there
    for (++row; row < rows && begins[row] == begins[row - 1]; ++row) end += extent.row;
    for (; to < end; from += update_run, to += cache_run) {
      if (over <= 0) {
        copy_few(to + begin, from, update_run);
      } else {
        copy_few(to + begin, from, update_run - over);
        copy_few(to, from + update_run - over, over);
      }
    }
  }
  return true;
}

void execute(const CacheWrite& call) {
  if (write_if_small(call)) return;
  check_write_indices(call);
  const StopScope scope(call.visible ? nullptr : current_stop());
  if (!call.in_place) copy(*call.past_cache, *call.output);
  const int64_t rows = call.past_cache->shape[0];
  for (int d = 0; d < call.update->rank; ++d) {
    if (call.update->shape[d] == 0) return;
  }
  if (call.write_indices == nullptr) return write_rows(call, 0, rows, {false, 0});
  // Neighbouring rows with one write index are one run.
  Watch watch(current_stop());
  for (int64_t row = 0; row < rows;) {
    if (watch.leave(copy_bytes)) throw Stopped{};
    const WriteIndex start = load(*call.write_indices, row);
    int64_t next = row + 1;
    while (next < rows && load(*call.write_indices, next).value == start.value) ++next;
    write_rows(call, row, next - row, start);
    row = next;
  }
}

}  // namespace sowreap
