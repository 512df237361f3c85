// Indices that are out of range: finding the first one, and saying so.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "sowreap/error.hpp"
#include "sowreap/execute.hpp"
#include "sowreap/machine.hpp"
#include "sowreap/stop.hpp"
#include "sowreap/threads.hpp"
#include "sowreap/walk.hpp"
#include "sowreap/watch.hpp"

namespace sowreap {
namespace {

using std::int64_t;

constexpr int64_t parallel_values = 1 << 18;
constexpr int64_t values_at_once = 1 << 16;  // from one look at a Watch to the next
constexpr int64_t line_bytes = 64;           // that a value may cost

std::string decimal(Dtype dtype, const char* at) {
  return visit_index(dtype, [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return std::to_string(value);
  });
}

// All values that address one axis: the dimensions of `indices`, without the last one if that holds
// components, and without repetition by a stride of 0.
struct Values {
  Plan loops;  // lanes; `addressed` is the stride in indices
  const char* first;
  int64_t length;  // of the axis

  Values(const IndexRule& rule, int component) {
    const View& indices = *rule.indices;
    const int rank = indices.rank - (rule.tuples ? 1 : 0);
    first = indices.bytes + (rule.tuples ? component * indices.strides[rank] : 0);
    length = rule.data->shape[rule.axis + component];
    for (int d = 0; d < rank; ++d) {
      const int64_t extent = indices.shape[d];
      if (extent == 0 || indices.strides[d] != 0) {
        loops.lanes[loops.lane_count++] = {extent, indices.strides[d], 0, 0};
      }
    }
    loops.scatter = true;
  }
};

bool all_in_range(const IndexRule& rule, int component) {
  Values values(rule, component);
  if (values.loops.lane_total() == 0) return true;
  collapse(values.loops);
  Loop inner{1, 0, 0, 0};
  if (values.loops.lane_count > 0) inner = values.loops.lanes[--values.loops.lane_count];
  const int64_t rows = values.loops.lane_total();
  const auto in_range = [&](const char* at, int64_t n, Watch& watch) {
    for (int64_t i = 0; i < n; i += values_at_once) {
      const int64_t count = std::min(values_at_once, n - i);
      if (watch.leave(count * line_bytes)) return false;
      if (!kernels().in_range(rule.indices->dtype, at + i * inner.addressed, inner.addressed, count,
                              values.length))
        return false;
    }
    return true;
  };
  Stop* const stop = current_stop();
  std::atomic<bool> good{true};
  const int threads = rows * inner.extent < parallel_values ? 1 : thread_count();
  const int64_t pieces = rows < threads ? threads : 1;  // of a row
  const int64_t groups = rows < threads ? rows : threads;
  run_parallel(groups * pieces, threads, [&](int64_t part, int) {
    const int64_t group = part / pieces, piece = part % pieces;
    const int64_t begin = inner.extent * piece / pieces, end = inner.extent * (piece + 1) / pieces;
    Walk row(values.loops.lanes, values.loops.lane_count, rows * group / groups);
    Watch watch(stop);
    for (int64_t r = rows * group / groups; r < rows * (group + 1) / groups; ++r, row.next()) {
      if (!good.load(std::memory_order_relaxed)) return;
      if (!in_range(values.first + row.addressed + begin * inner.addressed, end - begin, watch))
        good.store(false);
    }
  });
  leave_if_stopped();
  return good.load();
}

int component_count(const IndexRule& rule) {
  return rule.tuples ? static_cast<int>(rule.indices->shape[rule.indices->rank - 1]) : 1;
}

[[noreturn]] void report(const IndexRule& rule, const std::vector<int64_t>& position,
                         const char* tuple, int component) {
  const View& indices = *rule.indices;
  const int64_t step = rule.tuples ? indices.strides[indices.rank - 1] : 0;
  const std::string value = decimal(indices.dtype, tuple + component * step);
  const int axis = rule.axis + component;
  const int64_t length = rule.data->shape[axis];
  std::string text = "indices";
  if (!position.empty()) {
    text += "[";
    for (std::size_t d = 0; d < position.size(); ++d)
      text += (d == 0 ? "" : ", ") + std::to_string(position[d]);
    text += "]";
  }
  text += " = ";
  if (rule.tuples) {
    text += "[";
    for (int j = 0; j < component_count(rule); ++j) {
      text += (j == 0 ? "" : ", ") + decimal(indices.dtype, tuple + j * step);
    }
    text += "] is out of range in component " + std::to_string(component) + ": " + value;
  } else {
    text += value + " is out of range: it";
  }
  text += length == 0
              ? " cannot index axis " + std::to_string(axis) + " of data, which has length 0"
              : " is not in [" + std::to_string(-length) + ", " + std::to_string(length - 1) +
                    "] for axis " + std::to_string(axis) + " of data";
  text += "; data has shape " + text_of(*rule.data) + ", indices " + text_of(indices) +
          ". Correct the entry.";
  Error error(Fault::index, rule.op, "indices", text);
  error.position = position;
  if (rule.tuples) error.position.push_back(component);
  error.value = value;
  error.axis = axis;
  error.length = length;
  throw error;
}

// Throws at the first bad value in row-major order. A dimension of stride 0 shows its first
// position alone.
void find_first(const IndexRule& rule) {
  const View& indices = *rule.indices;
  const int rank = indices.rank - (rule.tuples ? 1 : 0);
  Loop loops[max_rank];
  for (int d = 0; d < rank; ++d) {
    loops[d] = {indices.strides[d] == 0 ? 1 : indices.shape[d], indices.strides[d], 0, 0};
  }
  const Loop inner = rank > 0 ? loops[rank - 1] : Loop{1, 0, 0, 0};
  const int outer = rank > 0 ? rank - 1 : 0;
  int64_t rows = 1;
  for (int d = 0; d < outer; ++d) rows *= loops[d].extent;
  const int components = component_count(rule);
  const int64_t step = rule.tuples ? indices.strides[rank] : 0;
  const auto bad = [&](const char* at, int64_t n, int j) {
    return !kernels().in_range(indices.dtype, at + j * step, inner.addressed, n,
                               rule.data->shape[rule.axis + j]);
  };
  // The tuples [begin, begin + n) of row r.
  const auto look = [&](const char* start, int64_t r, int64_t begin, int64_t n) {
    bool good = true;
    for (int j = 0; j < components; ++j) good &= !bad(start + begin * inner.addressed, n, j);
    for (int64_t i = begin; !good && i < begin + n; ++i) {
      const char* tuple = start + i * inner.addressed;
      for (int j = 0; j < components; ++j) {
        if (!bad(tuple, 1, j)) continue;
        std::vector<int64_t> position(static_cast<std::size_t>(rank));
        for (int64_t d = outer - 1, rest = r; d >= 0; --d) {
          position[static_cast<std::size_t>(d)] = rest % loops[d].extent;
          rest /= loops[d].extent;
        }
        if (rank > 0) position.back() = i;
        report(rule, position, tuple, j);
      }
    }
  };
  Walk row(loops, outer, 0);
  Watch watch(current_stop());
  for (int64_t r = 0; r < rows; ++r, row.next()) {
    for (int64_t begin = 0; begin < inner.extent; begin += values_at_once) {
      const int64_t n = std::min(values_at_once, inner.extent - begin);
      if (watch.leave(n * components * line_bytes)) throw Stopped{};
      look(indices.bytes + row.addressed, r, begin, n);
    }
  }
}

// Any tuple addresses the first axis of length 0, if there is one.
void check_lengths(const IndexRule& rule) {
  const View& indices = *rule.indices;
  const int rank = indices.rank - (rule.tuples ? 1 : 0);
  for (int d = 0; d < rank; ++d) {
    if (indices.shape[d] == 0) return;
  }
  for (int j = 0; j < component_count(rule); ++j) {
    if (rule.data->shape[rule.axis + j] != 0) continue;
    report(rule, std::vector<int64_t>(static_cast<std::size_t>(rank)), indices.bytes, j);
  }
}

Bounds bounds_of(const char* first, Dtype dtype, const Loop* loops, int count) {
  Bounds bounds{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  visit_index(dtype, [&](auto value) {
    Walk at(loops, count, 0);
    for (int64_t n = total(loops, count); n > 0; --n, at.next()) {
      std::memcpy(&value, first + at.addressed, sizeof value);
      const int64_t item = std::in_range<int64_t>(value) ? static_cast<int64_t>(value)
                                                         : std::numeric_limits<int64_t>::max();
      bounds.least = std::min(bounds.least, item);
      bounds.greatest = std::max(bounds.greatest, item);
    }
  });
  return bounds;
}

}  // namespace

std::vector<Bounds> find_bounds(const View& indices, bool tuples) {
  const int rank = indices.rank - (tuples ? 1 : 0);
  Loop loops[max_rank];
  for (int d = 0; d < rank; ++d) loops[d] = {indices.shape[d], indices.strides[d], 0, 0};
  std::vector<Bounds> bounds;
  for (int64_t j = 0; j < (tuples ? indices.shape[rank] : 1); ++j) {
    const char* first = indices.bytes + (tuples ? j * indices.strides[rank] : 0);
    bounds.push_back(bounds_of(first, indices.dtype, loops, rank));
  }
  return bounds;
}

bool are_within(const std::vector<Bounds>& bounds, const IndexRule& rule) {
  for (std::size_t j = 0; j < bounds.size(); ++j) {
    const int64_t length = rule.data->shape[rule.axis + static_cast<int>(j)];
    if (bounds[j].least < -length || bounds[j].greatest >= length) return false;
  }
  return true;
}

void check_indices(const IndexRule& rule) {
  if (rule.mode == Mode::absent) return;
  if (rule.mode != Mode::raise) return check_lengths(rule);
  for (int j = 0; j < component_count(rule); ++j) {
    if (!all_in_range(rule, j)) return find_first(rule);
  }
}

}  // namespace sowreap
