// A libFuzzer target: bytes to one call of the core, in memory that ends where its arrays end.
//
// AddressSanitizer sees every access beyond them. Beside that, each input is held to what the core
// promises: a call that is refused leaves a visible output as it was, inputs are never written, and
// a result without a reduction, or of integer sums, is that of the plain loop.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "sowreap/error.hpp"
#include "sowreap/execute.hpp"
#include "sowreap/plan.hpp"
#include "sowreap/shape.hpp"
#include "sowreap/threads.hpp"

namespace {

using namespace sowreap;
using std::int64_t;
using std::uint64_t;

constexpr int64_t most_items = 1 << 16;  // of an array, and of the work of a call
constexpr int most_dimensions = 5;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// ---- bytes to choices ----

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  std::uint8_t byte() { return at_ == end_ ? 0 : *at_++; }
  int64_t below(int64_t n) { return byte() % n; }
  bool one_in(int64_t n) { return below(n) == n - 1; }
  uint64_t word() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  const std::uint8_t *at_, *end_;
};

// What the bytes have no room for.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

 private:
  uint64_t state_;
};

// ---- arrays ----

struct Array {
  std::unique_ptr<char[]> memory;
  int64_t bytes = 0;
  Shape shape;
  int64_t strides[max_rank];
  View view;

  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  std::string content() const { return {memory.get(), static_cast<std::size_t>(bytes)}; }
};

// Of the dimensions that are not empty.
int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.sizes[d] == 0) continue;
    if (n > most_items / shape.sizes[d]) return most_items + 1;
    n *= shape.sizes[d];
  }
  return n;
}

// Any order of the dimensions in memory, steps, directions; with `repeats` strides of 0. False
// where that would take too much memory. The buffer begins and ends with the array.
bool lay_out(Array& a, Bytes& in, const Shape& shape, Dtype dtype, int64_t item, bool repeats) {
  a.shape = shape;
  int order[max_rank];
  for (int d = 0; d < shape.rank; ++d) order[d] = d;
  const bool plain = !in.one_in(3);
  for (int d = shape.rank - 1; !plain && d > 0; --d) std::swap(order[d], order[in.below(d + 1)]);
  int64_t reach = item, first = 0;
  for (int i = shape.rank - 1; i >= 0; --i) {
    const int d = order[i];
    const int64_t size = shape.sizes[d], step = plain ? 1 : 1 + in.below(3);
    if (repeats && in.one_in(6)) {
      a.strides[d] = 0;
      continue;
    }
    const bool backward = !plain && in.one_in(3);
    a.strides[d] = (backward ? -1 : 1) * reach * step;
    if (size == 0) continue;
    if (reach * step > (most_items * 16) / size) return false;
    if (backward) first += (size - 1) * reach * step;
    reach *= size * step;
  }
  bool empty = false;
  a.bytes = item;
  for (int d = 0; d < shape.rank; ++d) {
    empty |= shape.sizes[d] == 0;
    a.bytes += (shape.sizes[d] - 1) * magnitude(a.strides[d]);
  }
  if (empty) a.bytes = first = 0;
  const int64_t shift = in.one_in(4) ? 1 + in.below(7) : 0;  // out of line
  a.bytes += shift;
  a.memory.reset(new char[static_cast<std::size_t>(a.bytes)]);
  a.view = {a.memory.get() + shift + first, shape.rank, a.shape.sizes, a.strides, dtype, item};
  return true;
}

void fill(Array& a, Random& random) {
  for (int64_t i = 0; i < a.bytes; ++i) a.memory[i] = static_cast<char>(random.next() >> 56);
}

// Calls `use(position, address)` for every item in row-major order.
template <class Use>
void each(const View& v, Use&& use) {
  int64_t n = 1, at[max_rank] = {};
  for (int d = 0; d < v.rank; ++d) n *= v.shape[d];
  for (int64_t i = 0; i < n; ++i) {
    char* address = v.bytes;
    for (int d = 0; d < v.rank; ++d) address += at[d] * v.strides[d];
    use(static_cast<const int64_t*>(at), address);
    for (int d = v.rank - 1; d >= 0 && ++at[d] == v.shape[d]; --d) at[d] = 0;
  }
}

char* address(const View& v, const int64_t* at) {
  char* result = v.bytes;
  for (int d = 0; d < v.rank; ++d) result += at[d] * v.strides[d];
  return result;
}

