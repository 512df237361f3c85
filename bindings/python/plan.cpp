// The plan of a call as text, without running it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "arrays.hpp"
#include "attributes.hpp"
#include "register.hpp"
#include "sowreap/error.hpp"
#include "sowreap/execute.hpp"
#include "sowreap/shape.hpp"

namespace sowreap::python {
namespace {

void check_output(const View& output, const Shape& shape) {
  bool same = output.rank == shape.rank;
  for (int d = 0; same && d < shape.rank; ++d) same = output.shape[d] == shape.sizes[d];
  if (same) return;
  throw Error(
      Fault::shape, "explain_plan", "other",
      "other has shape " + text_of(output) + " but the result has shape " + text_of(shape) + ".");
}

// `axis` is the batch_dims of gather_nd.
Plan plan_of(const std::string& op, const View& data, const View& indices, const View& other,
             std::int64_t axis) {
  if (op == "gather") {
    check_output(other, gather_shape(data, indices, axis));
    return plan_gather(data, indices, resolve_axis("gather", axis, data, "data"), other);
  }
  if (op == "gather_elements") {
    check_output(other, gather_elements_shape(data, indices, axis));
    const int resolved = resolve_axis("gather_elements", axis, data, "data");
    return plan_elements(data, indices, resolved, other, false);
  }
  if (op == "gather_nd") {
    check_output(other, gather_nd_shape(data, indices, axis));
    return plan_nd(data, indices, static_cast<int>(axis), other, false);
  }
  if (op == "scatter_elements") {
    check_scatter_elements("scatter_elements", data, indices, other, axis);
    const int resolved = resolve_axis("scatter_elements", axis, data, "data");
    return plan_elements(data, indices, resolved, other, true);
  }
  if (op == "scatter_nd") {
    check_scatter_nd(data, indices, other);
    return plan_nd(data, indices, 0, other, true);
  }
  throw Error(Fault::argument, "explain_plan", "operator", "\"" + op + "\" is unknown.");
}

std::string explain_plan(const std::string& op, nb::handle data_in, nb::handle indices_in,
                         nb::handle other_in, std::int64_t axis, bool in_place,
                         nb::handle reduction, nb::handle include_self, nb::handle mode) {
  const char* name = "explain_plan";
  Input data(name, "data", data_in), indices(name, "indices", indices_in),
      other(name, "other", other_in);
  for (Input* input : {&data, &indices, &other}) input->look(name, true);
  const bool tuples = op.ends_with("_nd"), gathers = op.starts_with("gather");
  Call call{plan_of(op, data.view(), indices.view(), other.view(), axis),
            {op.c_str(), &data.view(), &indices.view(), static_cast<int>(axis), tuples,
             parse_mode(name, mode, gathers ? "fill" : "drop")},
            data.view().dtype,
            parse_reduction(name, reduction),
            in_place || gathers ? nullptr : &data.view(),
            &data.view(),
            false,
            parse_include_self(name, include_self)};
  return explain(call);
}

}  // namespace

void register_plan(nb::module_& m) {
  m.def("explain_plan", &explain_plan, nb::arg("operator"), nb::arg("data"), nb::arg("indices"),
        nb::arg("other"), nb::arg("axis") = 0, nb::arg("in_place") = false,
        nb::arg("reduction") = "none", nb::arg("include_self") = true, nb::arg("mode") = "raise",
        "How a call would run, as text. `other` is the output of a gather, the updates of a "
        "scatter. No item is read.");
}

}  // namespace sowreap::python
