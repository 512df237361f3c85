#include "sowreap/shape.hpp"

#include <atomic>
#include <string>

#include "sowreap/error.hpp"
#include "sowreap/machine.hpp"

namespace sowreap {
namespace {

std::string both(const View& data, const View& indices) {
  return "data has shape " + text_of(data) + ", indices " + text_of(indices);
}

[[noreturn]] void fail(const char* op, const char* argument, const std::string& text) {
  throw Error(Fault::shape, op, argument, text);
}

void check_rank(const char* op, const char* name, const View& v) {
  if (v.rank == 0) {
    fail(op, name,
         std::string(name) +
             " is a scalar, shape (); it needs at least one dimension. Reshape it to (1,).");
  }
}

bool is_known(std::int64_t size) { return size >= 0; }

// Whether two sizes are certainly not equal. Where one is not known, that they are is learned.
bool differ(std::int64_t a, std::int64_t b, Equalities* learned) {
  if (a == b) return false;
  if (is_known(a) && is_known(b)) return true;
  if (learned != nullptr) learned->emplace_back(a, b);
  return false;
}

// Whether `a` is certainly more than `b`.
bool exceeds(std::int64_t a, std::int64_t b) { return a > b && is_known(b); }

// Bytes of an array in which each size of 0, or not known, counts as 1, as NumPy counts them before
// it allocates; -1 where 64 bits are not enough.
std::int64_t counted_bytes(const Shape& shape, std::int64_t item) {
  std::int64_t bytes = item;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.sizes[d] <= 0) continue;
    if (__builtin_mul_overflow(bytes, shape.sizes[d], &bytes)) return -1;
  }
  return bytes;
}

// A result that NumPy could not hold. (Only gathers need this: the result of a scatter has the
// shape of an array that exists.)
void check_size(const char* op, const Shape& shape, std::int64_t item) {
  if (counted_bytes(shape, item) >= 0) return;
  fail(op, "indices",
       "the result would have shape " + text_of(shape) +
           ", more bytes than 64 bits can count. Use smaller indices.");
}

std::atomic<std::int64_t> limit{memory_bytes()};

void append_sizes(Shape& shape, const View& v, int begin, int end) {
  for (int d = begin; d < end; ++d) shape.append(v.shape[d]);
}

// indices of the *Elements operators: same rank as data, not larger off the axis.
void check_elements(const char* op, const View& data, const View& indices, int axis) {
  if (indices.rank != data.rank) {
    fail(op, "indices",
         "indices has rank " + std::to_string(indices.rank) + " but data has rank " +
             std::to_string(data.rank) + "; they must be equal. " + both(data, indices) + ".");
  }
  for (int d = 0; d < data.rank; ++d) {
    if (d != axis && exceeds(indices.shape[d], data.shape[d])) {
      fail(op, "indices",
           "indices has size " + std::to_string(indices.shape[d]) + " in dimension " +
               std::to_string(d) + ", data only " + std::to_string(data.shape[d]) +
               "; off the axis (" + std::to_string(axis) +
               ") indices may be smaller than data, never larger. " + both(data, indices) +
               ". Slice indices.");
    }
  }
}

// `context` makes the text that an error ends with; making it takes longer than a small call.
template <class Context>
void check_updates(const char* op, const View& updates, const Shape& expected, const char* rule,
                   const Context& context, Equalities* learned) {
  bool same = updates.rank == expected.rank;
  int first = 0;
  for (; same && first < updates.rank; ++first) {
    if (differ(updates.shape[first], expected.sizes[first], learned)) break;
  }
  if (same && first == updates.rank) return;
  const std::string where = same ? "; they first differ in dimension " + std::to_string(first) +
                                       " (" + std::to_string(updates.shape[first]) + ", " +
                                       std::to_string(expected.sizes[first]) + ")"
                                 : "";
  fail(op, "updates",
       "updates has shape " + text_of(updates) + " but needs shape " +
           text_of(expected.sizes, expected.rank) + ", " + rule + where + ". " + context() +
           ". Slice or reshape updates.");
}

