// The loops over data. Compiled once for each instruction set: -DSOWREAP_ISA=name with the compiler
// flags of that set. Everything here is in the inline namespace of that name, and nothing of the
// C++ library is called, so that no code compiled for one set can be linked into another.

#include "sowreap/kernels.hpp"

#include <cstring>
#include <limits>
#include <type_traits>

#include "sowreap/small_float.hpp"
#include "sowreap/walk.hpp"
#include "sowreap/watch.hpp"
#include "sowreap/wide.hpp"

namespace sowreap {
inline namespace SOWREAP_ISA {
namespace {

using std::int64_t;

// How far ahead memory is asked for.
constexpr int64_t items_ahead = 128;       // single items, by index
constexpr int64_t items_near = 16;         // single items, of the second level of the cache
constexpr int64_t bytes_ahead = 8 * 1024;  // slices, by index
constexpr int64_t rows_ahead = 8;          // rows of a block of columns: no processor follows those
constexpr int64_t indices_ahead = 4096;    // bytes
constexpr int64_t counts_ahead = 32;       // cells whose updates are counted
constexpr int64_t line = 64;               // bytes
constexpr int64_t most_lines = 16;         // of one row; from there on the processor follows
constexpr int64_t staged_bytes = 16 * chunk;  // of a result that is streamed from the cache
constexpr int64_t staged_row = 2048;          // bytes; longer rows are streamed from where they are

constexpr int64_t stand_ins = 4;  // a power of two: for cells that are absent

constexpr int64_t piece_bytes = 4 << 20;  // written without a look whether the call is to be left

// ---- what is done with one item, and with a run of items ----

template <int64_t N>
struct Move {
  static constexpr bool moves = true;
  explicit Move(const Work&) {}
  static constexpr int64_t width() { return N; }

  void operator()(char* to, const char* from) const { std::memcpy(to, from, N); }
  void row(char* __restrict to, const char* __restrict from, int64_t n) const {
    std::memcpy(to, from, static_cast<std::size_t>(n * N));
  }
};

struct MoveBytes {
  static constexpr bool moves = true;
  int64_t bytes;
  explicit MoveBytes(const Work& work) : bytes(work.plan->item) {}
  int64_t width() const { return bytes; }

  void operator()(char* to, const char* from) const {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void row(char* __restrict to, const char* __restrict from, int64_t n) const {
    std::memcpy(to, from, static_cast<std::size_t>(n * bytes));
  }
};

template <class T, class F>
struct Combine {
  static constexpr bool moves = false;
  F f;
  explicit Combine(const Work&) {}
  static constexpr int64_t width() { return sizeof(T); }

  void operator()(char* to, const char* from) const {
    T a, b;
    std::memcpy(&a, to, sizeof a);
    std::memcpy(&b, from, sizeof b);
    if constexpr (requires { F::alone(a, b); }) {
      a = F::alone(a, b);
    } else {
      a = f(a, b);
    }
    std::memcpy(to, &a, sizeof a);
  }
  // The update itself where it is the first one.
  void start_or(char* to, const char* from, bool first) const {
    T a, b;
    std::memcpy(&a, to, sizeof a);
    std::memcpy(&b, from, sizeof b);
    a = choose(first, b, f(a, b));
    std::memcpy(to, &a, sizeof a);
  }
  void row(char* to, const char* from, int64_t n) const { row_by<longest_block()>(to, from, n); }

 private:
  static constexpr int64_t longest_block() {
    if constexpr (requires { F::longest_block; }) return F::longest_block;
    return line / width();
  }

  // By blocks of a length that the compiler knows: the longest that fits, and one more that ends
  // where the row does. That one is formed before anything is written, so that what it shares with
  // the block before it is combined once.
  template <int64_t count>
  void row_by(char* __restrict to, const char* __restrict from, int64_t n) const {
    if constexpr (count > 1) {
      if (n < count) return row_by<count / 2>(to, from, n);
    }
    if (n == 0) return;
    const int64_t end = (n - count) * width();
    char last[count * width()];
    block<count>(last, to + end, from + end);
    for (int64_t i = 0; i < end; i += count * width()) block<count>(to + i, to + i, from + i);
    std::memcpy(to + end, last, sizeof last);
  }
  template <int64_t count>
  void block(char* result, const char* to, const char* from) const {
    if constexpr (requires { F::template block<count>(result, to, from); }) {
      F::template block<count>(result, to, from);
    } else {
#pragma GCC unroll 1  // or it is unrolled into single items, before vectors are tried
      for (int64_t i = 0; i < count; ++i) {
        T a, b;
        std::memcpy(&a, to + i * width(), sizeof a);
        std::memcpy(&b, from + i * width(), sizeof b);
        a = f(a, b);
        std::memcpy(result + i * width(), &a, sizeof a);
      }
    }
  }
};

struct Lookup {
  static constexpr bool moves = false;
  const std::uint8_t* table;
  explicit Lookup(const Work& work) : table(work.table) {}
  static constexpr int64_t width() { return 1; }

  void operator()(char* to, const char* from) const {
    const unsigned a = static_cast<unsigned char>(*to), b = static_cast<unsigned char>(*from);
    *to = static_cast<char>(table[a << 8 | b]);
  }
  void start_or(char* to, const char* from, bool first) const {
    const char start = *from;
    (*this)(to, from);
    *to = first ? start : *to;
  }
  void row(char* __restrict to, const char* __restrict from, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) (*this)(to + i, from + i);
  }
};

template <class Op>
void apply_run(const Op& op, char* to, int64_t to_step, const char* from, int64_t from_step,
               int64_t n) {
  if (to_step == op.width() && from_step == op.width()) {
    op.row(to, from, n);
  } else {
    for (int64_t i = 0; i < n; ++i) op(to + i * to_step, from + i * from_step);
  }
}

// Brings the cache lines of [at, at + bytes) near, at most `most_lines` of them: into the second
// level of the cache, since rows a power of two apart would meet in a few sets of the first.
template <bool write>
void fetch(const char* at, int64_t bytes) {
  const auto before = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(at) % line);
  const int64_t last = (before + bytes - 1) / line, most = last < most_lines ? last : most_lines;
  for (int64_t i = 0; i <= most; ++i) __builtin_prefetch(at + i * line, write, 2);
}

// ---- indices to cells ----

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// `value` modulo `length`, without a division: `inverse` is 2^64 - 1 by length, rounded down, and
// its product with the value is the quotient, or one less.
template <class I>
int64_t fold(I value, std::uint64_t length, std::uint64_t inverse) {
  __extension__ using Wide = unsigned __int128;
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint64_t negative = value < static_cast<I>(0) ? ~std::uint64_t{0} : 0;  // a mask
  const std::uint64_t from_zero = bits ^ negative;
  const auto quotient = static_cast<std::uint64_t>(static_cast<Wide>(from_zero) * inverse >> 64);
  std::uint64_t rest = from_zero - quotient * length;
  rest -= length & -static_cast<std::uint64_t>(rest >= length);
  return static_cast<int64_t>((rest ^ negative) + (length & negative));
}

// The same of n values that are all nearer to 0 than 2^50; false where one is not, or where `fold`
// is faster. Quotients are taken of doubles, which vectors have, and rounded to the nearest whole
// number: less than 0.75 off, so that what remains is less than a length from 0. No product reaches
// 2^53: all are exact.
template <class I>
bool fold_wide([[maybe_unused]] const char* values, [[maybe_unused]] int64_t step,
               [[maybe_unused]] int64_t n, [[maybe_unused]] int64_t length,
               [[maybe_unused]] int64_t* __restrict cells) {
#if defined(__AVX512DQ__)
  constexpr bool is_signed = static_cast<I>(-1) < static_cast<I>(0);
  constexpr std::uint64_t most = std::uint64_t{1} << 50;
  constexpr double rounds = 0x1.8p52;  // no sum with it has a fraction
  if (static_cast<std::uint64_t>(length) > most) return false;
  const auto size = static_cast<double>(length), inverse = 1 / size;
  std::uint64_t far = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto bits = static_cast<std::uint64_t>(load<I>(values + i * step));
    const std::uint64_t beyond = is_signed ? (bits + most) >> 51 : bits >> 50;
    far |= beyond;
    // A mask of bits: a choice here would be a branch, and the loop one of single items.
    const int64_t near = static_cast<int64_t>(beyond - 1) >> 63;
    const auto value = static_cast<double>(static_cast<int64_t>(bits) & near);
    const double quotient = (value * inverse + rounds) - rounds;
    const auto rest = static_cast<int64_t>(value - quotient * size);
    cells[i] = rest + (length & rest >> 63);
  }
  return far == 0;
#else
  return false;
#endif
}

// The nearest of [0, last].
template <class I>
int64_t clip(I value, std::uint64_t last) {
  if constexpr (static_cast<I>(-1) < static_cast<I>(0)) {
    const int64_t wide = value, most = static_cast<int64_t>(last);
    const int64_t low = wide < 0 ? 0 : wide;
    return low > most ? most : low;
  } else {
    const std::uint64_t wide = value;
    return static_cast<int64_t>(wide > last ? last : wide);
  }
}

// cells[i] = value, or value + length where it is negative. What becomes of a value out of range is
// for the mode to say: in raise, false is returned and no cell may be used; in absent, false is
// returned and the cell is negative; in wrap and clip all cells are good. (A length of 0 has none:
// wrap and clip never get here with it.) With the sign bits of cell and length - 1 - cell joined
// there is no branch in the loop. (The difference is formed without sign: it can overflow where the
// cell is negative, which its own sign bit tells.) The values `ahead` bytes further on will be
// wanted next.
template <class I, Mode mode>
bool resolve(const char* indices, int64_t step, int64_t n, int64_t length,
             int64_t* __restrict cells, int64_t ahead) {
  constexpr bool is_signed = static_cast<I>(-1) < static_cast<I>(0);
  constexpr int64_t width = sizeof(I), group = 64;
  const std::uint64_t last = static_cast<std::uint64_t>(length) - 1;
  int64_t bad = 0;
  const auto one = [&](int64_t i, int64_t stride) {
    const I value = load<I>(indices + i * stride);
    if constexpr (mode == Mode::clip) {
      cells[i] = clip(value, last);
    } else {
      int64_t cell = static_cast<int64_t>(value);
      if constexpr (is_signed) cell += cell < 0 ? length : 0;
      const int64_t out = cell | static_cast<int64_t>(last - static_cast<std::uint64_t>(cell));
      bad |= out;
      cells[i] = mode == Mode::absent ? cell | out >> 63 : cell;
    }
  };
  for (int64_t i = 0; i < n; i += group) {
    const int64_t end = n - i < group ? n : i + group;
    fetch<false>(indices + i * step + ahead, (end - i) * step);
    if (step == width && end == i + group) {  // of a known length
      for (int64_t j = 0; j < group; ++j) one(i + j, width);
    } else if (step == width) {
      for (int64_t j = i; j < end; ++j) one(j, width);
    } else {
      for (int64_t j = i; j < end; ++j) one(j, step);
    }
    if constexpr (mode == Mode::wrap) {
      if (bad >= 0) continue;
      bad = 0;
      const bool whole = step == width && end == i + group;
      const char* const values = indices + i * step;
      if (whole ? fold_wide<I>(values, width, group, length, cells + i)
                : fold_wide<I>(values, step, end - i, length, cells + i))
        continue;
      const auto size = static_cast<std::uint64_t>(length);
      const std::uint64_t inverse = ~std::uint64_t{0} / size;
      for (int64_t j = i; j < end; ++j) cells[j] = fold(load<I>(indices + j * step), size, inverse);
    }
  }
  return bad >= 0;
}

using Resolve = bool (*)(const char*, int64_t, int64_t, int64_t, int64_t*, int64_t);

template <Mode mode>
Resolve select_resolve(Dtype dtype) {
  return visit_index(dtype, [](auto zero) -> Resolve { return resolve<decltype(zero), mode>; });
}

Resolve select_resolve(Dtype dtype, Mode mode) {
  switch (mode) {
    case Mode::wrap:
      return select_resolve<Mode::wrap>(dtype);
    case Mode::clip:
      return select_resolve<Mode::clip>(dtype);
    case Mode::absent:
      return select_resolve<Mode::absent>(dtype);
    default:
      return select_resolve<Mode::raise>(dtype);
  }
}

// Whether all values are in [-length, length - 1]: the least and the greatest are, where those that
// are not signed have none to be the least.
template <class I>
bool in_range(const char* values, int64_t step, int64_t n, int64_t length) {
  constexpr bool is_signed = static_cast<I>(-1) < static_cast<I>(0);
  constexpr int64_t width = sizeof(I);
  I least = 0, greatest = 0;
  const auto one = [&](I value) {
    if constexpr (is_signed) least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
  };
  if (step == width) {
    for (int64_t i = 0; i < n; ++i) one(load<I>(values + i * width));
  } else {
    for (int64_t i = 0; i < n; ++i) one(load<I>(values + i * step));
  }
  if (n <= 0) return true;
  if constexpr (is_signed) {
    return least >= -length && greatest < length;
  } else {
    return length > 0 && static_cast<std::uint64_t>(greatest) < static_cast<std::uint64_t>(length);
  }
}

bool in_range(Dtype dtype, const char* values, int64_t step, int64_t n, int64_t length) {
  return visit_index(dtype,
                     [&](auto zero) { return in_range<decltype(zero)>(values, step, n, length); });
}

template <class I>
bool ascends(const char* values, int64_t step, int64_t n) {
  constexpr int64_t group = 256;  // looked at without a branch
  if (n > 0 && load<I>(values) < static_cast<I>(0)) return false;
  for (int64_t i = 1; i < n; i += group) {
    const int64_t end = n - i < group ? n : i + group;
    bool falls = false;
    for (int64_t j = i; j < end; ++j)
      falls |= load<I>(values + j * step) < load<I>(values + (j - 1) * step);
    if (falls) return false;
  }
  return true;
}

bool ascends(Dtype dtype, const char* values, int64_t step, int64_t n) {
  return visit_index(dtype, [&](auto zero) {
    constexpr int64_t width = sizeof zero;
    return step == width ? ascends<decltype(zero)>(values, width, n)
                         : ascends<decltype(zero)>(values, step, n);
  });
}

// Whether n values are the same, before anything is made of them.
template <class I>
bool is_constant(const char* values, int64_t step, int64_t n) {
  constexpr int64_t width = sizeof(I);
  const I first = load<I>(values);
  if (load<I>(values + (n - 1) * step) != first || load<I>(values + n / 2 * step) != first)
    return false;
  I differs = 0;
  if (step == width) {
    for (int64_t i = 0; i < n; ++i)
      differs = static_cast<I>(differs | (load<I>(values + i * width) ^ first));
  } else {
    for (int64_t i = 0; i < n; ++i)
      differs = static_cast<I>(differs | (load<I>(values + i * step) ^ first));
  }
  return differs == 0;
}

using IsConstant = bool (*)(const char*, int64_t, int64_t);

IsConstant select_is_constant(Dtype dtype) {
  return visit_index(dtype, [](auto zero) -> IsConstant { return is_constant<decltype(zero)>; });
}

template <class I>
bool take_constant(const char* rows, int64_t pitch, int64_t count, int64_t step, int64_t n,
                   char* values) {
  for (int64_t r = 0; r < count; ++r) {
    if (!is_constant<I>(rows + r * pitch, step, n)) return false;
    std::memcpy(values + r * static_cast<int64_t>(sizeof(I)), rows + r * pitch, sizeof(I));
  }
  return true;
}

bool take_constant(Dtype dtype, const char* rows, int64_t pitch, int64_t count, int64_t step,
                   int64_t n, char* values) {
  return visit_index(dtype, [&](auto zero) {
    return take_constant<decltype(zero)>(rows, pitch, count, step, n, values);
  });
}

// What the index tuples of a chunk name.
struct Picked {
  // Cells, counted in steps of the axis for tuples of one component, in bytes for another number;
  // behind them those that the next chunk begins with, where they are asked for meanwhile.
  int64_t cells[chunk + items_ahead];
  // Where updates are counted and tuples have another number of components than one: the cells in
  // row-major order of the axes. Where picks have borrowed a cell: all bits of those that have.
  int64_t numbers[chunk];
  std::int32_t listed[chunk];  // the picks that `cells` are those of, where it is not all of them
  std::int32_t absent[chunk];  // the picks that have no cell (gathers)
  int64_t absent_count;
  bool blends;  // the picks that have no cell are told by `numbers`, not by `absent`
};

constexpr int64_t nowhere = std::numeric_limits<int64_t>::min();  // a cell of no owner

// Tuples of any number of components but one.
bool resolve_components(const Work& work, Resolve resolve_values, const char* indices, int64_t step,
                        int64_t n, Picked& picked) {
  int64_t component[chunk], missing[chunk];
  for (int64_t i = 0; i < n; ++i) picked.cells[i] = picked.numbers[i] = missing[i] = 0;
  bool good = true;
  for (int a = 0; a < work.plan->axis_count; ++a) {
    const Axis& axis = work.plan->axes[a];
    good &=
        resolve_values(indices + axis.component, step, n, axis.length, component, indices_ahead);
    if (!good && work.mode == Mode::raise) return false;
    for (int64_t i = 0; i < n; ++i) picked.cells[i] += component[i] * axis.stride;
    if (work.counted) {
      for (int64_t i = 0; i < n; ++i)
        picked.numbers[i] = picked.numbers[i] * axis.length + component[i];
    }
    if (!good) {
      for (int64_t i = 0; i < n; ++i) missing[i] |= component[i];
    }
  }
  for (int64_t i = 0; !good && i < n; ++i) {
    if (missing[i] < 0) picked.cells[i] = nowhere;
  }
  return good;
}

// Index tuples of a chunk to cells. False in mode raise: one is out of range. False in mode absent:
// one has no cell; it is -1 or `nowhere`.
bool resolve_tuples(const Work& work, Resolve resolve_values, const char* indices, int64_t step,
                    int64_t n, Picked& picked) {
  if (work.plan->axis_count != 1)
    return resolve_components(work, resolve_values, indices, step, n, picked);
  return resolve_values(indices, step, n, work.plan->axes[0].length, picked.cells, indices_ahead);
}

// ---- slices ----

// The picks of a chunk: where the addressed and the other item of pick i lie. `listed` names the
// picks that count when cells have owners.
struct Chunk {
  char* addressed;
  int64_t unit;
  char* other;
  int64_t step;
  const int64_t* cells;
  const std::int32_t* listed;
  int64_t count;
  int64_t beyond;  // cells behind those, which a later call will want
  bool fetched;    // an earlier call has asked for the first ones
  bool wide;       // cells and `unit` are for gather_wide
  bool near;       // all cells are in the first level of the cache

