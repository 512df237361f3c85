#include "sowreap/machine.hpp"

#include <algorithm>
#include <new>

#include "sowreap/execute.hpp"

#if !defined(_WIN32)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace sowreap {
namespace {

const Kernels& choose_kernels() {
#if defined(SOWREAP_X86)
  if (__builtin_cpu_supports("f16c")) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return kernels_avx512;
    }
    if (__builtin_cpu_supports("avx2")) return kernels_avx2;
  }
#endif
  return kernels_baseline;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose_kernels();
  return chosen;
}

std::int64_t cache_bytes() {
  static const std::int64_t bytes = [] {
    std::int64_t found = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
    found = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return std::clamp<std::int64_t>(found / 2, 128 << 10, 1 << 20);
  }();
  return bytes;
}

Buffer allocate_buffer(std::int64_t bytes) {
  constexpr std::int64_t page = 2 << 20;
  const std::int64_t rounded = (bytes + page - 1) / page * page;
  Buffer buffer(static_cast<char*>(
      std::aligned_alloc(static_cast<std::size_t>(page), static_cast<std::size_t>(rounded))));
  if (buffer == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  madvise(buffer.get(), static_cast<std::size_t>(rounded), MADV_HUGEPAGE);
#endif
  return buffer;
}

Buffer allocate_zeros(std::int64_t bytes) {
  Buffer buffer(static_cast<char*>(std::calloc(static_cast<std::size_t>(bytes), 1)));
  if (buffer == nullptr) throw std::bad_alloc();
  return buffer;
}

const char* instruction_set() { return kernels().name; }

}  // namespace sowreap
