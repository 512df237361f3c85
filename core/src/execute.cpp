#include "sowreap/execute.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "sowreap/error.hpp"
#include "sowreap/kernels.hpp"
#include "sowreap/machine.hpp"
#include "sowreap/small_float.hpp"
#include "sowreap/stop.hpp"
#include "sowreap/threads.hpp"
#include "sowreap/walk.hpp"

namespace sowreap {
namespace {

using std::int64_t;

// ---- limits that decide ----

// A call that moves less stays on its thread: waking another takes 5 to 100 microseconds. Where
// there are no more parts than threads, one that comes late finds nothing left, and runs of items,
// which are cheap for their bytes, are done by then.
constexpr double parallel_bytes = 3 << 19;
constexpr double few_parts_bytes = 8 << 20;
constexpr int64_t parts_per_thread = 4;   // parts differ in cost
constexpr int64_t split_row_bytes = 512;  // a slice is split into pieces of at least this,
constexpr int64_t split_picks = 256;
constexpr int64_t owner_picks = 16384;  // fewer are not worth a second look at every index
constexpr int64_t cache_line = 64;
constexpr int64_t followed_rows = 8;           // of cells: a processor fetches so many by itself
constexpr int64_t streamed_bytes = 32 << 20;   // an output of this size is not kept in caches
constexpr int64_t least_folded_row = 4;        // fewer items of a row of constant indices, or
constexpr int64_t least_folded_rows = 256;     // fewer rows, are not worth a look,
constexpr int64_t folded_bytes = 32 << 20;     // and more values not the memory
constexpr int64_t counts_bytes = 32 << 20;     // of a block of columns that is not packed
constexpr int64_t near_bytes = 32 << 10;       // of the first level of the cache
constexpr int64_t near_columns = 64;           // at least, for a block of that size
constexpr int64_t dense_row_bytes = 64 << 10;  // longer ones are not copied one by one
constexpr int64_t least_short_rows = 8;        // fewer are not worth a form of their own
// Touched without a look whether the call is to be left.
constexpr int64_t unseen_bytes = 16 << 20;
constexpr int64_t unseen_indices = 1 << 20;

int64_t item_count(const View& v) {
  int64_t n = 1;
  for (int d = 0; d < v.rank; ++d) n *= v.shape[d];
  return n;
}

Range piece(Range all, int64_t part, int64_t parts) {
  const int64_t n = all.end - all.begin;
  const int64_t size = n / parts, rest = n % parts;  // the first `rest` pieces are one longer
  const int64_t begin = all.begin + part * size + std::min(part, rest);
  return {begin, begin + size + (part < rest ? 1 : 0)};
}

// ---- form ----

// How far apart neighbours along the picks lie, in both arrays together.
int64_t pick_distance(const Plan& plan) {
  int64_t axis = 0;
  for (int a = 0; a < plan.axis_count; ++a) {
    const int64_t stride = magnitude(plan.axes[a].stride);
    if (a == 0 || stride < axis) axis = stride;
  }
  return axis + magnitude(plan.picks[plan.pick_count - 1].other);
}

// Columns whose updates are counted visit every item once more, which few picks do not pay for.
bool can_count_columns(const Plan& plan) {
  const int64_t picks = plan.pick_total();
  return picks <= most_counted && picks >= plan.axes[0].length / 4;
}

// Whether many lanes of few picks each are better taken for columns, wherever their items lie: the
// tally of a batch is begun and ended for each.
bool counts_short_rows(const Work& work, const Loop& inner) {
  const Plan& plan = *work.plan;
  return work.counted && plan.pick_count == 1 && plan.axis_count == 1 &&
         plan.pick_total() <= most_row_values && inner.extent >= least_short_rows;
}

// Whether the values of indices of one batch are few and lie behind those of the batch before, so
// that many batches are done together.
bool has_short_rows(const Work& work) {
  const Plan& plan = *work.plan;
  if (work.counted || work.batch_count == 0 || work.free_count > 0 || plan.pick_count != 1 ||
      plan.axis_count != 1 || (work.form == Form::slices && work.run.extent > 1))
    return false;
  const Loop &batch = work.batch[work.batch_count - 1], &pick = plan.picks[0];
  const int64_t values = work.run.extent * pick.extent;
  return values <= most_row_values && batch.extent >= least_short_rows &&
         (pick.extent == 1 || pick.index == work.run.extent * work.row_step) &&
         batch.index == values * work.row_step;
}

// Whether those rows follow each other without a gap, in cells and in the whole array.
bool has_dense_rows(const Work& work) {
  const Plan& plan = *work.plan;
  const Axis& axis = plan.axes[0];
  const int64_t bytes = axis.length * axis.stride;
  return work.batch_count == 1 && work.batch[0].addressed == bytes && bytes > 0 &&
         bytes <= dense_row_bytes && axis.stride == work.run.extent * plan.item &&
         (work.run.extent == 1 || work.run.addressed == plan.item);
}

// Whether the cells of a batch, all of which its picks are likely to meet, are a block of memory
// that the next batch has too. Their order is not one that a processor follows by itself.
bool can_follow(const Work& work) {
  const Plan& plan = *work.plan;
  if (plan.scatter || work.form != Form::slices || work.run.extent > 1 || work.free_count > 0 ||
      work.batch_count == 0 || plan.axis_count != 1 || plan.axes[0].stride != plan.item ||
      work.reach == 0)
    return false;
  const int64_t batches = work.batch[work.batch_count - 1].extent;
  return work.reach <= cache_bytes() / 2 && batches > cache_bytes() / work.reach &&
         plan.pick_total() >= work.reach / plan.item / 2;
}

// Divides the lanes: the innermost becomes the run when it lies closer than the picks do. It makes
// slices if its index tuples are shared, columns if it has its own.
void choose_form(Work& work) {
  const Plan& plan = *work.plan;
  int lanes = plan.lane_count;
  work.form = Form::slices;
  work.run = {1, 0, 0, 0};
  if (lanes > 0) {
    const Loop& inner = plan.lanes[lanes - 1];
    const bool own = inner.index != 0;
    const bool closer = plan.pick_total() == 1 || (own && counts_short_rows(work, inner)) ||
                        magnitude(inner.addressed) + magnitude(inner.other) < pick_distance(plan);
    const bool columns =
        plan.pick_count == 1 && plan.axis_count == 1 && (!work.counted || can_count_columns(plan));
    if (closer && (!own || columns)) {
      work.form = own ? Form::columns : Form::slices;
      work.run = inner;
      --lanes;
    }
  }
  work.batch_count = work.free_count = 0;
  for (int i = 0; i < lanes; ++i) {
    if (plan.lanes[i].index != 0 || work.form == Form::columns) {
      work.batch[work.batch_count++] = plan.lanes[i];
    } else {
      work.free[work.free_count++] = plan.lanes[i];
    }
  }
  work.row_step = work.run.extent > 1 ? work.run.index : plan.picks[plan.pick_count - 1].index;
  if (has_short_rows(work)) {
    work.form = Form::rows;
    work.row_values = work.run.extent * plan.pick_total();
    work.rows_at_once = chunk / work.row_values;
  }
}

// ---- indices that are constant along the inner lane ----

// Whether rows of indices are likely to be constant: three of them are.
bool looks_constant(const Plan& plan, const Loop& inner) {
  const Loop& pick = plan.picks[0];
  for (const int64_t row : {int64_t{0}, pick.extent / 2, pick.extent - 1}) {
    char value[sizeof(int64_t)];
    if (!kernels().take_constant(plan.index_dtype, plan.indices + row * pick.index, 0, 1,
                                 inner.index, inner.extent, value))
      return false;
  }
  return true;
}

// A graph network expands the ids of its edges over the features. Where every row of a plan's
// indices holds one value, returns these values, which the plan then has for its indices; its inner
// lane shares them, and makes slices. Otherwise null, and the plan is as it was.
Buffer fold_constant(Plan& plan, int threads) {
  if (plan.lane_count == 0 || plan.pick_count != 1 || plan.axis_count != 1) return nullptr;
  Loop& inner = plan.lanes[plan.lane_count - 1];
  Loop& pick = plan.picks[0];
  const int64_t item = index_bytes(plan.index_dtype);
  Loop outer[2 * max_rank];
  int count = 0;
  for (int i = 0; i + 1 < plan.lane_count; ++i) {
    if (plan.lanes[i].index != 0) outer[count++] = plan.lanes[i];
  }
  const int64_t batches = total(outer, count), rows = batches * pick.extent;
  const bool rows_lie_together = inner.index != 0 && magnitude(inner.index) < magnitude(pick.index);
  if (!rows_lie_together || inner.extent < least_folded_row || rows < least_folded_rows ||
      rows > folded_bytes / item || !looks_constant(plan, inner))
    return nullptr;
  Buffer values(static_cast<char*>(std::malloc(static_cast<std::size_t>(rows * item))));
  if (!values) return nullptr;
  const int64_t parts = batches < threads ? threads * parts_per_thread : 1;
  const int64_t pieces =
      std::min(std::max(parts, pick.extent * magnitude(pick.index) / unseen_bytes), pick.extent);
  Stop* const stop = current_stop();
  std::atomic<bool> constant{true};
  run_parallel(batches * pieces, threads, [&](int64_t part, int) {
    if (!constant.load(std::memory_order_relaxed)) return;
    if (stop != nullptr && stop->look()) return constant.store(false);
    const int64_t batch = part / pieces;
    const Range picks = piece({0, pick.extent}, part % pieces, pieces);
    const Walk at(outer, count, batch);
    if (!kernels().take_constant(plan.index_dtype,
                                 plan.indices + at.index + picks.begin * pick.index, pick.index,
                                 picks.end - picks.begin, inner.index, inner.extent,
                                 values.get() + (batch * pick.extent + picks.begin) * item))
      constant.store(false);
  });
  leave_if_stopped();
  if (!constant.load()) return nullptr;
  plan.indices = values.get();
  inner.index = 0;
  pick.index = item;
  int64_t step = pick.extent * item;
  for (int i = plan.lane_count - 1; i >= 0; --i) {
    if (plan.lanes[i].index == 0) continue;
    plan.lanes[i].index = step;
    step *= plan.lanes[i].extent;
  }
  return values;
}

// ---- split ----

enum class Along { nothing, batch, free, picks, run, owners };

struct Split {
  Along along = Along::nothing;
  int64_t parts = 1;            // of `along`
  std::vector<int64_t> bounds;  // of parts along the picks, where those are not of one length
  int64_t block = 0;            // columns: width of a block
  int64_t first = 0;            // columns: width of the first block
  int64_t blocks = 1;           // columns: how many there are
  Range cells{0, 0};            // all that can be addressed, in the unit of kernels
};

// Where cells can lie, in the unit of kernels (Work::owners).
Range cell_range(const Plan& plan) {
  if (plan.axis_count == 1) return {0, plan.axes[0].length};
  Range range{0, 1};
  for (int a = 0; a < plan.axis_count; ++a) {
    const int64_t reach = (plan.axes[a].length - 1) * plan.axes[a].stride;
    (reach < 0 ? range.begin : range.end) += reach;
  }
  return range;
}

Split split_slices(const Work& work, int threads) {
  const Plan& plan = *work.plan;
  const int64_t batch = total(work.batch, work.batch_count),
                free = total(work.free, work.free_count);
  const int64_t picks = plan.pick_total();
  const int64_t rows = work.run.extent * plan.item / split_row_bytes;
  const int64_t want = threads * parts_per_thread;
  Split split;
  const auto use = [&](Along along, int64_t pieces, int64_t parts) {
    if (split.along == Along::nothing && pieces >= threads) {
      split.along = along;
      split.parts = std::min(pieces, parts);
    }
  };
  // Several parts a thread if possible; otherwise at least one.
  for (const int64_t enough : {want, static_cast<int64_t>(threads)}) {
    if (batch >= enough) use(Along::batch, batch, want);
    if (free >= enough) use(Along::free, free, want);
    if (!plan.scatter && picks / split_picks >= enough)
      use(Along::picks, picks / split_picks, want);
    if (rows >= enough) use(Along::run, rows, threads);
  }
  // Looking at every index twice pays for rows, and for single items that come from memory: into a
  // cache one thread scatters as fast as it can look.
  const bool costly = work.run.extent > 1 || work.prefetch || work.counted;
  if (split.along == Along::nothing && plan.scatter && costly && picks >= owner_picks &&
      plan.axis_count > 0) {
    split.cells = cell_range(plan);
    use(Along::owners, split.cells.end - split.cells.begin, threads);
  }
  return split;
}

constexpr int64_t samples = 64;  // of indices, spread over all picks

// Whether nearly all picks meet one cell: its owner would have all the work.
bool meets_one_cell(const Work& work) {
  const Plan& plan = *work.plan;
  const Loop& pick = plan.picks[0];
  if (plan.pick_count != 1 || plan.axis_count != 1 || total(work.batch, work.batch_count) != 1)
    return false;
  const int64_t apart = std::max<int64_t>(pick.extent / samples, 1);
  char value[sizeof(int64_t)];
  return kernels().take_constant(plan.index_dtype, plan.indices, 0, 1, apart * pick.index,
                                 pick.extent / apart, value);
}

// Where indices ascend, as those of sorted segments do, updates of one cell follow each other: the
// picks are divided between cells, and each part owns its cells without a look at the other picks.
// Returns where the parts begin and end, or nothing where the indices do not ascend.
std::vector<int64_t> divide_ascending(const Work& work, int64_t parts, int threads) {
  const Plan& plan = *work.plan;
  const Loop& pick = plan.picks[0];
  if (plan.pick_count != 1 || plan.axis_count != 1 || work.counted || work.mode != Mode::raise ||
      total(work.batch, work.batch_count) != 1)
    return {};
  const auto ascends = [&](int64_t begin, int64_t stride, int64_t count) {
    return kernels().ascends(plan.index_dtype, plan.indices + begin * pick.index,
                             stride * pick.index, count);
  };
  const int64_t picks = pick.extent, apart = std::max<int64_t>(picks / samples, 1);
  if (!ascends(0, apart, picks / apart)) return {};
  std::atomic<bool> good{true};
  const int64_t pieces = std::max(parts, picks / unseen_indices);
  run_parallel(pieces, threads, [&](int64_t number, int) {
    if (!good.load(std::memory_order_relaxed)) return;
    if (work.stop != nullptr && work.stop->look()) return good.store(false);
    const Range own = piece({0, picks}, number, pieces);
    const int64_t begin = std::max<int64_t>(own.begin - 1, 0);  // with the last one before
    if (!ascends(begin, 1, own.end - begin)) good.store(false);
  });
  leave_if_stopped();
  if (!good.load()) return {};
  std::vector<int64_t> bounds{0};
  for (int64_t part = 1; part < parts; ++part) {
    // The first pick behind, whose index is another: of two equal ones both orders ascend.
    int64_t low = piece({0, picks}, part, parts).begin, high = picks;
    const int64_t last = low - 1;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const bool equal = ascends(middle, last - middle, 2);
      (equal ? low : high) = equal ? middle + 1 : middle;
    }
    bounds.push_back(std::max(low, bounds.back()));
  }
  bounds.push_back(picks);
  return bounds;
}

// A block of columns is packed when all of the axis fits the cache for at least a cache line's
// width, the slab as a whole does not, and enough of it is used to pay for the packing. Whole rows
// of cells, which constant rows of indices address, need none.
int64_t packed_width(const Work& work, bool whole) {
  const Plan& plan = *work.plan;
  const int64_t cells = plan.axes[0].length;
  const int64_t item = plan.item + (work.counted ? sizeof(std::uint32_t) : 0);
  if (cells == 0 || cells * item > cache_bytes() ||
      cells * item * work.run.extent <= 2 * cache_bytes())
    return 0;
  if (!whole && plan.pick_total() * 2 < cells) return 0;
  if (cells <= followed_rows || looks_constant(plan, work.run)) return 0;
  const int64_t line_items = std::max<int64_t>(cache_line / plan.item, 1);
  int64_t width = std::min(cache_bytes() / (cells * item), chunk / 4);
  if (width < line_items) return 0;
  width -= width % line_items;
  return std::min(width, work.run.extent);
}

// Columns that are not packed and whose updates are counted: at least a cache line's width of them.
int64_t counted_width(const Plan& plan) {
  constexpr int64_t count = sizeof(std::uint32_t);
  return std::clamp(counts_bytes / (std::max<int64_t>(plan.axes[0].length, 1) * count),
                    cache_line / count, chunk);
}

// Columns that are neither packed nor counted: as many as keep all their cells in the first level
// of the cache, if that is some.
int64_t near_width(const Work& work) {
  const Plan& plan = *work.plan;
  const int64_t width = near_bytes / std::max<int64_t>(plan.axes[0].length * plan.item, 1);
  if (width < near_columns || looks_constant(plan, work.run)) return chunk;
  return std::min(width, chunk);
}

// The width of the first block, such that the others begin at a cache line in every row of the
// output. NumPy's large arrays begin 16 bytes behind one.
int64_t first_width(const Work& work, int64_t block) {
  const Plan& plan = *work.plan;
  const char* output = plan.scatter ? plan.addressed : plan.other;
  const int64_t pitch = plan.scatter ? plan.axes[0].stride : plan.picks[0].other;
  const int64_t step = plan.scatter ? work.run.addressed : work.run.other;
  if (step != plan.item || pitch % cache_line != 0 || work.run.extent <= block) return block;
  const auto behind = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(output) % cache_line);
  const int64_t lead = (cache_line - behind) % cache_line;
  return lead == 0 || lead % plan.item != 0 ? block : std::min(block, lead / plan.item);
}

