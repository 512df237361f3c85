// Memory of results that nobody uses any more, kept for the next ones: the first touch of a new
// page costs more than the item that is written there.
#pragma once

#include <cstddef>

namespace sowreap {

// Smaller results are left to the allocator of the process, which reuses their pages by itself.
inline constexpr std::size_t pooled_bytes = 256 << 10;

// Null when there is no memory.
void* take_result(std::size_t bytes);
void give_result(void* bytes) noexcept;
// The first `bytes` of the old memory, or all of it, move to the new. Null: the old one is as it
// was.
void* resize_result(void* old, std::size_t bytes);

// How many unused bytes are kept at most; 0 keeps none.
std::size_t result_pool_limit();
void set_result_pool_limit(std::size_t bytes);
std::size_t result_pool_held();

}  // namespace sowreap
