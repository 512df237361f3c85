// A pool of threads shared by all calls of the process, and how calls use the pool of another
// library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sowreap {

int thread_count();            // what the next call may use
void set_thread_count(int n);  // n >= 1

// Threads of another library, on which the calls of a thread run while it holds an ExecutorScope.
struct Executor {
  using Work = void (*)(void* context, std::size_t worker);

  int threads;  // what a call may use
  // Calls work(context, worker) once for each worker in [0, workers), in any order, together or one
  // after the other, and returns when all are done.
  void (*run)(void* self, int workers, Work work, void* context);
  void* self;
};

class ExecutorScope {
 public:
  explicit ExecutorScope(const Executor& executor);
  ~ExecutorScope();
  ExecutorScope(const ExecutorScope&) = delete;
  ExecutorScope& operator=(const ExecutorScope&) = delete;

 private:
  const Executor* outer_;
};

// Calls task(context, part, worker) for each part in [0, parts) on up to `threads` threads, this
// one included, and returns when all are done. `worker` is in [0, threads). A task must not throw.
// When the pool serves another call already, this thread does all parts itself.
void run_parallel(std::int64_t parts, int threads, void (*task)(void*, std::int64_t, int),
                  void* context);

template <class Task>
void run_parallel(std::int64_t parts, int threads, Task&& task) {
  run_parallel(
      parts, threads,
      [](void* context, std::int64_t part, int worker) {
        (*static_cast<std::remove_reference_t<Task>*>(context))(part, worker);
      },
      &task);
}

}  // namespace sowreap