[[noreturn, gnu::cold]] void report_axis(const char* op, std::int64_t axis, const View& data,
                                         const char* data_name) {
  throw Error(Fault::argument, op, "axis",
              "axis = " + std::to_string(axis) + " is not in [" + std::to_string(-data.rank) +
                  ", " + std::to_string(data.rank - 1) + "] for " + data_name + " of rank " +
                  std::to_string(data.rank) + ", shape " + text_of(data) + ".");
}

}  // namespace

std::int64_t result_limit() { return limit.load(std::memory_order_relaxed); }

void set_result_limit(std::int64_t bytes) { limit.store(bytes, std::memory_order_relaxed); }

void check_allocation(const char* op, const Shape& shape, std::int64_t item) {
  const std::int64_t bytes = counted_bytes(shape, item);
  if (bytes >= 0 && bytes <= result_limit()) return;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.sizes[d] == 0) return;
  }
  throw Error(Fault::memory, op, "out",
              "the result would have shape " + text_of(shape) + " and " + std::to_string(bytes) +
                  " bytes; a new one may have at most " + std::to_string(result_limit()) +
                  ". Use fewer indices, pass out=, or set SOWREAP_MAX_RESULT_BYTES.");
}

// (Apart from the text of its error, so that it is inlined: calls on few items count it.)
int resolve_axis(const char* op, std::int64_t axis, const View& data, const char* data_name) {
  if (axis < -data.rank || axis >= data.rank) report_axis(op, axis, data, data_name);
  return static_cast<int>(axis < 0 ? axis + data.rank : axis);
}

Shape gather_shape(const View& data, const View& indices, std::int64_t axis) {
  const char* op = "gather";
  check_rank(op, "data", data);
  const int a = resolve_axis(op, axis, data, "data");
  if (data.rank - 1 + indices.rank > max_rank) {
    fail(op, "indices",
         "the result would have " + std::to_string(data.rank - 1 + indices.rank) +
             " dimensions; at most 64 are possible. " + both(data, indices) + ".");
  }
  Shape shape;
  append_sizes(shape, data, 0, a);
  append_sizes(shape, indices, 0, indices.rank);
  append_sizes(shape, data, a + 1, data.rank);
  check_size(op, shape, data.item);
  return shape;
}

Shape gather_elements_shape(const View& data, const View& indices, std::int64_t axis) {
  const char* op = "gather_elements";
  check_rank(op, "data", data);
  check_elements(op, data, indices, resolve_axis(op, axis, data, "data"));
  Shape shape;
  append_sizes(shape, indices, 0, indices.rank);
  check_size(op, shape, data.item);
  return shape;
}

Shape gather_nd_shape(const View& data, const View& indices, std::int64_t batch_dims,
                      Equalities* learned) {
  const char* op = "gather_nd";
  check_rank(op, "data", data);
  check_rank(op, "indices", indices);
  const int limit = data.rank < indices.rank ? data.rank : indices.rank;
  if (batch_dims < 0 || batch_dims >= limit) {
    throw Error(Fault::argument, op, "batch_dims",
                "batch_dims = " + std::to_string(batch_dims) + " is not in [0, " +
                    std::to_string(limit - 1) + "], below the ranks of data and indices. " +
                    both(data, indices) + ".");
  }
  const int b = static_cast<int>(batch_dims);
  for (int d = 0; d < b; ++d) {
    if (differ(data.shape[d], indices.shape[d], learned)) {
      fail(op, "indices",
           "indices has size " + std::to_string(indices.shape[d]) + " in batch dimension " +
               std::to_string(d) + " but data has " + std::to_string(data.shape[d]) +
               "; the first batch_dims = " + std::to_string(b) + " sizes must be equal. " +
               both(data, indices) + ".");
    }
  }
  const std::int64_t k = indices.shape[indices.rank - 1];
  if (k > data.rank - b) {
    fail(op, "indices",
         "index tuples have length " + std::to_string(k) +
             " (the last size of indices), but data has only " + std::to_string(data.rank - b) +
             " dimensions after batch_dims = " + std::to_string(b) + ". " + both(data, indices) +
             ".");
  }
  Shape shape;
  if (indices.rank - 1 + data.rank - b - static_cast<int>(k) > max_rank) {
    fail(op, "indices",
         "the result would have more than 64 dimensions. " + both(data, indices) + ".");
  }
  append_sizes(shape, indices, 0, indices.rank - 1);
  append_sizes(shape, data, b + static_cast<int>(k), data.rank);
  check_size(op, shape, data.item);
  return shape;
}

