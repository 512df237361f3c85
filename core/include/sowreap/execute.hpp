// Running a plan: checking its indices, choosing a form and a split over threads, calling the
// kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "sowreap/mode.hpp"
#include "sowreap/plan.hpp"
#include "sowreap/reduction.hpp"

namespace sowreap {

// How the values of `indices` address data, for checks and messages.
struct IndexRule {
  const char* op;
  const View* data;
  const View* indices;
  int axis;     // of data: the one that values address, or that the first component of a tuple
                // addresses
  bool tuples;  // the last axis of indices holds the components of tuples
  Mode mode = Mode::raise;
};

// Throws Error at the first bad value in row-major order: in mode raise one out of range, in wrap
// and clip one that addresses an axis of length 0.
void check_indices(const IndexRule& rule);

// What the values of indices that never change lie between, a pair for each component: found once,
// it spares every later check.
struct Bounds {
  std::int64_t least, greatest;
};
std::vector<Bounds> find_bounds(const View& indices, bool tuples);
bool are_within(const std::vector<Bounds>& bounds, const IndexRule& rule);

struct Call {
  Plan plan;
  IndexRule rule;
  Dtype dtype;          // of the data
  Reduction reduction;  // none for gathers
  const View* source;   // of a scatter into another array than data: data, to be copied first;
                        // otherwise null
  const View* output;
  bool visible;  // the caller can see the output: no byte of it changes before all indices are
                 // checked
  bool include_self = true;    // false: the first update of a cell replaces what is there
  const char* fill = nullptr;  // of a gather in mode absent: the item of an absent cell
};

// Bytes that the call reads and writes, roughly.
double work_bytes(const Call& call);

// Throws Stopped when it is left (stop.hpp).
void execute(Call& call);

// tensor_scatter: `update` is written along `axis` of the cache, from each batch row's write index
// on.
struct CacheWrite {
  const View* past_cache;
  const View* update;
  const View* write_indices;  // null: all zero
  int axis;
  bool circular;
  const View* output;
  bool in_place;        // output is past_cache itself
  bool visible = true;  // as that of Call
};
double work_bytes(const CacheWrite& call);
void execute(const CacheWrite& call);

// Does all of a call without plans, as `execute` would, or nothing and returns false: then there is
// more to do, or none, or a write index is out of range.
bool write_if_small(const CacheWrite& call);

// Between arrays of one shape and item size that do not overlap.
void copy(const View& from, const View& to);

// The form and the split that `execute` would choose, as text.
std::string explain(Call& call);

// The instruction set in use: "baseline", "avx2" or "avx512".
const char* instruction_set();

}  // namespace sowreap
