// The operators of the domain `sowreap`, one CustomOp for each pair of types.
#pragma once

#include "api.hpp"
#include "sowreap/dtype.hpp"

namespace sowreap::ort {

enum class Kind {
  gather,
  gather_elements,
  gather_nd,
  scatter,
  scatter_elements,
  scatter_nd,
  tensor_scatter,
};

// Beside ONNX's inputs, operators with `indices` take a last one, `indices_shape` (int64, may be
// missing): the shape to which indices are expanded without being copied, as Expand would.
struct Operator {
  Kind kind;
  const char* onnx_name;
  const char* name;  // in messages
  int inputs;        // the last one may be missing
  int indices;       // which of them holds indices
  bool tuples;       // the last axis of indices holds the components of tuples
  bool int32;        // indices may be int32 too
};

constexpr bool is_gather(Kind kind) { return kind <= Kind::gather_nd; }
constexpr bool takes_shape(const Operator& op) { return op.kind != Kind::tensor_scatter; }

struct ElementType {
  int onnx;  // number of the type in ONNX and in onnxruntime
  Dtype dtype;
  std::int64_t bytes;  // 0: a string
  bool tensor_scatter_only;
};

struct TypedOp : CustomOp {
  const Operator* op;
  const ElementType* data;
  const ElementType* indices;
  const Runtime* runtime;
};

// Members of CustomOp that make, run and delete kernels.
Status* SOWREAP_ORT_CALL create_kernel(const CustomOp* op, Table table, const KernelInfo* info,
                                       void** kernel);
Status* SOWREAP_ORT_CALL run_kernel(void* kernel, KernelContext* context);
void SOWREAP_ORT_CALL destroy_kernel(void* kernel);

// The member that tells the shape of the output before anything runs.
Status* SOWREAP_ORT_CALL infer_shape(const CustomOp* op, InferContext* context);

}  // namespace sowreap::ort
