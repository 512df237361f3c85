// An array that somebody else owns: where it starts, how far apart its items are.
#pragma once

#include <cstdint>

#include "sowreap/dtype.hpp"

namespace sowreap {

inline constexpr int max_rank = 64;  // NumPy's limit

struct View {
  char* bytes = nullptr;  // the item at position (0, ..., 0)
  int rank = 0;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;  // in bytes, of any sign
  Dtype dtype = Dtype::opaque;
  std::int64_t item = 0;  // bytes of an item
};

// Whether the items lie one after the other, the last axis innermost.
inline bool is_in_c_order(const View& v) {
  std::int64_t step = v.item;
  for (int d = v.rank - 1; d >= 0; --d) {
    if (v.shape[d] != 1 && v.strides[d] != step) return false;
    step *= v.shape[d];
  }
  return true;
}

// A shape with its own storage.
struct Shape {
  int rank = 0;
  std::int64_t sizes[max_rank];

  void append(std::int64_t size) { sizes[rank++] = size; }
};

}  // namespace sowreap