  char* addressed_at(int64_t i) const { return addressed + cells[i] * unit; }
  char* other_at(int64_t i) const { return other + (listed ? listed[i] : i) * step; }
};

template <bool scatter, class Op>
void apply(const Op& op, char* addressed, char* other) {
  if constexpr (scatter) {
    op(addressed, other);
  } else {
    op(other, addressed);
  }
}

// The commonest case, in which both steps are known to the compiler.
template <bool scatter, class Op>
void apply_contiguous(const Op& op, const Chunk& c, int64_t ahead) {
  const int64_t width = op.width(), n = c.count;
  char *const addressed = c.addressed, *const other = c.other;  // which no store can change
  const int64_t* const cells = c.cells;
  int64_t i = 0;
  for (; i < ahead; ++i) {
    __builtin_prefetch(addressed + cells[i + items_ahead] * width, scatter, 2);
    apply<scatter>(op, addressed + cells[i] * width, other + i * width);
  }
  if constexpr (!scatter && !std::is_same_v<Op, MoveBytes>) {
    if (c.wide)
      i += gather_wide<Op::width()>(other + i * width, addressed, cells + i, width, 0, n - i);
  }
  if constexpr (scatter && Op::moves) {  // a sum has read what it writes
    for (; !c.near && i + items_near < n; ++i) {
      __builtin_prefetch(addressed + cells[i + items_near] * width, 1);
      apply<scatter>(op, addressed + cells[i] * width, other + i * width);
    }
  }
  for (; i < n; ++i) apply<scatter>(op, addressed + cells[i] * width, other + i * width);
}

// Whether most cells are the one before, as those of sorted segments are.
bool repeats(const int64_t* cells, int64_t n) {
  constexpr int64_t worth_a_look = 64, run = 8;
  const auto equal = [cells](int64_t i) { return cells[i] == cells[i - 1]; };
  if (n < worth_a_look || !(equal(1) & equal(n / 2) & equal(n - 1))) return false;
  int64_t changes = 0;
  for (int64_t i = 1; i < n; ++i) changes += !equal(i);
  return changes * run < n;
}

// Each run of updates of one cell in a register: through memory every update would wait for the one
// before to be written.
template <class Op>
void apply_repeated(const Op& op, const Chunk& c) {
  for (int64_t i = 0; i < c.count;) {
    char held[Op::width()];
    const int64_t cell = c.cells[i];
    char* const addressed = c.addressed_at(i);
    std::memcpy(held, addressed, sizeof held);
    for (; i < c.count && c.cells[i] == cell; ++i) op(held, c.other_at(i));
    std::memcpy(addressed, held, sizeof held);
  }
}

template <bool scatter, class Op>
void apply_items(const Op& op, const Chunk& c, bool prefetch) {
  if constexpr (scatter && !Op::moves) {
    if (repeats(c.cells, c.count)) return apply_repeated(op, c);
  }
  const int64_t known = c.count + c.beyond, most = known - items_ahead;
  const int64_t ahead = !prefetch || most < 0 ? 0 : most < c.count ? most : c.count;
  if (prefetch && !c.fetched) {
    for (int64_t i = 0; i < known && i < items_ahead; ++i)
      __builtin_prefetch(c.addressed_at(i), scatter, 2);
  }
  if (c.listed == nullptr && c.unit == op.width() && c.step == op.width()) {
    apply_contiguous<scatter>(op, c, ahead);
    return;
  }
  const Chunk own = c;  // which no store can change
  for (int64_t i = 0; i < ahead; ++i) {
    __builtin_prefetch(own.addressed_at(i + items_ahead), scatter, 2);
    apply<scatter>(op, own.addressed_at(i), own.other_at(i));
  }
  for (int64_t i = ahead; i < own.count; ++i)
    apply<scatter>(op, own.addressed_at(i), own.other_at(i));
}

// Copies a row of at least a unit: whole units, then the last one up to the end. (A call of memcpy
// takes longer than moving a short row.)
template <int64_t unit>
[[gnu::always_inline]] inline void copy_units(char* to, const char* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes - unit; i += unit) std::memcpy(to + i, from + i, unit);
  std::memcpy(to + bytes - unit, from + bytes - unit, unit);
}

