// Leaving a call before it is done.
#pragma once

#include <atomic>
#include <chrono>

namespace sowreap {

// What a call asks, now and then, whether it is to be left.
class Stop {
 public:
  // From one question to the next.
  static constexpr std::chrono::milliseconds least_interval{20}, greatest_interval{60};

  // `ask` is called on the thread that holds the StopScope alone, must not throw, and may make
  // other calls.
  Stop(bool (*ask)(void* self), void* self) : ask_(ask), self_(self) {}
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // Whether the call is to be left. On any of its threads.
  bool look();
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> stopped_{false};
  bool (*ask_)(void* self);
  void* self_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + least_interval;
};

// Thrown by calls of a thread whose Stop was told to stop: nothing visible has changed.
struct Stopped {};

// Calls of a thread that holds one can be left; with null they cannot.
class StopScope {
 public:
  explicit StopScope(Stop* stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  Stop* outer_;
};

Stop* current_stop();     // of this thread
void leave_if_stopped();  // throws Stopped

}  // namespace sowreap