// ---- indices ----

int64_t width_of(Dtype dtype) {
  return visit_index(dtype, [](auto zero) { return static_cast<int64_t>(sizeof zero); });
}

void store(Dtype dtype, char* to, int64_t value) {
  visit_index(dtype, [&](auto zero) {
    const auto typed = static_cast<decltype(zero)>(value);
    std::memcpy(to, &typed, sizeof typed);
    return 0;
  });
}

// The cell that an index means; -1: none.
int64_t cell_at(Dtype dtype, const char* at, int64_t length, Mode mode) {
  return visit_index(dtype, [&](auto value) -> int64_t {
    std::memcpy(&value, at, sizeof value);
    const auto far = static_cast<uint64_t>(value), cells = static_cast<uint64_t>(length);
    if (mode == Mode::clip && value < 0) return 0;
    if (mode == Mode::clip && far >= cells) return length - 1;
    if (mode == Mode::wrap && value >= 0) return static_cast<int64_t>(far % cells);
    if (mode == Mode::wrap) return (static_cast<int64_t>(value) % length + length) % length;
    if (value < 0) {
      const auto wide = static_cast<int64_t>(value);
      return wide < -length ? -1 : wide + length;
    }
    return static_cast<uint64_t>(value) < static_cast<uint64_t>(length)
               ? static_cast<int64_t>(value)
               : -1;
  });
}

enum class Values { good, raw, one_bad };

void fill_indices(Array& indices, Values kind, Random& random,
                  const std::vector<int64_t>& lengths) {
  const Dtype dtype = indices.view.dtype;
  fill(indices, random);
  if (kind == Values::raw) return;
  const bool tuples = lengths.size() != 1;
  const uint64_t most = static_cast<uint64_t>(visit_index(
      dtype, [](auto zero) { return (1 << (sizeof zero > 2 ? 30 : 8 * sizeof zero - 1)) - 1; }));
  each(indices.view, [&](const int64_t* at, char* to) {
    const std::size_t component =
        tuples ? static_cast<std::size_t>(at[indices.view.rank - 1]) : std::size_t{0};
    const uint64_t length =
        static_cast<uint64_t>(component < lengths.size() ? lengths[component] : 0);
    const bool is_signed = dtype <= Dtype::int64;
    int64_t value = 0;
    if (length > 0) value = static_cast<int64_t>(random.next() % std::min(length, most + 1));
    if (is_signed && length <= most && random.next() % 4 == 0)
      value -= static_cast<int64_t>(length);
    if (kind == Values::one_bad && random.next() % 64 == 0)
      value = static_cast<int64_t>(random.next());
    store(dtype, to, value);
  });
}

// ---- calls ----

const Dtype index_dtypes[] = {Dtype::int64, Dtype::int32,  Dtype::int8,   Dtype::int16,
                              Dtype::uint8, Dtype::uint16, Dtype::uint32, Dtype::uint64};
struct Kind {
  Dtype dtype;
  int64_t item;
};
const Kind kinds[] = {{Dtype::float32, 4},
                      {Dtype::int64, 8},
                      {Dtype::uint8, 1},
                      {Dtype::float16, 2},
                      {Dtype::bfloat16, 2},
                      {Dtype::int32, 4},
                      {Dtype::float64, 8},
                      {Dtype::boolean, 1},
                      {Dtype::int8, 1},
                      {Dtype::int16, 2},
                      {Dtype::uint16, 2},
                      {Dtype::uint32, 4},
                      {Dtype::uint64, 8},
                      {Dtype::complex64, 8},
                      {Dtype::complex128, 16},
                      {Dtype::longdouble, sizeof(long double)},
                      {Dtype::clongdouble, 2 * sizeof(long double)},
                      {Dtype::float8_e4m3fn, 1},
                      {Dtype::float8_e8m0fnu, 1},
                      {Dtype::int4, 1},
                      {Dtype::float4_e2m1fn, 1},
                      {Dtype::opaque, 3},
                      {Dtype::opaque, 7},
                      {Dtype::opaque, 16},
                      {Dtype::opaque, 40}};

enum class Op { gather, gather_elements, gather_nd, scatter_elements, scatter_nd, tensor_scatter };