// Calls use(addressed, other) for each pick.
template <bool scatter, class Use>
void for_each_row(const Chunk& given, int64_t bytes, bool contiguous, bool prefetch,
                  const Use& use) {
  const Chunk c = given;  // which no store can change
  const int64_t known = c.count + c.beyond;
  const int64_t ahead = contiguous && prefetch ? 1 + bytes_ahead / (bytes + 256) : known;
  const bool skips = contiguous && c.listed != nullptr;  // rows of the other array: none follows
  for (int64_t i = 0; !c.fetched && i < ahead && ahead < known; ++i)
    fetch<scatter>(c.addressed_at(i), bytes);
  for (int64_t i = 0; i < c.count; ++i) {
    if (i + ahead < known) fetch<scatter>(c.addressed_at(i + ahead), bytes);
    if (skips && i + rows_ahead < c.count) fetch<!scatter>(c.other_at(i + rows_ahead), bytes);
    use(c.addressed_at(i), c.other_at(i));
  }
}

template <bool scatter, class Op>
void apply_rows(const Op& op, const Chunk& c, const Loop& run, int64_t n, bool prefetch) {
  const bool contiguous = run.addressed == op.width() && run.other == op.width();
  const int64_t bytes = n * op.width();
  if constexpr (Op::moves) {
    constexpr int64_t small = 16, large = 64, most = 512;
    const auto copy = [&]<int64_t unit>(std::integral_constant<int64_t, unit>) {
      for_each_row<scatter>(c, bytes, true, prefetch, [bytes](char* addressed, char* other) {
        copy_units<unit>(scatter ? addressed : other, scatter ? other : addressed, bytes);
      });
    };
    if (contiguous && bytes >= large && bytes <= most)
      return copy(std::integral_constant<int64_t, large>{});
    if (contiguous && bytes >= small && bytes < large)
      return copy(std::integral_constant<int64_t, small>{});
  }
  for_each_row<scatter>(c, bytes, contiguous, prefetch, [op, run, n](char* addressed, char* other) {
    if constexpr (scatter) {
      apply_run(op, addressed, run.addressed, other, run.other, n);
    } else {
      apply_run(op, other, run.other, addressed, run.addressed, n);
    }
  });
}

template <bool scatter, class Op>
void apply_chunk(const Op& op, const Chunk& c, const Loop& run, int64_t n, bool prefetch) {
  if (n == 1) {
    apply_items<scatter>(op, c, prefetch);
  } else {
    apply_rows<scatter>(op, c, run, n, prefetch);
  }
}

// Gathers picks whose items follow each other in the output, which is streamed: through a part of
// the cache, so that whole lines are written whatever the rows' length, or at once where rows are
// long.
template <class Op>
void stream_chunk(const Op& op, const Chunk& c, const Loop& run, int64_t n, bool prefetch) {
  const int64_t bytes = n * op.width();
  if (bytes > staged_row) {
    for (int64_t i = 0; i < c.count; ++i) {
      if (prefetch && i + 1 < c.count) fetch<false>(c.addressed_at(i + 1), bytes);
      stream(c.other_at(i), c.addressed_at(i), bytes);
    }
    return;
  }
  alignas(line) char staged[staged_bytes];
  Chunk some = c;
  some.other = staged;
  const int64_t at_once = staged_bytes / bytes;
  for (int64_t i = 0; i < c.count; i += at_once) {
    some.cells = c.cells + i;
    some.count = c.count - i < at_once ? c.count - i : at_once;
    some.beyond = c.count + c.beyond - i - some.count;
    some.fetched = c.fetched || i > 0;
    apply_chunk<false>(op, some, run, n, prefetch);
    stream(c.other + i * bytes, staged, some.count * bytes);
  }
}

// Keeps the picks whose cell is owned, in their order, without a branch. Returns how many.
int64_t keep_owned(Range owned, int64_t* cells, std::int32_t* listed, int64_t n) {
  int64_t kept = 0;
  int64_t i = keep_wide(owned.begin, owned.end, cells, listed, n, kept);
  for (; i < n; ++i) {
    const int64_t cell = cells[i];
    cells[kept] = cell;
    listed[kept] = static_cast<std::int32_t>(i);
    kept += (cell >= owned.begin) & (cell < owned.end);
  }
  return kept;
}

// The picks of a gather that have no cell.
void list_absent(Range cells, Picked& picked, int64_t n) {
  picked.absent_count = 0;
  for (int64_t i = 0; i < n; ++i) {
    picked.absent[picked.absent_count] = static_cast<std::int32_t>(i);
    picked.absent_count += (picked.cells[i] < cells.begin) | (picked.cells[i] >= cells.end);
  }
}

// Those picks get the first cell, which is near then and overwritten soon: for single items that is
// less than leaving them out.
void borrow_first(Range cells, Picked& picked, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t cell = picked.cells[i];
    const auto absent = -static_cast<int64_t>((cell < cells.begin) | (cell >= cells.end));
    picked.numbers[i] = absent;
    picked.cells[i] = cell & ~absent;
  }
}

// An item as the bits of a register, where it is one.
template <class Op>
constexpr bool is_register = false;
template <int64_t N>
constexpr bool is_register<Move<N>> = N <= 8;

