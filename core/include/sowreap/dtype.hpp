// The one list of element types. Moving an item needs its width alone; arithmetic needs the number
// type.
#pragma once

#include <cstdint>

namespace sowreap {

enum class Dtype : std::uint8_t {
  opaque,  // a fixed number of bytes without arithmetic
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  longdouble,
  complex64,
  complex128,
  clongdouble,
  // Formats of at most eight bits, one byte an item. Their arithmetic is a table (small_float.hpp).
  float8_e3m4,
  float8_e4m3,
  float8_e4m3b11fnuz,
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  float8_e8m0fnu,
  float6_e2m3fn,
  float6_e3m2fn,
  float4_e2m1fn,
  int2,
  uint2,
  int4,
  uint4,
};

inline constexpr Dtype first_small = Dtype::float8_e3m4;
inline constexpr int small_count =
    static_cast<int>(Dtype::uint4) - static_cast<int>(Dtype::float8_e3m4) + 1;

constexpr bool is_small(Dtype t) { return t >= first_small; }
constexpr bool is_index(Dtype t) { return t >= Dtype::int8 && t <= Dtype::uint64; }
// Calls `use` with a value of the C++ type of an index dtype.
template <class Use>
auto visit_index(Dtype dtype, Use&& use) {
  switch (dtype) {
    case Dtype::int8:
      return use(std::int8_t{});
    case Dtype::int16:
      return use(std::int16_t{});
    case Dtype::int32:
      return use(std::int32_t{});
    case Dtype::uint8:
      return use(std::uint8_t{});
    case Dtype::uint16:
      return use(std::uint16_t{});
    case Dtype::uint32:
      return use(std::uint32_t{});
    case Dtype::uint64:
      return use(std::uint64_t{});
    default:
      return use(std::int64_t{});
  }
}

inline std::int64_t index_bytes(Dtype dtype) {
  return visit_index(dtype, [](auto zero) { return static_cast<std::int64_t>(sizeof zero); });
}

constexpr bool is_complex(Dtype t) { return t >= Dtype::complex64 && t <= Dtype::clongdouble; }

}  // namespace sowreap
