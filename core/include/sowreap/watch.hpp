// Looking now and then whether a call is to be left. Part of the kernels, hence in the namespace of
// their instruction set.
#pragma once

#include <cstdint>

#include "sowreap/isa.hpp"

namespace sowreap {

class Stop;
bool is_stopped(Stop& stop);  // its `look`

inline namespace SOWREAP_ISA {

// The look itself, which reads a clock, is made once in some hundred microseconds.
class Watch {
 public:
  explicit Watch(Stop* stop) : stop_(stop) {}

  // Whether the call is to be left before it goes on to touch `bytes`.
  bool leave(std::int64_t bytes) {
    left_ -= bytes;
    return left_ < 0 && look();
  }

 private:
  static constexpr std::int64_t bytes_between = 4 << 20;

  // Out of the loops, which are small.
  [[gnu::noinline, gnu::cold]] bool look() {
    left_ = bytes_between;
    return stop_ != nullptr && is_stopped(*stop_);
  }

  Stop* stop_;
  std::int64_t left_ = bytes_between;
};

}  // namespace SOWREAP_ISA
}  // namespace sowreap
