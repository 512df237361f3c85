// Sources of the formats: OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2), OCP Microscaling
// Formats 1.0 (E8M0, FP6, FP4), "8-bit Numerical Formats for Deep Neural Networks" (the FNUZ
// kinds), IEEE P3109 drafts as ml_dtypes has them (E3M4, E4M3). Results out of range become what
// ml_dtypes makes of them.
#include "sowreap/small_float.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>

namespace sowreap {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

enum class Special {
  ieee,      // the highest exponent holds infinities and NaN
  nan_only,  // all bits set but the sign is NaN; no infinity
  nan_zero,  // the pattern of -0 is the NaN; no infinity, no -0
  none,      // all patterns are numbers
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Special special;
};

Format format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float8_e3m4:
      return {3, 4, 3, Special::ieee};
    case Dtype::float8_e4m3:
      return {4, 3, 7, Special::ieee};
    case Dtype::float8_e4m3b11fnuz:
      return {4, 3, 11, Special::nan_zero};
    case Dtype::float8_e4m3fn:
      return {4, 3, 7, Special::nan_only};
    case Dtype::float8_e4m3fnuz:
      return {4, 3, 8, Special::nan_zero};
    case Dtype::float8_e5m2:
      return {5, 2, 15, Special::ieee};
    case Dtype::float8_e5m2fnuz:
      return {5, 2, 16, Special::nan_zero};
    case Dtype::float6_e2m3fn:
      return {2, 3, 1, Special::none};
    case Dtype::float6_e3m2fn:
      return {3, 2, 3, Special::none};
    default:
      return {2, 1, 1, Special::none};  // float4_e2m1fn
  }
}

class SmallFloat {
 public:
  explicit SmallFloat(Format f) : format_(f), sign_(1 << (f.exponent_bits + f.mantissa_bits)) {
    for (int bits = 0; bits < sign_; ++bits) {
      if (std::isfinite(decode(bits))) largest_ = bits;
    }
  }

  double decode(int bits) const {
    const int magnitude = bits & (sign_ - 1);
    const bool negative = (bits & sign_) != 0;
    const int top = (1 << format_.exponent_bits) - 1;
    const int exponent = magnitude >> format_.mantissa_bits;
    const int mantissa = magnitude & ((1 << format_.mantissa_bits) - 1);
    if (format_.special == Special::nan_zero && negative && magnitude == 0) return nan;
    if (format_.special == Special::nan_only && magnitude == sign_ - 1) return nan;
    if (format_.special == Special::ieee && exponent == top) {
      if (mantissa != 0) return nan;
      return negative ? -infinity : infinity;
    }
    const int implied = exponent == 0 ? 0 : 1 << format_.mantissa_bits;
    const double value = std::ldexp(implied + mantissa,
                                    std::max(exponent, 1) - format_.bias - format_.mantissa_bits);
    return negative ? -value : value;
  }

  // To the nearest, ties to the even mantissa. Patterns of positive numbers are ordered as their
  // values are.
  std::uint8_t encode(double value) const {
    if (std::isnan(value)) return not_a_number(std::signbit(value));
    const bool negative = std::signbit(value);
    const double x = std::fabs(value);
    int low = 0;
    while (low < largest_ && decode(low + 1) <= x) ++low;
    int bits = low;
    if (x > decode(low)) {
      const double above = low < largest_ ? decode(low + 1) : 2 * decode(low) - decode(low - 1);
      const double up = above - x, down = x - decode(low);
      if (up < down || (up == down && (low & 1) != 0)) bits = low + 1;
    }
    if (bits > largest_) return too_large(negative);
    if (bits == 0 && format_.special == Special::nan_zero) return 0;
    return static_cast<std::uint8_t>(bits | (negative ? sign_ : 0));
  }

 private:
  std::uint8_t too_large(bool negative) const {
    const int sign = negative ? sign_ : 0;
    switch (format_.special) {
      case Special::none:
        return static_cast<std::uint8_t>(largest_ | sign);
      case Special::ieee:
        return static_cast<std::uint8_t>((largest_ + 1) | sign);
      default:
        return not_a_number(negative);
    }
  }

  std::uint8_t not_a_number(bool negative) const {
    const int sign = negative ? sign_ : 0;
    switch (format_.special) {
      case Special::nan_zero:
        return static_cast<std::uint8_t>(sign_);
      case Special::nan_only:
        return static_cast<std::uint8_t>((sign_ - 1) | sign);
      case Special::ieee:
        return static_cast<std::uint8_t>((largest_ + 1) | 1 << (format_.mantissa_bits - 1) | sign);
      default:
        return static_cast<std::uint8_t>(sign_);
    }
  }

  Format format_;
  int sign_;
  int largest_ = 0;  // pattern of the largest finite number
};

