// What the kernels, compiled once for each instruction set, are given. Everything is decided
// before.
#pragma once

#include <cstdint>

#include "sowreap/mode.hpp"
#include "sowreap/plan.hpp"
#include "sowreap/reduction.hpp"

namespace sowreap {

class Stop;

enum class Form : std::uint8_t {
  slices,   // all items of an inner run share their index tuple; a run may be a single item
  columns,  // each item of an inner run has its own index
  rows,     // index tuples of few picks lie row behind row: many rows are resolved at once
};

struct Range {
  std::int64_t begin, end;
};

// A part is one task of one thread: a box in (batch, free, picks, run), and the cells that it owns.
struct Part {
  Range batch;
  Range free;
  Range picks;
  Range run;
  Range owned;
};

// How updates are counted: a bit will do where only the first one matters.
enum class Tally : std::uint8_t { bits, numbers32, numbers64 };

constexpr std::int64_t tally_bytes(Tally tally, std::int64_t cells) {
  if (tally == Tally::bits) return (cells + 7) / 8;
  return cells * (tally == Tally::numbers32 ? 4 : 8);
}

struct Work {
  const Plan* plan;  // collapsed
  Form form;
  Dtype dtype;
  Reduction reduction;
  Mode mode;
  const char* fill;               // gathers in mode absent: the item of an absent cell
  const std::uint8_t* table;      // of the formats of at most eight bits
  const std::uint8_t* quotients;  // likewise, for mean
  // The lanes of the plan, by what they are to the form:
  int batch_count, free_count;
  Loop batch[2 * max_rank];  // index tuples of their own
  Loop free[2 * max_rank];   // slices: index tuples are shared
  Loop run;                  // the innermost one; extent 1 where there is none
  std::int64_t reach;        // bytes between the first and the last cell
  bool prefetch;             // they are more than the cache holds
  bool near;                 // they are no more than its first level holds
  // slices: single items are gathered, and enough of them for all cells of the next batch to be
  // asked for meanwhile.
  bool follows;
  // slices, scatters: a part applies the cells in its range `owned` alone. A cell is counted in
  // steps of the axis, or in bytes where index tuples have other than one component.
  bool owners;
  // scatters: the parts bring in the data, from `source`, which has the strides of the addressed
  // array. In slices each batch then is a contiguous row of cells; in rows these follow each other
  // too; in columns packing does it.
  bool copies;
  // The output is larger than the caches keep, so it passes them by. Gathers: its items follow each
  // other along the run and, in slices, along the picks. Scatters: it is copied and scattered into
  // by rows or blocks in a buffer of the part.
  bool streams;
  // scatters: the updates of each cell are counted, for a mean or so that the first one replaces
  // what is there. The buffer of a part holds the counts: in slices a tally of the cells of a batch
  // (of those owned, where index tuples have one component), zero before and after; in columns one
  // of 32 bits for each item of a block, behind the packed block.
  bool counted;
  Tally tally;
  bool include_self;
  // columns, scatters in mode absent: bytes at the start of the buffer for updates that go nowhere.
  std::int64_t spare;
  // columns: a part packs its block of columns from `source` into a buffer of its own, and a
  // scatter writes it back from there.
  bool packed;
  const char* source;
  // rows: how many values of indices each has, the bytes between two of them, and how many rows at
  // most go together.
  std::int64_t row_values, row_step, rows_at_once;
  Stop* stop;  // what the call is left by; null where it cannot be
  // slices: index tuples that are resolved at once, from one look at `stop` to the next.
  std::int64_t picks_at_once;
};

// Index tuples that are resolved at once; also the most columns that a part of the columns form may
// have.
inline constexpr std::int64_t chunk = 1024;

// Values of indices of a row, at most, that is done together with others.
inline constexpr std::int64_t most_row_values = 64;

// Buffers are divided at cache lines.
constexpr std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// What 32 bits count.
inline constexpr std::int64_t most_counted = 0xffffffff;

struct Kernels {
  // False: a value of indices was out of range, or the call is to be left; the output is not to be
  // used.
  using Run = bool (*)(const Work&, const Part&, char* buffer);
  Run (*select)(const Work&);
  // Whether `count` values are all in [-length, length - 1].
  bool (*in_range)(Dtype dtype, const char* values, std::int64_t stride, std::int64_t count,
                   std::int64_t length);
  // Whether none of `count` values is negative, or less than the one before.
  bool (*ascends)(Dtype dtype, const char* values, std::int64_t stride, std::int64_t count);
  // Whether each of `count` rows of n values, at least one, holds the same value n times; those
  // values, one behind the other.
  bool (*take_constant)(Dtype dtype, const char* rows, std::int64_t pitch, std::int64_t count,
                        std::int64_t stride, std::int64_t n, char* values);
  const char* name;
};

extern const Kernels kernels_baseline;
#if defined(SOWREAP_X86)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

}  // namespace sowreap
