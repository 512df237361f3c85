// Errors of the core to the exception classes of sowreap._errors.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "register.hpp"
#include "sowreap/error.hpp"

namespace sowreap::python {
namespace {

namespace nb = nanobind;

const char* class_of(Fault fault) {
  switch (fault) {
    case Fault::index:
      return "OutOfRangeError";
    case Fault::shape:
      return "ShapeError";
    case Fault::argument:
      return "ArgumentError";
    case Fault::memory:
      return "ResultTooLargeError";
    default:
      return "DtypeError";
  }
}

nb::object position_of(const Error& error) {
  if (error.value.empty()) return nb::none();
  nb::list position;
  for (const std::int64_t p : error.position) position.append(p);
  return nb::tuple(position);
}

void raise(const Error& error) {
  const nb::object cls = nb::module_::import_("sowreap._errors").attr(class_of(error.fault));
  nb::dict facts;
  facts["operator"] = error.operation;
  facts["argument"] = error.argument;
  facts["position"] = position_of(error);
  if (!error.value.empty()) {
    facts["value"] = nb::steal(PyLong_FromString(error.value.c_str(), nullptr, 10));
    facts["axis"] = error.axis;
    facts["length"] = error.length;
  }
  const nb::object exception = cls(error.message, **facts);
  PyErr_SetObject(cls.ptr(), exception.ptr());
}

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const Error& error) {
    try {
      raise(error);
    } catch (nb::python_error& inner) {
      inner.restore();
    }
  }
}

}  // namespace

void register_errors() { nb::register_exception_translator(translate); }

}  // namespace sowreap::python
