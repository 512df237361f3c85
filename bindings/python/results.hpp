// Arrays for results.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "numpy.hpp"
#include "sowreap/shape.hpp"

namespace sowreap::python {

// Whether a result of so many bytes takes its memory from the pool.
bool belongs_in_pool(std::size_t bytes);

// An array with room for a result and anything in it. A large one lives in the pool of results.
nanobind::object new_result(PyArray_Descr* descr, const Shape& shape);

}  // namespace sowreap::python