Split split_columns(Work& work, int threads, bool whole) {
  const Plan& plan = *work.plan;
  const int64_t columns = work.run.extent, batch = total(work.batch, work.batch_count);
  Split split;
  split.block = packed_width(work, whole);
  work.packed = split.block > 0;
  if (!work.packed) {
    split.block = std::min(columns, work.counted ? counted_width(plan) : near_width(work));
    if (threads > 1 && batch * ((columns + split.block - 1) / split.block) < threads) {
      if (!plan.scatter && plan.pick_total() >= threads) {
        split.along = Along::picks;
        split.parts = std::min<int64_t>(plan.pick_total(), threads * parts_per_thread);
      } else {
        split.block = std::min((columns + threads - 1) / threads, split.block);
      }
    }
  }
  split.first = first_width(work, split.block);
  split.blocks = 1 + (columns - std::min(columns, split.first) + split.block - 1) / split.block;
  if (split.along == Along::nothing) {
    split.along = Along::batch;
    const int64_t want = threads * parts_per_thread;
    split.parts = std::clamp<int64_t>((want + split.blocks - 1) / split.blocks, 1,
                                      std::max<int64_t>(batch, 1));
  }
  return split;
}

int64_t part_count(const Work& work, const Split& split) {
  return split.parts * (work.form == Form::columns ? split.blocks : 1);
}

