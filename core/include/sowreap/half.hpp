// float16 and bfloat16: conversions from and to float, rounding to nearest, ties to even.
//
// Source of the formats: IEEE 754-2019 (binary16); bfloat16 is the upper half of binary32.
#pragma once

#include <cstdint>
#include <cstring>

#include "sowreap/isa.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace sowreap {
inline namespace SOWREAP_ISA {

inline float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline std::uint32_t bits_of_float(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct Float16 {
  static constexpr std::uint16_t infinity = 0x7c00;
  std::uint16_t bits;

  float to_float() const {
#if defined(__F16C__)
    return _cvtsh_ss(bits);
#else
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) return float_of_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    // Subnormals too: the pattern, read as a float exponent too small by 112, is scaled back
    // exactly.
    return float_of_bits(sign | bits_of_float(float_of_bits(rest << 13) * 0x1p112f));
#endif
  }

  static Float16 from_float(float value) {
#if defined(__F16C__)
    return {_cvtss_sh(value, 0)};
#else
    const std::uint32_t all = bits_of_float(value);
    const std::uint16_t sign = static_cast<std::uint16_t>(all >> 16 & 0x8000u);
    const std::uint32_t rest = all & 0x7fffffffu;
    std::uint32_t half;
    if (rest > 0x7f800000u) {
      half = 0x7e00u | (rest >> 13 & 0x3ffu);
    } else if (rest >= 0x477ff000u) {  // 65520 and above round to infinity
      half = 0x7c00u;
    } else if (rest < 0x38800000u) {  // below 2^-14: adding 0.5 lets the float unit round to 2^-24
      half = bits_of_float(float_of_bits(rest) + 0.5f) - 0x3f000000u;
    } else {
      half = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
    }
    return {static_cast<std::uint16_t>(sign | half)};
#endif
  }
};

#if defined(__F16C__)
// Eight of them at a time, or the first `count` and zeros.
struct EightFloats {
  __m256 values;

  template <int count>
  static EightFloats of_halves(const char* at) {
    __m128i halves = _mm_setzero_si128();
    std::memcpy(&halves, at, count * sizeof(Float16));
    return {_mm256_cvtph_ps(halves)};
  }
  template <int count>
  void to_halves(char* at) const {
    const __m128i halves = _mm256_cvtps_ph(values, 0);
    std::memcpy(at, &halves, count * sizeof(Float16));
  }
  friend EightFloats operator+(EightFloats a, EightFloats b) {
    return {_mm256_add_ps(a.values, b.values)};
  }
  friend EightFloats operator*(EightFloats a, EightFloats b) {
    return {_mm256_mul_ps(a.values, b.values)};
  }
};
#endif

struct BFloat16 {
  static constexpr std::uint16_t infinity = 0x7f80;
  std::uint16_t bits;

  float to_float() const { return float_of_bits(static_cast<std::uint32_t>(bits) << 16); }

  static BFloat16 from_float(float value) {
    const std::uint32_t all = bits_of_float(value);
    const std::uint32_t rounded = (all + 0x7fffu + (all >> 16 & 1u)) >> 16;
    const std::uint32_t quiet = all >> 16 | 0x40u;
    return {static_cast<std::uint16_t>((all & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
  }
};

}  // namespace SOWREAP_ISA
}  // namespace sowreap
