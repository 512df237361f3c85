// Instructions that compilers do not choose by themselves: loads by a vector of cells, and stores
// that pass the caches by. Like the kernels this is compiled once for each instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "sowreap/isa.hpp"

namespace sowreap {
inline namespace SOWREAP_ISA {

// Whether gather_wide takes the cells of an axis: it multiplies 32 bits by 32.
constexpr bool fits_wide(std::int64_t unit, std::int64_t length) {
  constexpr std::int64_t limit = std::int64_t{1} << 32;
  return unit >= 0 && unit < limit && length < limit;
}

#if defined(__AVX512F__)
// The items at base + at, eight of them, into a contiguous run.
template <std::int64_t width>
void gather_eight(char* to, const char* base, __m512i at) {
  if constexpr (width == 4) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), 0xff, at, base, 1));
  } else {
    _mm512_storeu_si512(to, _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), 0xff, at, base, 1));
  }
}
#endif

// The first items of a run of n whose item i is at base + cells[i] * unit + i * step, into a
// contiguous run, by eight. Returns how many those are: none where this would not be faster.
template <std::int64_t width>
std::int64_t gather_wide([[maybe_unused]] char* to, [[maybe_unused]] const char* base,
                         [[maybe_unused]] const std::int64_t* cells,
                         [[maybe_unused]] std::int64_t unit, [[maybe_unused]] std::int64_t step,
                         [[maybe_unused]] std::int64_t n) {
  std::int64_t done = 0;
#if defined(__AVX512F__)
  if constexpr (width == 4 || width == 8) {
    const __m512i units = _mm512_set1_epi64(unit), steps = _mm512_set1_epi64(8 * step);
    const __m512i eight = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i lane = _mm512_mullo_epi64(eight, _mm512_set1_epi64(step));
    for (; done + 8 <= n; done += 8) {
      const __m512i cell = _mm512_maskz_mul_epu32(0xff, _mm512_loadu_si512(cells + done), units);
      gather_eight<width>(to + done * width, base, _mm512_add_epi64(cell, lane));
      lane = _mm512_add_epi64(lane, steps);
    }
  }
#endif
  return done;
}

// The same where item i is at base + cells[i] * unit + at[i].
template <std::int64_t width>
std::int64_t gather_wide_at([[maybe_unused]] char* to, [[maybe_unused]] const char* base,
                            [[maybe_unused]] const std::int64_t* cells,
                            [[maybe_unused]] std::int64_t unit,
                            [[maybe_unused]] const std::int64_t* at,
                            [[maybe_unused]] std::int64_t n) {
  std::int64_t done = 0;
#if defined(__AVX512F__)
  if constexpr (width == 4 || width == 8) {
    const __m512i units = _mm512_set1_epi64(unit);
    for (; done + 8 <= n; done += 8) {
      const __m512i cell = _mm512_maskz_mul_epu32(0xff, _mm512_loadu_si512(cells + done), units);
      const __m512i lane = _mm512_loadu_si512(at + done);
      gather_eight<width>(to + done * width, base, _mm512_add_epi64(cell, lane));
    }
  }
#endif
  return done;
}

// Of the first cells, by eight, keeps those in [begin, end), in their order, and lists their
// positions; at most as many are written behind those kept as have been looked at. Returns how many
// were looked at, and adds to `kept`.
inline std::int64_t keep_wide([[maybe_unused]] std::int64_t begin,
                              [[maybe_unused]] std::int64_t end,
                              [[maybe_unused]] std::int64_t* cells,
                              [[maybe_unused]] std::int32_t* listed,
                              [[maybe_unused]] std::int64_t n,
                              [[maybe_unused]] std::int64_t& kept) {
  std::int64_t done = 0;
#if defined(__AVX512F__)
  const __m512i least = _mm512_set1_epi64(begin), beyond = _mm512_set1_epi64(end);
  __m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (; done + 8 <= n; done += 8) {
    const __m512i cell = _mm512_loadu_si512(cells + done);
    const __mmask8 keep = static_cast<__mmask8>(_mm512_cmpge_epi64_mask(cell, least) &
                                                _mm512_cmplt_epi64_mask(cell, beyond));
    // Whole vectors: a store of chosen lanes alone takes many times as long on some processors.
    _mm512_storeu_si512(cells + kept, _mm512_maskz_compress_epi64(keep, cell));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(listed + kept),
                        _mm256_maskz_compress_epi32(keep, at));
    kept += __builtin_popcount(keep);
    at = _mm256_add_epi32(at, _mm256_set1_epi32(8));
  }
#endif
  return done;
}

// Copies bytes that will not be read again soon: whole cache lines go to memory without having been
// read from there. Other threads see them when a StreamFence has ended.
inline void stream(char* __restrict to, const char* __restrict from, std::int64_t bytes) {
#if defined(__SSE2__)
  constexpr std::int64_t line = 64;
  const auto head = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) & (line - 1));
  if (head + line > bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  std::memcpy(to, from, static_cast<std::size_t>(head));
  std::int64_t i = head;
  for (; i + line <= bytes; i += line) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
#else
    for (std::int64_t j = i; j < i + line; j += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + j),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j)));
    }
#endif
  }
  std::memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

struct StreamFence {
  bool streams;
  explicit StreamFence(bool streams) : streams(streams) {}
  StreamFence(const StreamFence&) = delete;
  ~StreamFence() {
#if defined(__SSE2__)
    if (streams) _mm_sfence();
#endif
  }
};

}  // namespace SOWREAP_ISA
}  // namespace sowreap
