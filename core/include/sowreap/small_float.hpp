// Arithmetic of the formats of at most eight bits, as tables of all pairs.
#pragma once

#include <cstdint>

#include "sowreap/dtype.hpp"
#include "sowreap/reduction.hpp"

namespace sowreap {

// 65536 bytes: entry a * 256 + b is the item that `reduction` makes of a and b. Built at first use,
// kept.
const std::uint8_t* small_table(Dtype dtype, Reduction reduction);

}  // namespace sowreap
