// Arrays for results.
#pragma once

#include <nanobind/nanobind.h>

#include "numpy.hpp"
#include "sowreap/shape.hpp"

namespace sowreap::python {

// An array with room for a result and anything in it. A large one lives in the pool of results.
nanobind::object new_result(PyArray_Descr* descr, const Shape& shape);

}  // namespace sowreap::python