int64_t draw_size(Bytes& in) {
  switch (in.below(8)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
    case 3:
      return 2 + in.below(6);
    case 4:
      return 1 + in.byte();
    case 5:
      return 1 + in.byte() * 16;
    case 6:
      return 64;
    default:
      return 3;
  }
}

Shape draw_shape(Bytes& in) {
  Shape shape;
  const int64_t rank = in.below(most_dimensions);
  while (shape.rank < rank) shape.append(draw_size(in));
  return shape;
}

// Mostly shapes that the operator allows; what it makes of others is tested too.
Shape draw_indices_shape(Bytes& in, Op op, const Shape& data, int64_t axis, int64_t batch_dims) {
  if (in.one_in(8)) return draw_shape(in);
  Shape shape;
  if (op == Op::gather_elements || op == Op::scatter_elements) {
    for (int d = 0; d < data.rank; ++d)
      shape.append(d == axis ? draw_size(in) : data.sizes[d] - (in.one_in(6) && data.sizes[d] > 0));
    return shape;
  }
  if (op == Op::gather_nd) {
    for (int d = 0; d < batch_dims && d < data.rank; ++d) shape.append(data.sizes[d]);
  }
  for (int64_t more = in.below(3); more > 0; --more) shape.append(draw_size(in));
  if (op != Op::gather) {
    const int64_t left = data.rank - (op == Op::gather_nd ? batch_dims : 0);
    shape.append(in.below(left + 1 > 0 ? left + 1 : 1));
  }
  return shape;
}

Shape result_shape(Op op, const View& data, const View& indices, int64_t axis) {
  if (op == Op::gather) return gather_shape(data, indices, axis);
  if (op == Op::gather_elements) return gather_elements_shape(data, indices, axis);
  if (op == Op::gather_nd) return gather_nd_shape(data, indices, axis);
  Shape shape;
  for (int d = 0; d < data.rank; ++d) shape.append(data.shape[d]);
  return shape;
}

Shape updates_shape_of(Op op, const Shape& data, const Shape& indices) {
  if (op == Op::scatter_elements) return indices;
  Shape shape;
  if (op != Op::scatter_nd || indices.rank == 0) return shape;
  for (int d = 0; d + 1 < indices.rank; ++d) shape.append(indices.sizes[d]);
  for (int64_t d = indices.sizes[indices.rank - 1]; d < data.rank; ++d) shape.append(data.sizes[d]);
  return shape;
}

// Of one call: what the loop of the definition reads and writes.
struct Definition {
  bool gather;
  const View *data, *indices, *other, *output;
  Op op;
  int axis;  // batch_dims for gather_nd
  Reduction reduction;
  Mode mode;
  bool include_self;
  const char* fill;
};

// output[addressed] (of scatters) and other[at] for every index tuple and slice, in the order of
// the standard. `use` gets the address in the addressed array, null where the cell is absent, and
// that in the other one.
template <class Use>
void meet(const Definition& def, const View& addressed, Use&& use) {
  const View &indices = *def.indices, &other = *def.other;
  const bool tuples = def.op == Op::gather_nd || def.op == Op::scatter_nd;
  const int batch = def.op == Op::gather_nd ? def.axis : 0;
  const int k = tuples ? static_cast<int>(indices.shape[indices.rank - 1]) : 1;
  each(other, [&](const int64_t* at, char* item) {
    int64_t target[max_rank], where[max_rank];
    bool absent = false;
    if (def.op == Op::gather_elements || def.op == Op::scatter_elements) {
      std::copy_n(at, other.rank, target);
      target[def.axis] =
          cell_at(indices.dtype, address(indices, at), addressed.shape[def.axis], def.mode);
      absent = target[def.axis] < 0;
    } else if (def.op == Op::gather) {
      std::copy_n(at, def.axis, target);
      const int64_t cell = cell_at(indices.dtype, address(indices, at + def.axis),
                                   addressed.shape[def.axis], def.mode);
      target[def.axis] = cell;
      absent = cell < 0;
      std::copy_n(at + def.axis + indices.rank, addressed.rank - def.axis - 1,
                  target + def.axis + 1);
    } else {
      std::copy_n(at, batch, target);
      std::copy_n(at, indices.rank - 1, where);
      for (int j = 0; j < k; ++j) {
        where[indices.rank - 1] = j;
        target[batch + j] =
            cell_at(indices.dtype, address(indices, where), addressed.shape[batch + j], def.mode);
        absent |= target[batch + j] < 0;
      }
      std::copy_n(at + indices.rank - 1, addressed.rank - batch - k, target + batch + k);
    }
    use(absent ? nullptr : address(addressed, target), item);
  });
}

