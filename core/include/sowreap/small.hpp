// Calls on so few items that planning them would take longer than moving them.
#pragma once

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

// Does all of a call, or nothing and returns false: then it is too large, of a kind that is not
// done here, or one of its indices is out of range.
bool move_if_small(const SmallMove& call);

}  // namespace sowreap
