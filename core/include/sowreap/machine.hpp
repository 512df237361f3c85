// What this machine offers, found once.
#pragma once

#include <cstdint>

#include "sowreap/kernels.hpp"

namespace sowreap {

const Kernels& kernels();  // of the best instruction set
std::int64_t
cache_bytes();  // half of a core's second-level cache: what a block of columns may fill

}  // namespace sowreap
