#include "sowreap/threads.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#include "sowreap/stop.hpp"

namespace sowreap {
namespace {

using Task = void (*)(void*, std::int64_t, int);

int processor_count() {
  const unsigned n = std::thread::hardware_concurrency();
  return n == 0 ? 1 : static_cast<int>(n);
}

// How long a thread that waits stays awake, which is about what waking it takes: the calls of a
// loop follow each other, and so do the ends of the parts of a call. It does not give its processor
// away meanwhile, which others would keep for longer.
constexpr std::chrono::microseconds awake{50};

template <class Met>
void stay_awake(const Met& met) {
  const auto end = std::chrono::steady_clock::now() + awake;
  while (!met() && std::chrono::steady_clock::now() < end) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

// The parts of a call. Each worker has a share of its own to begin with, those that follow each
// other, so that in a loop of calls on the same arrays it meets what is in its cache, and no two
// are at neighbouring parts. Then it takes what is left of other shares, so that an uneven part
// holds up nobody.
class Parts {
 public:
  // For as many workers; may throw. Like `deal` before any of them takes a part.
  void make_room(int workers) {
    if (workers <= room_) return;
    shares_ = std::make_unique<Share[]>(static_cast<std::size_t>(workers));
    room_ = workers;
  }

  void deal(std::int64_t parts, int workers) {
    workers_ = workers;
    for (int w = 0; w < workers; ++w) {
      Share& share = shares_[static_cast<std::size_t>(w)];
      share.next.store(parts * w / workers, std::memory_order_relaxed);
      share.end = parts * (w + 1) / workers;
    }
  }

  void take(Task task, void* context, int worker) {
    for (int w = 0; w < workers_; ++w) {
      Share& share = shares_[static_cast<std::size_t>((worker + w) % workers_)];
      for (;;) {
        const std::int64_t part = share.next.fetch_add(1, std::memory_order_relaxed);
        if (part >= share.end) break;
        task(context, part, worker);
      }
    }
  }

 private:
  struct alignas(128) Share {  // two cache lines, which processors fetch together
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  std::unique_ptr<Share[]> shares_;
  int room_ = 0, workers_ = 0;
};

// One call at a time has the workers; others run on their own thread meanwhile. A call waits for
// those that have begun: a worker that wakes when all parts are taken has come too late, and is not
// waited for.
class Pool {
 public:
  // False when another call has the workers.
  bool run(std::int64_t parts, int threads, Task task, void* context) {
    Stop* const stop = current_stop();
    {
      std::lock_guard<std::mutex> lock(state_);
      if (taken_) return false;
      parts_.make_room(threads);
      taken_ = true;
      whole_ = stop == nullptr;
      while (started_ < threads - 1 && start_worker()) {
      }
      task_ = task;
      context_ = context;
      wanted_ = started_ < threads - 1 ? started_ : threads - 1;
      parts_.deal(parts, wanted_ + 1);
      ++round_;
    }
    wake_.notify_all();
    parts_.take(task, context, 0);
    if (stop != nullptr) {
      look_while_busy(*stop);
    } else {
      std::unique_lock<std::mutex> lock = close_round();
      done_.wait(lock, [this] { return busy_ == 0; });
      release();
    }
    return true;
  }

  // A fork waits for a call that cannot be left, which may write what the child can see. It must
  // not wait for another: what that asks may be waiting for the fork, or be what forks.
  void lock_for_fork() {
    std::unique_lock<std::mutex> lock(state_);
    free_.wait(lock, [this] { return !taken_ || !whole_; });
    lock.release();
  }
  void unlock_after_fork() { state_.unlock(); }

 private:
  void release() {
    taken_ = false;
    free_.notify_all();
  }

  // No worker begins from now on; those that have begun get a moment to end.
  std::unique_lock<std::mutex> close_round() {
    std::unique_lock<std::mutex> lock(state_);
    wanted_ = 0;
    if (busy_ != 0 && has_processors()) {
      lock.unlock();
      stay_awake([this] { return busy_ == 0; });
      lock.lock();
    }
    return lock;
  }

  void look_while_busy(Stop& stop);

  // One for each thread: else one that stays awake may keep another from what it is waiting for.
  bool has_processors() const { return started_ < processors_; }

  // Without a further thread (a limit of the system, no memory) the call goes on with those that
  // there are.
  bool start_worker() {
    try {
      std::thread([this, number = started_ + 1, seen = round_.load()] {
        work(number, seen);
      }).detach();
    } catch (const std::exception&) {
      return false;
    }
    ++started_;
    return true;
  }

  void work(int number, std::uint64_t seen) {
    std::unique_lock<std::mutex> lock(state_);
    for (;;) {
      wake_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (number > wanted_) continue;
      ++busy_;
      const Task task = task_;
      void* context = context_;
      lock.unlock();
      parts_.take(task, context, number);
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
      if (!has_processors()) continue;
      lock.unlock();
      stay_awake([&] { return round_ != seen; });
      lock.lock();
    }
  }

  const int processors_ = processor_count();
  std::mutex state_;                    // guards what follows; what is atomic is read without it
  bool taken_ = false, whole_ = false;  // a call has the workers; one that cannot be left
  std::condition_variable wake_, done_, free_;
  Parts parts_;  // dealt by the call that has the workers, while none of them has begun
  Task task_ = nullptr;
  void* context_ = nullptr;
  std::atomic<std::uint64_t> round_{0};
  int started_ = 0, wanted_ = 0;  // workers; those that a call would have, none when it ends
  std::atomic<int> busy_{0};      // those that have begun
};

// Never destroyed: at the end of the process its threads may still wait in it.
std::atomic<Pool*> pool{nullptr};

#if !defined(_WIN32)
// A child has the forking thread alone. It gets a new pool; the old one, whose threads are gone, is
// left behind.
void before_fork() { pool.load()->lock_for_fork(); }
void after_fork_in_parent() { pool.load()->unlock_after_fork(); }
void after_fork_in_child() { pool.store(new Pool); }
#endif

// A call that asks may find itself in the child of a fork, with parts in workers that are gone.
void Pool::look_while_busy(Stop& stop) {
  while (pool.load() == this) {
    {
      std::unique_lock<std::mutex> lock = close_round();
      if (done_.wait_for(lock, Stop::least_interval, [this] { return busy_ == 0; }))
        return release();
    }
    stop.look();
  }
  stop.stop();
}

Pool& the_pool() {
  static const bool made = [] {
    pool.store(new Pool);
#if !defined(_WIN32)
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
#endif
    return true;
  }();
  static_cast<void>(made);
  return *pool.load();
}

std::atomic<int> count{processor_count()};

thread_local const Executor* executor = nullptr;

// What comes before leave(place) is done when what follows enter(place) begins: an executor sees to
// that, by means that ThreadSanitizer may not see.
#if defined(__SANITIZE_THREAD__)
void enter(void* place) { __tsan_acquire(place); }
void leave(void* place) { __tsan_release(place); }
#else
void enter(void*) {}
void leave(void*) {}
#endif

struct Shared {
  Parts parts;
  Task task;
  void* context;
};

// What an executor calls is not instrumented, so that tools/tsan.supp can tell its accesses from
// ours: its frame is not on the stacks that ThreadSanitizer keeps.
[[gnu::no_sanitize_thread]] void take_shared(void* self, std::size_t worker) {
  enter(self);
  Shared& shared = *static_cast<Shared*>(self);
  shared.parts.take(shared.task, shared.context, static_cast<int>(worker));
  leave(self);
}

// Workers of an executor take what is left too, so it need not run them at the same time.
void run_on_executor(std::int64_t parts, int threads, Task task, void* context) {
  Shared shared{{}, task, context};
  shared.parts.make_room(threads);
  shared.parts.deal(parts, threads);
  leave(&shared);
  executor->run(executor->self, threads, take_shared, &shared);
  enter(&shared);
}

}  // namespace

ExecutorScope::ExecutorScope(const Executor& chosen) : outer_(executor) { executor = &chosen; }
ExecutorScope::~ExecutorScope() { executor = outer_; }

int thread_count() {
  return executor != nullptr ? executor->threads : count.load(std::memory_order_relaxed);
}

void set_thread_count(int n) { count.store(n, std::memory_order_relaxed); }

void run_parallel(std::int64_t parts, int threads, Task task, void* context) {
  if (threads > parts) threads = static_cast<int>(parts);
  if (threads > 1 && executor != nullptr) return run_on_executor(parts, threads, task, context);
  if (threads > 1 && the_pool().run(parts, threads, task, context)) return;
  for (std::int64_t part = 0; part < parts; ++part) task(context, part, 0);
}

}  // namespace sowreap
