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

// A shape with its own storage.
struct Shape {
  int rank = 0;
  std::int64_t sizes[max_rank];

  void append(std::int64_t size) { sizes[rank++] = size; }
};

}  // namespace sowreap
