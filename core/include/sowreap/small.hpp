// Calls on so few items that planning them would take longer than moving them.
#pragma once

#include <cstring>

#include "sowreap/array_view.hpp"

namespace sowreap {

enum class Address {
  cells,     // values of indices count along `axis`, and each addresses all of what lies inside it
  elements,  // likewise, and each addresses one item
  tuples,    // the last axis of indices holds tuples that count along the first axes
};

// A move without reduction. Shapes have been checked; arrays but for `indices` are in C order.
struct SmallMove {
  Address address;
  int axis;
  bool scatter;
  const View* addressed;  // data of a gather, output of a scatter
  const View* indices;    // int32 or int64
  const View* other;      // output of a gather, updates of a scatter
  const View* source;     // of a scatter into another array than data: data; otherwise null
};

// Copies bytes that do not overlap. A call of memcpy takes longer than moving those of an item or
// of a short row, which are two moves, of the first bytes and of the last.
inline void copy_few(char* to, const char* from, std::int64_t bytes) {
  struct Pair {
    std::uint64_t first, last;
  };
  const auto ends = [&]<class Unit>(Unit first) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(Unit));
    Unit last;
    std::memcpy(&first, from, sizeof(Unit));
    std::memcpy(&last, from + bytes - size, sizeof(Unit));
    std::memcpy(to, &first, sizeof(Unit));
    std::memcpy(to + bytes - size, &last, sizeof(Unit));
  };
  if (bytes > 32)
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  else if (bytes >= 16)
    ends(Pair{});
  else if (bytes >= 8)
    ends(std::uint64_t{});
  else if (bytes >= 4)
    ends(std::uint32_t{});
  else
    for (std::int64_t i = 0; i < bytes; ++i) to[i] = from[i];
}

// Does all of a call, or nothing and returns false: then it is too large, of a kind that is not
// done here, or one of its indices is out of range.
bool move_if_small(const SmallMove& call);

}  // namespace sowreap
