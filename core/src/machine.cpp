#include "sowreap/machine.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "sowreap/execute.hpp"

#if defined(SOWREAP_X86)
#include <cpuid.h>
#endif
#if !defined(_WIN32)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace sowreap {
namespace {

#if defined(SOWREAP_X86)
// Not every compiler's __builtin_cpu_supports knows the name. (That the system keeps the registers
// is part of its answer for avx2.)
bool has_f16c() {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

const Kernels& choose_kernels() {
#if defined(SOWREAP_X86)
  if (has_f16c()) {
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

std::int64_t memory_bytes() {
  static const std::int64_t bytes = [] {
    std::int64_t pages = 0;
#if defined(_SC_PHYS_PAGES)
    pages = sysconf(_SC_PHYS_PAGES);
#endif
    if (pages <= 0) return std::numeric_limits<std::int64_t>::max();
#if defined(_SC_PHYS_PAGES)
    pages *= sysconf(_SC_PAGESIZE);
#endif
    return pages;
  }();
  return bytes;
}

void* allocate_pages(std::int64_t bytes, std::int64_t page) {
#if defined(_WIN32)
  // What begins at a page there is not for std::free. (It is for speed alone.)
  static_cast<void>(page);
  void* memory = std::malloc(static_cast<std::size_t>(bytes));
#else
  void* memory =
      std::aligned_alloc(static_cast<std::size_t>(page), static_cast<std::size_t>(bytes));
#endif
#if defined(MADV_HUGEPAGE)
  if (memory != nullptr && page == large_page)
    madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#endif
  return memory;
}

Buffer allocate_buffer(std::int64_t bytes) {
  const std::int64_t rounded = (bytes + large_page - 1) / large_page * large_page;
  Buffer buffer(static_cast<char*>(allocate_pages(rounded, large_page)));
  if (buffer == nullptr) throw std::bad_alloc();
  return buffer;
}

Buffer allocate_zeros(std::int64_t bytes, bool dense) {
  Buffer buffer(static_cast<char*>(std::calloc(static_cast<std::size_t>(bytes), 1)));
  if (buffer == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (dense && bytes >= 2 * large_page) {
    char* first =
        buffer.get() + large_page - reinterpret_cast<std::uintptr_t>(buffer.get()) % large_page;
    madvise(first, static_cast<std::size_t>(buffer.get() + bytes - first), MADV_HUGEPAGE);
  }
#else
  static_cast<void>(dense);
#endif
  return buffer;
}

const char* instruction_set() { return kernels().name; }

}  // namespace sowreap