// Powers of two from 2^-127 on, without sign and zero; 255 is NaN.
struct Exponent {
  double decode(int bits) const { return bits == 255 ? nan : std::ldexp(1.0, bits - 127); }

  std::uint8_t encode(double value) const {
    int exponent;
    const double fraction = std::frexp(value, &exponent);  // in [0.5, 1), or NaN
    // As in ml_dtypes: half way goes up; NaN is what is too large, and what is zero as a float, for
    // there is no zero. Anything smaller than the smallest number becomes that.
    const int bits = exponent - 1 + 127 + (fraction >= 0.75 ? 1 : 0);
    if (std::isnan(value) || bits > 254 || static_cast<float>(value) == 0) return 255;
    return static_cast<std::uint8_t>(std::max(bits, 0));
  }
};

// Integers of `bits` bits in the low end of a byte; results wrap.
struct SmallInteger {
  int bits;
  bool has_sign;

  double decode(int byte) const {
    const int low = byte & ((1 << bits) - 1);
    return has_sign && low >> (bits - 1) != 0 ? low - (1 << bits) : low;
  }
  std::uint8_t encode(double value) const {
    return static_cast<std::uint8_t>(static_cast<int>(value) & ((1 << bits) - 1));
  }
};

// As of a float, for all that are no integers: by way of float, as ml_dtypes computes.
template <class Format>
std::uint8_t quotient(const Format& format, std::uint8_t item, std::int64_t terms) {
  const double sum = format.decode(item);
  if constexpr (std::is_same_v<Format, SmallInteger>) {
    return format.encode(std::floor(sum / static_cast<double>(terms)));
  } else {
    return format.encode(static_cast<float>(sum) / static_cast<float>(terms));
  }
}

template <class Format>
void fill(const Format& format, Reduction reduction, std::uint8_t* table) {
  double values[256];
  for (int i = 0; i < 256; ++i) values[i] = format.decode(i);
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const double x = values[a], y = values[b];
      int item;
      switch (reduction) {
        case Reduction::add:
          item = format.encode(x + y);
          break;
        case Reduction::mul:
          item = format.encode(x * y);
          break;
        case Reduction::min:
          item = y < x || y != y ? b : a;
          break;
        default:
          item = y > x || y != y ? b : a;
          break;
      }
      table[a << 8 | b] = static_cast<std::uint8_t>(item);
    }
  }
}

// Calls `use` with the format of a dtype.
template <class Use>
auto visit_format(Dtype dtype, Use&& use) {
  switch (dtype) {
    case Dtype::float8_e8m0fnu:
      return use(Exponent{});
    case Dtype::int2:
      return use(SmallInteger{2, true});
    case Dtype::uint2:
      return use(SmallInteger{2, false});
    case Dtype::int4:
      return use(SmallInteger{4, true});
    case Dtype::uint4:
      return use(SmallInteger{4, false});
    default:
      return use(SmallFloat(format_of(dtype)));
  }
}

void fill_quotients(Dtype dtype, std::uint8_t* table) {
  visit_format(dtype, [table](const auto& format) {
    for (int terms = 1; terms < 256; ++terms) {
      for (int item = 0; item < 256; ++item) {
        table[terms << 8 | item] = quotient(format, static_cast<std::uint8_t>(item), terms);
      }
    }
  });
}

// One for each reduction but none, the one of mean being that of its quotients.
constexpr int table_count = 5;
std::atomic<const std::uint8_t*> tables[small_count][table_count];

template <class Fill>
const std::uint8_t* find_table(Dtype dtype, Reduction reduction, const Fill& fill_table) {
  std::atomic<const std::uint8_t*>& slot =
      tables[static_cast<int>(dtype) - static_cast<int>(first_small)]
            [static_cast<int>(reduction) - 1];
  if (const std::uint8_t* ready = slot.load(std::memory_order_acquire)) return ready;
  // Two threads may build it at once; one table stays. A lock could be held by another thread
  // during a fork.
  auto* table = new std::uint8_t[256 * 256];
  fill_table(table);
  const std::uint8_t* ready = nullptr;
  if (slot.compare_exchange_strong(ready, table, std::memory_order_acq_rel)) return table;
  delete[] table;
  return ready;
}

}  // namespace

const std::uint8_t* small_table(Dtype dtype, Reduction reduction) {
  if (reduction == Reduction::mean) reduction = Reduction::add;
  return find_table(dtype, reduction, [&](std::uint8_t* table) {
    visit_format(dtype, [&](const auto& format) { fill(format, reduction, table); });
  });
}

const std::uint8_t* small_quotients(Dtype dtype) {
  return find_table(dtype, Reduction::mean,
                    [&](std::uint8_t* table) { fill_quotients(dtype, table); });
}

std::uint8_t small_quotient(Dtype dtype, std::uint8_t item, std::int64_t terms) {
  return visit_format(dtype, [&](const auto& format) { return quotient(format, item, terms); });
}

}  // namespace sowreap