// A piece of the run that begins and ends between the cache lines of the addressed array, of which
// processors fetch two together: threads that write to one line wait for each other.
Range lines_of(const Work& work, Range run) {
  const Plan& plan = *work.plan;
  constexpr int64_t pair = 2 * cache_line;
  if (work.run.addressed != plan.item || pair % plan.item != 0) return run;
  const int64_t line = pair / plan.item;
  const auto behind = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(plan.addressed) % pair);
  const int64_t shift = behind / plan.item;
  const auto between = [&](int64_t at) {
    if (at == 0 || at == work.run.extent) return at;
    return std::clamp<int64_t>((at + shift) / line * line - shift, 0, work.run.extent);
  };
  return {between(run.begin), between(run.end)};
}

Part part_of(const Work& work, const Split& split, int64_t number) {
  Part part{{0, total(work.batch, work.batch_count)},
            {0, total(work.free, work.free_count)},
            {0, work.plan->pick_total()},
            {0, work.run.extent},
            split.cells};
  if (work.form == Form::columns) {
    const int64_t block = number % split.blocks;
    const int64_t end = split.first + block * split.block;
    part.run = {block == 0 ? 0 : end - split.block, std::min(end, work.run.extent)};
    number /= split.blocks;
  }
  switch (split.along) {
    case Along::nothing:
      break;
    case Along::batch:
      part.batch = piece(part.batch, number, split.parts);
      break;
    case Along::free:
      part.free = piece(part.free, number, split.parts);
      break;
    case Along::picks:
      part.picks = split.bounds.empty() ? piece(part.picks, number, split.parts)
                                        : Range{split.bounds[static_cast<std::size_t>(number)],
                                                split.bounds[static_cast<std::size_t>(number) + 1]};
      break;
    case Along::run:
      part.run = lines_of(work, piece(part.run, number, split.parts));
      break;
    case Along::owners:
      part.owned = piece(split.cells, number, split.parts);
      break;
  }
  return part;
}

