// Attributes of the operators that are words.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "sowreap/mode.hpp"
#include "sowreap/reduction.hpp"

namespace sowreap::python {

namespace nb = nanobind;

bool is(nb::handle text, const char* value);
std::string shown(nb::handle value);  // in ASCII, so that no text can fail to be shown

// `absent`: what mode absent is called, "fill" or "drop".
Mode parse_mode(const char* op, nb::handle mode, const char* absent);
Reduction parse_reduction(const char* op, nb::handle reduction);
bool parse_include_self(const char* op, nb::handle include_self);

}  // namespace sowreap::python