bool is_register_size(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

// `item` in the place of those of n that follow each other of which `absent` has all bits.
template <int64_t N>
void blend(char* __restrict to, const int64_t* __restrict absent, const char* item, int64_t n) {
  using Bits = std::conditional_t<
      N == 8, std::uint64_t,
      std::conditional_t<N == 4, std::uint32_t,
                         std::conditional_t<N == 2, std::uint16_t, std::uint8_t>>>;
  const Bits fill = load<Bits>(item);
  for (int64_t i = 0; i < n; ++i) {
    Bits bits = load<Bits>(to + i * N);
    bits ^= static_cast<Bits>((bits ^ fill) & static_cast<Bits>(absent[i]));
    std::memcpy(to + i * N, &bits, sizeof bits);
  }
}

// Calls use(chunk, offset of its first item in the other array) for the picks of a part, chunk by
// chunk; the chunk lacks its lane. False when an index was out of range in mode raise, or the call
// is to be left.
template <bool scatter, class Use>
bool for_each_chunk(const Work& work, const Part& part, const Walk& batch, Picked& picked,
                    Watch& watch, const Use& use, char* row = nullptr) {
  const Plan& plan = *work.plan;
  const Resolve resolve_values = select_resolve(plan.index_dtype, work.mode);
  const Loop& pick = plan.picks[plan.pick_count - 1];
  const bool renumber = work.counted && plan.axis_count != 1;
  bool borrowable = part.run.end - part.run.begin == 1 && !work.owners;
  for (int a = 0; a < plan.axis_count; ++a) borrowable &= plan.axes[a].length > 0;
  const bool looks_beyond = work.prefetch && plan.axis_count == 1 && !work.counted;
  Chunk c{};
  c.addressed = row != nullptr ? row : plan.addressed + batch.addressed;
  c.unit = plan.axis_count == 1 ? plan.axes[0].stride : 1;
  c.wide = plan.axis_count == 1 && fits_wide(c.unit, plan.axes[0].length);
  c.step = pick.other;
  c.cells = picked.cells;
  c.near = work.near;
  const int64_t pick_bytes =
      line + (part.free.end - part.free.begin) * (part.run.end - part.run.begin) * plan.item;
  Walk outer(plan.picks, plan.pick_count - 1, part.picks.begin / pick.extent);
  int64_t at = part.picks.begin % pick.extent;
  for (int64_t done = part.picks.begin; done < part.picks.end;) {
    int64_t count = pick.extent - at;
    if (count > work.picks_at_once) count = work.picks_at_once;
    if (count > part.picks.end - done) count = part.picks.end - done;
    if (watch.leave(count * pick_bytes)) return false;
    const char* indices = plan.indices + batch.index + outer.index + at * pick.index;
    const bool good = resolve_tuples(work, resolve_values, indices, pick.index, count, picked);
    if (!good && work.mode == Mode::raise) return false;
    picked.absent_count = 0;
    const bool borrows = !scatter && !good && borrowable;
    picked.blends = borrows && pick.other == plan.item && is_register_size(plan.item);
    if (!scatter && !good && !picked.blends) list_absent(part.owned, picked, count);
    if (borrows) borrow_first(part.owned, picked, count);
    const bool some = work.owners || (!good && !borrows);
    c.listed = some ? picked.listed : nullptr;
    c.count = some ? keep_owned(part.owned, picked.cells, picked.listed, count) : count;
    c.beyond = 0;
    if (looks_beyond && !some) {
      const int64_t row = pick.extent - at, left = part.picks.end - done;
      const int64_t rest = (row < left ? row : left) - count;
      c.beyond = rest < items_ahead ? rest : items_ahead;
      // Whether they are good is seen when it is their turn.
      resolve_values(indices + count * pick.index, pick.index, c.beyond, plan.axes[0].length,
                     picked.cells + count, indices_ahead);
    }
    for (int64_t i = 0; some && renumber && i < c.count; ++i)
      picked.numbers[i] = picked.numbers[picked.listed[i]];
    use(c, outer.other + at * pick.other);
    c.fetched = c.beyond > 0;
    done += count;
    at += count;
    if (at == pick.extent) {
      at = 0;
      outer.next();
    }
  }
  return true;
}

// Calls use(chunk) for each of the lanes that share the index tuples of a chunk.
template <class Use>
void for_each_lane(const Work& work, const Part& part, const Walk& batch, Chunk c, int64_t other,
                   const Use& use) {
  const Plan& plan = *work.plan;
  char* first = c.addressed + part.run.begin * work.run.addressed;
  char* first_other = plan.other + batch.other + other + part.run.begin * work.run.other;
  Walk free(work.free, work.free_count, part.free.begin);
  for (int64_t f = part.free.begin; f < part.free.end; ++f, free.next()) {
    c.addressed = first + free.addressed;
    c.other = first_other + free.other;
    use(c);
  }
}

template <class Op>
void fill_run(const Op& op, char* to, int64_t to_step, const char* item, int64_t n) {
  if constexpr (std::is_same_v<Op, MoveBytes>) {
    for (int64_t i = 0; i < n; ++i) op(to + i * to_step, item);
  } else {
    char copy[Op::width()];  // which no write to the output can change
    op(copy, item);
    if (to_step == Op::width()) {
      for (int64_t i = 0; i < n; ++i) op(to + i * Op::width(), copy);
    } else {
      for (int64_t i = 0; i < n; ++i) op(to + i * to_step, copy);
    }
  }
}

template <class Op>
void fill_absent(const Op& op, const Work& work, const Chunk& c, const Picked& picked, int64_t n) {
  if constexpr (is_register<Op>) {
    if (picked.blends) return blend<Op::width()>(c.other, picked.numbers, work.fill, c.count);
  }
  for (int64_t i = 0; i < picked.absent_count; ++i)
    fill_run(op, c.other + picked.absent[i] * c.step, work.run.other, work.fill, n);
}

// ---- slices whose updates are counted ----

// What ends a mean: n items, each divided by its number of terms; where that is 0 it stays.
using Divide = void (*)(const Work&, char* at, int64_t step, int64_t n, const int64_t* terms,
                        int64_t terms_step);
Divide select_divide(Dtype dtype);

// The updates that each cell has met: their number, for a mean, or else whether there was one.
// Every way to count has
//   add(cell): the number before, one more from then on
//   take(cell): the number, which is 0 from then on
template <class T>
struct Numbers {
  T* at;

  void near(int64_t cell) const { __builtin_prefetch(at + cell, 1); }
  std::uint64_t add(int64_t cell) const { return at[cell]++; }
  std::uint64_t take(int64_t cell) const {
    const T number = at[cell];
    at[cell] = 0;
    return number;
  }
};

struct Bits {
  std::uint8_t* at;

  void near(int64_t cell) const { __builtin_prefetch(at + (cell >> 3), 1); }
  std::uint64_t add(int64_t cell) const {
    const unsigned before = at[cell >> 3], bit = static_cast<unsigned>(cell & 7);
    at[cell >> 3] = static_cast<std::uint8_t>(before | 1u << bit);
    return before >> bit & 1u;
  }
  std::uint64_t take(int64_t cell) const {
    const unsigned before = at[cell >> 3], bit = static_cast<unsigned>(cell & 7);
    at[cell >> 3] = static_cast<std::uint8_t>(before & ~(1u << bit));
    return before >> bit & 1u;
  }
};

struct Counts {
  char* at;
  Tally tally;
  int64_t origin = 0;  // the first cell
  int64_t cells = 1;
  int64_t bytes;

  Counts(const Work& work, const Part& part, char* buffer) : at(buffer), tally(work.tally) {
    const Plan& plan = *work.plan;
    for (int a = 0; a < plan.axis_count; ++a) cells *= plan.axes[a].length;
    if (work.owners && plan.axis_count == 1) {
      origin = part.owned.begin;
      cells = part.owned.end - part.owned.begin;
    }
    bytes = tally_bytes(tally, cells);
  }

  // Calls `use` with the way to count.
  template <class Use>
  auto visit(const Use& use) const {
    switch (tally) {
      case Tally::bits:
        return use(Bits{reinterpret_cast<std::uint8_t*>(at)});
      case Tally::numbers32:
        return use(Numbers<std::uint32_t>{reinterpret_cast<std::uint32_t*>(at)});
      default:
        return use(Numbers<std::uint64_t>{reinterpret_cast<std::uint64_t*>(at)});
    }
  }

  // The number of terms of `n` cells from `first` on, `base` and their updates, or 0 where a cell
  // has met none; their counts are zero again.
  void take_terms(int64_t first, int64_t n, int64_t base, int64_t* __restrict terms) const {
    visit([&](const auto counter) {
      for (int64_t i = 0; i < n; ++i) {
        const auto met = static_cast<int64_t>(counter.take(first + i));
        terms[i] = met + (met != 0) * base;
      }
    });
  }

  // Calls use(counter, cell, i) for each pick of a chunk.
  template <class Use>
  void for_each(const int64_t* numbers, int64_t n, const Use& use) const {
    visit([&](const auto counter) {
      for (int64_t i = 0; i < n; ++i) {
        counter.near(numbers[i + counts_ahead < n ? i + counts_ahead : i] - origin);
        use(counter, numbers[i] - origin, i);
      }
    });
  }
};

// The picks of a chunk that are the first of their cell.
struct Firsts {
  int64_t cells[chunk];
  std::int32_t listed[chunk];
};

// Counts the picks of a chunk, and parts those that are the first of their cell from the others.
// The firsts can then go first: no other update of their cell comes before them.
int64_t part_firsts(const Counts& counts, const int64_t* numbers, Picked& picked, Chunk& c,
                    Firsts& firsts) {
  int64_t first = 0, later = 0;
  const std::int32_t* given = c.listed;
  counts.for_each(numbers, c.count, [&](const auto& counter, int64_t number, int64_t i) {
    const int64_t cell = picked.cells[i];
    const std::int32_t pick = given ? given[i] : static_cast<std::int32_t>(i);
    const bool is_first = counter.add(number) == 0;
    firsts.cells[first] = picked.cells[later] = cell;
    firsts.listed[first] = picked.listed[later] = pick;
    first += is_first;
    later += !is_first;
  });
  c.listed = picked.listed;
  c.count = later;
  return first;
}

// Keeps each cell of a chunk that has a count, once, with its number of terms; its count is zero
// again.
int64_t take_counts(const Counts& counts, const int64_t* numbers, int64_t base, Picked& picked,
                    int64_t n, int64_t* terms) {
  int64_t kept = 0;
  counts.for_each(numbers, n, [&](const auto& counter, int64_t number, int64_t i) {
    const auto count = static_cast<int64_t>(counter.take(number));
    picked.cells[kept] = picked.cells[i];
    terms[kept] = count + base;
    kept += count != 0;
  });
  return kept;
}

// Divides means by walking over the cells, not over the picks once more: in the order of memory,
// and each cell is met once. For tuples of one component.
// False when the call is to be left.
bool settle_in_order(const Work& work, const Part& part, const Walk& batch, const Counts& counts,
                     Watch& watch) {
  const Divide divide = select_divide(work.dtype);
  const int64_t base = work.include_self ? 1 : 0, n = part.run.end - part.run.begin;
  int64_t terms[chunk];
  Chunk c{};
  c.addressed = work.plan->addressed + batch.addressed;
  c.unit = work.plan->axes[0].stride;
  for (int64_t begin = 0; begin < counts.cells; begin += chunk) {
    const int64_t count = counts.cells - begin < chunk ? counts.cells - begin : chunk;
    if (watch.leave(count * n * line)) return false;
    counts.take_terms(begin, count, base, terms);
    for_each_lane(work, part, batch, c, 0, [&](const Chunk& lane) {
      char* first = lane.addressed + (counts.origin + begin) * lane.unit;
      if (n == 1) return divide(work, first, lane.unit, count, terms, 1);
      for (int64_t i = 0; i < count; ++i) {
        if (terms[i] != 0) divide(work, first + i * lane.unit, work.run.addressed, n, terms + i, 0);
      }
    });
  }
  return true;
}

// Zeros, or a copy of `from`. False when the call is to be left.
[[gnu::noinline]] bool write_bytes(char* to, const char* from, int64_t bytes, Watch& watch) {
  for (int64_t at = 0; at < bytes; at += piece_bytes) {
    const int64_t n = bytes - at < piece_bytes ? bytes - at : piece_bytes;
    if (watch.leave(n)) return false;
    if (from == nullptr) {
      std::memset(to + at, 0, static_cast<std::size_t>(n));
    } else {
      std::memcpy(to + at, from + at, static_cast<std::size_t>(n));
    }
  }
  return true;
}

// After the picks of a batch: means are divided, and all counts are zero again.
bool settle(const Work& work, const Part& part, const Walk& batch, const Counts& counts,
            Picked& picked, Watch& watch) {
  const bool mean = work.reduction == Reduction::mean;
  if (!mean && counts.bytes / 8 <= part.picks.end - part.picks.begin)
    return write_bytes(counts.at, nullptr, counts.bytes, watch);
  constexpr int64_t cells_per_pick = 4;  // which cost about as much to walk over
  if (mean && work.plan->axis_count == 1 &&
      counts.cells / cells_per_pick <= part.picks.end - part.picks.begin)
    return settle_in_order(work, part, batch, counts, watch);
  const Divide divide = mean ? select_divide(work.dtype) : nullptr;
  const int64_t base = work.include_self ? 1 : 0, n = part.run.end - part.run.begin;
  const int64_t* numbers = work.plan->axis_count == 1 ? picked.cells : picked.numbers;
  int64_t terms[chunk];
  return for_each_chunk<true>(work, part, batch, picked, watch, [&](Chunk& c, int64_t other) {
    c.count = take_counts(counts, numbers, base, picked, c.count, terms);
    if (!mean) return;
    for_each_lane(work, part, batch, c, other, [&](const Chunk& lane) {
      for (int64_t i = 0; i < lane.count; ++i) {
        __builtin_prefetch(lane.addressed_at(i + counts_ahead < lane.count ? i + counts_ahead : i),
                           1);
        divide(work, lane.addressed_at(i), work.run.addressed, n, terms + i, 0);
      }
    });
  });
}

template <class Op, class Mover>
bool run_counted(const Op& op, const Mover& mover, const Work& work, const Part& part,
                 const Walk& batch, char* buffer, Picked& picked, Watch& watch) {
  const Counts counts(work, part, buffer);
  const int64_t n = part.run.end - part.run.begin;
  const int64_t* numbers = work.plan->axis_count == 1 ? picked.cells : picked.numbers;
  Firsts firsts;
  const auto count_and_apply = [&](Chunk& c, int64_t other) {
    int64_t first = 0;
    if (work.include_self) {
      counts.for_each(numbers, c.count,
                      [](const auto& counter, int64_t number, int64_t) { counter.add(number); });
    } else {
      first = part_firsts(counts, numbers, picked, c, firsts);
    }
    for_each_lane(work, part, batch, c, other, [&](const Chunk& lane) {
      Chunk begun = lane;
      begun.cells = firsts.cells;
      begun.listed = firsts.listed;
      begun.count = first;
      apply_chunk<true>(mover, begun, work.run, n, work.prefetch);
      apply_chunk<true>(op, lane, work.run, n, work.prefetch);
    });
  };
  return for_each_chunk<true>(work, part, batch, picked, watch, count_and_apply) &&
         settle(work, part, batch, counts, picked, watch);
}

template <class Op>
struct MoverOf {
  using type = Move<Op::width()>;
};
template <>
struct MoverOf<MoveBytes> {
  using type = MoveBytes;
};

// Lanes of few picks that share them: a call for each would cost more than its items.
template <bool scatter, class Op>
void apply_short_lanes(const Op& op, const Work& work, const Part& part, const Walk& batch,
                       const Chunk& c, int64_t other) {
  const Plan& plan = *work.plan;
  const Loop& inner = work.free[work.free_count - 1];
  int64_t at[most_row_values], to[most_row_values];
  for (int64_t i = 0; i < c.count; ++i) {
    at[i] = c.cells[i] * c.unit;
    to[i] = i * c.step;
  }
  char* const first = c.addressed + part.run.begin * work.run.addressed;
  char* const first_other = plan.other + batch.other + other + part.run.begin * work.run.other;
  for (int64_t lane = part.free.begin, rows; lane < part.free.end; lane += rows) {
    const Walk outer(work.free, work.free_count, lane);
    rows = inner.extent - lane % inner.extent;
    if (rows > part.free.end - lane) rows = part.free.end - lane;
    for (int64_t r = 0; r < rows; ++r) {
      char* const addressed = first + outer.addressed + r * inner.addressed;
      char* const row = first_other + outer.other + r * inner.other;
      for (int64_t i = 0; i < c.count; ++i) apply<scatter>(op, addressed + at[i], row + to[i]);
    }
  }
}

// While a chunk is gathered: its share of the cells of the next batch, behind those `asked` for.
void fetch_following(const Work& work, const Part& part, const char* cells, int64_t count,
                     int64_t& asked) {
  const int64_t share = work.reach / (part.picks.end - part.picks.begin) + 1;
  const int64_t wanted = asked + share * count, end = wanted < work.reach ? wanted : work.reach;
  for (; asked < end; asked += line) __builtin_prefetch(cells + asked, 0, 2);
}

template <class Op, bool scatter>
bool run_slices(const Work& work, const Part& part, char* buffer) {
  const Op op(work);
  const typename MoverOf<Op>::type mover(work);
  const Plan& plan = *work.plan;
  const int64_t n = part.run.end - part.run.begin;
  Picked picked;
  const int64_t row_bytes = work.copies ? plan.axes[0].length * op.width() : 0;
  Watch watch(work.stop);
  const StreamFence fence(work.streams);
  Walk batch(work.batch, work.batch_count, part.batch.begin);
  for (int64_t b = part.batch.begin; b < part.batch.end; ++b, batch.next()) {
    char* const output = plan.addressed + batch.addressed;
    char* const row = work.copies && work.streams ? buffer : output;
    if (work.copies) {
      if (!write_bytes(row, work.source + batch.addressed, row_bytes, watch)) return false;
    }
    if constexpr (!Op::moves) {
      if (work.counted) {
        if (!run_counted(op, mover, work, part, batch, buffer, picked, watch)) return false;
        continue;
      }
    }
    int64_t asked = 0;
    const auto apply_lanes = [&](Chunk& c, int64_t other) {
      if (work.follows) {
        const char* const next = output + work.batch[work.batch_count - 1].addressed;
        fetch_following(work, part, next, c.count, asked);
      }
      if (n == 1 && work.free_count > 0 && c.count <= most_row_values && c.listed == nullptr &&
          picked.absent_count == 0 && !picked.blends)
        return apply_short_lanes<scatter>(op, work, part, batch, c, other);
      for_each_lane(work, part, batch, c, other, [&](const Chunk& lane) {
        if (!scatter && work.streams && lane.listed == nullptr && !picked.blends) {
          stream_chunk(op, lane, work.run, n, work.prefetch);
        } else {
          apply_chunk<scatter>(op, lane, work.run, n, work.prefetch);
        }
        if constexpr (!scatter) fill_absent(op, work, lane, picked, n);
      });
    };
    if (!for_each_chunk<scatter>(work, part, batch, picked, watch, apply_lanes, row)) return false;
    if (row != output) stream(output, row, row_bytes);
  }
  return true;
}

// ---- columns ----

// A block of columns of one batch: the addressed items of column j lie at base + cell * unit + j *
// step.
struct Block {
  char* base;
  int64_t unit, step;
  char* other;
  int64_t other_step;
  int64_t width;
  bool wide;              // cells and `unit` are for gather_wide
  char* absent;           // stands in for an item without a cell
  std::uint32_t* counts;  // where updates are counted: of item (cell, j) at cell * width + j
};

bool all_equal(const int64_t* cells, int64_t n) {
  int64_t differs = 0;
  for (int64_t i = 1; i < n; ++i) differs |= cells[i] ^ cells[0];
  return differs == 0;
}

template <bool scatter, class Op>
void apply_columns(const Op& op, const Block& block, char* other, const int64_t* cells) {
  constexpr int64_t worth_a_look = 4;
  const int64_t width = block.width, unit = block.unit;
  char* const base = block.base;
  if (width >= worth_a_look && all_equal(cells, width)) {
    char* addressed = base + cells[0] * unit;
    if constexpr (scatter) {
      apply_run(op, addressed, block.step, other, block.other_step, width);
    } else {
      apply_run(op, other, block.other_step, addressed, block.step, width);
    }
  } else if (block.step == op.width() && block.other_step == op.width()) {
    int64_t j = 0;
    if constexpr (!scatter && !std::is_same_v<Op, MoveBytes>) {
      if (block.wide) j = gather_wide<Op::width()>(other, base, cells, unit, op.width(), width);
    }
    for (; j < width; ++j) {
      apply<scatter>(op, base + cells[j] * unit + j * op.width(), other + j * op.width());
    }
  } else {
    for (int64_t j = 0; j < width; ++j) {
      apply<scatter>(op, base + cells[j] * unit + j * block.step, other + j * block.other_step);
    }
  }
}

// A row of a gather of which some items have no cell: those borrow the first one.
template <class Op>
void apply_borrowed(const Op& op, const Block& block, char* other, int64_t* cells) {
  int64_t absent[chunk];
  for (int64_t j = 0; j < block.width; ++j) {
    absent[j] = cells[j] >> 63;
    cells[j] &= ~absent[j];
  }
  apply_columns<false>(op, block, other, cells);
  blend<Op::width()>(other, absent, block.absent, block.width);
}

// A row of which some items have no cell. Which do is not for a branch to guess.
template <bool scatter, class Op>
void apply_present(const Op& op, const Block& block, char* other, const int64_t* cells) {
  const int64_t width = block.width, unit = block.unit;
  char *const base = block.base, *const absent = block.absent;
  // Writes to stand-ins take turns, so that none waits for the one before.
  const int64_t turns = scatter && op.width() <= line / stand_ins ? stand_ins : 1;
  std::uintptr_t at[chunk];
  const auto place = [&](int64_t step) {
    const auto from = reinterpret_cast<std::uintptr_t>(base);
    const auto spare = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(absent) - from);
    for (int64_t j = 0; j < width; ++j) {
      const int64_t gone = cells[j] >> 63, cell = cells[j] * unit + j * step,
                    turn = (j & (turns - 1)) * op.width();
      at[j] = from + static_cast<std::uintptr_t>(cell ^ ((cell ^ (spare + turn)) & gone));
    }
  };
  const auto apply_all = [&](int64_t other_step) {
    for (int64_t j = 0; j < width; ++j)
      apply<scatter>(op, reinterpret_cast<char*>(at[j]), other + j * other_step);
  };
  place(block.step);
  if (block.other_step == op.width()) {
    apply_all(op.width());
  } else {
    apply_all(block.other_step);
  }
}

