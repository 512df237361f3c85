// What an index outside of its axis means.
#pragma once

#include <cstdint>

namespace sowreap {

enum class Mode : std::uint8_t {
  raise,   // an error
  wrap,    // the cell modulo the length of the axis
  clip,    // the nearest cell; negative values are the first
  absent,  // no cell: gathers fill, scatters drop. A tuple is absent with any of its components.
};

}  // namespace sowreap