// ---- running ----

bool same_strides(const View& a, const View& b) {
  for (int d = 0; d < a.rank; ++d) {
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

int threads_for(double bytes) { return bytes < parallel_bytes ? 1 : thread_count(); }

// Touched by one pick of one lane.
int64_t run_bytes(const Work& work) {
  const int64_t item = work.plan->item, n = work.run.extent;
  const bool contiguous = work.run.addressed == item && work.run.other == item;
  return n * (contiguous ? item : std::max(item, cache_line));
}

void prepare(Work& work, Plan& plan, Dtype dtype, Reduction reduction, Mode mode = Mode::raise,
             bool include_self = true, const char* fill = nullptr) {
  collapse(plan);
  work.mode = mode;
  work.fill = fill;
  work.include_self = include_self;
  work.counted = reduction == Reduction::mean || (!include_self && reduction != Reduction::none);
  work.plan = &plan;
  work.dtype = dtype;
  work.reduction = reduction;
  work.table =
      reduction != Reduction::none && is_small(dtype) ? small_table(dtype, reduction) : nullptr;
  work.quotients =
      reduction == Reduction::mean && is_small(dtype) ? small_quotients(dtype) : nullptr;
  work.owners = work.packed = work.copies = work.streams = false;
  work.source = plan.addressed;
  work.spare = 0;
  work.stop = current_stop();
  work.tally = reduction != Reduction::mean        ? Tally::bits
               : plan.pick_total() <= most_counted ? Tally::numbers32
                                                   : Tally::numbers64;
  choose_form(work);
  work.picks_at_once = chunk;
  if (work.stop != nullptr)
    work.picks_at_once = std::clamp<int64_t>(unseen_bytes / run_bytes(work), 1, chunk);
  work.reach = 0;
  for (int a = 0; a < plan.axis_count; ++a)
    work.reach += plan.axes[a].length * magnitude(plan.axes[a].stride);
  const bool streams = work.form == Form::columns && plan.axes[0].length <= followed_rows;
  work.prefetch = work.reach > 2 * cache_bytes() && !streams;
  work.near = work.reach <= near_bytes;
  work.follows = can_follow(work);
}

// How many of the lanes that share their index tuples go together: what all picks of them address
// stays in the cache, where that is visited more than once.
int64_t lanes_together(const Work& work, const Part& part) {
  const int64_t all = part.free.end - part.free.begin, picks = part.picks.end - part.picks.begin;
  if (picks <= work.picks_at_once) return all;
  const int64_t touched = std::min(work.reach, picks * std::max(work.plan->item, cache_line));
  return std::clamp<int64_t>(cache_bytes() / std::max<int64_t>(touched, 1), 1, all);
}

// Slices that share their index tuples are cut, so that those of picks_at_once never touch much
// more than unseen_bytes.
bool run_part(Kernels::Run kernel, const Work& work, const Part& part, char* buffer) {
  if (work.form != Form::slices) return kernel(work, part, buffer);
  const int64_t bytes = run_bytes(work), all = part.run.end - part.run.begin;
  const int64_t picks = std::min(work.picks_at_once, part.picks.end - part.picks.begin);
  int64_t lanes = lanes_together(work, part), items = all;
  if (work.stop != nullptr) {
    lanes =
        std::min(lanes, std::max<int64_t>(unseen_bytes / std::max<int64_t>(picks * bytes, 1), 1));
    if (bytes > unseen_bytes)
      items = std::max<int64_t>(unseen_bytes / (bytes / work.run.extent), 1);
  }
  if (items >= all && lanes >= part.free.end - part.free.begin) return kernel(work, part, buffer);
  Part piece = part;
  for (int64_t i = part.run.begin; i < part.run.end; i += items) {
    piece.run = {i, std::min(i + items, part.run.end)};
    for (int64_t lane = part.free.begin; lane < part.free.end; lane += lanes) {
      piece.free = {lane, std::min(lane + lanes, part.free.end)};
      if (work.stop != nullptr && work.stop->look()) return false;
      if (!kernel(work, piece, buffer)) return false;
    }
  }
  return true;
}

// False when a kernel met a bad index.
bool run(const Work& work, const Split& split, int threads, char* buffers, int64_t buffer_bytes) {
  const Kernels::Run kernel = kernels().select(work);
  const int64_t parts = part_count(work, split);
  if (parts == 1) {
    const bool good = run_part(kernel, work, part_of(work, split, 0), buffers);
    if (work.stop != nullptr) leave_if_stopped();
    return good;
  }
  std::atomic<bool> good{true};
  run_parallel(parts, threads, [&](int64_t part, int worker) {
    if (!good.load(std::memory_order_relaxed)) return;
    if (work.stop != nullptr && work.stop->look()) return;
    if (!run_part(kernel, work, part_of(work, split, part), buffers + worker * buffer_bytes))
      good.store(false);
  });
  leave_if_stopped();
  return good.load();
}

// All that a call with something to do needs. A small call stays on its thread, hence has one
// buffer.
struct Prepared {
  Work work;
  Split split;
  int threads;
  Buffer buffers;
  int64_t buffer_bytes = 0;
};

// Whether each batch of a part is a contiguous row of the output, which the kernel can copy just
// before it scatters into it, while the row is in the cache.
bool copies_rows(const Work& work, const Split& split) {
  const bool own_rows = split.along == Along::batch || split.along == Along::nothing;
  return own_rows && work.batch_count > 0 && work.free_count == 0 && work.run.extent == 1 &&
         work.plan->axes[0].stride == work.plan->item;
}

// Whether the output of a gather is made in whole rows, of one step (Work::streams).
bool streams_gather(const Work& work) {
  const Plan& plan = *work.plan;
  const int64_t run = work.run.extent * plan.item;
  if (work.run.extent > 1 && work.run.other != plan.item) return false;
  if (work.form == Form::rows) {
    const bool together = plan.pick_total() == 1 || plan.picks[0].other == run;
    return together && work.batch[work.batch_count - 1].other == work.row_values * plan.item;
  }
  return work.form == Form::columns || plan.picks[plan.pick_count - 1].other == run;
}

// Whether a scatter that copies does so in a buffer from which rows are streamed.
bool streams_scatter(const Work& work) {
  const Plan& plan = *work.plan;
  if (!work.copies) return false;
  if (work.form == Form::rows) return true;
  if (work.form == Form::columns) return work.run.addressed == plan.item;
  return !work.counted && plan.axes[0].length * plan.item <= cache_bytes() / 4;
}

bool can_stream(const Call& call, const Work& work) {
  const Plan& plan = *work.plan;
  const int64_t item = plan.item;
  if ((item & (item - 1)) != 0 || item > 16) return false;
  if (item_count(*call.output) < streamed_bytes / call.output->item) return false;
  return plan.scatter ? streams_scatter(work) : streams_gather(work);
}

// What a part needs beside the arrays (Work::counted, spare, packed, streams).
int64_t buffer_bytes(const Work& work, const Split& split) {
  const Plan& plan = *work.plan;
  if (work.form == Form::columns) {
    const int64_t items = split.block * plan.axes[0].length;
    return work.spare + (work.packed ? whole_lines(items * plan.item) : 0) +
           (work.counted ? whole_lines(items * static_cast<int64_t>(sizeof(std::uint32_t))) : 0);
  }
  if (work.copies && work.streams) {
    const int64_t rows = work.form == Form::rows ? work.rows_at_once * work.run.extent : 1;
    return whole_lines(rows * plan.axes[0].length * plan.item);
  }
  if (!work.counted) return 0;
  int64_t cells = 1;
  for (int a = 0; a < plan.axis_count; ++a) cells *= plan.axes[a].length;
  if (work.owners && plan.axis_count == 1) cells = (cells + split.parts - 1) / split.parts;
  return whole_lines(tally_bytes(work.tally, cells));
}

void divide(Prepared& p, bool whole) {
  if (p.work.form == Form::slices) {
    p.split = p.threads == 1 ? Split{} : split_slices(p.work, p.threads);
    if (p.split.along == Along::owners && meets_one_cell(p.work)) p.split = Split{};
    if (p.split.along == Along::owners) {
      const int64_t parts = p.threads * parts_per_thread;
      p.split.bounds = divide_ascending(p.work, parts, p.threads);
      if (!p.split.bounds.empty()) {
        p.split.along = Along::picks;
        p.split.parts = parts;
      }
    }
    p.work.owners = p.split.along == Along::owners;
    p.work.copies = whole && copies_rows(p.work, p.split);
  } else if (p.work.form == Form::rows) {
    Work& work = p.work;
    const int64_t batch = total(work.batch, work.batch_count), bytes = work.batch[0].addressed;
    p.split = Split{};
    if (p.threads > 1) {
      p.split.along = Along::batch;
      p.split.parts = std::min<int64_t>(batch, p.threads * parts_per_thread);
    }
    work.copies = whole && has_dense_rows(work);
    if (work.copies)
      work.rows_at_once = std::clamp<int64_t>(dense_row_bytes / bytes, 1, work.rows_at_once);
    // Short rows that follow each other a processor fetches by itself.
    work.prefetch = !work.copies && magnitude(work.batch[work.batch_count - 1].addressed) >
                                        followed_rows * cache_line;
  } else {
    p.split = split_columns(p.work, p.threads, whole);
    p.work.copies = whole && p.work.packed;
  }
}

void prepare(Prepared& p, Call& call) {
  const double bytes = work_bytes(call);
  p.threads = threads_for(bytes);
  const int64_t axis = call.plan.axis_count == 1 ? call.plan.axes[0].length : 0;
  prepare(p.work, call.plan, call.dtype, call.reduction, call.rule.mode, call.include_self,
          call.fill);
  // Whether every item of the output lies in some lane, so that the kernels can bring data in.
  const bool whole = call.source != nullptr && same_strides(*call.source, *call.output) &&
                     call.plan.lane_total() * axis * call.plan.item ==
                         item_count(*call.output) * call.output->item;
  divide(p, whole);
  const bool cheap = p.work.form == Form::slices && p.work.run.extent > 1;
  const bool few = cheap && part_count(p.work, p.split) <= p.threads;
  if (p.threads > 1 && few && bytes < few_parts_bytes) {
    p.threads = 1;
    divide(p, whole);
  }
  if (p.work.copies) p.work.source = call.source->bytes;
  if (call.rule.mode == Mode::absent) p.split.cells = cell_range(call.plan);
  if (p.work.form == Form::columns && call.plan.scatter && call.rule.mode == Mode::absent)
    p.work.spare = whole_lines(call.plan.item);
  p.work.streams = can_stream(call, p.work);
  p.buffer_bytes = buffer_bytes(p.work, p.split);
}

void allocate(Prepared& p) {
  const int64_t bytes = p.buffer_bytes * std::min<int64_t>(p.threads, part_count(p.work, p.split));
  if (bytes == 0) return;
  const bool dense = p.buffer_bytes / cache_line <= p.work.plan->pick_total();
  p.buffers =
      p.work.packed || p.work.streams ? allocate_buffer(bytes) : allocate_zeros(bytes, dense);
}

const char* text_of(Along along) {
  switch (along) {
    case Along::nothing:
      return "nothing";
    case Along::batch:
      return "batches";
    case Along::free:
      return "lanes";
    case Along::picks:
      return "picks";
    case Along::run:
      return "the inner run";
    default:
      return "owners of cells";
  }
}

// ---- few cells and many updates ----

// The item that leaves each other as it is. Only where the result does not show how updates were
// grouped: integers wrap, and of a minimum or maximum the first of equal items stays and the last
// NaN wins, whichever neighbours meet first. A sum of floats is rounded after each update.
bool find_neutral(Dtype dtype, Reduction reduction, char* item) {
  const auto put = [item](auto value) {
    std::memcpy(item, &value, sizeof value);
    return true;
  };
  const bool most = reduction == Reduction::min, extreme = most || reduction == Reduction::max;
  const bool product = reduction == Reduction::mul, sum = reduction == Reduction::add || product;
  if (is_index(dtype) && (sum || extreme)) {
    return visit_index(dtype, [&](auto zero) {
      using T = decltype(zero);
      if (sum) return put(static_cast<T>(product));
      return put(most ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
    });
  }
  constexpr std::uint16_t sign = 0x8000;
  if (!extreme) return false;
  switch (dtype) {
    case Dtype::float16:
      return put(static_cast<std::uint16_t>(Float16::infinity | (most ? 0 : sign)));
    case Dtype::bfloat16:
      return put(static_cast<std::uint16_t>(BFloat16::infinity | (most ? 0 : sign)));
    case Dtype::float32:
      return put((most ? 1 : -1) * std::numeric_limits<float>::infinity());
    case Dtype::float64:
      return put((most ? 1 : -1) * std::numeric_limits<double>::infinity());
    default:
      return false;
  }
}

// Cells for each thread to combine its share of the picks in, one after the other; null where a
// call is better done otherwise.
Buffer neutral_cells(const Call& call, const Prepared& p) {
  constexpr int64_t picks_per_cell = 4;  // each cell of each thread is visited three times
  const Plan& plan = call.plan;
  const bool items = p.work.form == Form::slices && p.work.run.extent == 1;
  if (p.threads == 1 || !items || !plan.scatter || p.work.counted || plan.lane_total() != 1 ||
      plan.pick_count != 1 || plan.axis_count != 1 || p.split.along == Along::picks)
    return nullptr;
  const int64_t cells = p.threads * plan.axes[0].length, picks = plan.pick_total();
  char item[sizeof(double)];
  if (picks < owner_picks || cells == 0 || cells > picks / picks_per_cell ||
      !find_neutral(call.dtype, call.reduction, item))
    return nullptr;
  Buffer buffer(static_cast<char*>(std::malloc(static_cast<std::size_t>(cells * plan.item))));
  for (int64_t i = 0; buffer && i < cells; ++i)
    std::memcpy(buffer.get() + i * plan.item, item, static_cast<std::size_t>(plan.item));
  return buffer;
}

// A call of few cells and its share of the picks, in `cells`.
void take_share(Plan& plan, Range picks, char* cells) {
  Loop& pick = plan.picks[0];
  plan.addressed = cells;
  plan.axes[0].stride = plan.item;
  plan.indices += picks.begin * pick.index;
  plan.other += picks.begin * pick.other;
  pick.extent = picks.end - picks.begin;
}

// The cells of a share, combined into the output.
void combine(const Call& call, char* cells) {
  const Plan& plan = call.plan;
  Plan all;
  all.addressed = plan.addressed;
  all.other = cells;
  all.item = plan.item;
  all.scatter = true;
  all.lanes[all.lane_count++] = {plan.axes[0].length, plan.axes[0].stride, 0, plan.item};
  Work work;
  prepare(work, all, call.dtype, call.reduction);
  run(work, Split{}, 1, nullptr, 0);
}

// False when a kernel met a bad index.
bool run_shares(const Call& call, int threads, char* cells) {
  const int64_t bytes = call.plan.axes[0].length * call.plan.item;
  std::vector<Plan> plans(static_cast<std::size_t>(threads), call.plan);
  std::vector<Work> works(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    take_share(plans[i], piece({0, call.plan.pick_total()}, at, threads), cells + at * bytes);
    prepare(works[i], plans[i], call.dtype, call.reduction, call.rule.mode);
  }
  const Kernels::Run kernel = kernels().select(works[0]);
  std::atomic<bool> good{true};
  run_parallel(threads, threads, [&](int64_t part, int) {
    const Work& work = works[static_cast<std::size_t>(part)];
    Part own = part_of(work, Split{}, 0);
    own.owned = {0, work.plan->axes[0].length};
    if (!run_part(kernel, work, own, nullptr)) good.store(false);
  });
  leave_if_stopped();
  for (int64_t part = 0; good.load() && part < threads; ++part) combine(call, cells + part * bytes);
  return good.load();
}

// What a call does once its indices are known to be good, or will be seen to be while they are
// used.
void write(Call& call, bool nothing) {
  if (nothing) {
    if (call.source != nullptr) copy(*call.source, *call.output);
    return;
  }
  Prepared p;
  prepare(p, call);
  allocate(p);
  const Buffer shares = neutral_cells(call, p);
  if (call.source != nullptr && !p.work.copies) copy(*call.source, *call.output);
  const bool good = shares ? run_shares(call, p.threads, shares.get())
                           : run(p.work, p.split, p.threads, p.buffers.get(), p.buffer_bytes);
  if (good) return;
  check_indices(call.rule);
  throw Error(Fault::index, call.rule.op, "indices",
              "indices were changed by another thread during the call.");
}

// Of a call whose indices were folded: whether all of them are in range.
bool has_good_values(const Call& call) {
  const Plan& plan = call.plan;
  int64_t count = plan.picks[0].extent;
  for (int i = 0; i < plan.lane_count; ++i) {
    if (plan.lanes[i].index != 0) count *= plan.lanes[i].extent;
  }
  return call.rule.mode == Mode::raise &&
         kernels().in_range(plan.index_dtype, plan.indices, index_bytes(plan.index_dtype), count,
                            plan.axes[0].length);
}

// Runs of as many bytes as an item may have are single items to a move.
void widen(Call& call) {
  constexpr int64_t widest = 16;
  Plan& plan = call.plan;
  if (call.reduction != Reduction::none || call.fill != nullptr || plan.lane_count == 0) return;
  const Loop& inner = plan.lanes[plan.lane_count - 1];
  if (inner.index != 0 || inner.addressed != plan.item || inner.other != plan.item ||
      inner.extent > widest / plan.item)
    return;
  const int64_t bytes = inner.extent * plan.item;
  if ((bytes & (bytes - 1)) != 0) return;
  plan.item = bytes;
  --plan.lane_count;
}

// The plan as the forms want it; the values of indices that it has now, if they are not its own.
Buffer simplify(Call& call, int threads) {
  collapse(call.plan);
  Buffer values = fold_constant(call.plan, threads);
  widen(call);
  return values;
}

}  // namespace

double work_bytes(const Call& call) {
  const double items =
      static_cast<double>(call.plan.lane_total()) * static_cast<double>(call.plan.pick_total());
  double bytes = items * static_cast<double>(2 * call.plan.item);
  bytes += 8.0 * static_cast<double>(item_count(*call.rule.indices));
  if (call.source != nullptr) {
    bytes +=
        static_cast<double>(item_count(*call.output)) * static_cast<double>(2 * call.output->item);
  }
  return bytes;
}

void execute(Call& call) {
  const bool nothing = call.plan.lane_total() == 0 || call.plan.pick_total() == 0;
  Buffer values;
  if (!nothing) values = simplify(call, threads_for(work_bytes(call)));
  const bool checks = nothing || call.visible || call.rule.mode != Mode::raise;
  if (checks && !(values && has_good_values(call))) check_indices(call.rule);
  if (!call.visible) return write(call, nothing);
  const StopScope scope(nullptr);  // from its first visible byte on a call is finished
  write(call, nothing);
}

void copy(const View& from, const View& to) {
  Plan plan;
  plan.addressed = from.bytes;
  plan.other = to.bytes;
  plan.item = from.item;
  for (int d = 0; d < from.rank; ++d) {
    if (from.shape[d] == 0) return;
    plan.lanes[plan.lane_count++] = {from.shape[d], from.strides[d], 0, to.strides[d]};
  }
  const int threads =
      threads_for(2.0 * static_cast<double>(plan.lane_total()) * static_cast<double>(plan.item));
  Work work;
  prepare(work, plan, from.dtype, Reduction::none);
  const Split split = threads == 1 ? Split{} : split_slices(work, threads);
  run(work, split, threads, nullptr, 0);
}

std::string explain(Call& call) {
  if (call.plan.lane_total() == 0 || call.plan.pick_total() == 0) {
    return describe(call.plan) + "nothing to move\n";
  }
  const Buffer values = simplify(call, 1);
  Prepared p;
  prepare(p, call);
  const Buffer shares = neutral_cells(call, p);
  std::string text = describe(call.plan);
  if (values) text += "rows of indices are constant\n";
  const bool columns = p.work.form == Form::columns;
  text += columns                     ? "form: columns, "
          : p.work.form == Form::rows ? "form: rows, "
                                      : "form: slices, ";
  text += "inner run of " + std::to_string(p.work.run.extent) + "\n";
  if (columns) {
    text += std::to_string(p.split.blocks) + " blocks of " + std::to_string(p.split.block) +
            " columns" + (p.work.packed ? ", packed" : "") + (p.work.copies ? " from data" : "") +
            "\n";
  }
  if (p.buffer_bytes > 0) text += "buffer: " + std::to_string(p.buffer_bytes) + " bytes a thread\n";
  text += "threads: " + std::to_string(p.threads) + ", ";
  if (shares) return text + "each with its share of the picks in cells of its own\n";
  return text + "split along " + text_of(p.split.along) + " in " + std::to_string(p.split.parts) +
         "\n";
}

}  // namespace sowreap
