#include "attributes.hpp"

#include <nanobind/stl/string.h>

#include "numpy.hpp"
#include "sowreap/error.hpp"

namespace sowreap::python {

bool is(nb::handle text, const char* value) {
  return PyUnicode_Check(text.ptr()) && PyUnicode_CompareWithASCIIString(text.ptr(), value) == 0;
}

std::string shown(nb::handle value) {
  const nb::object text = nb::steal(PyObject_ASCII(value.ptr()));
  if (!text.is_valid()) nb::raise_python_error();
  return nb::cast<std::string>(text);
}

Mode parse_mode(const char* op, nb::handle mode, const char* absent) {
  if (is(mode, "raise")) return Mode::raise;
  if (is(mode, "wrap")) return Mode::wrap;
  if (is(mode, "clip")) return Mode::clip;
  if (is(mode, absent)) return Mode::absent;
  throw Error(Fault::argument, op, "mode",
              "mode = " + shown(mode) + " is unknown; use \"raise\", \"wrap\", \"clip\" or \"" +
                  absent + "\".");
}

Reduction parse_reduction(const char* op, nb::handle reduction) {
  if (is(reduction, "none")) return Reduction::none;
  if (is(reduction, "add")) return Reduction::add;
  if (is(reduction, "mul")) return Reduction::mul;
  if (is(reduction, "min")) return Reduction::min;
  if (is(reduction, "max")) return Reduction::max;
  if (is(reduction, "mean")) return Reduction::mean;
  throw Error(Fault::argument, op, "reduction",
              "reduction = " + shown(reduction) +
                  " is unknown; use \"none\", \"add\", \"mul\", \"min\", \"max\" or \"mean\".");
}

bool parse_include_self(const char* op, nb::handle include_self) {
  if (include_self.ptr() == Py_True) return true;
  if (include_self.ptr() == Py_False) return false;
  const int truth =
      PyArray_IsScalar(include_self.ptr(), Bool) ? PyObject_IsTrue(include_self.ptr()) : -1;
  if (truth >= 0) return truth == 1;
  throw Error(Fault::dtype, op, "include_self",
              "include_self = " + shown(include_self) + " is no bool; use True or False.");
}

}  // namespace sowreap::python
