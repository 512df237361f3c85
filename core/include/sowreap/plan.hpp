// A call, reduced to loops: which bytes meet which, for any operator and any strides.
//
// Every operator of the family walks over
//   lanes: dimensions along which nothing depends on order (batches, rows, columns, slices), and
//   picks: dimensions over which index tuples are met, in the order of the standard's loop,
// and for each pick in each lane moves one item between the *addressed* array (data of a gather,
// output of a scatter) and the *other* one (output of a gather, updates of a scatter). The
// addressed item lies at
//   sum(lane position * lane.addressed) + sum(index component * axis.stride),
// the other one at the sum of positions times `other`, and the index tuple at the sum of positions
// times `index`. A lane whose index stride is 0 shares its index tuples: such lanes make slices.
#pragma once

#include <cstdint>
#include <string>

#include "sowreap/array_view.hpp"

namespace sowreap {

struct Loop {
  std::int64_t extent;
  std::int64_t addressed, index, other;  // bytes from one position to the next
};

constexpr std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

constexpr std::int64_t total(const Loop* loops, int count) {
  std::int64_t n = 1;
  for (int i = 0; i < count; ++i) n *= loops[i].extent;
  return n;
}

struct Axis {
  std::int64_t length;     // valid components are in [-length, length - 1]
  std::int64_t stride;     // bytes between neighbouring cells of the addressed array
  std::int64_t component;  // bytes from the start of an index tuple to this component
};

struct Plan {
  char* addressed = nullptr;
  const char* indices = nullptr;
  char* other = nullptr;
  Dtype index_dtype = Dtype::int64;
  std::int64_t item = 0;
  bool scatter = false;
  int lane_count = 0, pick_count = 0, axis_count = 0;
  Loop lanes[2 * max_rank];
  Loop picks[max_rank];
  Axis axes[max_rank];

  std::int64_t lane_total() const { return total(lanes, lane_count); }
  std::int64_t pick_total() const { return total(picks, pick_count); }
};

// Shapes have been checked (shape.hpp). `other` is the output of a gather, the updates of a
// scatter; `addressed` is the data of a gather, the output of a scatter.
Plan plan_gather(const View& data, const View& indices, int axis, const View& output);
Plan plan_elements(const View& addressed, const View& indices, int axis, const View& other,
                   bool scatter);
Plan plan_nd(const View& addressed, const View& indices, int batch_dims, const View& other,
             bool scatter);

// Lanes sorted from the outermost in memory to the innermost, dimensions of extent 1 dropped and
// neighbours that can be one loop joined; picks joined likewise, and sorted too where their order
// is free (gathers).
void collapse(Plan& plan);

// The loops as text, a line each.
std::string describe(const Plan& plan);

}  // namespace sowreap