// A row of updates that are counted; `all` of them have a cell.
template <bool all, class Op>
void apply_counted(const Op& op, const Block& block, const char* other, const int64_t* cells,
                   bool include_self) {
  const int64_t width = block.width, unit = block.unit, step = block.step,
                other_step = block.other_step;
  char* const base = block.base;
  std::uint32_t* const counts = block.counts;
  for (int64_t j = 0; j < width; ++j) {
    if (!all && cells[j] < 0) continue;
    std::uint32_t& count = counts[cells[j] * width + j];
    char* at = base + cells[j] * unit + j * step;
    if (include_self) {
      op(at, other + j * other_step);
    } else {
      op.start_or(at, other + j * other_step, count == 0);
    }
    ++count;
  }
}

// The end of a mean, for all items of a block. False when the call is to be left.
bool divide_block(const Work& work, const Block& block, Watch& watch) {
  const Divide divide = select_divide(work.dtype);
  const int64_t base = work.include_self ? 1 : 0;
  int64_t terms[chunk];
  for (int64_t r = 0; r < work.plan->axes[0].length; ++r) {
    const std::uint32_t* counts = block.counts + r * block.width;
    if (watch.leave(block.width * line)) return false;
    for (int64_t j = 0; j < block.width; ++j) terms[j] = counts[j] + (counts[j] != 0) * base;
    divide(work, block.base + r * block.unit, block.step, block.width, terms, 1);
  }
  return true;
}

