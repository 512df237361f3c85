// What this machine offers, found once.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "sowreap/kernels.hpp"

namespace sowreap {

const Kernels& kernels();  // of the best instruction set
std::int64_t
cache_bytes();  // half of a core's second-level cache: what a block of columns may fill

// Memory for blocks of columns and for counts. Blocks are read at random, so it asks for pages of a
// size that spares address translation. Throws std::bad_alloc.
struct FreeBuffer {
  void operator()(char* bytes) const { std::free(bytes); }
};
using Buffer = std::unique_ptr<char[], FreeBuffer>;
Buffer allocate_buffer(std::int64_t bytes);
Buffer allocate_zeros(std::int64_t bytes);  // pages that are never touched take no memory

}  // namespace sowreap
