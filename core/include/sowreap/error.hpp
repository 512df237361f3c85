// What went wrong, as facts, and the one place that turns facts into text.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "sowreap/array_view.hpp"

namespace sowreap {

enum class Fault { index, shape, argument, dtype, memory };

class Error : public std::exception {
 public:
  Error(Fault kind, const char* op, const char* arg, const std::string& text)
      : fault(kind), operation(op), argument(arg), message(std::string(op) + ": " + text) {}

  const char* what() const noexcept override { return message.c_str(); }

  Fault fault;
  std::string operation;
  std::string argument;
  std::string message;
  std::vector<std::int64_t> position;  // of an index error: where in the argument
  std::string value;                   // of an index error: the value found, in decimal
  std::int64_t axis = -1;              // of an index error: the axis of data
  std::int64_t length = -1;            // and its length
};

std::string text_of(const std::int64_t* sizes, int rank);  // "(2, 3)", as Python writes it
inline std::string text_of(const View& v) { return text_of(v.shape, v.rank); }
inline std::string text_of(const Shape& s) { return text_of(s.sizes, s.rank); }

}  // namespace sowreap