template <bool write>
void fetch_columns(const Block& block, const int64_t* cells) {
  for (int64_t j = 0; j < block.width; ++j) {
    __builtin_prefetch(block.base + cells[j] * block.unit + j * block.step, write);
  }
}

// Some rows of indices to cells, row after row.
bool resolve_rows(const Work& work, Resolve resolve_values, const char* indices, int64_t width,
                  int64_t rows, int64_t* cells) {
  const int64_t step = work.run.index, pitch = work.plan->picks[0].index;
  const int64_t length = work.plan->axes[0].length;
  if (step * width == pitch) {
    return resolve_values(indices, step, rows * width, length, cells, indices_ahead);
  }
  bool good = true;
  for (int64_t r = 0; r < rows; ++r) {
    good &= resolve_values(indices + r * pitch, step, width, length, cells + r * width,
                           rows_ahead * pitch);
  }
  return good;
}

template <bool scatter, class Op>
void apply_row(const Op& op, const Work& work, const Block& block, char* row, int64_t* cells,
               bool good) {
  if constexpr (!Op::moves) {
    if (work.counted) {
      const auto apply = good ? apply_counted<true, Op> : apply_counted<false, Op>;
      return apply(op, block, row, cells, work.include_self);
    }
  }
  if constexpr (!scatter && is_register<Op>) {
    if (!good && block.other_step == op.width() && work.plan->axes[0].length > 0) {
      apply_borrowed(op, block, row, cells);
      return;
    }
  }
  if (good) {
    apply_columns<scatter>(op, block, row, cells);
  } else {
    apply_present<scatter>(op, block, row, cells);
  }
}

// Rows that lie one behind the other, to every `step` bytes.
void stream_rows(char* to, int64_t step, const char* from, int64_t bytes, int64_t rows) {
  if (step == bytes) {
    stream(to, from, rows * bytes);
  } else {
    for (int64_t r = 0; r < rows; ++r) stream(to + r * step, from + r * bytes, bytes);
  }
}

// Picks from `picks.begin` on whose rows of indices are constant, as those of a graph network are:
// each is one run. Returns how many; -1 where an index is out of range, or the call is to be left.
template <bool scatter, class Op>
int64_t apply_constant(const Op& op, const Work& work, const Block& block, const char* indices,
                       Range picks, Watch& watch) {
  constexpr int64_t worth_a_look = 4, rows_fetched = 16;
  constexpr int64_t most = 64;  // whose values are resolved: in vain, behind the next odd row
  const Loop& pick = work.plan->picks[0];
  const int64_t step = work.run.index, width = block.width, bytes = width * op.width();
  const IsConstant constant = select_is_constant(work.plan->index_dtype);
  const char* row = indices + picks.begin * pick.index;
  if (width < worth_a_look || work.counted || !constant(row, step, width)) return 0;
  int64_t cells[most];
  const int64_t left = picks.end - picks.begin, n = left < most ? left : most;
  const Resolve resolve_values = select_resolve(work.plan->index_dtype, work.mode);
  if (!resolve_values(row, pick.index, n, work.plan->axes[0].length, cells, 0))
    return work.mode == Mode::raise ? -1 : 0;
  const bool fetches = work.prefetch && !work.packed && block.step == op.width();
  const bool streams = !scatter && work.streams && bytes >= 4 * line && block.step == op.width();
  int64_t r = 0;
  do {
    if (watch.leave(width * line)) return -1;
    if (fetches && r + rows_fetched < n)
      fetch<scatter>(block.base + cells[r + rows_fetched] * block.unit, bytes);
    char* addressed = block.base + cells[r] * block.unit;
    char* other = block.other + (picks.begin + r) * pick.other;
    if constexpr (scatter) {
      apply_run(op, addressed, block.step, other, block.other_step, width);
    } else if (streams) {
      stream(other, addressed, bytes);
    } else {
      apply_run(op, other, block.other_step, addressed, block.step, width);
    }
    row += pick.index;
    ++r;
    fetch<false>(row + rows_ahead * pick.index, width * step);
  } while (r < n && constant(row, step, width));
  return r;
}

// How many rows ahead of its use a row of cells is asked for; all of them: none is.
template <bool scatter, class Op>
int64_t columns_ahead(const Work& work, int64_t width) {
  if (work.packed) return scatter && Op::moves ? 1 + items_near / width : chunk;
  return work.prefetch ? 1 + items_ahead / width : chunk;
}