void check_scatter_elements(const char* op, const View& data, const View& indices,
                            const View& updates, std::int64_t axis, Equalities* learned) {
  check_rank(op, "data", data);
  check_elements(op, data, indices, resolve_axis(op, axis, data, "data"));
  Shape expected;
  append_sizes(expected, indices, 0, indices.rank);
  const auto context = [&] {
    return "data has shape " + text_of(data) + ", axis = " + std::to_string(axis);
  };
  check_updates(op, updates, expected, "the shape of indices", context, learned);
}

void check_scatter_nd(const View& data, const View& indices, const View& updates,
                      Equalities* learned) {
  const char* op = "scatter_nd";
  check_rank(op, "data", data);
  check_rank(op, "indices", indices);
  const std::int64_t k = indices.shape[indices.rank - 1];
  if (k > data.rank) {
    fail(op, "indices",
         "index tuples have length " + std::to_string(k) +
             " (the last size of indices), but data has rank " + std::to_string(data.rank) + ". " +
             both(data, indices) + ".");
  }
  if (indices.rank - 1 + data.rank - static_cast<int>(k) > max_rank) {
    fail(op, "updates", "updates would need more than 64 dimensions. " + both(data, indices) + ".");
  }
  Shape expected;
  append_sizes(expected, indices, 0, indices.rank - 1);
  append_sizes(expected, data, static_cast<int>(k), data.rank);
  const auto context = [&] { return both(data, indices) + ", so k = " + std::to_string(k); };
  check_updates(op, updates, expected, "indices.shape[:-1] + data.shape[k:]", context, learned);
}

int check_tensor_scatter(const View& past_cache, const View& update, const View* write_indices,
                         std::int64_t axis, Equalities* learned) {
  const char* op = "tensor_scatter";
  check_rank(op, "past_cache", past_cache);
  const int a = resolve_axis(op, axis, past_cache, "past_cache");
  if (a == 0) {
    throw Error(Fault::argument, op, "axis",
                "axis = " + std::to_string(axis) + " is the batch dimension of past_cache, shape " +
                    text_of(past_cache) + "; the sequence lies on another axis.");
  }
  const auto context = [&] {
    return "past_cache has shape " + text_of(past_cache) + ", update " + text_of(update) +
           ", axis = " + std::to_string(axis);
  };
  if (update.rank != past_cache.rank) {
    fail(op, "update",
         "update has rank " + std::to_string(update.rank) + " but past_cache has rank " +
             std::to_string(past_cache.rank) + "; they must be equal. " + context() + ".");
  }
  for (int d = 0; d < update.rank; ++d) {
    const std::int64_t have = update.shape[d], room = past_cache.shape[d];
    if (d == a ? exceeds(have, room) : differ(have, room, learned)) {
      fail(op, "update",
           "update has size " + std::to_string(have) + " in dimension " + std::to_string(d) +
               ", past_cache " + std::to_string(room) +
               (d == a ? "; on the axis update may not be longer. "
                       : "; off the axis they must be equal. ") +
               context() + ".");
    }
  }
  if (write_indices == nullptr) return a;
  if (write_indices->rank != 1 || differ(write_indices->shape[0], past_cache.shape[0], learned)) {
    fail(op, "write_indices",
         "write_indices has shape " + text_of(*write_indices) + " but needs shape (" +
             std::to_string(past_cache.shape[0]) + ",), one entry a batch row. " + context() + ".");
  }
  return a;
}

bool is_reducible(Dtype dtype, Reduction reduction) {
  if (reduction == Reduction::none) return true;
  if (dtype == Dtype::opaque) return false;
  if (reduction == Reduction::mean) return dtype != Dtype::boolean;
  return !is_complex(dtype) || reduction == Reduction::add || reduction == Reduction::mul;
}

}  // namespace sowreap
