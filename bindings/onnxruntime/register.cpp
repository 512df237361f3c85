// The entry point of the library, and the table of its operators.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "operators.hpp"

namespace sowreap::ort {

namespace {

constexpr Operator operators[] = {
    // kind, names, inputs, indices, tuples, int32
    {Kind::gather, "Gather", "gather", 3, 1, false, true},
    {Kind::gather_elements, "GatherElements", "gather_elements", 3, 1, false, true},
    {Kind::gather_nd, "GatherND", "gather_nd", 3, 1, true, false},
    {Kind::scatter, "Scatter", "scatter", 4, 1, false, true},
    {Kind::scatter_elements, "ScatterElements", "scatter_elements", 4, 1, false, true},
    {Kind::scatter_nd, "ScatterND", "scatter_nd", 4, 1, true, false},
    {Kind::tensor_scatter, "TensorScatter", "tensor_scatter", 3, 2, false, false},
};

constexpr const char* domain_name = "sowreap";

constexpr ElementType element_types[] = {
    {1, Dtype::float32, 4, false},       {2, Dtype::uint8, 1, false},
    {3, Dtype::int8, 1, false},          {4, Dtype::uint16, 2, false},
    {5, Dtype::int16, 2, false},         {6, Dtype::int32, 4, false},
    {7, Dtype::int64, 8, false},         {string_type, Dtype::opaque, 0, false},
    {9, Dtype::boolean, 1, false},       {10, Dtype::float16, 2, false},
    {11, Dtype::float64, 8, false},      {12, Dtype::uint32, 4, false},
    {13, Dtype::uint64, 8, false},       {16, Dtype::bfloat16, 2, false},
    {17, Dtype::float8_e4m3fn, 1, true}, {18, Dtype::float8_e4m3fnuz, 1, true},
    {19, Dtype::float8_e5m2, 1, true},   {20, Dtype::float8_e5m2fnuz, 1, true},
};
constexpr const ElementType& int32_type = element_types[5];
constexpr const ElementType& int64_type = element_types[6];

const TypedOp& typed(const CustomOp* op) { return *static_cast<const TypedOp*>(op); }

// ---- members of CustomOp ----

const char* SOWREAP_ORT_CALL get_name(const CustomOp* op) { return typed(op).op->onnx_name; }
const char* SOWREAP_ORT_CALL get_provider(const CustomOp*) { return nullptr; }  // the CPU

int SOWREAP_ORT_CALL get_input_type(const CustomOp* op, std::size_t i) {
  const TypedOp& t = typed(op);
  const int at = static_cast<int>(i);
  if (at == t.op->indices) return t.indices->onnx;
  const bool is_shape = takes_shape(*t.op) && at == t.op->inputs - 1;
  return is_shape ? int64_type.onnx : t.data->onnx;
}
std::size_t SOWREAP_ORT_CALL get_input_count(const CustomOp* op) {
  return static_cast<std::size_t>(typed(op).op->inputs);
}
int SOWREAP_ORT_CALL get_output_type(const CustomOp* op, std::size_t) {
  return typed(op).data->onnx;
}
std::size_t SOWREAP_ORT_CALL get_output_count(const CustomOp*) { return 1; }

int SOWREAP_ORT_CALL get_input_kind(const CustomOp* op, std::size_t i) {
  return static_cast<int>(i) == typed(op).op->inputs - 1 ? optional : required;
}
int SOWREAP_ORT_CALL get_output_kind(const CustomOp*, std::size_t) { return required; }
int SOWREAP_ORT_CALL get_input_memory(const CustomOp*, std::size_t) { return 0; }
int SOWREAP_ORT_CALL get_start_version(const CustomOp*) { return 1; }
int SOWREAP_ORT_CALL get_end_version(const CustomOp*) { return 1; }

// The output of a scatter may be the memory of data, when nothing reads data afterwards.
std::size_t SOWREAP_ORT_CALL get_may_inplace(int** inputs, int** outputs) {
  static int zero = 0;
  *inputs = *outputs = &zero;
  return 1;
}
void SOWREAP_ORT_CALL release_nothing(int*, int*) {}

TypedOp make_op(const Runtime& runtime, const Operator& op, const ElementType& data,
                const ElementType& indices) {
  TypedOp typed{};
  typed.version = api_version;
  typed.get_name = get_name;
  typed.get_provider = get_provider;
  typed.get_input_type = get_input_type;
  typed.get_input_count = get_input_count;
  typed.get_output_type = get_output_type;
  typed.get_output_count = get_output_count;
  typed.destroy = destroy_kernel;
  typed.get_input_kind = get_input_kind;
  typed.get_output_kind = get_output_kind;
  typed.get_input_memory = get_input_memory;
  typed.create = create_kernel;
  typed.compute = run_kernel;
  typed.infer_shape = infer_shape;
  typed.get_start_version = get_start_version;
  typed.get_end_version = get_end_version;
  if (!is_gather(op.kind) && data.bytes != 0) typed.get_may_inplace = get_may_inplace;
  typed.release_may_inplace = release_nothing;
  typed.op = &op;
  typed.data = &data;
  typed.indices = &indices;
  typed.runtime = &runtime;
  return typed;
}

// Of "1.24.4": 24.
int minor_of(const char* version) {
  const char* dot = std::strchr(version, '.');
  return dot == nullptr ? 0 : std::atoi(dot + 1);
}

// Sessions keep pointers to what is registered, so nothing of it is ever freed.
struct Registered {
  Runtime runtime;
  std::vector<TypedOp> ops;
  OpDomain* domain = nullptr;
};

std::unique_ptr<Registered> make_registered(Table table, const char* version) {
  auto made = std::make_unique<Registered>();
  made->runtime = {table, minor_of(version) >= first_minor_with_shape_reference};
  for (const Operator& op : operators) {
    for (const ElementType& data : element_types) {
      if (data.tensor_scatter_only && op.kind != Kind::tensor_scatter) continue;
      made->ops.push_back(make_op(made->runtime, op, data, int64_type));
      if (op.int32) made->ops.push_back(make_op(made->runtime, op, data, int32_type));
    }
  }
  check(table, create_domain(table, domain_name, &made->domain));
  for (const TypedOp& op : made->ops) check(table, add_op(table, made->domain, &op));
  return made;
}

// One for each onnxruntime in the process.
OpDomain* domain_of(Table table, const char* version) {
  static std::mutex mutex;
  static auto& all = *new std::map<Table, std::unique_ptr<Registered>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Registered>& registered = all[table];
  if (registered == nullptr) registered = make_registered(table, version);
  return registered->domain;
}

}  // namespace
}  // namespace sowreap::ort

// Called by onnxruntime when a user registers the library with the options of a session.
SOWREAP_ORT_EXPORT sowreap::ort::Status* SOWREAP_ORT_CALL
RegisterCustomOps(sowreap::ort::SessionOptions* options, const sowreap::ort::ApiBase* base) {
  using namespace sowreap::ort;
  const Table table = base->get_api(api_version);
  const Table any = table != nullptr ? table : base->get_api(first_api);
  try {
    if (table == nullptr) {
      throw Failure{std::string("sowreap needs onnxruntime 1.18 or later; this is ") +
                    base->get_version()};
    }
    check(table, add_domain(table, options, domain_of(table, base->get_version())));
    return nullptr;
  } catch (const Failure& failure) {
    return create_status(any, fail, failure.text.c_str());
  } catch (...) {
    return create_status(any, fail, "sowreap: registration failed: out of memory");
  }
}
