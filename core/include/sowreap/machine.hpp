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
std::int64_t memory_bytes();  // all of it; 2^63 - 1 where that cannot be found

// Memory that begins at a `page` and is a whole number of them, for std::free; null when there is
// none. It asks the system for its large pages where `page` is one.
inline constexpr std::int64_t large_page = 2 << 20;
void* allocate_pages(std::int64_t bytes, std::int64_t page);

// Memory for blocks of columns and for counts. Blocks are read at random, so it asks for pages of a
// size that spares address translation. Throws std::bad_alloc.
struct FreeBuffer {
  void operator()(char* bytes) const { std::free(bytes); }
};
using Buffer = std::unique_ptr<char[], FreeBuffer>;
Buffer allocate_buffer(std::int64_t bytes);
// Pages that are never touched take no memory; `dense`: most of them will be.
Buffer allocate_zeros(std::int64_t bytes, bool dense);

}  // namespace sowreap