// Whether the plain loop below can do the arithmetic.
bool is_plain(const Definition& def) {
  if (def.reduction == Reduction::none) return true;
  return def.include_self && def.reduction == Reduction::add && def.data->dtype >= Dtype::int8 &&
         def.data->dtype <= Dtype::uint64;
}

void combine(const Definition& def, char* to, const char* from) {
  const std::size_t item = static_cast<std::size_t>(def.data->item);
  if (def.reduction == Reduction::none) {
    std::memcpy(to, from, item);
    return;
  }
  uint64_t a = 0, b = 0;  // little-endian: the low bytes of the sum are the sum
  std::memcpy(&a, to, item);
  std::memcpy(&b, from, item);
  a += b;
  std::memcpy(to, &a, item);
}

void check_result(const Definition& def, const Array& output) {
  if (!is_plain(def)) return;
  const View& result = output.view;
  if (def.gather) {
    meet(def, *def.data, [&](const char* from, const char* to) {
      if (from == nullptr) from = def.fill;
      require(std::memcmp(from, to, static_cast<std::size_t>(def.data->item)) == 0,
              "gathered item");
    });
    return;
  }
  // The wanted result, in memory laid out as the output is.
  std::string memory(output.memory.get(), static_cast<std::size_t>(output.bytes));
  View want = result;
  want.bytes = memory.data() + (result.bytes - output.memory.get());
  each(want, [&](const int64_t* at, char* to) {
    std::memcpy(to, address(*def.data, at), static_cast<std::size_t>(def.data->item));
  });
  meet(def, want, [&](char* to, const char* from) {
    if (to != nullptr) combine(def, to, from);
  });
  require(memory == output.content(), "scattered result");
}

bool run(Call& call) {
  try {
    execute(call);
    return true;
  } catch (const Error& error) {
    require(error.fault == Fault::index, "only indices are refused once shapes are good");
    require(!error.message.empty() && !error.value.empty(), "an index error names the value");
    return false;
  }
}

int fuzz_tensor_scatter(Bytes& in, const Shape& shape, const Kind& kind) {
  Shape update_shape = shape, starts_shape;
  const int64_t axis = shape.rank > 1 ? 1 + in.below(shape.rank - 1) : in.below(2);
  if (axis < shape.rank && shape.sizes[axis] > 0 && in.one_in(2))
    update_shape.sizes[axis] = in.below(shape.sizes[axis] + 1);
  if (in.one_in(8)) update_shape = draw_shape(in);
  starts_shape.append(in.one_in(8) ? draw_size(in) : shape.rank > 0 ? shape.sizes[0] : 0);
  const Dtype dtype = index_dtypes[in.below(8)];
  Array cache, update, starts, output;
  const bool in_place = in.one_in(2), circular = in.one_in(2), with_starts = !in.one_in(4);
  if (!lay_out(cache, in, shape, kind.dtype, kind.item, !in_place) ||
      !lay_out(update, in, update_shape, kind.dtype, kind.item, true) ||
      !lay_out(starts, in, starts_shape, dtype, width_of(dtype), true) ||
      !lay_out(output, in, shape, kind.dtype, kind.item, false))
    return 0;
  Random random(in.word());
  for (Array* a : {&cache, &update, &output}) fill(*a, random);
  fill_indices(starts, static_cast<Values>(in.below(3)), random,
               {axis < shape.rank ? shape.sizes[axis] : 1});
  const View* writes = with_starts ? &starts.view : nullptr;
  check_tensor_scatter(cache.view, update.view, writes, axis);
  Array& result = in_place ? cache : output;
  const std::string before = result.content(), source = update.content();
  const CacheWrite call{&cache.view, &update.view, writes,  static_cast<int>(axis),
                        circular,    &result.view, in_place};
  try {
    execute(call);
  } catch (const Error& error) {
    require(error.fault == Fault::index, "only write indices are refused once shapes are good");
    require(before == result.content(), "a refused call leaves the cache as it was");
  }
  require(source == update.content(), "update is not written");
  return 0;
}