// The picks [begin, end) of one block.
template <bool scatter, class Op>
bool apply_block(const Op& op, const Work& work, const Block& block, const char* indices,
                 Range picks, Watch& watch) {
  const Loop& pick = work.plan->picks[0];
  const Resolve resolve_values = select_resolve(work.plan->index_dtype, work.mode);
  const int64_t width = block.width, bytes = width * op.width(), rows_at_once = chunk / width;
  const int64_t ahead = columns_ahead<scatter, Op>(work, width);
  const bool streams = !scatter && work.streams, strewn = !streams && pick.other != bytes;
  int64_t cells[chunk];
  alignas(line) char staged[scatter ? line : staged_bytes];  // rows that are streamed
  for (int64_t p = picks.begin, rows = 0; p < picks.end; p += rows) {
    const int64_t constant =
        apply_constant<scatter>(op, work, block, indices, {p, picks.end}, watch);
    if (constant < 0) return false;
    p += constant;
    rows = constant > 0 ? 1 : rows_at_once;  // a row between constant ones costs itself alone
    if (rows > picks.end - p) rows = picks.end - p;
    if (watch.leave(rows * width * line)) return false;
    const bool good =
        resolve_rows(work, resolve_values, indices + p * pick.index, width, rows, cells);
    if (!good && work.mode == Mode::raise) return false;
    char* const first = block.other + p * pick.other;
    for (int64_t r = 0; r < ahead && ahead < rows; ++r)
      fetch_columns<scatter>(block, cells + r * width);
    for (int64_t r = 0; r < rows; ++r) {
      char* row = streams ? staged + r * bytes : first + r * pick.other;
      if (strewn) fetch<!scatter>(row + rows_ahead * pick.other, bytes);
      if (r + ahead < rows) fetch_columns<scatter>(block, cells + (r + ahead) * width);
      apply_row<scatter>(op, work, block, row, cells + r * width, good);
    }
    if (streams) stream_rows(first, pick.other, staged, bytes, rows);
  }
  return true;
}

// A packed block back to where its columns lie.
template <class Mover>
void unpack(const Mover& mover, const Work& work, const char* packed, char* addressed,
            int64_t width) {
  const Axis& axis = work.plan->axes[0];
  const int64_t bytes = width * mover.width();
  for (int64_t r = 0; r < axis.length; ++r) {
    char* row = addressed + r * axis.stride;
    if (work.streams) {
      stream(row, packed + r * bytes, bytes);
    } else {
      fetch<true>(row + rows_ahead * axis.stride, bytes);
      apply_run(mover, row, work.run.addressed, packed + r * bytes, mover.width(), width);
    }
  }
}

template <class Op, bool scatter>
bool run_columns(const Work& work, const Part& part, char* buffer) {
  const Op op(work);
  const typename MoverOf<Op>::type mover(work);
  const Plan& plan = *work.plan;
  const Axis& axis = plan.axes[0];
  const int64_t first = part.run.begin, width = part.run.end - first;
  Watch watch(work.stop);
  const StreamFence fence(work.streams);
  Walk batch(work.batch, work.batch_count, part.batch.begin);
  for (int64_t b = part.batch.begin; b < part.batch.end; ++b, batch.next()) {
    char* addressed = plan.addressed + batch.addressed + first * work.run.addressed;
    Block block{addressed,
                axis.stride,
                work.run.addressed,
                plan.other + batch.other + first * work.run.other,
                work.run.other,
                width,
                false,
                nullptr,
                nullptr};
    block.absent = scatter ? buffer : const_cast<char*>(work.fill);  // read alone
    char* packed = buffer + work.spare;
    if (work.packed) {
      block.base = packed;
      block.step = op.width();
      block.unit = width * op.width();
      const char* source = work.source + (addressed - plan.addressed);
      for (int64_t r = 0; r < axis.length; ++r) {
        const char* row = source + r * axis.stride;
        fetch<false>(row + rows_ahead * axis.stride, width * op.width());
        apply_run(mover, packed + r * block.unit, block.step, row, work.run.addressed, width);
      }
    }
    block.wide = fits_wide(block.unit, axis.length);
    if (work.counted) {
      const int64_t items = axis.length * width;
      block.counts = reinterpret_cast<std::uint32_t*>(
          packed + (work.packed ? whole_lines(items * op.width()) : 0));
      const auto bytes = items * static_cast<int64_t>(sizeof *block.counts);
      if (!write_bytes(reinterpret_cast<char*>(block.counts), nullptr, bytes, watch)) return false;
    }
    const char* indices = plan.indices + batch.index + first * work.run.index;
    if (!apply_block<scatter>(op, work, block, indices, part.picks, watch)) return false;
    if (work.counted && work.reduction == Reduction::mean && !divide_block(work, block, watch))
      return false;
    if (scatter && work.packed) unpack(mover, work, packed, addressed, width);
  }
  return true;
}

// ---- rows ----

// Where the items of rows that are done together lie: value j of their indices belongs to the
// addressed item at cell * unit + at[j], and to the other one at to[j].
struct RowLayout {
  int64_t unit;
  int64_t ahead;      // values from a cell that is asked for to the one that is used; 0: none is
  bool dense = true;  // other items follow each other
  bool wide;          // cells and `unit` are for gather_wide
  int64_t at[chunk], to[chunk];

  RowLayout(const Work& work, int64_t rows, int64_t other_pitch) {
    const Plan& plan = *work.plan;
    const Loop &pick = plan.picks[0], &batch = work.batch[work.batch_count - 1];
    unit = plan.axes[0].stride;
    ahead = work.prefetch ? items_near + work.row_values : 0;
    wide = fits_wide(unit, plan.axes[0].length);
    int64_t j = 0;
    const auto add = [&](int64_t row, int64_t p, int64_t column) {
      at[j] = row * batch.addressed + column * work.run.addressed;
      to[j] = row * other_pitch + p * pick.other + column * work.run.other;
      dense &= to[j] == j * plan.item;
      ++j;
    };
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t p = 0; p < pick.extent; ++p) {
        for (int64_t column = 0; column < work.run.extent; ++column) add(row, p, column);
      }
    }
  }
};

// The values [begin, n) to addresses, in a loop of vectors, before any of them is used.
void place(const RowLayout& layout, const char* addressed, int64_t* __restrict cells, int64_t begin,
           int64_t n) {
  const auto base = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(addressed));
  const int64_t unit = layout.unit;
  for (int64_t j = begin; j < n; ++j) cells[j] = base + cells[j] * unit + layout.at[j];
}

// The same from 0 on where some have no cell: those take turns between `stand_ins` of `width` bytes
// at `spare`, so that none waits for the update before.
void place_or_drop(const RowLayout& layout, const char* addressed, const char* spare, int64_t width,
                   int64_t* __restrict cells, int64_t n) {
  const auto base = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(addressed));
  const auto spare_at = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(spare));
  const int64_t unit = layout.unit;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t gone = cells[j] >> 63, at = base + cells[j] * unit + layout.at[j];
    const int64_t instead = spare_at + (j & (stand_ins - 1)) * width;
    cells[j] = at ^ ((at ^ instead) & gone);
  }
}

// The values [begin, n), whose addresses are known.
template <bool scatter, bool dense, class Op>
void apply_placed(const Op& op, const RowLayout& layout, char* other, const int64_t* addresses,
                  int64_t begin, int64_t n) {
  const int64_t ahead = layout.ahead;  // which no store can change
  const int64_t* const to = layout.to;
  const auto address = [=](int64_t j) {
    return reinterpret_cast<char*>(static_cast<std::uintptr_t>(addresses[j]));
  };
  const auto use = [=](int64_t j) {
    apply<scatter>(op, address(j), other + (dense ? j * op.width() : to[j]));
  };
  int64_t j = begin;
  for (; ahead > 0 && j + ahead < n; ++j) {
    __builtin_prefetch(address(j + ahead), scatter);
    use(j);
  }
  for (; j < n; ++j) use(j);
}

// The first n values, all of which have a cell.
template <bool scatter, bool dense, class Op>
void apply_present(const Op& op, const RowLayout& layout, char* addressed, char* other,
                   int64_t* cells, int64_t n) {
  int64_t done = 0;
  if constexpr (!scatter && dense && !std::is_same_v<Op, MoveBytes>) {
    if (layout.wide && layout.ahead == 0)
      done = gather_wide_at<Op::width()>(other, addressed, cells, layout.unit, layout.at, n);
  }
  place(layout, addressed, cells, done, n);
  apply_placed<scatter, dense>(op, layout, other, cells, done, n);
}

// The first n values, some of which have no cell. Which do is not for a branch to guess, but where
// items are of any size.
template <bool scatter, bool dense, class Op>
void apply_some(const Op& op, const Work& work, const RowLayout& layout, char* addressed,
                char* other, int64_t* cells, int64_t n) {
  if constexpr (scatter && !std::is_same_v<Op, MoveBytes>) {
    alignas(line) char spare[stand_ins * Op::width()] = {};
    place_or_drop(layout, addressed, spare, Op::width(), cells, n);
    return apply_placed<true, dense>(op, layout, other, cells, 0, n);
  }
  if constexpr (!scatter && dense && is_register<Op>) {
    if (work.plan->axes[0].length > 0) {  // those without a cell borrow the first one
      int64_t absent[chunk];
      for (int64_t j = 0; j < n; ++j) {
        absent[j] = cells[j] >> 63;
        cells[j] &= ~absent[j];
      }
      apply_present<false, true>(op, layout, addressed, other, cells, n);
      return blend<Op::width()>(other, absent, work.fill, n);
    }
  }
  for (int64_t j = 0; j < n; ++j) {
    char* const to = other + layout.to[j];
    if (cells[j] >= 0) {
      apply<scatter>(op, addressed + cells[j] * layout.unit + layout.at[j], to);
    } else if constexpr (!scatter) {
      op(to, work.fill);
    }
  }
}

template <bool scatter, bool dense, class Op>
void apply_values(const Op& op, const Work& work, const RowLayout& layout, char* addressed,
                  char* other, int64_t* cells, int64_t n, bool good) {
  if (good) {
    apply_present<scatter, dense>(op, layout, addressed, other, cells, n);
  } else {
    apply_some<scatter, dense>(op, work, layout, addressed, other, cells, n);
  }
}

