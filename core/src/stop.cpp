#include "sowreap/stop.hpp"

#include <algorithm>

#include "sowreap/watch.hpp"

namespace sowreap {
namespace {

thread_local Stop* current = nullptr;

}  // namespace

bool Stop::look() {
  using Clock = std::chrono::steady_clock;
  if (stopped()) return true;
  if (current != this) return false;  // a worker
  const auto begin = Clock::now();
  if (begin < next_) return false;
  const StopScope none(nullptr);
  if (ask_(self_)) stop();
  // An answer that had to be waited for is asked for less often.
  const auto end = Clock::now();
  next_ = end + std::clamp<Clock::duration>((end - begin) * 10, least_interval, greatest_interval);
  return stopped();
}

bool is_stopped(Stop& stop) { return stop.look(); }

StopScope::StopScope(Stop* stop) : outer_(current) { current = stop; }
StopScope::~StopScope() { current = outer_; }

Stop* current_stop() { return current; }

void leave_if_stopped() {
  if (current != nullptr && current->stopped()) throw Stopped{};
}

}  // namespace sowreap
