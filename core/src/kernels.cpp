// The loops over data. Compiled once for each instruction set: -DSOWREAP_ISA=name with the compiler
// flags of that set. Everything here is in the inline namespace of that name, and nothing of the
// C++ library is called, so that no code compiled for one set can be linked into another.

#include "sowreap/kernels.hpp"

#include <cstring>

#include "sowreap/walk.hpp"

namespace sowreap {
inline namespace SOWREAP_ISA {
namespace {

using std::int64_t;

// How far ahead memory is asked for.
constexpr int64_t items_ahead = 128;       // single items, by index
constexpr int64_t bytes_ahead = 8 * 1024;  // slices, by index
constexpr int64_t rows_ahead = 8;          // rows of a block of columns: no processor follows those
constexpr int64_t indices_ahead = 4096;    // bytes
constexpr int64_t line = 64;               // bytes
constexpr int64_t most_lines = 16;         // of one row; from there on the processor follows

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
    a = f(a, b);
    std::memcpy(to, &a, sizeof a);
  }
  void row(char* __restrict to, const char* __restrict from, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) (*this)(to + i * width(), from + i * width());
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

// Brings the cache lines of [at, at + bytes) near, at most `most_lines` of them.
template <bool write>
void fetch(const char* at, int64_t bytes) {
  const int64_t lines = bytes / line < most_lines ? bytes / line : most_lines;
  for (int64_t i = 0; i <= lines; ++i) __builtin_prefetch(at + i * line, write);
}

// ---- indices to cells ----

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// cells[i] = value, or value + length where it is negative. False when one is out of range: a cell
// then is outside of [0, length), and none may be used. With the sign bits of cell and length - 1 -
// cell joined there is no branch in the loop. (The difference is formed without sign: it can
// overflow where the cell is negative, which its own sign bit tells.) The values `ahead` bytes
// further on will be wanted next.
template <class I>
bool resolve(const char* indices, int64_t step, int64_t n, int64_t length, int64_t* cells,
             int64_t ahead) {
  constexpr bool is_signed = static_cast<I>(-1) < static_cast<I>(0);
  constexpr int64_t width = sizeof(I), group = 64;
  const std::uint64_t last = static_cast<std::uint64_t>(length) - 1;
  int64_t bad = 0;
  const auto one = [&](int64_t i, int64_t stride) {
    int64_t cell = static_cast<int64_t>(load<I>(indices + i * stride));
    if constexpr (is_signed) cell += cell < 0 ? length : 0;
    bad |= cell | static_cast<int64_t>(last - static_cast<std::uint64_t>(cell));
    cells[i] = cell;
  };
  for (int64_t i = 0; i < n; i += group) {
    const int64_t end = n - i < group ? n : i + group;
    fetch<false>(indices + i * step + ahead, (end - i) * step);
    if (step == width) {
      for (int64_t j = i; j < end; ++j) one(j, width);
    } else {
      for (int64_t j = i; j < end; ++j) one(j, step);
    }
  }
  return bad >= 0;
}

using Resolve = bool (*)(const char*, int64_t, int64_t, int64_t, int64_t*, int64_t);

Resolve select_resolve(Dtype dtype) {
  return visit_index(dtype, [](auto zero) -> Resolve { return resolve<decltype(zero)>; });
}

bool in_range(Dtype dtype, const char* values, int64_t step, int64_t n, int64_t length) {
  int64_t cells[chunk];
  const Resolve resolve_values = select_resolve(dtype);
  for (int64_t i = 0; i < n; i += chunk) {
    const int64_t count = n - i < chunk ? n - i : chunk;
    if (!resolve_values(values + i * step, step, count, length, cells, indices_ahead)) return false;
  }
  return true;
}

// Index tuples of a chunk to cells, counted in steps of the axis for one component, in bytes for
// another number.
bool resolve_tuples(const Plan& plan, Resolve resolve_values, const char* indices, int64_t step,
                    int64_t n, int64_t* cells) {
  if (plan.axis_count == 1)
    return resolve_values(indices, step, n, plan.axes[0].length, cells, indices_ahead);
  for (int64_t i = 0; i < n; ++i) cells[i] = 0;
  int64_t component[chunk];
  for (int a = 0; a < plan.axis_count; ++a) {
    const Axis& axis = plan.axes[a];
    if (!resolve_values(indices + axis.component, step, n, axis.length, component, indices_ahead))
      return false;
    for (int64_t i = 0; i < n; ++i) cells[i] += component[i] * axis.stride;
  }
  return true;
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

template <bool scatter, class Op>
void apply_items(const Op& op, const Chunk& c, bool prefetch) {
  const int64_t ahead = prefetch && c.count > items_ahead ? c.count - items_ahead : 0;
  if (prefetch) {
    for (int64_t i = 0; i < c.count && i < items_ahead; ++i)
      __builtin_prefetch(c.addressed_at(i), scatter);
  }
  // The commonest case apart, so that both steps are known to the compiler.
  if (c.listed == nullptr && c.unit == op.width() && c.step == op.width()) {
    const int64_t width = op.width();
    for (int64_t i = 0; i < ahead; ++i) {
      __builtin_prefetch(c.addressed + c.cells[i + items_ahead] * width, scatter);
      apply<scatter>(op, c.addressed + c.cells[i] * width, c.other + i * width);
    }
    for (int64_t i = ahead; i < c.count; ++i) {
      apply<scatter>(op, c.addressed + c.cells[i] * width, c.other + i * width);
    }
    return;
  }
  for (int64_t i = 0; i < ahead; ++i) {
    __builtin_prefetch(c.addressed_at(i + items_ahead), scatter);
    apply<scatter>(op, c.addressed_at(i), c.other_at(i));
  }
  for (int64_t i = ahead; i < c.count; ++i) apply<scatter>(op, c.addressed_at(i), c.other_at(i));
}

template <bool scatter, class Op>
void apply_rows(const Op& op, const Chunk& c, const Loop& run, int64_t n, bool prefetch) {
  const bool contiguous = run.addressed == op.width() && run.other == op.width();
  const int64_t bytes = n * op.width();
  const int64_t ahead = contiguous && prefetch ? 1 + bytes_ahead / (bytes + 256) : c.count;
  for (int64_t i = 0; i < ahead && i < c.count && ahead < c.count; ++i)
    fetch<scatter>(c.addressed_at(i), bytes);
  for (int64_t i = 0; i < c.count; ++i) {
    if (i + ahead < c.count) fetch<scatter>(c.addressed_at(i + ahead), bytes);
    char* addressed = c.addressed_at(i);
    char* other = c.other_at(i);
    if constexpr (scatter) {
      apply_run(op, addressed, run.addressed, other, run.other, n);
    } else {
      apply_run(op, other, run.other, addressed, run.addressed, n);
    }
  }
}

// Keeps the picks whose cell is owned, in their order, without a branch. Returns how many.
int64_t keep_owned(Range owned, int64_t* cells, std::int32_t* listed, int64_t n) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t cell = cells[i];
    cells[kept] = cell;
    listed[kept] = static_cast<std::int32_t>(i);
    kept += (cell >= owned.begin) & (cell < owned.end);
  }
  return kept;
}

template <class Op, bool scatter>
bool run_slices(const Work& work, const Part& part, char*) {
  const Op op(work);
  const Plan& plan = *work.plan;
  const Resolve resolve_values = select_resolve(plan.index_dtype);
  const Loop& pick = plan.picks[plan.pick_count - 1];
  const int64_t n = part.run.end - part.run.begin;
  int64_t cells[chunk];
  std::int32_t listed[chunk];
  Chunk c;
  c.cells = cells;
  c.unit = plan.axis_count == 1 ? plan.axes[0].stride : 1;
  c.step = pick.other;
  c.listed = work.owners ? listed : nullptr;
  Walk batch(work.batch, work.batch_count, part.batch.begin);
  for (int64_t b = part.batch.begin; b < part.batch.end; ++b, batch.next()) {
    if (scatter && work.copies) {
      std::memcpy(plan.addressed + batch.addressed, work.source + batch.addressed,
                  static_cast<std::size_t>(plan.axes[0].length * op.width()));
    }
    Walk outer(plan.picks, plan.pick_count - 1, part.picks.begin / pick.extent);
    int64_t at = part.picks.begin % pick.extent;
    for (int64_t done = part.picks.begin; done < part.picks.end;) {
      int64_t count = pick.extent - at;
      if (count > chunk) count = chunk;
      if (count > part.picks.end - done) count = part.picks.end - done;
      const char* indices = plan.indices + batch.index + outer.index + at * pick.index;
      if (!resolve_tuples(plan, resolve_values, indices, pick.index, count, cells)) return false;
      c.count = work.owners ? keep_owned(part.owned, cells, listed, count) : count;
      Walk free(work.free, work.free_count, part.free.begin);
      for (int64_t f = part.free.begin; f < part.free.end; ++f, free.next()) {
        c.addressed =
            plan.addressed + batch.addressed + free.addressed + part.run.begin * work.run.addressed;
        c.other = plan.other + batch.other + free.other + outer.other + at * pick.other +
                  part.run.begin * work.run.other;
        if (n == 1) {
          apply_items<scatter>(op, c, work.prefetch);
        } else {
          apply_rows<scatter>(op, c, work.run, n, work.prefetch);
        }
      }
      done += count;
      at += count;
      if (at == pick.extent) {
        at = 0;
        outer.next();
      }
    }
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
};

bool all_equal(const int64_t* cells, int64_t n) {
  int64_t differs = 0;
  for (int64_t i = 1; i < n; ++i) differs |= cells[i] ^ cells[0];
  return differs == 0;
}

template <bool scatter, class Op>
void apply_columns(const Op& op, const Block& block, char* other, const int64_t* cells) {
  constexpr int64_t worth_a_look = 4;
  const int64_t width = block.width;
  if (width >= worth_a_look && all_equal(cells, width)) {
    char* addressed = block.base + cells[0] * block.unit;
    if constexpr (scatter) {
      apply_run(op, addressed, block.step, other, block.other_step, width);
    } else {
      apply_run(op, other, block.other_step, addressed, block.step, width);
    }
  } else if (block.step == op.width() && block.other_step == op.width()) {
    for (int64_t j = 0; j < width; ++j) {
      apply<scatter>(op, block.base + cells[j] * block.unit + j * op.width(),
                     other + j * op.width());
    }
  } else {
    for (int64_t j = 0; j < width; ++j) {
      apply<scatter>(op, block.base + cells[j] * block.unit + j * block.step,
                     other + j * block.other_step);
    }
  }
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

// The picks [begin, end) of one block.
template <bool scatter, class Op>
bool apply_block(const Op& op, const Work& work, const Block& block, const char* indices,
                 Range picks) {
  const Loop& pick = work.plan->picks[0];
  const Resolve resolve_values = select_resolve(work.plan->index_dtype);
  const int64_t width = block.width, rows_at_once = chunk / width;
  const int64_t fetched = work.prefetch && !work.packed ? 1 + items_ahead / width : rows_at_once;
  const bool strewn = pick.other != width * op.width();
  int64_t cells[chunk];
  for (int64_t p = picks.begin; p < picks.end; p += rows_at_once) {
    const int64_t rows = picks.end - p < rows_at_once ? picks.end - p : rows_at_once;
    if (!resolve_rows(work, resolve_values, indices + p * pick.index, width, rows, cells)) {
      return false;
    }
    char* other = block.other + p * pick.other;
    for (int64_t r = 0; r < fetched && fetched < rows; ++r) {
      fetch_columns<scatter>(block, cells + r * width);
    }
    for (int64_t r = 0; r < rows; ++r) {
      char* row = other + r * pick.other;
      if (strewn) fetch<!scatter>(row + rows_ahead * pick.other, width * op.width());
      if (r + fetched < rows) fetch_columns<scatter>(block, cells + (r + fetched) * width);
      apply_columns<scatter>(op, block, row, cells + r * width);
    }
  }
  return true;
}

template <class Op>
struct MoverOf {
  using type = Move<Op::width()>;
};
template <>
struct MoverOf<MoveBytes> {
  using type = MoveBytes;
};

template <class Op, bool scatter>
bool run_columns(const Work& work, const Part& part, char* buffer) {
  const Op op(work);
  const typename MoverOf<Op>::type mover(work);
  const Plan& plan = *work.plan;
  const Axis& axis = plan.axes[0];
  const int64_t first = part.run.begin, width = part.run.end - first;
  Walk batch(work.batch, work.batch_count, part.batch.begin);
  for (int64_t b = part.batch.begin; b < part.batch.end; ++b, batch.next()) {
    char* addressed = plan.addressed + batch.addressed + first * work.run.addressed;
    Block block{addressed,          axis.stride,
                work.run.addressed, plan.other + batch.other + first * work.run.other,
                work.run.other,     width};
    if (work.packed) {
      block.base = buffer;
      block.step = op.width();
      block.unit = width * op.width();
      const char* source = work.source + (addressed - plan.addressed);
      for (int64_t r = 0; r < axis.length; ++r) {
        const char* row = source + r * axis.stride;
        fetch<false>(row + rows_ahead * axis.stride, width * op.width());
        apply_run(mover, buffer + r * block.unit, block.step, row, work.run.addressed, width);
      }
    }
    const char* indices = plan.indices + batch.index + first * work.run.index;
    if (!apply_block<scatter>(op, work, block, indices, part.picks)) return false;
    if (scatter && work.packed) {
      for (int64_t r = 0; r < axis.length; ++r) {
        char* row = addressed + r * axis.stride;
        fetch<true>(row + rows_ahead * axis.stride, width * op.width());
        apply_run(mover, row, work.run.addressed, buffer + r * block.unit, block.step, width);
      }
    }
  }
  return true;
}

// ---- choice ----

template <class Op>
Kernels::Run kernel(const Work& work) {
  const bool columns = work.form == Form::columns;
  if constexpr (Op::moves) {
    if (!work.plan->scatter) return columns ? run_columns<Op, false> : run_slices<Op, false>;
  }
  return columns ? run_columns<Op, true> : run_slices<Op, true>;
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
  if (work.reduction == Reduction::add) return kernel<Combine<Complex<T>, AddComplex<T>>>(work);
  return kernel<Combine<Complex<T>, MulComplex<T>>>(work);
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

}  // namespace
}  // namespace SOWREAP_ISA

#define SOWREAP_JOIN(a, b) a##b
#define SOWREAP_NAME(isa) SOWREAP_JOIN(kernels_, isa)
#define SOWREAP_TEXT(isa) #isa
#define SOWREAP_STRING(isa) SOWREAP_TEXT(isa)
extern const Kernels SOWREAP_NAME(SOWREAP_ISA);
const Kernels SOWREAP_NAME(SOWREAP_ISA) = {select, in_range, SOWREAP_STRING(SOWREAP_ISA)};

}  // namespace sowreap
