#include "sowreap/plan.hpp"

namespace sowreap {
namespace {

// Whether one step of `outer` is as far as all of `inner`, in all three arrays: then they are one
// loop.
bool joins(const Loop& outer, const Loop& inner) {
  return outer.addressed == inner.addressed * inner.extent &&
         outer.index == inner.index * inner.extent && outer.other == inner.other * inner.extent;
}

bool lies_outside(const Loop& a, const Loop& b) {
  if (magnitude(a.addressed) != magnitude(b.addressed))
    return magnitude(a.addressed) > magnitude(b.addressed);
  if (magnitude(a.other) != magnitude(b.other)) return magnitude(a.other) > magnitude(b.other);
  return magnitude(a.index) > magnitude(b.index);
}

// Insertion sort: there are a handful of loops, and std::stable_sort would allocate.
void sort(Loop* loops, int count) {
  for (int i = 1; i < count; ++i) {
    const Loop moved = loops[i];
    int at = i;
    for (; at > 0 && lies_outside(moved, loops[at - 1]); --at) loops[at] = loops[at - 1];
    loops[at] = moved;
  }
}

int join(Loop* loops, int count) {
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    if (loops[i].extent == 1) continue;
    if (kept > 0 && joins(loops[kept - 1], loops[i])) {
      loops[i].extent *= loops[kept - 1].extent;
      --kept;
    }
    loops[kept++] = loops[i];
  }
  return kept;
}

void start(Plan& plan, const View& addressed, const View& indices, const View& other,
           bool scatter) {
  plan.addressed = addressed.bytes;
  plan.indices = indices.bytes;
  plan.other = other.bytes;
  plan.index_dtype = indices.dtype;
  plan.item = addressed.item;
  plan.scatter = scatter;
}

std::string text(const Loop& loop) {
  return std::to_string(loop.extent) + " (" + std::to_string(loop.addressed) + ", " +
         std::to_string(loop.index) + ", " + std::to_string(loop.other) + ")";
}

}  // namespace

// output[a..., i..., b...] = data[a..., indices[i...], b...]
Plan plan_gather(const View& data, const View& indices, int axis, const View& output) {
  Plan plan;
  start(plan, data, indices, output, false);
  for (int d = 0; d < data.rank; ++d) {
    if (d == axis) continue;
    const int o = d < axis ? d : d - 1 + indices.rank;
    plan.lanes[plan.lane_count++] = {data.shape[d], data.strides[d], 0, output.strides[o]};
  }
  for (int d = 0; d < indices.rank; ++d) {
    plan.picks[plan.pick_count++] = {indices.shape[d], 0, indices.strides[d],
                                     output.strides[axis + d]};
  }
  plan.axes[plan.axis_count++] = {data.shape[axis], data.strides[axis], 0};
  return plan;
}

// other[a..., p, b...] meets addressed[a..., indices[a..., p, b...], b...]
Plan plan_elements(const View& addressed, const View& indices, int axis, const View& other,
                   bool scatter) {
  Plan plan;
  start(plan, addressed, indices, other, scatter);
  for (int d = 0; d < indices.rank; ++d) {
    if (d != axis) {
      plan.lanes[plan.lane_count++] = {indices.shape[d], addressed.strides[d], indices.strides[d],
                                       other.strides[d]};
    }
  }
  plan.picks[plan.pick_count++] = {indices.shape[axis], 0, indices.strides[axis],
                                   other.strides[axis]};
  plan.axes[plan.axis_count++] = {addressed.shape[axis], addressed.strides[axis], 0};
  return plan;
}

// other[a..., i..., b...] meets addressed[a..., indices[a..., i..., 0], ..., indices[a..., i..., k
// - 1], b...]
Plan plan_nd(const View& addressed, const View& indices, int batch_dims, const View& other,
             bool scatter) {
  Plan plan;
  start(plan, addressed, indices, other, scatter);
  const int last = indices.rank - 1;
  const int k = static_cast<int>(indices.shape[last]);
  for (int d = 0; d < batch_dims; ++d) {
    plan.lanes[plan.lane_count++] = {addressed.shape[d], addressed.strides[d], indices.strides[d],
                                     other.strides[d]};
  }
  for (int d = batch_dims + k; d < addressed.rank; ++d) {
    plan.lanes[plan.lane_count++] = {addressed.shape[d], addressed.strides[d], 0,
                                     other.strides[last + d - batch_dims - k]};
  }
  for (int d = batch_dims; d < last; ++d) {
    plan.picks[plan.pick_count++] = {indices.shape[d], 0, indices.strides[d], other.strides[d]};
  }
  for (int j = 0; j < k; ++j) {
    const int d = batch_dims + j;
    plan.axes[plan.axis_count++] = {addressed.shape[d], addressed.strides[d],
                                    j * indices.strides[last]};
  }
  return plan;
}

void collapse(Plan& plan) {
  sort(plan.lanes, plan.lane_count);
  plan.lane_count = join(plan.lanes, plan.lane_count);
  if (!plan.scatter) sort(plan.picks, plan.pick_count);
  plan.pick_count = join(plan.picks, plan.pick_count);
  // A walk over a stride of 0 in all of the picks, or none at all, is still one walk.
  if (plan.pick_count == 0) plan.picks[plan.pick_count++] = {1, 0, 0, 0};
}

std::string describe(const Plan& plan) {
  std::string out = plan.scatter ? "scatter" : "gather";
  out += " of " + std::to_string(plan.item) +
         "-byte items; loops: extent (bytes in addressed, indices, other)\n";
  for (int i = 0; i < plan.lane_count; ++i) out += "  lane " + text(plan.lanes[i]) + "\n";
  for (int i = 0; i < plan.pick_count; ++i) out += "  pick " + text(plan.picks[i]) + "\n";
  for (int i = 0; i < plan.axis_count; ++i) {
    out += "  axis of " + std::to_string(plan.axes[i].length) + " cells, " +
           std::to_string(plan.axes[i].stride) + " bytes apart\n";
  }
  return out;
}

}  // namespace sowreap
