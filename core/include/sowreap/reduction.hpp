// One functor for each reduction: the rules of NaN, signed zero, overflow and bool are here and
// nowhere else.
//
// This header is compiled once for every instruction set (see kernels.cpp), so it lives in that
// namespace and calls nothing that could be shared between them by the linker.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sowreap/half.hpp"
#include "sowreap/isa.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace sowreap {

// mean is add, and one division of each cell by the number of its terms at the end.
enum class Reduction : std::uint8_t { none, add, mul, min, max, mean };

inline namespace SOWREAP_ISA {

// Integers wrap: the sum is formed in the unsigned type, where overflow is defined. Types shorter
// than int go through 32 bits, since uint16 * uint16 would be promoted to a signed int that can
// overflow.
template <class T>
struct wide_unsigned;
template <>
struct wide_unsigned<std::uint8_t> {
  using type = std::uint32_t;
};
template <>
struct wide_unsigned<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct wide_unsigned<std::uint32_t> {
  using type = std::uint32_t;
};
template <>
struct wide_unsigned<std::uint64_t> {
  using type = std::uint64_t;
};

template <class T>
struct AddInteger {
  using wide = typename wide_unsigned<T>::type;
  T operator()(T a, T b) const { return static_cast<T>(static_cast<wide>(a) + b); }
};
template <class T>
struct MulInteger {
  using wide = typename wide_unsigned<T>::type;
  T operator()(T a, T b) const { return static_cast<T>(static_cast<wide>(a) * b); }
};
// Of equal values the first stays. Written as a choice between values, not a branch.
template <class T>
struct MinInteger {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct MaxInteger {
  T operator()(T a, T b) const { return b > a ? b : a; }
};

template <class T>
struct AddFloat {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct MulFloat {
  T operator()(T a, T b) const { return a * b; }
};
// `b` where `take`, else `a`, without a branch: compilers make one of a choice between floats.
template <class T>
T choose(bool take, T b, T a) {
  if constexpr (sizeof(T) <= 8) {
    using Bits = std::conditional_t<
        sizeof(T) == 8, std::uint64_t,
        std::conditional_t<sizeof(T) == 4, std::uint32_t,
                           std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
    Bits x, y;
    std::memcpy(&x, &a, sizeof x);
    std::memcpy(&y, &b, sizeof y);
    x ^= static_cast<Bits>((x ^ y) & -static_cast<Bits>(take));
    std::memcpy(&a, &x, sizeof x);
    return a;
  } else {
    return take ? b : a;
  }
}

// NaN on either side gives NaN; -0.0 and 0.0 are equal, so the first stays. The tests are joined by
// `|` because `||` would be a branch. A choice between bits is what compilers make vector code of.
template <class T, bool least>
struct ExtremeFloat {
  T operator()(T a, T b) const { return choose((least ? b < a : b > a) | (b != b), b, a); }

  // Of one item, whose bits that choice would take through other registers. The instructions give
  // their second operand where both are equal or either is a NaN.
  static T alone(T a, T b) {
#if defined(__SSE2__)
    if constexpr (sizeof(T) == 4) {
      const __m128 x = _mm_set_ss(a), y = _mm_set_ss(b);
      const __m128 chosen = least ? _mm_min_ss(y, x) : _mm_max_ss(y, x);
      const __m128 nan = _mm_cmpunord_ss(y, y);
      return _mm_cvtss_f32(_mm_or_ps(_mm_andnot_ps(nan, chosen), _mm_and_ps(nan, y)));
    } else if constexpr (sizeof(T) == 8) {
      const __m128d x = _mm_set_sd(a), y = _mm_set_sd(b);
      const __m128d chosen = least ? _mm_min_sd(y, x) : _mm_max_sd(y, x);
      const __m128d nan = _mm_cmpunord_sd(y, y);
      return _mm_cvtsd_f64(_mm_or_pd(_mm_andnot_pd(nan, chosen), _mm_and_pd(nan, y)));
    }
#endif
    return ExtremeFloat{}(a, b);
  }
};
template <class T>
using MinFloat = ExtremeFloat<T, true>;
template <class T>
using MaxFloat = ExtremeFloat<T, false>;

// Half formats are computed in float and rounded after each update. A float has more than twice the
// bits of a half plus two, so rounding twice gives the correctly rounded sum and product.
template <class Half, template <class> class F>
struct ThroughFloat {
  Half operator()(Half a, Half b) const {
    return Half::from_float(F<float>{}(a.to_float(), b.to_float()));
  }

#if defined(__F16C__)
  static constexpr std::int64_t longest_block = std::is_same_v<Half, Float16> ? 8 : 32;
  // Of `count` items that follow each other.
  template <std::int64_t count>
    requires std::is_same_v<Half, Float16>
  static void block(char* result, const char* to, const char* from) {
    F<EightFloats>{}(EightFloats::of_halves<count>(to), EightFloats::of_halves<count>(from))
        .template to_halves<count>(result);
  }
#endif
};

// min and max of half formats choose one of the two, bits and all. Rows compare them as integers,
// so that many fit a vector register without being converted. The bits of a number are its place
// among those of its sign; those of negative numbers run the other way.
template <class Half>
std::int16_t place_of(Half half) {
  const auto bits = static_cast<std::int16_t>(half.bits);
  return static_cast<std::int16_t>(bits ^ (static_cast<std::uint16_t>(bits >> 15) >> 1));
}
template <class Half>
bool is_nan(Half half) {
  return static_cast<std::uint16_t>(half.bits & 0x7fff) > Half::infinity;
}
// Of `count` items; `before` says of two places whether the second comes first. Zeros of both signs
// are equal, and a NaN stays or replaces.
template <std::int64_t count, class Half, class Before>
void choose_block(char* result, const char* to, const char* from, Before before) {
#pragma GCC unroll 1
  for (std::int64_t i = 0; i < count; ++i) {
    Half a, b;
    std::memcpy(&a, to + i * 2, sizeof a);
    std::memcpy(&b, from + i * 2, sizeof b);
    const bool zeros = static_cast<std::uint16_t>((a.bits | b.bits) & 0x7fff) == 0;
    const bool take = is_nan(b) | (before(place_of(a), place_of(b)) & !zeros & !is_nan(a));
    a = choose(take, b, a);
    std::memcpy(result + i * 2, &a, sizeof a);
  }
}
template <class Half>
struct MinHalf {
  Half operator()(Half a, Half b) const {
    const float x = a.to_float(), y = b.to_float();
    return choose((y < x) | (y != y), b, a);
  }
  static constexpr std::int64_t longest_block = 32;
  template <std::int64_t count>
  static void block(char* result, const char* to, const char* from) {
    choose_block<count, Half>(result, to, from,
                              [](std::int16_t a, std::int16_t b) { return b < a; });
  }
};
template <class Half>
struct MaxHalf {
  Half operator()(Half a, Half b) const {
    const float x = a.to_float(), y = b.to_float();
    return choose((y > x) | (y != y), b, a);
  }
  static constexpr std::int64_t longest_block = 32;
  template <std::int64_t count>
  static void block(char* result, const char* to, const char* from) {
    choose_block<count, Half>(result, to, from,
                              [](std::int16_t a, std::int16_t b) { return b > a; });
  }
};

template <class T>
struct Complex {
  T re, im;
};
template <class T>
struct AddComplex {
  Complex<T> operator()(Complex<T> a, Complex<T> b) const { return {a.re + b.re, a.im + b.im}; }
};
template <class T>
struct MulComplex {
  Complex<T> operator()(Complex<T> a, Complex<T> b) const {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

// The end of a mean: a sum by the number of its terms, which is at least 1. Integers floor. Half
// formats divide in float and round once.
template <class T>
struct QuotientInteger {
  T operator()(T sum, std::int64_t terms) const {
    if constexpr (std::is_signed_v<T>) {
      const std::int64_t wide = sum;
      return static_cast<T>(wide / terms - (wide % terms < 0));
    } else {
      return static_cast<T>(static_cast<std::uint64_t>(sum) / static_cast<std::uint64_t>(terms));
    }
  }
};
template <class T>
struct QuotientFloat {
  T operator()(T sum, std::int64_t terms) const { return sum / static_cast<T>(terms); }
};
template <class Half>
struct QuotientHalf {
  Half operator()(Half sum, std::int64_t terms) const {
    return Half::from_float(sum.to_float() / static_cast<float>(terms));
  }
};
template <class T>
struct QuotientComplex {
  Complex<T> operator()(Complex<T> sum, std::int64_t terms) const {
    return {sum.re / static_cast<T>(terms), sum.im / static_cast<T>(terms)};
  }
};

// NumPy's bool is a byte; any byte but 0 is true.
struct Or {
  std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const { return (a | b) != 0; }
};
struct And {
  std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const {
    return static_cast<std::uint8_t>((a != 0) & (b != 0));
  }
};

}  // namespace SOWREAP_ISA
}  // namespace sowreap
