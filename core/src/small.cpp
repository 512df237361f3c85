#include "sowreap/small.hpp"

#include <cstring>

#include "sowreap/dtype.hpp"

namespace sowreap {
namespace {

using std::int64_t;

constexpr int64_t most_values = 256;  // of indices
constexpr int64_t most_bytes = 8192;  // that are moved, or of data

int64_t product(const View& v, int begin, int end) {
  int64_t n = 1;
  for (int d = begin; d < end; ++d) n *= v.shape[d];
  return n;
}

int64_t item_count(const View& v) { return product(v, 0, v.rank); }

// What the values of indices count along, one length for each component of a tuple.
struct Lengths {
  const int64_t* first;
  int64_t components;
};

// Adds the length to negative values; false where one is out of range.
template <class T>
bool resolve(const char* values, int64_t count, Lengths lengths, int64_t* resolved) {
  for (int64_t i = 0, component = 0; i < count; ++i) {
    const int64_t length = lengths.first[component];
    T loaded;
    std::memcpy(&loaded, values + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    int64_t value = loaded;
    if (value < 0) value += length;
    if (value < 0 || value >= length) return false;
    resolved[i] = value;
    if (++component == lengths.components) component = 0;
  }
  return true;
}

// Copies what lies at any strides into C order.
void pack(const View& v, int64_t count, char* packed) {
  int64_t at[max_rank];
  for (int d = 0; d < v.rank; ++d) at[d] = 0;
  const char* from = v.bytes;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(packed + i * v.item, from, static_cast<std::size_t>(v.item));
    for (int d = v.rank - 1; d >= 0; --d) {
      from += v.strides[d];
      if (++at[d] < v.shape[d]) break;
      from -= v.strides[d] * v.shape[d];
      at[d] = 0;
    }
  }
}

bool resolve(const View& indices, int64_t count, Lengths lengths, int64_t* resolved) {
  char packed[most_values * sizeof(int64_t)];
  const char* values = indices.bytes;
  if (!is_in_c_order(indices)) {
    if (indices.item > static_cast<int64_t>(sizeof(int64_t))) return false;
    pack(indices, count, packed);
    values = packed;
  }
  if (indices.dtype == Dtype::int64) return resolve<int64_t>(values, count, lengths, resolved);
  if (indices.dtype == Dtype::int32) return resolve<std::int32_t>(values, count, lengths, resolved);
  return false;
}

void move(const SmallMove& call, int64_t cell, int64_t position, int64_t bytes) {
  char* addressed = call.addressed->bytes + cell;
  char* other = call.other->bytes + position;
  char* to = call.scatter ? addressed : other;
  copy_few(to, call.scatter ? other : addressed, bytes);
}

void move_cells(const SmallMove& call, const int64_t* resolved, int64_t picks) {
  const View& data = *call.addressed;
  const int64_t outer = product(data, 0, call.axis);
  const int64_t run = product(data, call.axis + 1, data.rank) * data.item;
  const int64_t length = data.shape[call.axis];
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t p = 0; p < picks; ++p)
      move(call, (o * length + resolved[p]) * run, (o * picks + p) * run, run);
  }
}

void move_elements(const SmallMove& call, const int64_t* resolved) {
  const View &data = *call.addressed, &indices = *call.indices;
  const int64_t outer = product(indices, 0, call.axis), picks = indices.shape[call.axis];
  const int64_t inner = product(indices, call.axis + 1, indices.rank);
  const int64_t length = data.shape[call.axis];
  int64_t position = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t p = 0; p < picks; ++p) {
      for (int64_t i = 0; i < inner; ++i, ++position) {
        const int64_t cell = (o * length + resolved[position]) * inner + i;
        move(call, cell * data.item, position * data.item, data.item);
      }
    }
  }
}

void move_tuples(const SmallMove& call, const int64_t* resolved, int64_t count,
                 int64_t components) {
  const View& data = *call.addressed;
  const int64_t run = product(data, static_cast<int>(components), data.rank) * data.item;
  for (int64_t at = 0, position = 0; at < count; at += components, position += run) {
    int64_t cell = 0;
    for (int64_t j = 0; j < components; ++j) cell += resolved[at + j] * data.strides[j];
    move(call, cell, position, run);
  }
}

// Where indices are smaller than data off the axis, items do not lie as move_elements has them.
bool have_equal_sizes_off(int axis, const View& data, const View& indices) {
  for (int d = 0; d < data.rank; ++d) {
    if (d != axis && data.shape[d] != indices.shape[d]) return false;
  }
  return true;
}

}  // namespace

bool move_if_small(const SmallMove& call) {
  const View &data = *call.addressed, &indices = *call.indices, &other = *call.other;
  const int64_t count = item_count(indices), bytes = item_count(other) * other.item;
  if (count == 0 || count > most_values || bytes == 0 || bytes > most_bytes) return false;
  if (call.source != nullptr && item_count(data) * data.item > most_bytes) return false;
  const bool tuples = call.address == Address::tuples;
  const int64_t components = tuples ? indices.shape[indices.rank - 1] : 1;
  if (call.address == Address::elements && !have_equal_sizes_off(call.axis, data, indices))
    return false;
  int64_t resolved[most_values];
  if (!resolve(indices, count, {data.shape + call.axis, components}, resolved)) return false;
  if (call.source != nullptr)
    std::memcpy(data.bytes, call.source->bytes,
                static_cast<std::size_t>(item_count(data) * data.item));
  if (tuples) {
    move_tuples(call, resolved, count, components);
  } else if (call.address == Address::elements) {
    move_elements(call, resolved);
  } else {
    move_cells(call, resolved, count);
  }
  return true;
}

}  // namespace sowreap
