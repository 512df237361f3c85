#include "sowreap/result_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <unordered_map>

#include "sowreap/machine.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace sowreap {
namespace {

constexpr std::size_t large_from = 4 << 20;

std::size_t page_of(std::size_t bytes) {
  return bytes < large_from ? 64 << 10 : static_cast<std::size_t>(large_page);
}

std::size_t rounded(std::size_t bytes) {
  const std::size_t page = page_of(bytes);
  return (bytes + page - 1) / page * page;
}

void* allocate(std::size_t capacity) {
  return allocate_pages(static_cast<std::int64_t>(capacity),
                        static_cast<std::int64_t>(page_of(capacity)));
}

// A sixteenth of the machine's memory, and no more than 1 GB.
std::size_t default_limit() {
  return static_cast<std::size_t>(std::min<std::int64_t>(memory_bytes() / 16, 1 << 30));
}

struct Unused {
  void* memory;
  std::size_t capacity;
};

class Pool {
 public:
  void* take(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(-1) - static_cast<std::size_t>(large_page)) return nullptr;
    const std::size_t wanted = rounded(bytes < 1 ? 1 : bytes);
    std::lock_guard<std::mutex> lock(mutex_);
    const Unused found = reuse(wanted);
    void* memory = found.memory != nullptr ? found.memory : allocate(wanted);
    if (memory == nullptr && !unused_.empty()) {
      drop_to(0);
      memory = allocate(wanted);
    }
    if (memory == nullptr) return nullptr;
    try {
      in_use_[memory] = found.memory != nullptr ? found.capacity : wanted;
    } catch (const std::bad_alloc&) {
      std::free(memory);
      throw;
    }
    return memory;
  }

  void give(void* memory) {
    if (memory == nullptr) return;
    std::lock_guard<std::mutex> lock(mutex_);
    const auto at = in_use_.find(memory);
    const std::size_t capacity = at->second;
    in_use_.erase(at);
    if (capacity > limit_) return std::free(memory);
    drop_to(limit_ - capacity);
    try {
      unused_.push_back({memory, capacity});
      held_ += capacity;
    } catch (const std::bad_alloc&) {
      std::free(memory);
    }
  }

  std::size_t capacity(void* memory) {
    std::lock_guard<std::mutex> lock(mutex_);
    return in_use_.at(memory);
  }

  std::size_t limit() {
    std::lock_guard<std::mutex> lock(mutex_);
    return limit_;
  }

  void set_limit(std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    limit_ = bytes;
    drop_to(bytes);
  }

  std::size_t held() {
    std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }

  std::mutex& mutex() { return mutex_; }

 private:
  // The smallest that fits, if no more than half of it would be wasted.
  Unused reuse(std::size_t wanted) {
    auto best = unused_.end();
    for (auto at = unused_.begin(); at != unused_.end(); ++at) {
      const bool fits = at->capacity >= wanted && at->capacity / 2 <= wanted;
      if (fits && (best == unused_.end() || at->capacity < best->capacity)) best = at;
    }
    if (best == unused_.end()) return {nullptr, 0};
    const Unused found = *best;
    unused_.erase(best);
    held_ -= found.capacity;
    return found;
  }

  // The oldest go first.
  void drop_to(std::size_t bytes) {
    while (held_ > bytes) {
      held_ -= unused_.front().capacity;
      std::free(unused_.front().memory);
      unused_.pop_front();
    }
  }

  std::mutex mutex_;
  std::deque<Unused> unused_;  // oldest first
  std::unordered_map<void*, std::size_t> in_use_;
  std::size_t held_ = 0, limit_ = default_limit();
};

// Never destroyed: arrays may die after it would be.
Pool& pool() {
  static Pool* const made = [] {
    static Pool* the_pool = new Pool;
#if !defined(_WIN32)
    // A child finds the pool whole, and may use it: its memory is its own copy.
    pthread_atfork([] { the_pool->mutex().lock(); }, [] { the_pool->mutex().unlock(); },
                   [] { the_pool->mutex().unlock(); });
#endif
    return the_pool;
  }();
  return *made;
}

}  // namespace

void* take_result(std::size_t bytes) {
  try {
    return pool().take(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void give_result(void* bytes) noexcept { pool().give(bytes); }

void* resize_result(void* old, std::size_t bytes) {
  if (old == nullptr) return take_result(bytes);
  void* memory = take_result(bytes);
  if (memory == nullptr) return nullptr;
  const std::size_t before = pool().capacity(old);
  std::memcpy(memory, old, before < bytes ? before : bytes);
  give_result(old);
  return memory;
}

std::size_t result_pool_limit() { return pool().limit(); }
void set_result_pool_limit(std::size_t bytes) { pool().set_limit(bytes); }
std::size_t result_pool_held() { return pool().held(); }

}  // namespace sowreap
