#include <nanobind/nanobind.h>

#include "register.hpp"
#include "sowreap/execute.hpp"
#include "sowreap/threads.hpp"

#define SOWREAP_IMPORTS_NUMPY
#include "numpy.hpp"

namespace {

int import_numpy() {
  import_array1(-1);
  return 0;
}

}  // namespace

NB_MODULE(_core, m) {
  if (import_numpy() != 0) nanobind::raise_python_error();
  m.doc() = "Kernels of gather and scatter. Use the functions of the package sowreap instead.";
  sowreap::python::register_errors();
  sowreap::python::register_arrays(m);
  sowreap::python::register_dlpack(m);
  sowreap::python::register_functions(m);
  sowreap::python::register_plan(m);
  sowreap::python::register_results(m);
  m.def("isa", &sowreap::instruction_set,
        "The instruction set in use: 'baseline', 'avx2' or 'avx512'.");
  m.def("thread_count", &sowreap::thread_count, "Threads that a call may use.");
  m.def("set_thread_count", &sowreap::set_thread_count, nanobind::arg("n"),
        "Let calls use up to n threads, n >= 1.");
}