int fuzz_call(Bytes& in) {
  const Op op = static_cast<Op>(in.below(6));
  set_thread_count(1 + static_cast<int>(in.below(4)));
  const Kind& kind = kinds[in.below(std::size(kinds))];
  const Shape shape = draw_shape(in);
  if (op == Op::tensor_scatter) return fuzz_tensor_scatter(in, shape, kind);
  const bool is_gather = op <= Op::gather_nd;
  const int64_t axis = in.below(shape.rank + 1) - in.one_in(8);
  const Dtype index_dtype = index_dtypes[in.below(8)];
  const Shape indices_shape = draw_indices_shape(in, op, shape, axis, axis);
  const bool in_place = !is_gather && in.one_in(3), visible = in_place || in.one_in(2);

  Array data, indices, updates, output;
  if (!lay_out(data, in, shape, kind.dtype, kind.item, !in_place) ||
      !lay_out(indices, in, indices_shape, index_dtype, width_of(index_dtype), true))
    return 0;
  const Shape result = result_shape(op, data.view, indices.view, axis);
  const Shape updates_shape =
      in.one_in(16) ? draw_shape(in) : updates_shape_of(op, shape, indices_shape);
  for (const Shape& drawn : {result, indices_shape, updates_shape}) {
    if (count(drawn) > most_items) return 0;
  }
  if (!lay_out(updates, in, updates_shape, kind.dtype, kind.item, true)) return 0;
  if (op == Op::scatter_elements)
    check_scatter_elements("scatter_elements", data.view, indices.view, updates.view, axis);
  if (op == Op::scatter_nd) check_scatter_nd(data.view, indices.view, updates.view);
  Reduction reduction = static_cast<Reduction>(is_gather ? 0 : in.below(6));
  const Mode mode = static_cast<Mode>(in.below(4));
  const bool include_self = !in.one_in(4);
  if (!is_reducible(kind.dtype, reduction)) reduction = Reduction::none;
  if (!lay_out(output, in, result, kind.dtype, kind.item, false)) return 0;
  const int first = op == Op::scatter_nd  ? 0
                    : op == Op::gather_nd ? static_cast<int>(axis)
                                          : resolve_axis("", axis, data.view, "data");
  const bool tuples = op == Op::gather_nd || op == Op::scatter_nd;
  const int64_t components = tuples ? indices_shape.sizes[indices_shape.rank - 1] : 1;
  const std::vector<int64_t> lengths(shape.sizes + first, shape.sizes + first + components);
  Random random(in.word());
  for (Array* a : {&data, &updates, &output}) fill(*a, random);
  fill_indices(indices, static_cast<Values>(in.below(3)), random, lengths);

  const std::string fill_item(static_cast<std::size_t>(kind.item), '\x5b');
  Array& written = in_place ? data : output;
  const View& other = is_gather ? output.view : updates.view;
  const View& addressed = is_gather ? data.view : written.view;
  Call call{tuples             ? plan_nd(addressed, indices.view, first, other, !is_gather)
            : op == Op::gather ? plan_gather(addressed, indices.view, first, other)
                               : plan_elements(addressed, indices.view, first, other, !is_gather),
            {"fuzz", &data.view, &indices.view, first, tuples, mode},
            kind.dtype,
            reduction,
            is_gather || in_place ? nullptr : &data.view,
            &written.view,
            visible,
            include_self,
            fill_item.data()};
  const std::string before = written.content(), data_before = data.content(),
                    indices_before = indices.content(), updates_before = updates.content();
  const bool done = run(call);
  require(indices_before == indices.content() && updates_before == updates.content(),
          "indices and updates are not written");
  require(in_place || data_before == data.content(), "data is not written");
  if (!done) {
    require(!visible || before == written.content(), "a refused call leaves the output as it was");
    return 0;
  }
  View base = data.view;
  std::string old = data_before;
  if (in_place) base.bytes = old.data() + (data.view.bytes - data.memory.get());
  check_result({is_gather, &base, &indices.view, &other, &written.view, op, first, reduction, mode,
                include_self, fill_item.data()},
               written);
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  try {
    return fuzz_call(in);
  } catch (const Error& error) {
    require(error.fault != Fault::index && !error.message.empty(), "shapes are refused in words");
    return 0;
  }
}
