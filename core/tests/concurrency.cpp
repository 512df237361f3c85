// Calls of the core from several threads at once, for ThreadSanitizer: the pool, the tables made at
// first use and the checks of indices, without an interpreter between. Every result is compared
// with that of one thread. Ends with 0, or says what differed.
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "sowreap/error.hpp"
#include "sowreap/execute.hpp"
#include "sowreap/plan.hpp"
#include "sowreap/stop.hpp"
#include "sowreap/threads.hpp"

namespace {

using namespace sowreap;
using std::int64_t;

constexpr int callers = 8, rounds = 20;

// A packed array.
struct Array {
  std::vector<int64_t> shape, strides;
  std::vector<char> bytes;
  View view;

  Array(std::vector<int64_t> sizes, Dtype dtype, int64_t item)
      : shape(std::move(sizes)), strides(shape.size()) {
    int64_t step = item;
    for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
    bytes.resize(static_cast<std::size_t>(step));
    view = {bytes.data(), static_cast<int>(shape.size()), shape.data(), strides.data(), dtype,
            item};
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  template <class T, class Value>
  Array& set(Value&& value) {
    for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
      const T item = static_cast<T>(value(static_cast<int64_t>(i)));
      std::memcpy(bytes.data() + i * sizeof(T), &item, sizeof item);
    }
    return *this;
  }
};

std::vector<char> run(Call call, const Array& output) {
  execute(call);
  return output.bytes;
}

// Each works on inputs that all threads share and on an output of its own.

std::vector<char> gather_rows() {
  static const Array data = Array({4096, 64}, Dtype::float32, 4);
  static Array indices({8192}, Dtype::int64, 8);
  static const bool made = (indices.set<int64_t>([](int64_t i) { return i * 7919 % 4096; }), true);
  static_cast<void>(made);
  const Array output({8192, 64}, Dtype::float32, 4);
  return run({plan_gather(data.view, indices.view, 0, output.view),
              {"gather", &data.view, &indices.view, 0, false},
              Dtype::float32,
              Reduction::none,
              nullptr,
              &output.view,
              true},
             output);
}

// Few lanes and many repeated cells: threads own ranges of cells.
std::vector<char> add_rows(Dtype dtype, int64_t item) {
  const Array data({64}, dtype, item), output({64}, dtype, item);
  Array indices({200'000, 1}, Dtype::int32, 4), updates({200'000}, dtype, item);
  indices.set<std::int32_t>([](int64_t i) { return i * i % 64; });
  updates.set<std::uint8_t>([](int64_t i) { return i % 3; });
  return run({plan_nd(output.view, indices.view, 0, updates.view, true),
              {"scatter_nd", &data.view, &indices.view, 0, true},
              dtype,
              Reduction::add,
              &data.view,
              &output.view,
              false},
             output);
}

std::vector<char> add_columns() {
  const Array data({1024, 256}, Dtype::float32, 4), output({1024, 256}, Dtype::float32, 4);
  Array indices({1024, 256}, Dtype::int64, 8), updates({1024, 256}, Dtype::float32, 4);
  indices.set<int64_t>([](int64_t i) { return i * 31 % 1024; });
  updates.set<float>([](int64_t i) { return 1.0f / static_cast<float>(1 + i); });
  return run({plan_elements(output.view, indices.view, 0, updates.view, true),
              {"scatter_elements", &data.view, &indices.view, 0, false},
              Dtype::float32,
              Reduction::add,
              &data.view,
              &output.view,
              false},
             output);
}

// The message says the first bad position, whichever thread finds one.
std::vector<char> bad_index() {
  const Array data({1000}, Dtype::float32, 4), output({600'000}, Dtype::float32, 4);
  Array indices({600'000}, Dtype::int64, 8);
  indices.set<int64_t>([](int64_t i) { return i > 1234 && i % 5 == 0 ? 5000 : 0; });
  try {
    run({plan_gather(data.view, indices.view, 0, output.view),
         {"gather", &data.view, &indices.view, 0, false},
         Dtype::float32,
         Reduction::none,
         nullptr,
         &output.view,
         true},
        output);
  } catch (const Error& error) {
    return {error.message.begin(), error.message.end()};
  }
  return {};
}

std::vector<char> write_cache() {
  const Array cache({8, 256, 128}, Dtype::float32, 4), output({8, 256, 128}, Dtype::float32, 4);
  Array update({8, 128, 128}, Dtype::float32, 4), starts({8}, Dtype::int64, 8);
  update.set<float>([](int64_t i) { return i; });
  starts.set<int64_t>([](int64_t i) { return i * 40; });
  execute(CacheWrite{&cache.view, &update.view, &starts.view, 1, true, &output.view, false});
  return output.bytes;
}

// A call without end, which is left when asked; what asks makes a call of its own. (`indices` and
// `updates` repeat one item.)
std::vector<char> leave_endless() {
  const Array data({1000, 64}, Dtype::float32, 4), output({1000, 64}, Dtype::float32, 4);
  const Array index({1}, Dtype::int64, 8), update({1}, Dtype::float32, 4);
  const int64_t many = int64_t{1} << 40;
  const int64_t index_shape[] = {many, 1}, update_shape[] = {many, 64}, none[] = {0, 0};
  const View indices{index.view.bytes, 2, index_shape, none, Dtype::int64, 8};
  const View updates{update.view.bytes, 2, update_shape, none, Dtype::float32, 4};
  std::vector<char> inner;
  const auto ask = [](void* self) {
    auto& made = *static_cast<std::vector<char>*>(self);
    const bool again = !made.empty();
    made = add_columns();
    return again;
  };
  Stop stop(ask, &inner);
  const StopScope scope(&stop);
  try {
    run({plan_nd(output.view, indices, 0, updates, true),
         {"scatter_nd", &data.view, &indices, 0, true},
         Dtype::float32,
         Reduction::add,
         &data.view,
         &output.view,
         false},
        output);
  } catch (const Stopped&) {
    return inner;
  }
  return {};
}

const std::function<std::vector<char>()> calls[] = {
    gather_rows,
    add_columns,
    bad_index,
    write_cache,
    [] { return add_rows(Dtype::float32, 4); },
    [] { return add_rows(Dtype::float8_e4m3fn, 1); },
    [] { return add_rows(Dtype::uint4, 1); },
    leave_endless,
};

#if !defined(_WIN32)
bool child_calls(const std::vector<char>& want) {
  const pid_t child = fork();
  if (child == 0) _exit(add_columns() == want ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}
#endif

}  // namespace

int main() {
  // The tables of the small formats are made by eight threads at once; the wanted results come
  // after.
  constexpr std::size_t kinds = std::size(calls);
  std::vector<std::vector<char>> got(callers * rounds);
  std::barrier start(callers);
  std::vector<std::thread> threads;
  set_thread_count(4);
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      for (int round = 0; round < rounds; ++round) {
        start.arrive_and_wait();
        if (caller == 0) set_thread_count(1 + round % 5);
        const auto number = static_cast<std::size_t>(round + (round % 2 == 0 ? 0 : caller)) % kinds;
        got[static_cast<std::size_t>(caller * rounds + round)] = calls[number]();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  set_thread_count(1);
  std::vector<std::vector<char>> want;
  for (const auto& call : calls) want.push_back(call());
  int wrong = 0;
  for (int caller = 0; caller < callers; ++caller) {
    for (int round = 0; round < rounds; ++round) {
      const auto number = static_cast<std::size_t>(round + (round % 2 == 0 ? 0 : caller)) % kinds;
      if (got[static_cast<std::size_t>(caller * rounds + round)] == want[number]) continue;
      std::printf("call %zu differs in thread %d, round %d\n", number, caller, round);
      ++wrong;
    }
  }
#if !defined(_WIN32)
  set_thread_count(4);
  for (int i = 0; i < 3; ++i) wrong += child_calls(want[1]) ? 0 : 1;
#endif
  std::printf("%d calls by %d threads; %d wrong\n", callers * rounds, callers, wrong);
  return wrong == 0 ? 0 : 1;
}
