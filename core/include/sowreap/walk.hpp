// Walking over nested loops. Part of the kernels, hence in the namespace of their instruction set.
#pragma once

#include <cstdint>

#include "sowreap/isa.hpp"
#include "sowreap/plan.hpp"

namespace sowreap {
inline namespace SOWREAP_ISA {

// Positions of nested loops in row-major order, with the three offsets kept along.
class Walk {
 public:
  std::int64_t addressed = 0, index = 0, other = 0;

  Walk(const Loop* loops, int count, std::int64_t position) : loops_(loops), count_(count) {
    for (int d = count - 1; d >= 0; --d) {
      at_[d] = position % loops[d].extent;
      position /= loops[d].extent;
      step(loops[d], at_[d]);
    }
  }

  void next() {
    for (int d = count_ - 1; d >= 0; --d) {
      if (++at_[d] < loops_[d].extent) return step(loops_[d], 1);
      step(loops_[d], 1 - loops_[d].extent);
      at_[d] = 0;
    }
  }

 private:
  void step(const Loop& loop, std::int64_t n) {
    addressed += n * loop.addressed;
    index += n * loop.index;
    other += n * loop.other;
  }

  const Loop* loops_;
  int count_;
  std::int64_t at_[2 * max_rank];
};

}  // namespace SOWREAP_ISA
}  // namespace sowreap
