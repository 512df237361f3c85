// What is called of onnxruntime's C interface, in declarations of our own.
//
// The interface is a table of function pointers, and its slots are append-only: the number of a
// slot is all that a caller needs to know. The numbers and the order of the members of CustomOp are
// those of onnxruntime's public header; no slot here is newer than API 17, no member than API 18,
// but for get_shape_reference, which only newer runtimes have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#if defined(_WIN32)
#define SOWREAP_ORT_CALL __stdcall
#define SOWREAP_ORT_EXPORT extern "C" __declspec(dllexport)
#else
#define SOWREAP_ORT_CALL
#define SOWREAP_ORT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace sowreap::ort {

struct Status;  // null is success
struct Value;
struct TensorInfo;
struct SessionOptions;
struct OpDomain;
struct KernelInfo;
struct KernelContext;
struct InferContext;
struct OpAttr;

using Table = const void* const*;

struct ApiBase {
  Table(SOWREAP_ORT_CALL* get_api)(std::uint32_t version);  // null: no such version
  const char*(SOWREAP_ORT_CALL* get_version)();
};

inline constexpr std::uint32_t first_api = 1;
inline constexpr std::uint32_t api_version = 18;  // the lowest that has all that is used

template <class Signature>
struct Slot;

template <class Result, class... Arguments>
struct Slot<Result(Arguments...)> {
  int number;

  Result operator()(Table table, Arguments... arguments) const {
    using Function = Result(SOWREAP_ORT_CALL*)(Arguments...);
    return reinterpret_cast<Function>(const_cast<void*>(table[number]))(arguments...);
  }
};

enum ErrorCode : int { fail = 1, invalid_argument = 2, runtime_exception = 6 };

inline constexpr Slot<Status*(int, const char*)> create_status{0};
inline constexpr Slot<const char*(const Status*)> get_error_message{2};
inline constexpr Slot<Status*(const char*, OpDomain**)> create_domain{26};
inline constexpr Slot<Status*(OpDomain*, const struct CustomOp*)> add_op{27};
inline constexpr Slot<Status*(SessionOptions*, OpDomain*)> add_domain{28};
inline constexpr Slot<Status*(Value*, void**)> get_data{51};
inline constexpr Slot<Status*(const Value*, std::size_t*)> get_string_bytes{53};
inline constexpr Slot<Status*(const Value*, void*, std::size_t, std::size_t*, std::size_t)>
    get_strings{54};
inline constexpr Slot<Status*(TensorInfo**)> create_info{57};
inline constexpr Slot<Status*(TensorInfo*, int)> set_element_type{58};
inline constexpr Slot<Status*(TensorInfo*, const std::int64_t*, std::size_t)> set_dimensions{59};
inline constexpr Slot<Status*(const TensorInfo*, int*)> get_element_type{60};
inline constexpr Slot<Status*(const TensorInfo*, std::size_t*)> get_rank{61};
inline constexpr Slot<Status*(const TensorInfo*, std::int64_t*, std::size_t)> get_dimensions{62};
inline constexpr Slot<Status*(const TensorInfo*, const char**, std::size_t)> get_symbols{63};
inline constexpr Slot<Status*(const Value*, TensorInfo**)> get_info{65};
inline constexpr Slot<Status*(const KernelInfo*, const char*, std::int64_t*)> get_int{86};
inline constexpr Slot<Status*(const KernelInfo*, const char*, char*, std::size_t*)> get_text{87};
inline constexpr Slot<Status*(const KernelContext*, std::size_t, const Value**)> get_input{90};
inline constexpr Slot<Status*(KernelContext*, std::size_t, const std::int64_t*, std::size_t,
                              Value**)>
    get_output{91};
inline constexpr Slot<void(Status*)> release_status{93};
inline constexpr Slot<void(TensorInfo*)> release_info{99};
inline constexpr Slot<Status*(const KernelInfo*, std::size_t*)> get_input_count{230};
inline constexpr Slot<Status*(const KernelInfo*, char*, std::size_t*)> get_node_name{244};
inline constexpr Slot<Status*(const KernelInfo*, std::size_t, int*, const Value**)>
    get_constant_input{249};
