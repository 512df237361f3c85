// Arithmetic of the formats of at most eight bits, as tables of all pairs.
#pragma once

#include <cstdint>

#include "sowreap/dtype.hpp"
#include "sowreap/reduction.hpp"

namespace sowreap {

// 65536 bytes: entry a * 256 + b is the item that `reduction` makes of a and b. Built at first use,
// kept.
// For mean it is the table of add.
const std::uint8_t* small_table(Dtype dtype, Reduction reduction);

// The end of a mean: an item by the number of its terms. The table holds the quotients by 1 to 255:
// entry terms * 256 + item.
const std::uint8_t* small_quotients(Dtype dtype);
std::uint8_t small_quotient(Dtype dtype, std::uint8_t item, std::int64_t terms);

}  // namespace sowreap
