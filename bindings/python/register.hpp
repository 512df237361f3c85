#pragma once

#include <nanobind/nanobind.h>

namespace sowreap::python {

void register_arrays(nanobind::module_& m);
void register_dlpack(nanobind::module_& m);
void register_errors();
void register_functions(nanobind::module_& m);
void register_plan(nanobind::module_& m);
void register_results(nanobind::module_& m);

}  // namespace sowreap::python