inline constexpr Slot<Status*(Value*, std::size_t, std::size_t, char**)> get_string_buffer{252};
inline constexpr Slot<Status*(const InferContext*, std::size_t*)> get_inferred_input_count{267};
inline constexpr Slot<Status*(const InferContext*, std::size_t, TensorInfo**)> get_inferred_input{
    268};
inline constexpr Slot<Status*(const InferContext*, const char*, const OpAttr**)>
    get_inferred_attribute{269};
inline constexpr Slot<Status*(const InferContext*, std::size_t, const TensorInfo*)>
    set_inferred_output{270};
inline constexpr Slot<Status*(TensorInfo*, const char**, std::size_t)> set_symbols{271};
inline constexpr Slot<Status*(const OpAttr*, int, void*, std::size_t, std::size_t*)> read_attribute{
    272};
inline constexpr Slot<Status*(const KernelContext*, void (*)(void*, std::size_t), std::size_t,
                              std::size_t, void*)>
    parallel_for{274};

inline constexpr Slot<Status*(const Value*, int*, const std::int64_t**, std::size_t*)>
    get_shape_reference{414};
inline constexpr int first_minor_with_shape_reference = 24;

// An onnxruntime in this process.
struct Runtime {
  Table table;
  bool has_shape_reference;
};

inline constexpr int attribute_is_int = 1;
inline constexpr int string_type = 8;

enum InputKind : int { required = 0, optional = 1 };

// Below op version 16 a runtime would call other members than these; none so old has API 18.
struct CustomOp {
  std::uint32_t version;
  void* unused_create;
  const char*(SOWREAP_ORT_CALL* get_name)(const CustomOp*);
  const char*(SOWREAP_ORT_CALL* get_provider)(const CustomOp*);
  int(SOWREAP_ORT_CALL* get_input_type)(const CustomOp*, std::size_t);
  std::size_t(SOWREAP_ORT_CALL* get_input_count)(const CustomOp*);
  int(SOWREAP_ORT_CALL* get_output_type)(const CustomOp*, std::size_t);
  std::size_t(SOWREAP_ORT_CALL* get_output_count)(const CustomOp*);
  void* unused_compute;
  void(SOWREAP_ORT_CALL* destroy)(void* kernel);
  int(SOWREAP_ORT_CALL* get_input_kind)(const CustomOp*, std::size_t);
  int(SOWREAP_ORT_CALL* get_output_kind)(const CustomOp*, std::size_t);
  int(SOWREAP_ORT_CALL* get_input_memory)(const CustomOp*, std::size_t);
  void* unused_variadic[4];
  Status*(SOWREAP_ORT_CALL* create)(const CustomOp*, Table, const KernelInfo*, void** kernel);
  Status*(SOWREAP_ORT_CALL* compute)(void* kernel, KernelContext*);
  Status*(SOWREAP_ORT_CALL* infer_shape)(const CustomOp*, InferContext*);
  int(SOWREAP_ORT_CALL* get_start_version)(const CustomOp*);
  int(SOWREAP_ORT_CALL* get_end_version)(const CustomOp*);
  std::size_t(SOWREAP_ORT_CALL* get_may_inplace)(int** inputs, int** outputs);
  void(SOWREAP_ORT_CALL* release_may_inplace)(int* inputs, int* outputs);
  std::size_t(SOWREAP_ORT_CALL* get_aliases)(int** inputs, int** outputs);
  void(SOWREAP_ORT_CALL* release_aliases)(int* inputs, int* outputs);
};
static_assert(sizeof(void*) != 8 || sizeof(CustomOp) == 208);

// What onnxruntime answered instead of doing what it was asked.
struct Failure {
  std::string text;
};

[[noreturn, gnu::noinline, gnu::cold]] inline void raise(Table table, Status* status) {
  Failure failure{get_error_message(table, status)};
  release_status(table, status);
  throw failure;
}

// Throws Failure unless `status` is success; releases it.
inline void check(Table table, Status* status) {
  if (status != nullptr) raise(table, status);
}

// Whether `status` is success; releases it.
inline bool succeeded(Table table, Status* status) {
  if (status == nullptr) return true;
  release_status(table, status);
  return false;
}

}  // namespace sowreap::ort
