// The shape of a result from shapes alone.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "register.hpp"
#include "sowreap/error.hpp"
#include "sowreap/shape.hpp"

namespace nb = nanobind;

namespace sowreap::python {
namespace {

using Sizes = std::vector<std::int64_t>;

View view_of(const Sizes& sizes) {
  View view;
  view.rank = static_cast<int>(sizes.size());
  view.shape = sizes.data();
  view.item = 1;
  return view;
}

Sizes sizes_of(const Shape& shape) { return Sizes(shape.sizes, shape.sizes + shape.rank); }

void check_arguments(const std::string& op, const std::vector<Sizes>& shapes) {
  const std::size_t count = op.starts_with("gather") ? 2 : 3;
  const bool too_many = std::any_of(shapes.begin(), shapes.end(),
                                    [](const Sizes& sizes) { return sizes.size() > max_rank; });
  if (too_many || (shapes.size() != count && !(op == "tensor_scatter" && shapes.size() == 2))) {
    throw Error(Fault::argument, "infer_shape", "shapes",
                "one shape an input, of at most 64 sizes.");
  }
  const bool tuples = op.ends_with("_nd");
  if (tuples && !shapes[1].empty() && shapes[1].back() < 0) {
    throw Error(Fault::argument, "infer_shape", "shapes",
                "the last size of indices, the length of index tuples, must be known.");
  }
}

// `axis` is the batch_dims of gather_nd.
std::pair<Sizes, Equalities> infer_shape(const std::string& op, const std::vector<Sizes>& shapes,
                                         std::int64_t axis) {
  check_arguments(op, shapes);
  std::vector<View> views;
  for (const Sizes& sizes : shapes) views.push_back(view_of(sizes));
  Equalities learned;
  if (op == "gather") return {sizes_of(gather_shape(views[0], views[1], axis)), learned};
  if (op == "gather_elements")
    return {sizes_of(gather_elements_shape(views[0], views[1], axis)), learned};
  if (op == "gather_nd") {
    const Shape shape = gather_nd_shape(views[0], views[1], axis, &learned);
    return {sizes_of(shape), learned};
  }
  if (op == "scatter_nd") {
    check_scatter_nd(views[0], views[1], views[2], &learned);
  } else if (op == "scatter" || op == "scatter_elements") {
    check_scatter_elements(op.c_str(), views[0], views[1], views[2], axis, &learned);
  } else if (op == "tensor_scatter") {
    check_tensor_scatter(views[0], views[1], views.size() > 2 ? &views[2] : nullptr, axis,
                         &learned);
  } else {
    throw Error(Fault::argument, "infer_shape", "operator", "\"" + op + "\" is unknown.");
  }
  return {shapes[0], learned};
}

}  // namespace

void register_shapes(nb::module_& m) {
  m.def("infer_shape", &infer_shape, nb::arg("operator"), nb::arg("shapes"), nb::arg("axis"),
        "The shape of the result, and pairs of sizes that must be equal. A size below 0 stands for "
        "one that is not known.");
}

}  // namespace sowreap::python