template <class Op, bool scatter>
bool run_rows(const Work& work, const Part& part, char* buffer) {
  const Op op(work);
  const Plan& plan = *work.plan;
  const Loop& batch = work.batch[work.batch_count - 1];
  const bool stages = !scatter && work.streams;
  const int64_t values = work.row_values, all = part.batch.end - part.batch.begin;
  const RowLayout layout(work, all < work.rows_at_once ? all : work.rows_at_once,
                         stages ? values * op.width() : batch.other);
  const Resolve resolve_values = select_resolve(plan.index_dtype, work.mode);
  int64_t cells[chunk];
  alignas(line) char staged[scatter ? line : staged_bytes];  // rows that are streamed
  Watch watch(work.stop);
  const StreamFence fence(work.streams);
  for (int64_t b = part.batch.begin, rows; b < part.batch.end; b += rows) {
    const Walk first(work.batch, work.batch_count, b);
    rows = batch.extent - b % batch.extent;
    if (rows > work.rows_at_once) rows = work.rows_at_once;
    if (rows > part.batch.end - b) rows = part.batch.end - b;
    if (watch.leave(rows * values * line)) return false;
    const bool good = resolve_values(plan.indices + first.index, work.row_step, rows * values,
                                     plan.axes[0].length, cells, indices_ahead);
    if (!good && work.mode == Mode::raise) return false;
    char *addressed = plan.addressed + first.addressed, *other = plan.other + first.other;
    char* const rows_at = scatter && work.streams ? buffer : addressed;
    char* const others_at = stages ? staged : other;
    const int64_t bytes = rows * batch.addressed;
    if (scatter && work.copies &&
        !write_bytes(rows_at, work.source + first.addressed, bytes, watch))
      return false;
    const auto apply_all =
        layout.dense ? apply_values<scatter, true, Op> : apply_values<scatter, false, Op>;
    apply_all(op, work, layout, rows_at, others_at, cells, rows * values, good);
    if (rows_at != addressed) stream(addressed, rows_at, bytes);
    if (stages) stream(other, staged, rows * values * op.width());
  }
  return true;
}

// ---- choice ----

template <class Op>
Kernels::Run kernel(const Work& work) {
  const auto of_form = [&](auto scatter) -> Kernels::Run {
    switch (work.form) {
      case Form::rows:
        return run_rows<Op, decltype(scatter)::value>;
      case Form::columns:
        return run_columns<Op, decltype(scatter)::value>;
      default:
        return run_slices<Op, decltype(scatter)::value>;
    }
  };
  if constexpr (Op::moves) {
    if (!work.plan->scatter) return of_form(std::false_type{});
  }
  return of_form(std::true_type{});
}

Kernels::Run select_move(const Work& work) {
  switch (work.plan->item) {
    case 1:
      return kernel<Move<1>>(work);
    case 2:
      return kernel<Move<2>>(work);
    case 4:
      return kernel<Move<4>>(work);
    case 8:
      return kernel<Move<8>>(work);
    case 16:
      return kernel<Move<16>>(work);
    default:
      return kernel<MoveBytes>(work);
  }
}

template <class T, class Add, class Mul, class Min, class Max>
Kernels::Run select_reduction(const Work& work) {
  switch (work.reduction) {
    case Reduction::add:
    case Reduction::mean:
      return kernel<Combine<T, Add>>(work);
    case Reduction::mul:
      return kernel<Combine<T, Mul>>(work);
    case Reduction::min:
      return kernel<Combine<T, Min>>(work);
    default:
      return kernel<Combine<T, Max>>(work);
  }
}

// Sums and products of integers do not depend on the sign: both kinds use the unsigned type `U`.
template <class T, class U>
Kernels::Run select_integer(const Work& work) {
  switch (work.reduction) {
    case Reduction::add:
    case Reduction::mean:
      return kernel<Combine<U, AddInteger<U>>>(work);
    case Reduction::mul:
      return kernel<Combine<U, MulInteger<U>>>(work);
    case Reduction::min:
      return kernel<Combine<T, MinInteger<T>>>(work);
    default:
      return kernel<Combine<T, MaxInteger<T>>>(work);
  }
}

template <class T>
Kernels::Run select_float(const Work& work) {
  return select_reduction<T, AddFloat<T>, MulFloat<T>, MinFloat<T>, MaxFloat<T>>(work);
}

template <class T>
Kernels::Run select_half(const Work& work) {
  return select_reduction<T, ThroughFloat<T, AddFloat>, ThroughFloat<T, MulFloat>, MinHalf<T>,
                          MaxHalf<T>>(work);
}

template <class T>
Kernels::Run select_complex(const Work& work) {
  if (work.reduction == Reduction::mul) return kernel<Combine<Complex<T>, MulComplex<T>>>(work);
  return kernel<Combine<Complex<T>, AddComplex<T>>>(work);
}

Kernels::Run select(const Work& work) {
  if (work.reduction == Reduction::none) return select_move(work);
  if (is_small(work.dtype)) return kernel<Lookup>(work);
  switch (work.dtype) {
    case Dtype::boolean:
      return select_reduction<std::uint8_t, Or, And, And, Or>(work);
    case Dtype::int8:
      return select_integer<std::int8_t, std::uint8_t>(work);
    case Dtype::int16:
      return select_integer<std::int16_t, std::uint16_t>(work);
    case Dtype::int32:
      return select_integer<std::int32_t, std::uint32_t>(work);
    case Dtype::int64:
      return select_integer<std::int64_t, std::uint64_t>(work);
    case Dtype::uint8:
      return select_integer<std::uint8_t, std::uint8_t>(work);
    case Dtype::uint16:
      return select_integer<std::uint16_t, std::uint16_t>(work);
    case Dtype::uint32:
      return select_integer<std::uint32_t, std::uint32_t>(work);
    case Dtype::uint64:
      return select_integer<std::uint64_t, std::uint64_t>(work);
    case Dtype::float16:
      return select_half<Float16>(work);
    case Dtype::bfloat16:
      return select_half<BFloat16>(work);
    case Dtype::float32:
      return select_float<float>(work);
    case Dtype::float64:
      return select_float<double>(work);
    case Dtype::longdouble:
      return select_float<long double>(work);
    case Dtype::complex64:
      return select_complex<float>(work);
    case Dtype::complex128:
      return select_complex<double>(work);
    case Dtype::clongdouble:
      return select_complex<long double>(work);
    default:
      return nullptr;
  }
}

template <class T, class Quotient>
void divide(const Work&, char* __restrict at, int64_t step, int64_t n,
            const int64_t* __restrict terms, int64_t terms_step) {
  constexpr int64_t width = sizeof(T);
  const auto one = [&](int64_t i, int64_t stride, int64_t by) {
    const T sum = load<T>(at + i * stride);
    // By 1 instead of 0, in a way that compilers do not make a branch of.
    const T result = choose(by != 0, Quotient{}(sum, by + (by == 0)), sum);
    std::memcpy(at + i * stride, &result, sizeof result);
  };
  // The common cases apart, so that the compiler knows the steps.
  if (step == width && terms_step == 1) {
    for (int64_t i = 0; i < n; ++i) one(i, width, terms[i]);
  } else if (step == width && terms_step == 0) {
    const int64_t by = *terms;
    for (int64_t i = 0; i < n; ++i) one(i, width, by);
  } else {
    for (int64_t i = 0; i < n; ++i) one(i, step, terms[i * terms_step]);
  }
}

void divide_small(const Work& work, char* at, int64_t step, int64_t n, const int64_t* terms,
                  int64_t terms_step) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t by = terms[i * terms_step];
    if (by == 0) continue;
    const auto sum = load<std::uint8_t>(at + i * step);
    at[i * step] = static_cast<char>(by < 256 ? work.quotients[by << 8 | sum]
                                              : small_quotient(work.dtype, sum, by));
  }
}

Divide select_divide(Dtype dtype) {
  if (is_small(dtype)) return divide_small;
  if (is_index(dtype)) {
    return visit_index(dtype, [](auto zero) -> Divide {
      return divide<decltype(zero), QuotientInteger<decltype(zero)>>;
    });
  }
  switch (dtype) {
    case Dtype::float16:
      return divide<Float16, QuotientHalf<Float16>>;
    case Dtype::bfloat16:
      return divide<BFloat16, QuotientHalf<BFloat16>>;
    case Dtype::float32:
      return divide<float, QuotientFloat<float>>;
    case Dtype::float64:
      return divide<double, QuotientFloat<double>>;
    case Dtype::longdouble:
      return divide<long double, QuotientFloat<long double>>;
    case Dtype::complex64:
      return divide<Complex<float>, QuotientComplex<float>>;
    case Dtype::complex128:
      return divide<Complex<double>, QuotientComplex<double>>;
    case Dtype::clongdouble:
      return divide<Complex<long double>, QuotientComplex<long double>>;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace SOWREAP_ISA

#define SOWREAP_JOIN(a, b) a##b
#define SOWREAP_NAME(isa) SOWREAP_JOIN(kernels_, isa)
#define SOWREAP_TEXT(isa) #isa
#define SOWREAP_STRING(isa) SOWREAP_TEXT(isa)
extern const Kernels SOWREAP_NAME(SOWREAP_ISA);
const Kernels SOWREAP_NAME(SOWREAP_ISA) = {select, in_range, ascends, take_constant,
                                           SOWREAP_STRING(SOWREAP_ISA)};

}  // namespace sowreap
