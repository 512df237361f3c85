// The rules of ranks, shapes, axes and dtypes of every operator. Each function returns the shape of
// the result or throws Error; none touches data.
//
// A size below 0 is not known: it equals itself and may equal any other. Where a rule asks for
// equal sizes and one is not known, the pair goes to `learned`. The length of index tuples is
// always known.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sowreap/array_view.hpp"
#include "sowreap/reduction.hpp"

namespace sowreap {

using Equalities = std::vector<std::pair<std::int64_t, std::int64_t>>;

// `axis` as the user gave it, in [-rank, rank - 1], to [0, rank - 1].
int resolve_axis(const char* op, std::int64_t axis, const View& data, const char* data_name);

Shape gather_shape(const View& data, const View& indices, std::int64_t axis);
Shape gather_elements_shape(const View& data, const View& indices, std::int64_t axis);
Shape gather_nd_shape(const View& data, const View& indices, std::int64_t batch_dims,
                      Equalities* learned = nullptr);

// A new result, before it is allocated: indices from a stranger can ask for any size. The limit is
// the memory of the machine, until another one is set.
void check_allocation(const char* op, const Shape& shape, std::int64_t item);
std::int64_t result_limit();
void set_result_limit(std::int64_t bytes);

void check_scatter_elements(const char* op, const View& data, const View& indices,
                            const View& updates, std::int64_t axis, Equalities* learned = nullptr);
void check_scatter_nd(const View& data, const View& indices, const View& updates,
                      Equalities* learned = nullptr);
// Returns `axis` as resolve_axis does. Without write_indices: null.
int check_tensor_scatter(const View& past_cache, const View& update, const View* write_indices,
                         std::int64_t axis, Equalities* learned = nullptr);

// Whether `reduction` is defined on items of this dtype.
bool is_reducible(Dtype dtype, Reduction reduction);

}  // namespace sowreap
