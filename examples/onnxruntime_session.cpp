// A converted model in onnxruntime's C interface, with nothing of Python in the process.
//
//   sowreap convert model.onnx -o converted.onnx
//   g++ -std=c++17 onnxruntime_session.cpp -ldl -o onnxruntime_session
//   ./onnxruntime_session LIBONNXRUNTIME LIBSOWREAP converted.onnx
//
// LIBONNXRUNTIME is onnxruntime's shared library (the wheel from PyPI has it in onnxruntime/capi),
// LIBSOWREAP the file that `sowreap convert` named. The model has inputs `data` (float, [n]),
// `indices` (int64, [m, 1]) and `updates` (float, [m]), and an output `output`.
//
// Programs that are built with onnxruntime's header need no declarations like those below: there,
// RegisterCustomOpsLibrary_V2(options, path) is all that is added to a session.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Status;
struct Env;
struct Options;
struct Session;
struct MemoryInfo;
struct Value;

using Api = const void* const*;  // a table of functions; each has its place for ever

struct ApiBase {
  Api (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};

constexpr std::uint32_t api_version = 18;
constexpr int warning = 2, arena = 1, default_memory = 0, float32 = 1, int64 = 7;

Api api;

template <class... Parameters, class... Arguments>
void call(int slot, Status* (*)(Parameters...), Arguments... arguments) {
  using Function = Status* (*)(Parameters...);
  Status* status = reinterpret_cast<Function>(const_cast<void*>(api[slot]))(arguments...);
  if (status == nullptr) return;
  using GetMessage = const char* (*)(const Status*);
  std::fprintf(stderr, "%s\n", reinterpret_cast<GetMessage>(const_cast<void*>(api[2]))(status));
  std::exit(1);
}

template <class... Parameters>
constexpr Status* (*takes())(Parameters...) {
  return nullptr;
}

template <class Object>
void release(int slot, Object* object) {
  reinterpret_cast<void (*)(Object*)>(const_cast<void*>(api[slot]))(object);
}

template <class Item>
Value* tensor(const MemoryInfo* memory, std::vector<Item>& items, std::vector<std::int64_t> shape,
              int type) {
  Value* value = nullptr;
  call(49,
       takes<const MemoryInfo*, void*, std::size_t, const std::int64_t*, std::size_t, int,
             Value**>(),
       memory, items.data(), items.size() * sizeof(Item), shape.data(), shape.size(), type, &value);
  return value;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: %s LIBONNXRUNTIME LIBSOWREAP MODEL\n", arguments[0]);
    return 2;
  }
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  auto get_base = reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  api = get_base()->get_api(api_version);
  if (api == nullptr) {
    std::fprintf(stderr, "onnxruntime %s is too old\n", get_base()->get_version());
    return 2;
  }
  std::printf("onnxruntime %s\n", get_base()->get_version());

  Env* env = nullptr;
  Options* options = nullptr;
  Session* session = nullptr;
  void* kernels = nullptr;
  call(3, takes<int, const char*, Env**>(), warning, "example", &env);
  call(10, takes<Options**>(), &options);
  call(29, takes<Options*, const char*, void**>(), options, arguments[2], &kernels);
  call(7, takes<Env*, const char*, const Options*, Session**>(), env, arguments[3], options,
       &session);

  MemoryInfo* memory = nullptr;
  call(69, takes<int, int, MemoryInfo**>(), arena, default_memory, &memory);
  std::vector<float> data(4, 0.0f), updates(100000, 1.0f);
  std::vector<std::int64_t> indices(updates.size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i % 3);
  const auto m = static_cast<std::int64_t>(updates.size());
  Value* inputs[] = {tensor(memory, data, {4}, float32), tensor(memory, indices, {m, 1}, int64),
                     tensor(memory, updates, {m}, float32)};
  const char* input_names[] = {"data", "indices", "updates"};
  const char* output_names[] = {"output"};
  Value* output = nullptr;
  call(9,
       takes<Session*, const void*, const char* const*, const Value* const*, std::size_t,
             const char* const*, std::size_t, Value**>(),
       session, nullptr, input_names, inputs, std::size_t{3}, output_names, std::size_t{1},
       &output);
  float* sums = nullptr;
  call(51, takes<Value*, float**>(), output, &sums);
  for (int i = 0; i < 4; ++i) std::printf("%g\n", static_cast<double>(sums[i]));

  release(96, output);
  for (Value* input : inputs) release(96, input);
  release(94, memory);
  release(95, session);
  release(100, options);
  release(92, env);
  return 0;
}
